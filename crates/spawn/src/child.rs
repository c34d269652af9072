//! What a forked child does until it is the job's program, or the first process of its namespace.

use crate::isolate;
use crate::message::{Isolation, Reason, Start};
use crate::notes::{self, Blame, Fault, Note};
use crate::{strays, sys};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, Signal};
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};

/// Exit code of a child that could not run its program; the note says why.
const NOT_RUN: i32 = 127;

/// What a child needs to know of the spawner that it is a copy of.
#[derive(Debug)]
pub struct Parent {
    /// Readable once the spawner is dead.
    pub pidfd: OwnedFd,
    /// Where children leave notes.
    pub notes: PipeWriter,
    /// Value of the marker that all descendants carry in their environment.
    pub mark: String,
    /// The user.
    pub user: isolate::User,
}

/// Becomes the job.
pub fn run(start: &Start, parent: &Parent) -> ! {
    let fault = match become_job(start, parent) {
        Ok(never) => match never {},
        Err(fault) => fault,
    };
    // If the pipe fails, the spawner is gone and nobody is there to be told.
    let _ = notes::send(&parent.notes, &Note::refused(&start.id, fault));
    exit(NOT_RUN)
}

/// Builds the isolation and nothing more. Ends the process.
pub fn rehearse(start: &Start, parent: &Parent) -> ! {
    let built = die_with(parent).and_then(|()| isolate::enter(start, parent.user));
    if let Err(fault) = built {
        let _ = notes::send(&parent.notes, &Note::refused(&start.id, fault));
        exit(NOT_RUN)
    }
    exit(0)
}

fn become_job(start: &Start, parent: &Parent) -> Result<Infallible, Fault> {
    die_with(parent)?;
    // Opened first: the paths are those of the host.
    let logs = Logs::open(start)?;
    if start.isolation == Isolation::None {
        return execute(start, parent, logs);
    }
    isolate::enter(start, parent.user)?;
    // Or the job, which may be the same user, could open this process's pipe and write notes.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .blame(Reason::Namespace, || "cannot seal the namespace's first process".into())?;
    let job = sys::fork(0).blame(Reason::Process, || "cannot start a process".into())?;
    let Some(job) = job else { return execute(start, parent, logs) };
    drop(logs);
    attend(start, parent, job).blame(Reason::Process, || "cannot wait for the job".into())
}

/// Has the kernel kill this process when the spawner dies, also if it has died already.
fn die_with(parent: &Parent) -> Result<(), Fault> {
    let what = || "cannot follow the spawner".to_owned();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .blame(Reason::Process, what)?;
    let mut spawner = [PollFd::new(&parent.pidfd, PollFlags::IN)];
    let dead = poll(&mut spawner, Some(&Timespec::default())).blame(Reason::Process, what)?;
    if dead > 0 { exit(NOT_RUN) } else { Ok(()) }
}

/// The job's output files; none is `/dev/null`.
struct Logs {
    stdout: Option<File>,
    stderr: Option<File>,
}

impl Logs {
    fn open(start: &Start) -> Result<Self, Fault> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(append).transpose();
        let stdout = open(&start.stdout)?;
        let stderr = match &stdout {
            Some(file) if start.stderr == start.stdout => {
                Some(file.try_clone().blame(Reason::Log, || "cannot share a log file".into())?)
            }
            _ => open(&start.stderr)?,
        };
        Ok(Self { stdout, stderr })
    }
}

fn append(path: &Path) -> Result<File, Fault> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    file.blame(Reason::Log, || format!("cannot open log file {}", path.display()))
}

/// Replaces this process by the job's program, in a session of its own.
fn execute(start: &Start, parent: &Parent, logs: Logs) -> Result<Infallible, Fault> {
    rustix::process::setsid().blame(Reason::Process, || "cannot make a session".into())?;
    limit(start)?;
    rustix::process::chdir(&start.cwd)
        .blame(Reason::Cwd, || format!("cannot enter {}", start.cwd.display()))?;
    sys::release_signals().blame(Reason::Process, || "cannot reset signals".into())?;
    let (program, arguments) = start.argv.split_first().map_or(("", &[][..]), |(p, a)| (p, a));
    let error = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .env(strays::ATTEMPT, &start.id)
        .env(strays::SPAWNER, &parent.mark)
        .stdin(Stdio::null())
        .stdout(logs.stdout.map_or_else(Stdio::null, Stdio::from))
        .stderr(logs.stderr.map_or_else(Stdio::null, Stdio::from))
        .exec();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => Reason::ProgramNotFound,
        _ => Reason::Program,
    };
    Err(Fault { reason, message: format!("cannot run {program}: {error}") })
}

fn limit(start: &Start) -> Result<(), Fault> {
    let limits = start.limits;
    for (resource, name, limit) in [
        (Resource::Data, "memory", limits.data_bytes),
        (Resource::Cpu, "processor time", limits.cpu_s),
        (Resource::Nproc, "processes", limits.processes),
    ] {
        if limit.is_some() {
            let both = Rlimit { current: limit, maximum: limit };
            rustix::process::setrlimit(resource, both)
                .blame(Reason::Limit, || format!("cannot limit {name}"))?;
        }
    }
    Ok(())
}

/// First process of a namespace: passes signals on, reaps, and ends as the job ended. With it the
/// kernel ends all that is left in the namespace.
fn attend(start: &Start, parent: &Parent, job: i32) -> io::Result<Infallible> {
    // Only the pipe is kept: a copy of the spawner's socket would outlive the spawner.
    sys::close_all_but(&parent.notes);
    loop {
        match sys::wait_signal()? {
            libc::SIGCHLD => {}
            // No process is left to signal: the job's end is on its way.
            signal => sys::kill(-1, signal).unwrap_or_default(),
        }
        while let Some(pid) = sys::ended_child() {
            let status = sys::reap(pid)?.status;
            if pid == job && libc::WIFSIGNALED(status) {
                let signal = libc::WTERMSIG(status);
                notes::send(&parent.notes, &Note::Signalled { id: start.id.clone(), signal })?;
                exit(128 + signal);
            } else if pid == job {
                exit(libc::WEXITSTATUS(status));
            }
        }
    }
}
