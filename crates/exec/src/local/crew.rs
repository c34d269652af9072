//! The processes of one attempt, while they run.

use super::fault::{cannot_start, lost, no_room, not_kept};
use super::jobs::{Change, Jobs, KILL, News, Outcome, TERM};
use argosy_model::{Diagnostic, End, Exit, Usage};
use argosy_spawn::{Start, Status};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Starts an attempt's processes and ends them together.
#[derive(Debug)]
pub struct Crew {
    jobs: Jobs,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    started: BTreeSet<String>,
    stopped: bool,
}

impl Crew {
    pub fn new(jobs: Jobs) -> Self {
        Self { jobs, state: Mutex::default() }
    }

    /// Starts a process, unless the attempt is being ended.
    pub fn start(&self, start: Start) -> Option<Running> {
        let mut state = self.state();
        if state.stopped {
            return None;
        }
        let id = start.id.clone();
        state.started.insert(id.clone());
        let changes = self.jobs.start(start);
        Some(Running { id, changes })
    }

    /// Starts no more, and asks all that run to end.
    pub fn stop(&self) {
        let mut state = self.state();
        state.stopped = true;
        state.started.iter().for_each(|id| self.ask(id));
    }

    /// Makes all end.
    pub fn kill_all(&self) {
        self.state().started.iter().for_each(|id| self.force(id));
    }

    /// Asks one to end.
    pub fn ask(&self, id: &str) {
        self.jobs.kill(id, TERM);
    }

    /// Makes one end.
    pub fn force(&self, id: &str) {
        self.jobs.kill(id, KILL);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process that has been ordered.
#[derive(Debug)]
pub struct Running {
    pub id: String,
    changes: mpsc::UnboundedReceiver<Change>,
}

impl Running {
    /// Waits for its end. `hear` hears what happens before.
    pub async fn end(&mut self, mut hear: impl FnMut(News)) -> Ended {
        loop {
            match self.changes.recv().await {
                Some(Change::News(news)) => hear(news),
                Some(Change::Ended(outcome)) => return Ended::from(outcome),
                // Nobody passes changes on any more: the backend itself ends.
                None => return Ended::lost(),
            }
        }
    }
}

/// How a process, or all of an attempt's, ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub exit: Exit,
    /// What is to be said of the process's own end.
    pub message: String,
    /// Why it is none of the process's own.
    pub why: Option<Diagnostic>,
    pub usage: Usage,
    pub started_ms: i64,
    pub ended_ms: i64,
}

impl Ended {
    pub fn of(exit: Exit) -> Self {
        let (message, why, usage) = (String::new(), None, Usage::default());
        Self { exit, message, why, usage, started_ms: 0, ended_ms: 0 }
    }

    pub fn refused(why: Diagnostic) -> Self {
        Self { why: Some(why), ..Self::of(Exit::Refused) }
    }

    pub fn lost() -> Self {
        Self { why: Some(lost()), ..Self::of(Exit::Lost) }
    }

    pub fn is_success(&self) -> bool {
        self.exit == Exit::Code(0)
    }

    /// The same, saying whose end it is.
    pub fn named(mut self, kind: &str, name: &str) -> Self {
        let what = match &self.exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("signal {signal}"),
            Exit::OutOfMemory => "out of memory".to_owned(),
            _ => std::mem::take(&mut self.message),
        };
        let whose = format!("{kind} {name}");
        self.why = self.why.map(|why| why.within(&whose));
        if !what.is_empty() {
            self.message = format!("{whose}: {what}");
        }
        self
    }

    /// As the backend reports it.
    pub fn end(self) -> End {
        let Self { exit, message, why, usage, started_ms, ended_ms } = self;
        let message = why.map_or(message, |why| why.line());
        End { usage, started_ms, ended_ms, ..End::with_message(exit, message) }
    }
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        let exit = match outcome {
            Outcome::Exited(exit) if exit.unwatched && !exit.out_of_memory => {
                return Self::lost();
            }
            Outcome::Exited(exit) => exit,
            Outcome::Refused(message) => return Self::refused(cannot_start(message)),
            Outcome::NoRoom(message) => {
                return Self { why: Some(no_room(message)), ..Self::of(Exit::Lost) };
            }
            Outcome::Lost => return Self::lost(),
        };
        let mut ended = Self {
            exit: match (exit.killed, exit.status) {
                (Some(_), _) => Exit::Killed,
                (None, Status::Code(0)) if exit.lost_output.is_some() => Exit::OutputsLost,
                // A program may get over the loss of a child.
                (None, Status::Code(0)) => Exit::Code(0),
                (None, _) if exit.out_of_memory => Exit::OutOfMemory,
                (None, Status::Code(code)) => Exit::Code(code),
                (None, Status::Signal(signal)) => Exit::Signal(signal),
            },
            message: exit.lost_output.unwrap_or_default(),
            why: None,
            usage: Usage {
                user_us: exit.utime_us,
                system_us: exit.stime_us,
                max_rss_bytes: exit.max_rss_bytes,
            },
            started_ms: exit.started_ms.cast_signed(),
            ended_ms: exit.ended_ms.cast_signed(),
        };
        if ended.exit == Exit::OutputsLost {
            ended.why = Some(not_kept(std::mem::take(&mut ended.message)));
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: Status, lost_output: Option<&str>) -> Ended {
        let exit = argosy_spawn::Exit {
            status,
            started_ms: 0,
            ended_ms: 0,
            utime_us: 0,
            stime_us: 0,
            max_rss_bytes: 0,
            killed: None,
            out_of_memory: false,
            unwatched: false,
            lost_output: lost_output.map(str::to_owned),
        };
        Ended::from(Outcome::Exited(exit))
    }

    #[test]
    fn a_success_whose_output_is_lost_is_none() {
        assert_eq!(ended(Status::Code(0), None).exit, Exit::Code(0));
        let lost = ended(Status::Code(0), Some("disk full")).end();
        assert_eq!((lost.exit, &*lost.message), (Exit::OutputsLost, "[E0408] disk full"));
        let failed = ended(Status::Code(3), Some("disk full"));
        assert_eq!((failed.exit, &*failed.message), (Exit::Code(3), "disk full"));
    }
}
