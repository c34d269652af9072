//! A client with deadlines, and the orders that the tests give.

use argosy_spawn::{Decoder, Isolation, Limits, Order, Report, Start, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const HELPER: &str = env!("CARGO_BIN_EXE_spawner-for-tests");
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A data directory with its spawner, which is killed at the end.
pub struct House {
    pub data: TempDir,
    pub spawner: Option<u32>,
}

impl House {
    pub fn new() -> Self {
        let house = Self::empty();
        argosy_spawn::launch(house.data.path(), Path::new(HELPER)).unwrap();
        house
    }

    pub fn empty() -> Self {
        Self { data: tempfile::tempdir().unwrap(), spawner: None }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    pub fn dir(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.path(name)).unwrap();
        self.path(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn client(&mut self) -> Client {
        let client = Client::connect(self.data.path());
        self.spawner = Some(client.spawner);
        client
    }

    pub fn private_tmp(&self) -> Isolation {
        Isolation::PrivateTmp { tmp: self.dir("tmp") }
    }

    /// With directories of its own for each `id`.
    pub fn private_root(&self, id: &str) -> Isolation {
        let dir = |name| self.dir(&format!("{id}/{name}"));
        Isolation::PrivateRoot {
            lower: "/".into(),
            upper: dir("upper"),
            work: dir("work"),
            merged: dir("merged"),
            tmp: dir("tmp"),
        }
    }

    pub fn kill_spawner(&mut self) {
        if let Some(pid) = self.spawner.take() {
            kill(pid, Signal::KILL);
            assert_ends(pid);
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.kill_spawner();
    }
}

pub fn pid(raw: u32) -> Pid {
    Pid::from_raw(i32::try_from(raw).unwrap()).unwrap()
}

pub fn kill(raw: u32, signal: Signal) {
    kill_process(pid(raw), signal).unwrap();
}

pub fn assert_ends(raw: u32) {
    let Ok(process) = pidfd_open(pid(raw), PidfdFlags::empty()) else { return };
    let mut polled = [PollFd::new(&process, PollFlags::IN)];
    let timeout = Timespec::try_from(DEADLINE).unwrap();
    assert_eq!(poll(&mut polled, Some(&timeout)).unwrap(), 1, "process {raw} lives on");
}

/// Waits until a process is in a state, as `/proc/PID/stat` has it.
pub fn assert_gets_to(raw: u32, state: char) {
    let end = Instant::now() + DEADLINE;
    let mut stat = String::new();
    while Instant::now() < end {
        stat = fs::read_to_string(format!("/proc/{raw}/stat")).unwrap();
        if stat.rsplit(") ").next().unwrap().starts_with(state) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("process {raw} is not in state {state}: {stat}");
}

/// A job that runs a shell script, writing to `out` and `err` in the house.
pub fn shell(house: &House, id: &str, script: &str) -> Start {
    Start {
        id: id.into(),
        argv: ["sh", "-c", script].map(String::from).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdout: Some(house.path("out")),
        stderr: Some(house.path("err")),
        isolation: Isolation::None,
        binds: vec![],
        limits: Limits::default(),
    }
}

pub struct Client {
    stream: UnixStream,
    decoder: Decoder,
    pub spawner: u32,
    pub boot: String,
    /// The last report of every job known at the time of the connection.
    pub known: HashMap<String, Report>,
}

impl Client {
    pub fn connect(data: &Path) -> Self {
        let stream = argosy_spawn::connect(data).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut client = Self {
            stream,
            decoder: Decoder::default(),
            spawner: 0,
            boot: String::new(),
            known: HashMap::new(),
        };
        let Some(Report::Welcome { version, spawner_pid, boot }) = client.next() else {
            panic!("no welcome");
        };
        assert_eq!(version, argosy_spawn::PROTOCOL);
        (client.spawner, client.boot) = (spawner_pid, boot);
        client.known = client.listed();
        client
    }

    /// Reports up to the end of a list, by id.
    pub fn listed(&mut self) -> HashMap<String, Report> {
        let mut known = HashMap::new();
        loop {
            match self.next().expect("a connection") {
                Report::Listed => return known,
                report => known.insert(id(&report).to_owned(), report),
            };
        }
    }

    pub fn list(&mut self) -> HashMap<String, Report> {
        self.send(&Order::List);
        self.listed()
    }

    /// The next report; none if the spawner has closed the connection.
    pub fn next(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.decoder.take().unwrap() {
                return Some(report);
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => self.decoder.push(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                // A read with a limit of time is not begun again by the system.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => panic!("no report in time: {error}"),
            }
        }
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn send(&mut self, order: &Order) {
        let mut frame = Vec::new();
        argosy_spawn::encode(order, &mut frame).unwrap();
        self.raw(&frame);
    }

    pub fn start(&mut self, start: &Start) -> Report {
        self.send(&Order::Start(Box::new(start.clone())));
        self.next().unwrap()
    }

    /// Starts a job that must start, and returns its process.
    pub fn started(&mut self, start: &Start) -> u32 {
        match self.start(start) {
            Report::Started { id, pid, .. } if id == start.id => pid,
            other => panic!("not started: {other:?}"),
        }
    }

    /// Starts a job and waits for its end.
    pub fn run(&mut self, start: &Start) -> Report {
        match self.start(start) {
            Report::Started { .. } => self.next().unwrap(),
            other => other,
        }
    }
}

pub fn id(report: &Report) -> &str {
    match report {
        Report::Started { id, .. } | Report::Refused { id, .. } | Report::Exited { id, .. } => id,
        other => panic!("not of a job: {other:?}"),
    }
}

pub fn status(report: &Report) -> Status {
    match report {
        Report::Exited { exit, .. } => exit.status,
        other => panic!("not an exit: {other:?}"),
    }
}
