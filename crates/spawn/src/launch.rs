//! Starting a spawner, and reaching it.

use crate::serve::{LOCK_FILE, LOG_FILE, SOCKET_FILE};
use crate::strays;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, fcntl_lock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Held while a spawner is being started, so that of two servers one starts it.
const LAUNCH_FILE: &str = "spawner.launch";

/// How long a spawner may take until it serves.
const READY_LIMIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Makes sure that a spawner serves `data_dir`, starting `exe __spawner --data DIR` if none does,
/// and makes the directory. The spawner is no child of this process and not in its session.
///
/// A spawner that is about to end counts as one that serves: if [`connect`] then fails, call this
/// again.
///
/// # Errors
/// The system's, or `TimedOut` or `UnexpectedEof` if the spawner does not get to serve; its own
/// words are then in `spawner.log`.
pub fn launch(data_dir: &Path, exe: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir)?;
    let data_dir = data_dir.canonicalize()?;
    let private = |name: &str| {
        OpenOptions::new().create(true).append(true).mode(0o600).open(data_dir.join(name))
    };
    let turn = private(LAUNCH_FILE)?;
    turn.lock()?;
    if fcntl_lock(private(LOCK_FILE)?, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let (ready, stdout) = io::pipe()?;
    // Ends as soon as it has forked the spawner proper.
    let status = Command::new(exe)
        .args(["__spawner", "--data"])
        .arg(&data_dir)
        .current_dir(&data_dir)
        .env_remove(strays::ATTEMPT)
        .env_remove(strays::SPAWNER)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(private(LOG_FILE)?)
        .status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the spawner could not start: {status}")));
    }
    await_ready(ready)
}

fn await_ready(mut ready: io::PipeReader) -> io::Result<()> {
    let mut pipe = [PollFd::new(&ready, PollFlags::IN)];
    if poll(&mut pipe, Some(&READY_LIMIT))? == 0 {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the spawner does not get to serve"));
    }
    ready.read_exact(&mut [0])
}

/// Connects to the spawner of `data_dir`, which then drops its earlier connection.
///
/// # Errors
/// The system's: above all that no spawner serves.
pub fn connect(data_dir: &Path) -> io::Result<UnixStream> {
    // Through a descriptor, as a socket's path may have 107 bytes only.
    let directory = File::open(data_dir)?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET_FILE}", directory.as_raw_fd()))
}
