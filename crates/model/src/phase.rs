//! What a run, a step and an attempt can be in, and which moves are allowed.

use serde::{Deserialize, Serialize};

/// The phase of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// It exists and waits: for a place under a parallelism limit, or for its first attempt.
    Waiting,
    /// It runs, or something below it does.
    Running,
    /// It ended as it should.
    Succeeded,
    /// Its work failed.
    Failed,
    /// It could not be carried out: staging, evaluation or infrastructure failed.
    Error,
    /// Its condition was false.
    Skipped,
    /// What it depends on ended in another way than it asked for.
    Omitted,
}

impl Phase {
    /// Whether nothing more can happen to the step.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Phase::Waiting | Phase::Running)
    }

    /// The word for it, as tags and doors spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Waiting => "Pending",
            Phase::Running => "Running",
            Phase::Succeeded => "Succeeded",
            Phase::Failed => "Failed",
            Phase::Error => "Error",
            Phase::Skipped => "Skipped",
            Phase::Omitted => "Omitted",
        }
    }

    /// Failed or Error.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Phase::Failed | Phase::Error)
    }

    /// Whether an event may move a step from `self` to `to`.
    #[must_use]
    pub fn may_become(self, to: Phase) -> bool {
        match self {
            Phase::Waiting => to != Phase::Waiting,
            Phase::Running => to.is_terminal() && to != Phase::Omitted,
            _ => false,
        }
    }
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RunPhase {
    /// Accepted and not ended.
    Running,
    /// Ended as it should.
    Succeeded,
    /// Ended with failed work, or stopped.
    Failed,
    /// Could not be carried out.
    Error,
}

impl RunPhase {
    /// Whether the run has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self != RunPhase::Running
    }

    /// The word for it, as every door spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RunPhase::Running => "Running",
            RunPhase::Succeeded => "Succeeded",
            RunPhase::Failed => "Failed",
            RunPhase::Error => "Error",
        }
    }

    /// The inverse of [`RunPhase::as_str`].
    #[must_use]
    pub fn parse(text: &str) -> Option<RunPhase> {
        [RunPhase::Running, RunPhase::Succeeded, RunPhase::Failed, RunPhase::Error]
            .into_iter()
            .find(|phase| phase.as_str() == text)
    }
}

/// How a run was told to end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shutdown {
    /// Nothing new starts but exit handlers; what runs is ended.
    Stop,
    /// Everything is ended, exit handlers too.
    Terminate,
}

/// What a step is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// One process tree, from a template of the graph.
    Process,
    /// One process tree, from a task that was submitted or asked for on its own.
    Task,
    /// Groups of calls, one group after the other.
    Steps,
    /// One group of a [`Kind::Steps`].
    Group,
    /// Calls in the order of their dependencies.
    Dag,
    /// One call made once for each item.
    FanOut,
    /// Tries of a step that is not a process.
    Retry,
    /// It waits for somebody, or for a time to pass.
    Suspend,
    /// Several processes that share one place.
    ContainerSet,
    /// One process of a [`Kind::ContainerSet`].
    Container,
    /// It never became anything: skipped, omitted, or refused before its kind was known.
    Nothing,
}

impl Kind {
    /// Whether attempts (and so jobs) belong to steps of this kind.
    #[must_use]
    pub fn has_attempts(self) -> bool {
        matches!(self, Kind::Process | Kind::Task | Kind::ContainerSet)
    }
}

/// How a step came to be under its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The run's root.
    Root,
    /// The run's exit handler.
    Exit,
    /// A hook of the run, by its position in the graph.
    RunHook(u32),
    /// Group `n` of a `Steps` parent.
    Group(u32),
    /// Call `n` of the parent (a group or a DAG).
    Call(u32),
    /// Item `n` of a fan-out.
    Item(u32),
    /// Try `n` of a retry.
    Try(u32),
    /// Hook `n` of the call that made the parent.
    Hook(u32),
    /// Container `n` of a container set.
    Container(u32),
    /// Child `n` that a running task asked for.
    Child(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Phase; 7] = [
        Phase::Waiting,
        Phase::Running,
        Phase::Succeeded,
        Phase::Failed,
        Phase::Error,
        Phase::Skipped,
        Phase::Omitted,
    ];

    #[test]
    fn nothing_leaves_a_terminal_phase() {
        for from in ALL.into_iter().filter(|phase| phase.is_terminal()) {
            assert!(ALL.into_iter().all(|to| !from.may_become(to)), "{from:?}");
        }
    }

    #[test]
    fn a_running_step_is_never_omitted() {
        assert!(!Phase::Running.may_become(Phase::Omitted));
        assert!(Phase::Waiting.may_become(Phase::Omitted));
    }
}
