//! What follows from something that happened.

mod bind;
mod call;
mod dag;
mod dynamic;
mod fanout;
mod hooks;
mod leaf;
mod limit;
mod locks;
mod making;
mod outputs;
mod pauses;
mod recall;
mod retry;
mod shutdown;
mod steps;
mod timers;
mod turn;

use std::sync::Arc;

use argosy_model::attempt::End;
use argosy_model::graph::Lock;
use argosy_model::{
    AttemptId, Diagnostic, Effect, Event, Outputs, Phase, RunId, Shutdown, StepKey, TaskSpec,
};
use serde_json::Value;

use crate::run::{Prepared, Run};
use turn::Turn;

pub(crate) use bind::render_text;
pub(crate) use call::shutdown_text;
pub(crate) use dag::resettle;
pub(crate) use leaf::job_of;
pub(crate) use limit::WITH_THE_RUN;
pub(crate) use making::group_calls;
pub(crate) use pauses::lacking;
pub use pauses::{is_suspended, refused};

/// Something that happened to a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The scheduler placed an attempt.
    Placed {
        /// The attempt.
        attempt: AttemptId,
        /// The machine, by its ordinal in the pool.
        machine: u32,
    },
    /// A backend started an attempt's process.
    Started {
        /// The attempt.
        attempt: AttemptId,
        /// Unix ms, by the backend's clock.
        at_ms: i64,
    },
    /// An attempt is over.
    Ended {
        /// The attempt.
        attempt: AttemptId,
        /// Its end.
        end: Box<End>,
    },
    /// A backend has something to say about an attempt while it goes on.
    Note {
        /// The attempt.
        attempt: AttemptId,
        /// The text.
        message: String,
    },
    /// A step (or, with no step, the run) has been given the locks that it asked for.
    LocksGiven {
        /// The step.
        step: StepKey,
    },
    /// It has to wait for them.
    LocksKept {
        /// The step.
        step: StepKey,
        /// The first that is not free.
        lock: Lock,
        /// The same for a person.
        message: String,
    },
    /// It cannot have them.
    LocksRefused {
        /// The step.
        step: StepKey,
        /// Why.
        why: Diagnostic,
    },
    /// The outputs of a step have been looked up.
    Recalled {
        /// The step.
        step: StepKey,
        /// Where, as the effect said it: cache and key.
        at: (String, String),
        /// What was there, with the time (Unix ms) at which it was kept.
        found: Option<(i64, Box<Outputs>)>,
    },
    /// Time has passed, or there is more of a long turn to do.
    Wake,
    /// Somebody ends the run early.
    Shutdown {
        /// How.
        how: Shutdown,
        /// A text for the person who looks at it.
        message: String,
    },
    /// Somebody keeps new steps from starting.
    Suspend,
    /// Somebody lets a suspended run, or these suspended steps, go on.
    Resume {
        /// The steps; empty for the run and all of its suspended steps.
        steps: Vec<StepKey>,
    },
    /// Somebody gives a suspended step the values that it waits for.
    Supply(Supplied),
    /// A running task asks for a child.
    Child {
        /// The attempt that asks.
        parent: AttemptId,
        /// What for.
        task: Box<TaskSpec>,
    },
    /// Labels are to be changed.
    Label(Vec<(String, String)>),
}

/// Values for a suspended step.
#[derive(Clone, Debug, PartialEq)]
pub struct Supplied {
    /// The step.
    pub step: StepKey,
    /// Parameters by name.
    pub parameters: Vec<(Box<str>, Value)>,
    /// How it is to end with them; `None` lets it wait on.
    pub phase: Option<Phase>,
    /// A text for the person who looks at it.
    pub message: String,
}

/// What a turn came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Facts, to be made durable together.
    pub events: Vec<Event>,
    /// Orders, to be carried out after that.
    pub effects: Vec<Effect>,
}

/// Accepts a run. The first event of the decision is `Submitted`.
#[must_use]
pub fn submit(id: RunId, prepared: impl Into<Prepared>, now_ms: i64) -> (Run, Decision) {
    let mut run = Run::new(id, prepared.into(), now_ms);
    let spec = Arc::clone(&run.spec);
    run.events = 1;
    let mut turn = Turn::new(&mut run, now_ms, true);
    turn.events.push(Event::Submitted(spec));
    turn.begin();
    let decision = turn.finish();
    (run, decision)
}

/// Takes a run one turn further. An input that no longer means anything (a late report of an old
/// attempt, a second stop) makes no event.
#[must_use]
pub fn decide(run: &mut Run, input: Input, now_ms: i64) -> Decision {
    let mut turn = Turn::new(run, now_ms, input == Input::Wake);
    if turn.run.phase.is_terminal() {
        return turn.on_ended_run(&input);
    }
    match input {
        Input::Placed { attempt, machine } => turn.on_placed(attempt, machine),
        Input::Started { attempt, at_ms } => turn.on_started(attempt, at_ms),
        Input::Ended { attempt, end } => turn.on_ended(attempt, end),
        Input::Note { attempt, message } => turn.on_note(attempt, &message),
        Input::LocksGiven { step } => turn.on_locks_given(step),
        Input::LocksKept { step, lock, message } => turn.on_locks_kept(step, lock, &message),
        Input::LocksRefused { step, why } => turn.on_locks_refused(step, &why),
        Input::Recalled { step, at, found } => turn.on_recalled(step, at, found),
        Input::Wake => turn.on_wake(),
        Input::Shutdown { how, message } => turn.on_shutdown(how, message),
        Input::Suspend => turn.on_suspend(),
        Input::Resume { steps } => turn.on_resume(&steps),
        Input::Supply(supplied) => turn.on_supply(supplied),
        Input::Child { parent, task } => turn.on_child(parent, task),
        Input::Label(labels) => turn.emit(Event::LabelsSet(labels)),
    }
    turn.finish()
}
