//! What a step's children look like from above: an index, derived and never written.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use argosy_model::{Phase, StepKey};

use crate::eager;

/// The frames of a run's steps, by key. A list that grows by moving pointers: a map that grows moves
/// all it holds at once, which takes longer than a turn may.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames(Vec<Option<Box<Frame>>>);

impl Frames {
    pub(crate) fn get(&self, key: StepKey) -> Option<&Frame> {
        self.0.get(key.index())?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, key: StepKey) -> Option<&mut Frame> {
        self.0.get_mut(key.index())?.as_deref_mut()
    }

    /// The frame of a step, made if there is none yet.
    pub(crate) fn of(&mut self, key: StepKey) -> &mut Frame {
        debug_assert!(!key.is_none(), "what is no step has no frame");
        if self.0.len() <= key.index() {
            self.0.resize_with(key.index() + 1, || None);
        }
        self.0[key.index()].get_or_insert_default()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The children of one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// All of them, hooks included, in the order in which they came to be.
    pub(crate) children: Vec<StepKey>,
    /// Those that are not settled: not ended, or with hooks that are not.
    pub(crate) open: usize,
    /// Calls that it makes, of which some may not be made yet.
    pub(crate) calls: Calls,
    /// The first child in order that failed and that nothing continues on.
    pub(crate) first_failed: Option<StepKey>,
    /// The last child in order that failed.
    pub(crate) last_failed: Option<StepKey>,
    /// Whether a failure keeps further children from starting.
    pub(crate) failed_fast: bool,
    /// Hooks that were made for this step.
    pub(crate) hooks: Vec<StepKey>,
    /// Hooks that are not settled.
    pub(crate) open_hooks: usize,
    /// For a template that bounds how many of its calls may be alive.
    pub(crate) gate: Option<Box<Gate>>,
    /// For a DAG.
    pub(crate) dag: Option<Box<DagFrame>>,
    /// For a task that asks for children: their names.
    pub(crate) names: BTreeMap<Box<str>, StepKey>,
}

/// Calls that a step makes: the items of a loop, the calls of a group, the tasks of a DAG.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    /// How many there are.
    pub(crate) total: usize,
    /// How many have been made.
    pub(crate) made: usize,
    /// How many steps each comes to at least.
    pub(crate) weight: u64,
}

impl Calls {
    /// Steps that those calls come to at least that are not made yet.
    pub(crate) fn reserved(&self) -> u64 {
        (self.total.saturating_sub(self.made) as u64).saturating_mul(self.weight)
    }
}

/// The bound on how many calls of a template may be alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    /// Those that have passed and are not settled.
    pub(crate) alive: BTreeSet<StepKey>,
    /// Those that wait, in order.
    pub(crate) waiting: VecDeque<StepKey>,
}

/// What a DAG knows of its tasks, by position.
#[derive(Clone, Debug, Default)]
pub(crate) struct DagFrame {
    /// Which task has a step.
    pub(crate) by_call: Vec<Option<StepKey>>,
    /// How many of a task's dependencies are not settled.
    pub(crate) unmet: Vec<u32>,
    /// For a task that may be ready before all that it needs has ended, what is known of that.
    pub(crate) eager: BTreeMap<u32, eager::State>,
    /// The end that a settled task's branch passes on.
    pub(crate) branch: Vec<Option<Phase>>,
    /// Which tasks are wanted for the targets and are neither made nor ready.
    pub(crate) waits: Vec<bool>,
    /// Which tasks are targets.
    pub(crate) is_target: Vec<bool>,
    /// Positions of the targets, in their order.
    pub(crate) targets: Vec<u32>,
    /// The first failure of a target that nothing continues on.
    pub(crate) broken: Option<Phase>,
    /// Tasks whose turn has come. By position, so that a run that was loaded goes on in the same
    /// order.
    pub(crate) ready: BinaryHeap<Reverse<u32>>,
}
