//! The words of Argosy as types: ids, resources, values, specs, phases, events, effects,
//! error codes and limits.
//!
//! Pure: nothing here knows of a clock, a file or a socket, and nothing here decides. Every type
//! that is written to the event log lives in this crate, so that one place answers "what is in a
//! data directory?".

pub mod artifact;
pub mod attempt;
pub mod diagnostic;
pub mod effect;
pub mod event;
pub mod graph;
pub mod id;
pub mod item;
pub mod limits;
pub mod phase;
pub mod process;
pub mod record;
pub mod resources;
pub mod run;

pub use artifact::{Archive, Artifact, Keep, Location};
pub use attempt::{Attempt, AttemptPhase, End, Exit, Usage};
pub use diagnostic::{Code, Diagnostic, Place};
pub use effect::Effect;
pub use event::{Cause, Event, StepSeed};
pub use graph::Graph;
pub use id::{AttemptId, RunId, StepKey};
pub use item::Item;
pub use phase::{Kind, Phase, Role, RunPhase, Shutdown};
pub use process::ProcessSpec;
pub use record::{FORMAT_VERSION, Record, Turn};
pub use resources::Resources;
pub use run::{Holding, Inputs, Outputs, Recall, RunSpec, Step, TaskSpec};
