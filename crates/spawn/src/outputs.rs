//! What jobs write: from a pipe for each of their outputs into their logs.
//!
//! A job gets pipes, as from any container runtime, and not the logs themselves: a program that
//! opens `/dev/stdout` once more to write into it would empty a file. What it writes is moved by
//! the spawner; where that is a lot, by a process for this one output, so that neither the amount
//! nor a slow disk is in the way of other jobs. A log is made with its first byte. Where
//! descriptors run short, no more jobs are started, and logs are closed after every write.

use crate::child::{self, Parent};
use crate::message::{Reason, Start};
use crate::notes::{Blame, Fault, no_room};
use crate::sys;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{Resource, getrlimit};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::exit;

/// How much is moved at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// Outputs served before other things are looked at.
const A_TURN: usize = 64;

/// How often in a row a pipe must be found full until a process moves what it brings.
const PATIENCE: u32 = 16;

/// Descriptors that are never kept, so that there is always one for a log, for a server that
/// connects and for whoever looks for stray processes.
const SPARED: u64 = 16;

/// All outputs of all jobs.
#[derive(Debug)]
pub struct Outputs {
    ready: std::os::fd::OwnedFd,
    known: HashMap<u64, Output>,
    /// Which output a process is there for.
    movers: HashMap<i32, u64>,
    next: u64,
    buffer: Vec<u8>,
}

/// One output of one job.
#[derive(Debug)]
struct Output {
    job: String,
    /// Gone once nobody can write any more.
    pipe: Option<PipeReader>,
    log: Log,
    full: u32,
    /// Closed to have the process that moves it come to an end.
    mover: Option<PipeWriter>,
}

/// A log, and what became of it.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: Option<File>,
    failed: Option<Failure>,
}

/// Why the rest of an output is dropped.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// The log cannot be written.
    Log(Errno),
    /// Somebody has killed the process that moved it.
    Mover,
}

/// The job's ends of its pipes; none is `/dev/null`.
#[derive(Debug, Default)]
pub struct Ends {
    stdout: Option<PipeWriter>,
    /// None also if it is the same pipe.
    stderr: Option<PipeWriter>,
    shared: bool,
    /// The spawner's ends.
    pub outputs: Vec<u64>,
}

impl Ends {
    /// Puts them where a program expects them. Standard input is `/dev/null` in the spawner too.
    pub fn redirect(&self) -> rustix::io::Result<()> {
        use rustix::stdio::{dup2_stderr, dup2_stdout, stdin, stdout};
        match &self.stdout {
            Some(pipe) => dup2_stdout(pipe)?,
            None => dup2_stdout(stdin())?,
        }
        match &self.stderr {
            Some(pipe) => dup2_stderr(pipe),
            None if self.shared => dup2_stderr(stdout()),
            None => dup2_stderr(stdin()),
        }
    }
}

