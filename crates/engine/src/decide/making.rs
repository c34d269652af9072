//! Calls that are made over several turns: items of loops, calls of groups, tasks of DAGs.
//!
//! A step with calls left over waits in `run.making`. The deepest goes first, so that what has been
//! begun is completed before more is begun, and in a loop of loops few are open at once.

use std::cmp::Reverse;
use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::graph::{Body, Call, Dag};
use argosy_model::run::Plan;
use argosy_model::{Kind, Phase, Role, RunSpec, StepKey};

use super::turn::{EVENT, Turn};
use crate::frame::Calls;

impl Turn<'_> {
    /// Says how many calls a step makes and how many steps each comes to at least. False when the
    /// run may not have so many.
    pub(super) fn expect_calls(&mut self, key: StepKey, total: usize, weight: u64) -> bool {
        let calls = Calls { total, made: 0, weight };
        let fits = self.may_add(calls.reserved());
        if fits {
            self.run.set_calls(key, calls);
        }
        fits
    }

    /// Makes calls of a step as far as the turn allows; the rest is made later.
    pub(super) fn make_now(&mut self, key: StepKey) {
        while !self.is_spent() && self.run.has_calls(key) && self.run.given_up.is_none() {
            self.make_next(key);
        }
        if self.run.has_calls(key) {
            self.make_later(key);
        }
    }

    /// Lets a step's calls be made once its turn has come.
    pub(super) fn make_later(&mut self, key: StepKey) {
        if self.run.given_up.is_none() {
            self.run.set_making(key, true);
        }
    }

    /// Makes one call of the deepest step that has some left.
    pub(super) fn make_more(&mut self) -> bool {
        if self.run.suspended && !self.run.is_ending() {
            return false;
        }
        let Some((_, key)) = self.run.making.first().copied() else { return false };
        if self.is_cut(key) {
            self.cut_calls(key);
        } else if self.run.has_calls(key) {
            self.make_next(key);
        }
        if !self.run.has_calls(key) {
            self.run.set_making(key, false);
            self.made_all(key);
        }
        true
    }

    /// Whether no further call of a step is made.
    fn is_cut(&self, key: StepKey) -> bool {
        match self.run.at(key).kind {
            Kind::FanOut => self.refusal(key, Role::Item(0)).is_some() || self.failed_fast(key),
            Kind::Group => self.refusal(key, Role::Call(0)).is_some(),
            _ => false,
        }
    }

    /// Leaves out the calls of a step that are not made yet.
    fn cut_calls(&mut self, key: StepKey) {
        let Some(calls) = self.run.frames.get(key).map(|frame| frame.calls) else { return };
        self.run.set_calls(key, Calls { total: calls.made, ..calls });
    }

    /// The same for a step that ends.
    pub(super) fn drop_calls(&mut self, key: StepKey) {
        if self.run.frames.get(key).is_some() {
            self.cut_calls(key);
            self.run.set_making(key, false);
        }
    }

    /// Ends a step that has nothing left to make, should nothing of it be open.
    fn made_all(&mut self, key: StepKey) {
        if self.run.at(key).phase.is_terminal() || self.run.given_up.is_some() {
            return;
        }
        match self.run.at(key).kind {
            Kind::FanOut => self.advance_fan_out(key),
            Kind::Group => self.advance_group(key),
            Kind::Dag => self.end_dag_when_over(key),
            _ => {}
        }
    }

    fn make_next(&mut self, key: StepKey) {
        let spec = Arc::clone(&self.run.spec);
        let kind = self.run.at(key).kind;
        if kind == Kind::Dag {
            return self.make_task(key, &spec);
        }
        let at = self.count_call(key);
        let role = u32::try_from(at).unwrap_or(u32::MAX);
        match kind {
            Kind::FanOut => {
                let Plan::Graph(graph) = &spec.plan else { return };
                let items = self.run.items.get(&key).map(Arc::clone);
                let item = items.as_deref().and_then(|items| items.get(at));
                if let (Some(call), Some(item)) = (self.run.call_in(graph, key), item) {
                    self.make_call(key, Role::Item(role), call, Some(item));
                }
            }
            _ => {
                if let Some(call) = group_calls(self.run, &spec, key).and_then(|c| c.get(at)) {
                    self.make_call(key, Role::Call(role), call, None);
                }
            }
        }
    }

    /// A call of a step is about to be made: its position. What was kept free for it is free.
    fn count_call(&mut self, key: StepKey) -> usize {
        let calls = self.run.frames.get(key).map(|frame| frame.calls).unwrap_or_default();
        self.run.set_calls(key, Calls { made: calls.made + 1, ..calls });
        calls.made
    }

    /// Starts or omits the first task of a DAG whose turn has come.
    fn make_task(&mut self, key: StepKey, spec: &RunSpec) {
        let frame = self.run.frames.get_mut(key).and_then(|frame| frame.dag.as_deref_mut());
        let Some(Reverse(task)) = frame.and_then(|dag| dag.ready.pop()) else { return };
        let call =
            dag_of(spec, self.run.at(key).template).and_then(|dag| dag.tasks.get(task as usize));
        let (Some(call), Some(met)) = (call, self.is_met(key, task)) else { return };
        self.count_call(key);
        if met {
            return self.make_call(key, Role::Call(task), call, None);
        }
        let text = "omitted: depends condition not met".to_owned();
        if self.may_add(1) {
            self.add_ended(key, Role::Call(task), StepSeed::NO_TEMPLATE, Phase::Omitted, text);
        }
    }

    /// Opens the first of the steps that an earlier turn could not open.
    pub(super) fn open_ready(&mut self) -> bool {
        if self.run.suspended {
            return false;
        }
        let Some(key) = self.run.ready.pop_first() else { return false };
        self.spend(EVENT / 2);
        self.open(key);
        true
    }

    /// Lets the first of those that wait for the run's parallelism go on.
    pub(super) fn admit(&mut self) -> bool {
        if self.run.suspended || !self.run.has_place() {
            return false;
        }
        let Some(key) = self.run.throttled.pop_front() else { return false };
        self.spend(EVENT / 2);
        self.open(key);
        true
    }
}

/// The DAG of a template.
pub(super) fn dag_of(spec: &RunSpec, template: u32) -> Option<&Dag> {
    let Plan::Graph(graph) = &spec.plan else { return None };
    match &graph.templates.get(template as usize)?.body {
        Body::Dag(dag) => Some(dag),
        _ => None,
    }
}

/// The groups of a template.
pub(super) fn groups(spec: &RunSpec, template: u32) -> Option<&Vec<Vec<Call>>> {
    let Plan::Graph(graph) = &spec.plan else { return None };
    match &graph.templates.get(template as usize)?.body {
        Body::Steps(groups) => Some(groups),
        _ => None,
    }
}

/// The calls of the group that a step carries out.
pub(crate) fn group_calls<'s>(
    run: &crate::Run,
    spec: &'s RunSpec,
    group: StepKey,
) -> Option<&'s [Call]> {
    let step = run.step(group)?;
    let Role::Group(index) = step.role else { return None };
    let owner = run.step(step.parent)?;
    groups(spec, owner.template)?.get(index as usize).map(Vec::as_slice)
}
