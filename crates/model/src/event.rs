//! Facts, in the past tense. A run is the fold of its events and of nothing else: what an
//! expression gave, which children were chosen, which machine was picked stand in them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attempt::{End, Kill};
use crate::graph::Lock;
use crate::id::StepKey;
use crate::item::Item;
use crate::phase::{Kind, Phase, Role, RunPhase, Shutdown};
use crate::run::{Inputs, Outputs, Recall, RunSpec, TaskSpec};

/// Who or what caused a turn, for the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// The principal.
    pub actor: String,
    /// The door that the request came through.
    pub door: String,
    /// The request's id.
    pub request: String,
}

/// A step to be, as an event carries it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSeed {
    /// The step that it is a part of.
    #[serde(rename = "p")]
    pub parent: StepKey,
    /// How it came to be there.
    #[serde(rename = "r")]
    pub role: Role,
    /// What it is made of.
    #[serde(rename = "k")]
    pub kind: Kind,
    /// The template (or task) that it carries out; `u32::MAX` for none.
    #[serde(rename = "t")]
    pub template: u32,
    /// Values of the template's inputs.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Box<Inputs>>,
}

impl StepSeed {
    /// "No template".
    pub const NO_TEMPLATE: u32 = u32::MAX;
}

/// A fact about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The run was accepted. Always the first.
    #[serde(rename = "submitted")]
    Submitted(Arc<RunSpec>),
    /// A step came to be, waiting. Its key is the number of steps before it.
    #[serde(rename = "step")]
    StepAdded(StepSeed),
    /// The items of a fan-out were determined.
    #[serde(rename = "items")]
    ItemsListed {
        /// The fan-out.
        step: StepKey,
        /// Its items, in order.
        items: Arc<Vec<Item>>,
    },
    /// A running task asked for a child; the step that carries it out follows.
    #[serde(rename = "task")]
    TaskAdded(Box<TaskSpec>),
    /// A step started: a composite opened, or a leaf got what it waited for.
    #[serde(rename = "started")]
    StepStarted {
        /// The step.
        step: StepKey,
    },
    /// Something must happen to a step at a time, if nothing else has.
    #[serde(rename = "deadline")]
    DeadlineSet {
        /// The step.
        step: StepKey,
        /// Unix ms; 0 takes the deadline back.
        deadline_ms: i64,
    },
    /// A step was told something that a person should read while it goes on.
    #[serde(rename = "message")]
    StepMessage {
        /// The step.
        step: StepKey,
        /// The text.
        message: Box<str>,
    },
    /// A step was given values from outside (a supplied parameter of a suspended step).
    #[serde(rename = "supplied")]
    OutputsSupplied {
        /// The step.
        step: StepKey,
        /// The values.
        parameters: Vec<(Box<str>, Value)>,
    },
    /// A step (or the run, where there is none) asked for locks. They are given back when it ends.
    #[serde(rename = "locks-asked")]
    LocksAsked {
        /// The step.
        step: StepKey,
        /// All that it needs at once.
        locks: Vec<Lock>,
    },
    /// It was told that it has to wait for them.
    #[serde(rename = "locks-awaited")]
    LocksAwaited {
        /// The step.
        step: StepKey,
        /// The first that is not free.
        lock: Lock,
        /// The same for a person.
        message: Box<str>,
    },
    /// It was given them.
    #[serde(rename = "locks-taken")]
    LocksTaken {
        /// The step.
        step: StepKey,
    },
    /// The outputs of a step were looked up before it ran.
    #[serde(rename = "recalled")]
    Recalled {
        /// The step.
        step: StepKey,
        /// Where, and whether they were there.
        recall: Box<Recall>,
    },
    /// A step ended.
    #[serde(rename = "ended")]
    StepEnded {
        /// The step.
        step: StepKey,
        /// How.
        phase: Phase,
        /// What a person should read about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Box<str>>,
        /// What it left behind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outputs: Option<Box<Outputs>>,
    },
    /// A new attempt was given to the scheduler. Its number is the number of attempts before it.
    #[serde(rename = "a-queued")]
    AttemptQueued {
        /// The step.
        step: StepKey,
        /// Unix ms before which it must not start; 0 for none.
        #[serde(default)]
        not_before_ms: i64,
    },
    /// The scheduler placed the last attempt.
    #[serde(rename = "a-placed")]
    AttemptPlaced {
        /// The step.
        step: StepKey,
        /// The machine, by its ordinal in the pool.
        machine: u32,
    },
    /// The last attempt's process runs.
    #[serde(rename = "a-started")]
    AttemptStarted {
        /// The step.
        step: StepKey,
        /// Unix ms, by the backend's clock.
        started_ms: i64,
    },
    /// The last attempt is to be ended.
    #[serde(rename = "a-kill")]
    AttemptKillOrdered {
        /// The step.
        step: StepKey,
        /// Why.
        why: Kill,
    },
    /// The last attempt is over.
    #[serde(rename = "a-ended")]
    AttemptEnded {
        /// The step.
        step: StepKey,
        /// Its end.
        end: Box<End>,
    },
    /// A parameter became global to the run.
    #[serde(rename = "global")]
    GlobalSet {
        /// Its name.
        name: Box<str>,
        /// Its value.
        value: Value,
    },
    /// An artifact became global to the run.
    #[serde(rename = "global-artifact")]
    GlobalArtifactSet {
        /// Its name.
        name: Box<str>,
        /// The artifact.
        artifact: Box<crate::artifact::Artifact>,
    },
    /// Labels of the run were changed (an empty value removes).
    #[serde(rename = "labels")]
    LabelsSet(Vec<(String, String)>),
    /// The run was suspended.
    #[serde(rename = "suspended")]
    RunSuspended,
    /// The run was resumed.
    #[serde(rename = "resumed")]
    RunResumed,
    /// The run was told to end early.
    #[serde(rename = "shutdown")]
    ShutdownOrdered {
        /// How.
        how: Shutdown,
        /// A text for the person who looks at it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// The run came to a limit that no run may pass: nothing more of it is made, and it ends.
    #[serde(rename = "given-up")]
    GivenUp {
        /// What a person should read about it; names the limit.
        message: String,
    },
    /// The time of the run's main part was over before it was.
    #[serde(rename = "deadline-passed")]
    DeadlinePassed,
    /// The main part of the run is over; exit handlers may follow.
    #[serde(rename = "main-ended")]
    MainEnded {
        /// How.
        phase: RunPhase,
        /// What a person should read about it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// The run ended. Always the last.
    #[serde(rename = "run-ended")]
    RunEnded {
        /// How.
        phase: RunPhase,
        /// What a person should read about it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
}
