//! One try of a step: its phases, its times and the facts of its end.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::run::Outputs;

/// The phase of an attempt. Each is entered by one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AttemptPhase {
    /// It is the scheduler's: it waits for a machine, or for its backoff to pass.
    Queued,
    /// It has a machine and was ordered to start.
    Placed,
    /// Its process runs.
    Running,
    /// It is over, and its end is known.
    Ended,
}

/// How an attempt's process ended, as the kernel and the backend saw it. The cause is taken from
/// these facts, never guessed from an exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it, and we had not sent it.
    Signal(i32),
    /// We ended it, for the reason recorded in [`Attempt::kill`].
    Killed,
    /// The kernel ended it for want of memory.
    OutOfMemory,
    /// Its machine, or the process that watches over it, was lost.
    Lost,
    /// It was never started: placed and then cancelled.
    NotStarted,
    /// The backend could not start it: program, image, folder or input is not there.
    Refused,
    /// Its process ended well and its outputs could not be kept.
    OutputsLost,
}

impl Exit {
    /// Whether the fault is the infrastructure's and so not on the user's retry budget.
    #[must_use]
    pub fn is_infrastructure(&self) -> bool {
        matches!(self, Exit::Lost)
    }
}

/// Why we ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kill {
    /// Its step's time was over.
    Deadline,
    /// Its run's time was over.
    RunDeadline,
    /// Its run was stopped or terminated.
    Shutdown,
    /// What needed it has ended (a daemon, a member of a gang that broke).
    NotNeeded,
}

/// What the process used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// CPU time in user mode, microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_us: u64,
    /// Largest resident set of one process, bytes.
    pub max_rss_bytes: u64,
}

/// The end of an attempt, as its backend reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// How it ended.
    pub exit: Exit,
    /// What a person should read about it; empty when the exit says all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Result, parameters and artifacts that were kept.
    #[serde(default, skip_serializing_if = "Outputs::is_empty")]
    pub outputs: Outputs,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
    /// Unix ms at which its inputs were in place.
    #[serde(default)]
    pub staged_ms: i64,
    /// Unix ms at which the process started; 0 when it never did.
    #[serde(default)]
    pub started_ms: i64,
    /// Unix ms at which it ended.
    #[serde(default)]
    pub ended_ms: i64,
    /// Unix ms at which its outputs were kept.
    #[serde(default)]
    pub saved_ms: i64,
    /// The ends of its single processes, in the order of the spec, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ContainerEnd>,
}

/// The end of one of an attempt's processes. One that never started has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerEnd {
    /// The container.
    pub name: String,
    /// How it ended.
    pub exit: Exit,
    /// Unix ms at which it started.
    pub started_ms: i64,
    /// Unix ms at which it ended.
    pub ended_ms: i64,
}

impl End {
    /// An end with an exit and nothing else known.
    #[must_use]
    pub fn bare(exit: Exit) -> End {
        End {
            exit,
            message: String::new(),
            outputs: Outputs::default(),
            usage: Usage::default(),
            staged_ms: 0,
            started_ms: 0,
            ended_ms: 0,
            saved_ms: 0,
            containers: Vec::new(),
        }
    }

    /// The same with a message.
    #[must_use]
    pub fn with_message(exit: Exit, message: impl Into<String>) -> End {
        End { message: message.into(), ..End::bare(exit) }
    }

    /// The same for an error of ours, whose code stands before its text.
    #[must_use]
    pub fn with_error(exit: Exit, why: &Diagnostic) -> End {
        End::with_message(exit, why.line())
    }
}

/// An attempt, as a run keeps it. Its number is its position in the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Where it is.
    pub phase: AttemptPhase,
    /// Why we told its backend to end it, if we did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<Kill>,
    /// The machine, by its ordinal in the pool; meaningless while queued.
    #[serde(default)]
    pub machine: u32,
    /// Unix ms at which it was created.
    pub queued_ms: i64,
    /// Unix ms before which it must not start (backoff); 0 for none.
    #[serde(default)]
    pub not_before_ms: i64,
    /// Unix ms at which it was placed; 0 before.
    #[serde(default)]
    pub placed_ms: i64,
    /// Unix ms at which its process was reported to run; 0 before.
    #[serde(default)]
    pub started_ms: i64,
    /// Its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<End>>,
}

impl Attempt {
    /// A fresh one.
    #[must_use]
    pub fn queued(queued_ms: i64, not_before_ms: i64) -> Attempt {
        Attempt {
            phase: AttemptPhase::Queued,
            kill: None,
            machine: 0,
            queued_ms,
            not_before_ms,
            placed_ms: 0,
            started_ms: 0,
            end: None,
        }
    }

    /// Whether its end is on the infrastructure's budget.
    #[must_use]
    pub fn was_infrastructure(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.exit.is_infrastructure())
    }
}
