//! How the end of an attempt reads: to its step, to the next try, and to people.

use argosy_model::attempt::{End, Kill};
use argosy_model::{Attempt, Diagnostic, Exit, Phase, Shutdown, Step};
use serde_json::{Value, json};

use crate::decide::{WITH_THE_RUN, shutdown_text};
use crate::run::Run;

/// How an attempt's end reads as the end of its step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Succeeded, Failed or Error.
    pub phase: Phase,
    /// What a person should read about it; empty where it went well.
    pub message: String,
}

impl Outcome {
    /// The outcome of an attempt that has ended.
    #[must_use]
    pub fn of_attempt(attempt: &Attempt, run: &Run) -> Option<Outcome> {
        Some(Outcome::of(attempt.end.as_deref()?, attempt.kill, run))
    }

    /// Of a step that cannot be carried out, or whose end cannot be judged.
    pub(crate) fn refused(why: &Diagnostic) -> Outcome {
        Outcome { phase: Phase::Error, message: why.line() }
    }

    /// Phase and message of an end (argo-workflows `workflow/controller/operator.go`
    /// `inferFailedReason`): the process's own failure is Failed, everything around it is Error.
    pub(crate) fn of(end: &End, kill: Option<Kill>, run: &Run) -> Outcome {
        let of = |phase, message: String| Outcome { phase, message };
        let or = |text: String| {
            if end.message.is_empty() { text } else { format!("{text}: {}", end.message) }
        };
        if end.exit == Exit::Code(0) {
            return of(Phase::Succeeded, end.message.clone());
        }
        if let Some(kill) = kill {
            return of(Phase::Failed, killed(kill, run));
        }
        match end.exit {
            Exit::Code(code) => of(Phase::Failed, or(format!("main: Error (exit code {code})"))),
            Exit::Signal(signal) => of(
                Phase::Failed,
                or(format!(
                    "main: Error (exit code {}): ended by signal {signal}, which was not sent from here",
                    128 + signal
                )),
            ),
            Exit::OutOfMemory => of(Phase::Failed, or("OOMKilled (exit code 137)".to_owned())),
            Exit::Killed => of(Phase::Failed, or("ended".to_owned())),
            Exit::NotStarted => of(Phase::Failed, or("never started".to_owned())),
            Exit::Refused | Exit::OutputsLost | Exit::Lost => of(Phase::Error, end.message.clone()),
        }
    }
}

/// Why we ended an attempt, in words.
fn killed(kill: Kill, run: &Run) -> String {
    match (kill, &run.given_up) {
        (Kill::Deadline | Kill::RunDeadline, _) => "Step exceeded its deadline".to_owned(),
        (Kill::NotNeeded, _) => "ended, as nothing needs it".to_owned(),
        (Kill::Shutdown, Some(_)) => WITH_THE_RUN.to_owned(),
        (Kill::Shutdown, None) => shutdown_text(run.shutdown.unwrap_or(Shutdown::Terminate)),
    }
}

/// The last try, as the next one and the judgement about it see it.
pub(crate) struct Last {
    pub(crate) phase: Phase,
    pub(crate) message: String,
    pub(crate) exit_code: Option<i32>,
    /// How long it took.
    pub(crate) seconds: i64,
}

/// `retries` and `lastRetry.*`, by name.
pub(crate) type TryNames = [(&'static str, Value); 5];

impl Last {
    /// A try that is a step of its own.
    pub(crate) fn of_step(step: &Step) -> Last {
        Last {
            phase: step.phase,
            message: step.message.as_deref().unwrap_or_default().to_owned(),
            exit_code: step.outputs.as_deref().and_then(|outputs| outputs.exit_code),
            seconds: (step.ended_ms - step.started_ms).max(0) / 1000,
        }
    }

    /// What the judgement about it sees (argo-workflows `docs/retries.md`,
    /// `workflow/controller/operator.go` `buildRetryStrategyLocalScope`).
    pub(crate) fn names(&self, retries: u32) -> TryNames {
        self.names_or(retries, -1)
    }

    /// What the template of the next try sees: another number where there is no exit code
    /// (argo-workflows `workflow/controller/operator.go` `executeTemplate`).
    pub(crate) fn names_for_next(&self, retries: u32) -> TryNames {
        self.names_or(retries, 0)
    }

    fn names_or(&self, retries: u32, no_code: i32) -> TryNames {
        let code = self.exit_code.unwrap_or(no_code);
        names(retries, &code.to_string(), self.phase.as_str(), self.seconds, &self.message)
    }

    /// The same in the first try.
    pub(crate) fn no_names() -> TryNames {
        names(0, "0", "", 0, "")
    }
}

fn names(retries: u32, code: &str, status: &str, seconds: i64, message: &str) -> TryNames {
    [
        ("retries", json!(retries.to_string())),
        ("lastRetry.exitCode", json!(code)),
        ("lastRetry.status", json!(status)),
        ("lastRetry.duration", json!(seconds.to_string())),
        ("lastRetry.message", json!(message)),
    ]
}

/// How long an attempt's process ran; nothing, if it never did.
pub(crate) fn seconds(end: &End) -> i64 {
    if end.started_ms == 0 { 0 } else { (end.ended_ms - end.started_ms).max(0) / 1000 }
}

/// The exit code that a shell would give.
pub(crate) fn exit_code(exit: &Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(*code),
        Exit::Signal(signal) => Some(128 + signal),
        Exit::OutOfMemory => Some(137),
        Exit::Killed => Some(143),
        _ => None,
    }
}
