//! Processes that left their job's session, found by a marker in their environment.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Environment variable with the attempt's id.
pub const ATTEMPT: &str = "ARGOSY_ATTEMPT";

/// Environment variable with the spawner's mark.
pub const SPAWNER: &str = "ARGOSY_SPAWNER";

/// Scans at start-up until nothing more is found; each finds what was forked during the last.
const SCANS: usize = 20;

/// The mark of a data directory's spawners: its device and inode, since its path may change.
pub fn mark(data_dir: &Path) -> io::Result<String> {
    let meta = fs::metadata(data_dir)?;
    Ok(format!("{:x}-{:x}", meta.dev(), meta.ino()))
}

/// Kills every process that an earlier spawner of this data directory has left.
pub fn kill_left_behind(mark: &str) -> io::Result<()> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    for _ in 0..SCANS {
        let processes = fs::read_dir("/proc")?.flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let left = pids
            .filter(|pid| *pid != own)
            .filter(|pid| kill_if(*pid, |process| process.value(SPAWNER) == Some(mark)))
            .count();
        if left == 0 {
            return Ok(());
        }
    }
    Ok(())
}

/// The children of this process, among them orphans that it inherited.
#[derive(Debug)]
pub struct Children {
    /// Missing where the kernel has no such list; then orphans live until the next start-up.
    list: Option<File>,
}

impl Children {
    /// Opens the kernel's list.
    pub fn open() -> Self {
        let pid = std::process::id();
        Self { list: File::open(format!("/proc/self/task/{pid}/children")).ok() }
    }

    /// The children's ids now.
    pub fn pids(&self) -> Vec<i32> {
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        while let Some(list) = &self.list {
            match list.read_at(&mut buffer, text.len() as u64) {
                Ok(length) if length > 0 => text.extend_from_slice(&buffer[..length]),
                _ => break,
            }
        }
        let text = String::from_utf8_lossy(&text);
        text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

/// A process's environment.
pub struct Environment(Vec<u8>);

impl Environment {
    /// Of a running process; empty where it is not ours to read.
    pub fn of(pid: i32) -> Self {
        Self(fs::read(format!("/proc/{pid}/environ")).unwrap_or_default())
    }

    /// The value of a variable.
    pub fn value(&self, name: &str) -> Option<&str> {
        let text = self.0.split(|byte| *byte == 0).filter_map(|one| std::str::from_utf8(one).ok());
        text.filter_map(|one| one.split_once('=')).find(|(key, _)| *key == name).map(|(_, v)| v)
    }
}

/// Kills a process if its environment says so. Whether it was killed.
fn kill_if(pid: i32, condition: impl FnOnce(&Environment) -> bool) -> bool {
    let kill = || -> Option<()> {
        // Held before the environment is read, so that the id cannot pass to another process.
        let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        condition(&Environment::of(pid)).then_some(())?;
        pidfd_send_signal(process, Signal::KILL).ok()
    };
    kill().is_some()
}
