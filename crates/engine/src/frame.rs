//! What a step's children look like from above: an index, derived and never written.

use std::collections::{BTreeSet, VecDeque};

use argosy_model::{Phase, StepKey};

/// The children of one step.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// All of them, hooks included, in the order in which they came to be.
    pub children: Vec<StepKey>,
    /// Those that are not settled: not ended, or with hooks that are not.
    pub(crate) open: usize,
    /// Calls of this template that have been opened and are not settled, where the template
    /// bounds how many may be.
    pub(crate) alive: BTreeSet<StepKey>,
    /// Calls that wait for that bound, in order.
    pub(crate) gated: VecDeque<StepKey>,
    /// For a DAG: which task has a step, by position.
    pub(crate) by_call: Vec<Option<StepKey>>,
    /// For a DAG: how many of a task's dependencies are not settled, by position.
    pub(crate) unmet: Vec<u32>,
    /// For a DAG: the end that a settled task's branch passes on, by position.
    pub(crate) branch: Vec<Option<Phase>>,
    /// For a DAG: which tasks are wanted for the targets, by position.
    pub(crate) wanted: Vec<bool>,
    /// For a DAG: positions of the targets.
    pub(crate) targets: Vec<u32>,
    /// For a DAG: the first failure of a target that nothing continues on.
    pub(crate) broken: Option<Phase>,
    /// Hooks that were made for this step.
    pub(crate) hooks: Vec<StepKey>,
    /// Hooks that are not settled.
    pub(crate) open_hooks: usize,
}
