//! The table of jobs: what runs, and what ended and is not yet forgotten.

use crate::child::{self, Parent};
use crate::memory::{Group, Groups, Watch};
use crate::message::{Exit, Isolation, Reason, Report, Start, Status};
use crate::notes::{Blame, Fault, Note, Notes};
use crate::outputs::{Ends, Outputs};
use crate::strays::{self, Children, Environment};
use crate::{isolate, sys};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest id of an attempt in bytes.
const ID_LIMIT: usize = 128;

/// All known jobs.
#[derive(Debug)]
pub struct Jobs {
    known: HashMap<String, Job>,
    /// The running ones by their process.
    running: HashMap<i32, String>,
    parent: Parent,
    notes: Notes,
    outputs: Outputs,
    children: Children,
    /// Where memory is limited, or why it cannot be.
    groups: Result<Groups, String>,
    stopping: bool,
}

#[derive(Debug)]
enum Job {
    Running(Running),
    Ended(Report),
}

#[derive(Debug)]
struct Running {
    pid: i32,
    /// Without a namespace that ends with it.
    bare: bool,
    started_ms: u64,
    killed: Option<i32>,
    note: Option<Note>,
    /// Of one whose memory is limited.
    group: Option<Watch>,
    /// What it writes.
    outputs: Vec<u64>,
    /// How it ended, once it has. It is told when all that it wrote is in its logs.
    ended: Option<Report>,
}

impl Jobs {
    /// No jobs.
    pub fn new(parent: Parent, notes: Notes, outputs: Outputs) -> Self {
        Self {
            known: HashMap::new(),
            running: HashMap::new(),
            groups: Groups::open(&parent.mark),
            parent,
            notes,
            outputs,
            children: Children::open(),
            stopping: false,
        }
    }

    /// The pipe of notes, to poll.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The pipes of all jobs, to poll.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Moves what jobs have written to their logs.
    pub fn take_outputs(&mut self) -> io::Result<()> {
        self.outputs.take(&self.parent)
    }

    /// Where memory is limited, or why it cannot be.
    pub fn groups(&self) -> &Result<Groups, String> {
        &self.groups
    }

    /// Whether nothing runs and every end is forgotten.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether the spawner is to end now.
    pub fn is_over(&self) -> bool {
        self.stopping && self.is_empty()
    }

    /// Refuses further starts.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Starts a job, or repeats the last report of a known one.
    pub fn start(&mut self, start: &Start) -> Report {
        if let Some(job) = self.known.get(&start.id) {
            return job.report(&start.id);
        }
        let job = match self.admit(start).and_then(|()| self.run(start)) {
            Ok(running) => {
                self.running.insert(running.pid, start.id.clone());
                Job::Running(running)
            }
            Err(fault) => Job::Ended(fault.report(start.id.clone())),
        };
        let report = job.report(&start.id);
        self.known.insert(start.id.clone(), job);
        report
    }

