//! Which job goes on which machine, and why another one waits.
//!
//! Deterministic: integer resources, ordered collections, time as an argument. Absent from this
//! crate: clocks, randomness, floating point, and any knowledge of runs beyond the ids of their
//! attempts.

mod explain;
mod machine;
mod queue;

pub use explain::{Reason, Remedy};
pub use machine::{Machine, MachineSpec};
pub use queue::{Placement, Scheduler};
