//! The real binary, on a data directory of its own.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A data directory, and a folder that processes may write to.
pub struct Place {
    pub root: tempfile::TempDir,
    /// Whether its servers act before they have written.
    pub broken: bool,
}

/// What a command says that waits for a server.
const AWAY: &[u8] = b"the server is away: waiting for it, for a minute\n";

/// What a command came to.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    fn of(output: Output) -> Done {
        Done {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

impl Place {
    pub fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("marks")).unwrap();
        Place { root, broken: false }
    }

    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// The folder that manifests may name.
    pub fn marks(&self) -> PathBuf {
        self.root.path().join("marks")
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A command with nothing of the surroundings but the path.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_argosy"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(self.root.path()).arg("--data").arg(self.data()).args(args);
        command
    }

    /// Carries a command out. One that waits for a server that is away is ended as if none came:
    /// none is started meanwhile.
    pub fn argosy(&self, args: &[&str]) -> Done {
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let out = std::thread::spawn(move || {
            let mut out = Vec::new();
            stdout.read_to_end(&mut out).map(|_| out)
        });
        let (mut err, mut away) = (Vec::new(), false);
        let mut lines = BufReader::new(stderr);
        while lines.read_until(b'\n', &mut err).unwrap() > 0 {
            if !away && err.ends_with(AWAY) {
                away = true;
                child.kill().unwrap();
            }
        }
        let stdout = out.join().unwrap().unwrap();
        let status = child.wait().unwrap();
        let done = Done::of(Output { status, stdout, stderr: err });
        if away { Done { code: Some(4), ..done } } else { done }
    }

    /// Starts a server and waits until it has said where it is; `None` when it died before.
    pub fn up(&self, kill: Option<(&str, u64)>) -> Option<Server> {
        let marks = self.marks();
        let mut command = self.command(&["up", "--listen", "127.0.0.1:0", "--allow-host-path"]);
        command.arg(&marks).stdout(Stdio::piped()).stderr(Stdio::null());
        if self.broken {
            command.env("ARGOSY_TEST_EFFECTS_FIRST", "1");
        }
        if let Some((point, number)) = kill {
            command.env("ARGOSY_TEST_KILL", format!("{point}:{number}"));
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut address = None;
        loop {
            match lines.next() {
                Some(Ok(line)) if line.trim().starts_with("http://") => {
                    address = Some(line.trim().to_owned());
                }
                Some(Ok(line)) if line.starts_with("for hera") => break,
                Some(Ok(_)) => {}
                _ => {
                    child.wait().unwrap();
                    return None;
                }
            }
        }
        Some(Server { child, address: address.unwrap() })
    }
}

/// A running server.
pub struct Server {
    pub child: Child,
    pub address: String,
}

impl Server {
    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) {
        signal(self.child.id(), "TERM");
        assert!(self.child.wait().unwrap().success());
    }

    /// Ends it as a loss of power would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Sends a signal.
pub fn signal(pid: u32, name: &str) {
    Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
}

/// Processes with this text in their environment.
pub fn processes_with(text: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let with = entries.map(|entry| entry.path()).filter(|path| {
        let environ = std::fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environ).contains(text)
    });
    with.collect()
}

/// The spawner of a data directory.
pub fn spawner_of(data: &Path) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let is = line.contains("__spawner") && line.contains(data.to_str()?);
            is.then_some(pid)
        })
        .min()
}