impl Outputs {
    /// None yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            ready: epoll::create(CreateFlags::CLOEXEC)?,
            known: HashMap::new(),
            movers: HashMap::new(),
            next: 0,
            buffer: vec![0; CHUNK],
        })
    }

    /// Makes the pipes of a job that is about to start.
    pub fn open(&mut self, start: &Start) -> Result<Ends, Fault> {
        let shared = start.stdout == start.stderr;
        let mut ends = Ends { shared, ..Ends::default() };
        let made = self.pipes(start, &mut ends);
        if made.is_err() {
            self.finish(&ends.outputs);
        }
        made.map(|()| ends)
    }

    fn pipes(&mut self, start: &Start, ends: &mut Ends) -> Result<(), Fault> {
        if let Some(path) = &start.stdout {
            ends.stdout = Some(self.pipe(&start.id, path, &mut ends.outputs)?);
        }
        if let Some(path) = start.stderr.as_ref().filter(|_| !ends.shared) {
            ends.stderr = Some(self.pipe(&start.id, path, &mut ends.outputs)?);
        }
        Ok(())
    }

    fn pipe(&mut self, job: &str, path: &Path, all: &mut Vec<u64>) -> Result<PipeWriter, Fault> {
        let fault = || format!("cannot open log file {}", path.display());
        let folder = path.parent().ok_or(Errno::NOTDIR).and_then(rustix::fs::stat);
        folder.blame(Reason::Log, fault)?;
        let made = io::pipe().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        let enough = made.and_then(|(pipe, writer)| match is_scarce(&writer) {
            true => Err(Errno::MFILE),
            false => Ok((pipe, writer)),
        });
        let (pipe, writer) = enough.blame(Reason::Process, || "cannot make a pipe".into())?;
        let number = self.next;
        self.next += 1;
        fcntl_setfl(&pipe, OFlags::NONBLOCK)
            .and_then(|()| {
                epoll::add(&self.ready, &pipe, EventData::new_u64(number), EventFlags::IN)
            })
            .blame(Reason::Process, || "cannot watch a pipe".into())?;
        let log = Log { path: path.to_owned(), file: None, failed: None };
        let output = Output { job: job.to_owned(), pipe: Some(pipe), log, full: 0, mover: None };
        self.known.insert(number, output);
        all.push(number);
        Ok(writer)
    }

    /// Moves what some jobs have written, a part of each.
    pub fn take(&mut self, parent: &Parent) -> io::Result<()> {
        let mut events = [MaybeUninit::uninit(); A_TURN];
        let (events, _) = epoll::wait(&self.ready, &mut events, Some(&Timespec::default()))?;
        let numbers: Vec<u64> = events.iter().map(|event| event.data.u64()).collect();
        for number in numbers {
            let Some(output) = self.known.get_mut(&number) else { continue };
            output.take(&mut self.buffer);
            if output.full >= PATIENCE {
                output.full = 0;
                self.hand_over(number, parent);
            }
        }
        Ok(())
    }

    /// Has a process of its own move what an output brings. If there can be none, all goes on as
    /// before.
    fn hand_over(&mut self, number: u64, parent: &Parent) {
        let Some(output) = self.known.get_mut(&number) else { return };
        let Some(pipe) = &output.pipe else { return };
        let Some((end, ours)) = io::pipe().ok().filter(|(_, ours)| !is_scarce(ours)) else {
            return;
        };
        match sys::fork(0) {
            Ok(None) => move_all(output, &end, parent),
            Ok(Some(pid)) => {
                // From here on nobody else reads.
                let _ = epoll::delete(&self.ready, pipe);
                output.mover = Some(ours);
                self.movers.insert(pid, number);
            }
            Err(_) => {}
        }
    }

    /// Moves the last of what a job has written that is over, whoever may still have its pipes.
    /// `None` while a process is at it; then, once, what could not be kept.
    pub fn finish(&mut self, outputs: &[u64]) -> Option<Option<String>> {
        for number in outputs {
            let Some(output) = self.known.get_mut(number) else { continue };
            // Closed: so that it ends.
            output.mover = None;
            if !self.movers.values().any(|moved| moved == number) {
                output.take_rest(&mut self.buffer);
            }
        }
        if self.movers.values().any(|moved| outputs.contains(moved)) {
            return None;
        }
        let failed = outputs.iter().filter_map(|number| self.known.remove(number)?.log.failure());
        Some(failed.reduce(|all, one| format!("{all}; {one}")))
    }

    /// Whether a child is none of a job's processes.
    pub fn is_mover(&self, pid: i32) -> bool {
        self.movers.contains_key(&pid)
    }

    /// Notes the end of a child that moved an output; the job whose output it was. What it has left
    /// is taken here, so that the job is not held up.
    pub fn ended(&mut self, pid: i32, status: i32) -> io::Result<Option<String>> {
        let Some(number) = self.movers.remove(&pid) else { return Ok(None) };
        let Some(output) = self.known.get_mut(&number) else { return Ok(None) };
        match libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)) {
            Some(0) => {}
            Some(errno) => {
                output.log.failed = Some(Failure::Log(Errno::from_raw_os_error(errno)));
            }
            None => output.log.failed = Some(Failure::Mover),
        }
        if let Some(pipe) = &output.pipe {
            epoll::add(&self.ready, pipe, EventData::new_u64(number), EventFlags::IN)?;
        }
        Ok(Some(output.job.clone()))
    }
}