    fn admit(&self, start: &Start) -> Result<(), Fault> {
        let refuse = |reason, message: &str| Err(Fault { reason, message: message.to_owned() });
        let invalid = |message| refuse(Reason::Invalid, message);
        if self.stopping {
            return refuse(Reason::Stopping, "the spawner is stopping");
        }
        let id = &start.id;
        if id.is_empty() || id.len() > ID_LIMIT || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return invalid("the id is not 1 to 128 printable ASCII characters");
        }
        if start.argv.first().is_none_or(String::is_empty) {
            return invalid("there is no program to run");
        }
        if start.isolation == Isolation::None && !start.binds.is_empty() {
            return invalid("binds need an isolation level");
        }
        let targets = start.binds.iter().map(|bind| &*bind.target);
        if !targets.chain([&*start.cwd]).all(Path::is_absolute) {
            return invalid("working directory and bind targets must be absolute paths");
        }
        Ok(())
    }

    fn run(&mut self, start: &Start) -> Result<Running, Fault> {
        let started_ms = now_ms();
        let bare = start.isolation == Isolation::None;
        let group = self.group(start)?;
        let begun = self.begin(start, bare, group.as_ref());
        let group = group.map(Group::into_watch);
        match begun {
            Ok((pid, outputs)) => Ok(Running {
                pid,
                bare,
                started_ms,
                killed: None,
                note: None,
                group,
                outputs,
                ended: None,
            }),
            Err(fault) => {
                self.leave(group);
                Err(fault)
            }
        }
    }

    /// Starts the process of a job, with its outputs.
    fn begin(
        &mut self,
        start: &Start,
        bare: bool,
        group: Option<&Group>,
    ) -> Result<(i32, Vec<u64>), Fault> {
        let ends = self.outputs.open(start)?;
        let outputs = ends.outputs.clone();
        let begun = match bare {
            true => child::run(start, &self.parent, &ends, group),
            false => self.attend(start, ends, group),
        };
        if begun.is_err() {
            self.outputs.finish(&outputs);
        }
        begun.map(|pid| (pid, outputs))
    }

    /// The group of a job whose memory is limited.
    fn group(&mut self, start: &Start) -> Result<Option<Group>, Fault> {
        let Some(bytes) = start.limits.memory_bytes else { return Ok(None) };
        let groups = match &mut self.groups {
            Ok(groups) => groups,
            Err(why) => {
                let message = format!("cannot limit memory: {why}");
                return Err(Fault { reason: Reason::Limit, message });
            }
        };
        let made = groups.make(bytes);
        made.map(Some).blame(Reason::Limit, || "cannot limit memory".into())
    }

    fn leave(&mut self, group: Option<Watch>) {
        if let (Some(group), Ok(groups)) = (group, &mut self.groups) {
            groups.remove(group.path);
        }
    }

    /// Starts a job in namespaces of its own.
    fn attend(&self, start: &Start, ends: Ends, group: Option<&Group>) -> Result<i32, Fault> {
        match self.enter()? {
            None => child::attend(start, &self.parent, ends, group),
            Some(pid) => Ok(pid),
        }
    }

    /// A new process in new namespaces. `None` in there.
    fn enter(&self) -> Result<Option<i32>, Fault> {
        let namespaces = isolate::namespaces(self.parent.user);
        sys::fork(namespaces).blame(Reason::Namespace, || "cannot make namespaces".into())
    }

    /// Signals a job's tree; the last report if it has ended.
    pub fn kill(&mut self, id: &str, signal: i32) -> Option<Report> {
        let job = self.known.get_mut(id)?;
        let Job::Running(running) = job else { return Some(job.report(id)) };
        if running.ended.is_some() {
            return None;
        }
        let pid = running.pid;
        // A namespace's first process passes signals on.
        let sent = sys::kill(if running.bare { -pid } else { pid }, signal);
        if sent.is_ok() && signal != 0 {
            running.killed = Some(signal);
        }
        if running.bare {
            self.signal_strays(signal, |attempt| attempt == Some(id));
        }
        None
    }

    /// Drops an ended job.
    pub fn forget(&mut self, id: &str) {
        if matches!(self.known.get(id), Some(Job::Ended(_))) {
            self.known.remove(id);
        }
    }

    /// The last report of every known job.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        self.known.iter().map(|(id, job)| job.report(id))
    }

    /// Reaps every child that has ended, and kills what it left.
    pub fn reap(&mut self, mut tell: impl FnMut(Report)) -> io::Result<()> {
        let mut sweep = false;
        while let Some(pid) = sys::ended_child() {
            let id = self.running.remove(&pid);
            let running = id.as_ref().and_then(|id| self.known.get(id));
            let bare = !matches!(running, Some(Job::Running(Running { bare: false, .. })));
            if bare && id.is_some() {
                // Before it is reaped, when the group's number may be another's. An empty group
                // is an error, and the usual case.
                let _ = sys::kill(-pid, libc::SIGKILL);
            }
            // An orphan that ended may have left orphans of its own.
            sweep |= bare;
            let reaped = sys::reap(pid)?;
            self.take_notes()?;
            if let Some(id) = id {
                self.end(&id, &reaped);
                self.settle(id, &mut tell);
            } else if let Some(id) = self.outputs.ended(pid, reaped.status)? {
                self.settle(id, &mut tell);
            }
        }
        if sweep {
            self.sweep();
        }
        if let Ok(groups) = &mut self.groups {
            groups.tidy_again();
        }
        Ok(())
    }

    fn end(&mut self, id: &str, reaped: &sys::Reaped) {
        let Some(Job::Running(running)) = self.known.get_mut(id) else { return };
        let report = match running.note.take() {
            Some(Note::Refused { fault, .. }) => fault.report(id.to_owned()),
            note => Report::Exited { id: id.to_owned(), exit: running.exit(reaped, note) },
        };
        running.ended = Some(report);
    }

    /// Tells of a job that has ended, once its logs are complete.
    fn settle(&mut self, id: String, tell: &mut impl FnMut(Report)) {
        let Some(Job::Running(running)) = self.known.get_mut(&id) else { return };
        if running.ended.is_none() {
            return;
        }
        let Some(lost) = self.outputs.finish(&running.outputs) else { return };
        let Some(mut report) = running.ended.take() else { return };
        if let Report::Exited { exit, .. } = &mut report {
            exit.lost_output = lost;
        }
        let group = running.group.take();
        tell(report.clone());
        self.known.insert(id, Job::Ended(report));
        self.leave(group);
    }

    /// Puts the notes that have come to their jobs.
    pub fn take_notes(&mut self) -> io::Result<()> {
        let notes = self.notes.drain()?;
        self.keep(notes);
        Ok(())
    }

    fn keep(&mut self, notes: Vec<Note>) {
        for note in notes {
            if let Some(Job::Running(running)) = self.known.get_mut(note.id()) {
                running.note = Some(note);
            }
        }
    }

    /// Builds the isolation of `start`, which is no job, in a process that then ends.
    pub fn rehearse(&mut self, start: &Start) -> io::Result<Result<(), Fault>> {
        let pid = match self.enter() {
            Ok(None) => child::rehearse(start, &self.parent),
            Ok(Some(pid)) => pid,
            Err(fault) => return Ok(Err(fault)),
        };
        sys::reap(pid)?;
        let notes = self.notes.drain()?;
        let (own, others) = notes.into_iter().partition(|note| note.id() == start.id);
        self.keep(others);
        Ok(own.into_iter().find_map(Note::fault).map_or(Ok(()), Err))
    }

    /// Kills orphans whose job has ended. One without a marker goes when no job is left that it
    /// could belong to.
    fn sweep(&self) {
        let runs = |id: &str| matches!(self.known.get(id), Some(Job::Running(_)));
        let alone = self.running.is_empty();
        self.signal_strays(libc::SIGKILL, |attempt| attempt.map_or(alone, |id| !runs(id)));
    }

    fn signal_strays(&self, signal: i32, condition: impl Fn(Option<&str>) -> bool) {
        for pid in self.children.pids() {
            if !self.running.contains_key(&pid)
                && !self.outputs.is_mover(pid)
                && condition(Environment::of(pid).value(strays::ATTEMPT))
            {
                // Its id cannot be reused before we reap it, but it may have ended by itself.
                let _ = sys::kill(pid, signal);
            }
        }
    }
}

