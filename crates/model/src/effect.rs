//! Orders. An effect is carried out only once the events of the same turn are durable, and doing
//! it twice is the same as doing it once.

use crate::attempt::Kill;
use crate::id::{AttemptId, RunId, StepKey};
use crate::resources::Resources;

/// What the world is asked to do for a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Give the scheduler a job.
    Enqueue(Box<Job>),
    /// Take a job out of the queue, or give its place back.
    Withdraw(AttemptId),
    /// Start a placed attempt. Its process is rendered from the run by whoever carries this out.
    Start(AttemptId),
    /// End a placed or running attempt.
    Kill(AttemptId, Kill),
    /// Come back with `Wake` at this time (Unix ms), or earlier.
    WakeAt(RunId, i64),
    /// Give a step (or, with no step, the run) its locks once they are free, and come back with
    /// `LocksGiven`; tell it before if it has to wait.
    Acquire(RunId, StepKey),
    /// Take the locks of a step or a run back, or out of the queue.
    Release(RunId, StepKey),
    /// Look the outputs of a step up, and come back with `Recalled`.
    Recall {
        /// The run.
        run: RunId,
        /// The step.
        step: StepKey,
        /// The cache, within the space.
        cache: String,
        /// The key in it.
        key: String,
    },
    /// Keep the outputs of a step under the cache and key where they had been looked up.
    Remember(RunId, StepKey),
    /// The run has ended: fold it into the archive.
    Archive(RunId),
}

/// What the scheduler places: one per attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The attempt.
    pub attempt: AttemptId,
    /// What it needs.
    pub resources: Resources,
    /// Unix ms before which it must not be placed; 0 for none.
    pub not_before_ms: i64,
    /// Higher goes first.
    pub priority: i32,
    /// The gang that it belongs to, with the number of members.
    pub gang: Option<Gang>,
}

/// Jobs that start all together or not at all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Gang {
    /// Unique among live gangs.
    pub id: String,
    /// How many members it has.
    pub size: u32,
}