impl AsFd for Outputs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

impl Output {
    /// Moves what the pipe holds, at most a chunk. How much it was; `None` if nothing is there.
    fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let length = match rustix::io::read(self.pipe.as_ref()?, &mut *buffer) {
            Ok(length) => length,
            Err(Errno::INTR) => return Some(0),
            Err(Errno::AGAIN) => return None,
            Err(_) => 0,
        };
        self.full = if length == buffer.len() { self.full + 1 } else { 0 };
        if length == 0 {
            // All ends are closed. With the pipe it is no longer waited for.
            self.pipe = None;
            return None;
        }
        self.log.write(&buffer[..length]);
        Some(length)
    }

    /// Moves what the pipe holds now, and no more: somebody may still write.
    fn take_rest(&mut self, buffer: &mut [u8]) {
        let mut left =
            self.pipe.as_ref().map_or(0, |pipe| fcntl_getpipe_size(pipe).unwrap_or(CHUNK));
        while left > 0 {
            let Some(length) = self.take(buffer) else { return };
            left = left.saturating_sub(length.max(1));
        }
    }
}

/// Moves an output in a process of its own, until nobody can write any more or it is to end. The
/// exit code is the number of the error.
fn move_all(output: &mut Output, end: &PipeReader, parent: &Parent) -> ! {
    if child::die_with(parent).is_err() {
        exit(0)
    }
    let mut kept = vec![end.as_fd()];
    kept.extend(output.pipe.as_ref().map(AsFd::as_fd));
    kept.extend(output.log.file.as_ref().map(AsFd::as_fd));
    sys::close_all_but(&kept);
    let mut buffer = vec![0; CHUNK];
    while let Some(pipe) = &output.pipe {
        let mut polled = [PollFd::new(pipe, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        // An error is a signal that came between, and all are blocked.
        let _ = poll(&mut polled, None);
        if !polled[1].revents().is_empty() {
            output.take_rest(&mut buffer);
            break;
        }
        output.take(&mut buffer);
    }
    match output.log.failed {
        Some(Failure::Log(error)) => exit(error.raw_os_error()),
        // The parent knows better.
        Some(Failure::Mover) | None => exit(0),
    }
}

impl Log {
    /// Appends. After an error that lasts the rest is dropped, as the job may go on without.
    fn write(&mut self, bytes: &[u8]) {
        let lasts = self.failed.is_some_and(|failed| match failed {
            Failure::Log(error) => !no_room(error),
            Failure::Mover => true,
        });
        if !lasts && let Err(error) = self.append(bytes) {
            self.failed = Some(Failure::Log(Errno::from_io_error(&error).unwrap_or(Errno::IO)));
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(&self.path)?;
        file.write_all(bytes)?;
        self.file = (!is_scarce(&file)).then_some(file);
        Ok(())
    }

    fn failure(&self) -> Option<String> {
        let path = self.path.display();
        Some(match self.failed? {
            Failure::Log(error) => {
                format!("cannot write log file {path}: {}", io::Error::from(error))
            }
            Failure::Mover => format!("the process that wrote log file {path} was killed"),
        })
    }
}

/// Whether a descriptor is one of the last that this process may have.
fn is_scarce(descriptor: &impl AsRawFd) -> bool {
    let number = u64::try_from(descriptor.as_raw_fd()).unwrap_or_default();
    let most = getrlimit(Resource::Nofile).current;
    most.is_some_and(|most| number.saturating_add(SPARED) >= most)
}