impl Job {
    fn report(&self, id: &str) -> Report {
        match self {
            Self::Running(running) => Report::Started {
                id: id.to_owned(),
                pid: running.pid.unsigned_abs(),
                at_ms: running.started_ms,
            },
            Self::Ended(report) => report.clone(),
        }
    }
}

impl Running {
    fn exit(&self, reaped: &sys::Reaped, note: Option<Note>) -> Exit {
        let signalled = libc::WIFSIGNALED(reaped.status);
        let (status, known) = match note {
            Some(Note::Signalled { signal, .. }) => (Status::Signal(signal), true),
            _ if signalled => (Status::Signal(libc::WTERMSIG(reaped.status)), self.bare),
            _ => (Status::Code(libc::WEXITSTATUS(reaped.status)), true),
        };
        Exit {
            status,
            started_ms: self.started_ms,
            ended_ms: now_ms(),
            utime_us: micros(reaped.usage.ru_utime),
            stime_us: micros(reaped.usage.ru_stime),
            max_rss_bytes: reaped.usage.ru_maxrss.unsigned_abs() * 1024,
            killed: self.killed,
            out_of_memory: self.group.as_ref().is_some_and(Watch::has_killed),
            unwatched: !known && self.killed.is_none(),
            lost_output: None,
        }
    }
}

fn micros(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs()
}

/// Unix time in milliseconds.
fn now_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
