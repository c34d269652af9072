//! Groups of calls, one group after the other
//! (argo-workflows `workflow/controller/steps.go`).

use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::{Event, Kind, Phase, Role, StepKey};

use super::making::{group_calls, groups};
use super::turn::Turn;
use crate::names;

impl Turn<'_> {
    /// Opens group `index` of a steps step, or ends the step when there is none.
    pub(super) fn open_group(&mut self, owner: StepKey, index: u32) {
        let spec = Arc::clone(&self.run.spec);
        let Some(calls) = groups(&spec, self.run.at(owner).template)
            .and_then(|groups| groups.get(index as usize))
        else {
            return self.end_with_outputs(owner);
        };
        if !self.may_add(1 + calls.len() as u64) {
            return;
        }
        let group = self.add(owner, Role::Group(index), Kind::Group, StepSeed::NO_TEMPLATE, None);
        self.emit(Event::StepStarted { step: group });
        if !self.expect_calls(group, calls.len(), 1) {
            return;
        }
        if calls.is_empty() && self.is_spent() {
            return self.make_later(group);
        }
        self.make_now(group);
        if calls.is_empty() {
            self.end(group, Phase::Succeeded, None, None);
        }
    }

    /// A group has settled: the next one opens, unless it failed.
    pub(super) fn advance_steps(&mut self, owner: StepKey, group: StepKey) {
        let step = self.run.at(group);
        let Role::Group(index) = step.role else { return };
        if step.phase.is_failure() {
            let message = step.message.as_deref().map(str::to_owned);
            return self.end(owner, Phase::Failed, message, None);
        }
        self.open_group(owner, index + 1);
    }

    /// A call of a group has settled, or no further one is made.
    pub(super) fn advance_group(&mut self, group: StepKey) {
        let frame = self.run.frames.get(group);
        let Some(frame) = frame.filter(|frame| frame.open == 0) else { return };
        if frame.calls.made < frame.calls.total {
            return;
        }
        if let Some(child) = frame.first_failed {
            let text = child_failed(self.run, child);
            return self.end(group, Phase::Failed, Some(text), None);
        }
        let all = group_calls(self.run, &self.run.spec, group).map_or(0, <[_]>::len);
        match self.refusal(group, Role::Call(0)).filter(|_| frame.calls.made < all) {
            Some(text) => self.end(group, Phase::Failed, Some(text), None),
            None => self.end(group, Phase::Succeeded, None, None),
        }
    }
}

/// `child 'id' failed`, the id as Argo's clients compute it.
pub(super) fn child_failed(run: &crate::Run, key: StepKey) -> String {
    let id = names::node_id(&run.spec.name, &names::full_name(run, key));
    format!("child '{id}' failed")
}
