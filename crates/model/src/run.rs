//! A run and its steps as plain data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::artifact::Artifact;
use crate::attempt::Attempt;
use crate::effect::Gang;
use crate::graph::{Graph, Lock, Retry};
use crate::id::StepKey;
use crate::phase::{Kind, Phase, Role};
use crate::process::ProcessSpec;

/// What was accepted to run, frozen at submit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Who owns it.
    pub space: String,
    /// Its name, unique in the space.
    pub name: String,
    /// Its UUID.
    pub uid: String,
    /// The door that it came through: `argo`, `flyte`, `armada`, `native`.
    pub door: String,
    /// Labels that it is listed by.
    #[serde(default)]
    pub labels: Vec<(String, String)>,
    /// The order among runs that compete; higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// The plan.
    pub plan: Plan,
    /// The document as the client sent it, for the door to show again.
    #[serde(default)]
    pub source: Value,
}

/// Who decides what runs next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Plan {
    /// A graph that is known beforehand.
    Graph(Box<Graph>),
    /// One task, which may ask for children while it runs.
    Task(Box<TaskSpec>),
}

/// A task on its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskSpec {
    /// Its name among its siblings.
    pub name: String,
    /// Its process.
    pub process: ProcessSpec,
    /// When and how often it is tried again.
    pub retry: Option<Retry>,
    /// The gang that it is a member of.
    pub gang: Option<Gang>,
    /// Ms that one attempt may run; 0 for no bound.
    pub timeout_ms: u64,
}

/// A step. Its key is its position in the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The step that it is a part of.
    #[serde(rename = "p")]
    pub parent: StepKey,
    /// How it came to be there.
    #[serde(rename = "r")]
    pub role: Role,
    /// What it is made of.
    #[serde(rename = "k")]
    pub kind: Kind,
    /// Where it is.
    #[serde(rename = "f")]
    pub phase: Phase,
    /// The template in the graph (or the task in the run's list) that it carries out.
    #[serde(rename = "t")]
    pub template: u32,
    /// Unix ms at which it came to be.
    #[serde(rename = "c")]
    pub created_ms: i64,
    /// Unix ms at which it left `Waiting`; 0 before.
    #[serde(rename = "s", default, skip_serializing_if = "is_zero")]
    pub started_ms: i64,
    /// Unix ms at which it ended; 0 before.
    #[serde(rename = "e", default, skip_serializing_if = "is_zero")]
    pub ended_ms: i64,
    /// Unix ms at which something must happen if nothing else has (deadline, suspension's end).
    #[serde(rename = "d", default, skip_serializing_if = "is_zero")]
    pub deadline_ms: i64,
    /// Values of its template's inputs.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Box<Inputs>>,
    /// What it left behind.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Box<Outputs>>,
    /// Its tries.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// What a person should read about it.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<str>>,
    /// Where its outputs were looked up before it ran.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<Box<Recall>>,
}

/// A place where the outputs of a step are kept for later ones, and whether they were there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recall {
    /// The cache, within the space.
    pub cache: String,
    /// The key in it.
    pub key: String,
    /// Whether outputs were there and taken.
    pub hit: bool,
}

/// Locks that a step or a run holds, or waits for. All of them or none are held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The locks, with final names.
    pub locks: Vec<Lock>,
    /// Whether they are held.
    pub taken: bool,
    /// The one that is not free, while they are waited for and that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<Lock>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(value: &i64) -> bool {
    *value == 0
}

/// Values of a template's inputs, in the order of their declaration. `None` is absent: the
/// producer was skipped, or it is optional and nobody gave it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// Parameters.
    #[serde(rename = "p", default, skip_serializing_if = "is_empty")]
    pub parameters: Box<[Option<Box<str>>]>,
    /// Artifacts.
    #[serde(rename = "a", default, skip_serializing_if = "is_empty")]
    pub artifacts: Box<[Option<Artifact>]>,
}

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

/// What a step left behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outputs {
    /// Standard output of the main process, without its last newline, where it was asked for.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<str>>,
    /// Exit code of the main process.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Parameters by name.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(Box<str>, Value)>,
    /// Artifacts by name.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<(Box<str>, Artifact)>,
}

impl Outputs {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Outputs::default()
    }

    /// The parameter of that name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters.iter().find(|(key, _)| &**key == name).map(|(_, value)| value)
    }

    /// The artifact of that name.
    #[must_use]
    pub fn artifact(&self, name: &str) -> Option<&Artifact> {
        self.artifacts.iter().find(|(key, _)| &**key == name).map(|(_, value)| value)
    }
}
