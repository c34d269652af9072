//! What a child does until it is the job's program, or the first process of its namespace.

use crate::memory::Group;
use crate::message::{Reason, Start};
use crate::notes::{self, Blame, Fault, Note};
use crate::outputs::Ends;
use crate::sys::{self, Stack};
use crate::{image::Image, isolate};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, Signal};
use std::convert::Infallible;
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::process::exit;

/// Exit code of a first process that could not start its job; the note says why.
const NOT_RUN: i32 = 127;

/// What a child needs to know of the spawner.
#[derive(Debug)]
pub struct Parent {
    /// Readable once the spawner is dead.
    pub pidfd: OwnedFd,
    /// Where first processes leave notes.
    pub notes: PipeWriter,
    /// Value of the marker that all descendants carry in their environment.
    pub mark: String,
    /// The user.
    pub user: isolate::User,
    /// Of children that share the spawner's memory.
    pub stack: Stack,
    /// How many files a job may open, unless it asks for more.
    pub files: Rlimit,
}

/// Runs the job's program in a child and returns once it runs.
pub fn run(
    start: &Start,
    parent: &Parent,
    ends: &Ends,
    group: Option<&Group>,
) -> Result<i32, Fault> {
    let image = Image::of(start, &parent.mark)
        .blame(Reason::Invalid, || "cannot pass arguments or environment".into())?;
    spawn(parent, || {
        die_with(parent)?;
        group.map_or(Ok(()), Group::join)?;
        execute(start, parent, &image, ends)
    })
}

/// Becomes the first process of the job's namespaces.
pub fn attend(start: &Start, parent: &Parent, ends: Ends, group: Option<&Group>) -> ! {
    let fault = match attend_job(start, parent, ends, group) {
        Ok(never) => match never {},
        Err(fault) => fault,
    };
    not_run(start, parent, fault)
}

/// Builds the isolation and nothing more. Ends the process.
pub fn rehearse(start: &Start, parent: &Parent) -> ! {
    match die_with(parent).and_then(|()| isolate::enter(start, parent.user)) {
        Ok(()) => exit(0),
        Err(fault) => not_run(start, parent, fault),
    }
}

fn not_run(start: &Start, parent: &Parent, fault: Fault) -> ! {
    // If the pipe fails, the spawner is gone and nobody is there to be told.
    let _ = notes::send(&parent.notes, &Note::refused(&start.id, fault));
    exit(NOT_RUN)
}

/// Has `become_program` replace a child of this process.
///
/// The child shares this process's memory, which waits meanwhile: that is cheaper than a copy, and
/// a fault is simply there afterwards. It must own no heap memory when it becomes the program.
fn spawn(
    parent: &Parent,
    mut become_program: impl FnMut() -> Result<Infallible, Fault>,
) -> Result<i32, Fault> {
    let mut fault = None;
    let pid = sys::fork_shared(&parent.stack, &mut || fault = become_program().err())
        .blame(Reason::Process, || "cannot start a process".into())?;
    let Some(fault) = fault else { return Ok(pid) };
    // It has ended, and nobody else waits for it.
    let _ = sys::reap(pid);
    Err(fault)
}

fn attend_job(
    start: &Start,
    parent: &Parent,
    ends: Ends,
    group: Option<&Group>,
) -> Result<Infallible, Fault> {
    die_with(parent)?;
    // First of all, so that nothing of the job is outside; and its path is the host's.
    group.map_or(Ok(()), Group::join)?;
    let image = Image::of(start, &parent.mark)
        .blame(Reason::Invalid, || "cannot pass arguments or environment".into())?;
    isolate::enter(start, parent.user)?;
    // Or the job, which may be the same user, could open this process's pipe and write notes.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .blame(Reason::Namespace, || "cannot seal the namespace's first process".into())?;
    let job = spawn(parent, || execute(start, parent, &image, &ends))?;
    // An owner must not find its descriptor closed by somebody else.
    drop(ends);
    // Only the pipe is kept: a copy of the spawner's socket would outlive the spawner.
    sys::close_all_but(&[parent.notes.as_fd()]);
    wait(start, parent, job).blame(Reason::Process, || "cannot wait for the job".into())
}

/// Has the kernel kill this process when the spawner dies, also if it has died already.
pub fn die_with(parent: &Parent) -> Result<(), Fault> {
    let what = || "cannot follow the spawner".to_owned();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .blame(Reason::Process, what)?;
    let mut spawner = [PollFd::new(&parent.pidfd, PollFlags::IN)];
    let dead = poll(&mut spawner, Some(&Timespec::default())).blame(Reason::Process, what)?;
    let fault = || Fault { reason: Reason::Process, message: "the spawner is dead".into() };
    if dead > 0 { Err(fault()) } else { Ok(()) }
}

/// Replaces this process by the job's program, in a session of its own.
fn execute(
    start: &Start,
    parent: &Parent,
    image: &Image,
    ends: &Ends,
) -> Result<Infallible, Fault> {
    rustix::process::setsid().blame(Reason::Process, || "cannot make a session".into())?;
    limit(start)?;
    rustix::process::setrlimit(Resource::Nofile, parent.files)
        .blame(Reason::Limit, || "cannot limit open files".into())?;
    rustix::process::chdir(&start.cwd)
        .blame(Reason::Cwd, || format!("cannot enter {}", start.cwd.display()))?;
    ends.redirect().blame(Reason::Log, || "cannot redirect output".into())?;
    sys::release_signals().blame(Reason::Process, || "cannot reset signals".into())?;
    let error = image.execute();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => Reason::ProgramNotFound,
        _ => Reason::Program,
    };
    Err(error)
        .blame(reason, || format!("cannot run {}", start.argv.first().map_or("", String::as_str)))
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

/// As first process of a namespace: passes signals on, reaps, and ends as the job ended. With it
/// the kernel ends all that is left in the namespace.
fn wait(start: &Start, parent: &Parent, job: i32) -> io::Result<Infallible> {
    loop {
        match sys::wait_signal()? {
            libc::SIGCHLD => {}
            // If no process is left to signal, the job's end is on its way.
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
