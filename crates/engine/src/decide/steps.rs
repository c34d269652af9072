//! Groups of calls, one group after the other
//! (argo-workflows `workflow/controller/steps.go`).

use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::graph::{Body, Call};
use argosy_model::{Event, Kind, Phase, Role, StepKey};

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
        let group = self.add(owner, Role::Group(index), Kind::Group, StepSeed::NO_TEMPLATE, None);
        self.emit(Event::StepStarted { step: group });
        for (at, call) in (0u32..).zip(calls) {
            self.make_call(group, Role::Call(at), call, None);
        }
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

    /// A call of a group has settled.
    pub(super) fn advance_group(&mut self, group: StepKey) {
        let Some(frame) = self.run.frames.get(&group) else { return };
        if frame.open > 0 {
            if self.fails_fast(self.run.at(group).parent)
                && let Some(message) = self.group_failure(group)
            {
                self.drop_gated(self.run.at(group).parent, &message);
            }
            return;
        }
        match self.group_failure(group) {
            Some(message) => self.end(group, Phase::Failed, Some(message), None),
            None => self.end(group, Phase::Succeeded, None, None),
        }
    }

    pub(super) fn fails_fast(&self, owner: StepKey) -> bool {
        self.run.template_of(owner).is_some_and(|template| template.fail_fast == Some(true))
    }

    /// The message of a group in which a call failed that nothing continues on.
    fn group_failure(&self, group: StepKey) -> Option<String> {
        self.run.children(group).iter().find_map(|key| {
            let failed = self.run.at(*key).phase.is_failure() && !self.continues_on(*key);
            failed.then(|| child_failed(self.run, *key))
        })
    }

    /// Whether the call that made a step says that its parent goes on after such an end.
    pub(super) fn continues_on(&self, key: StepKey) -> bool {
        let Some(call) = self.run.call_of(key) else { return false };
        match self.run.at(key).phase {
            Phase::Failed => call.continue_on_failed,
            Phase::Error => call.continue_on_error,
            _ => false,
        }
    }

    /// Calls that wait for the template's parallelism are not made any more.
    pub(super) fn drop_gated(&mut self, owner: StepKey, message: &str) {
        let Some(frame) = self.run.frames.get_mut(&owner) else { return };
        for key in std::mem::take(&mut frame.gated) {
            self.end(key, Phase::Omitted, Some(format!("not started: {message}")), None);
        }
    }
}

fn groups(spec: &argosy_model::RunSpec, template: u32) -> Option<&Vec<Vec<Call>>> {
    let argosy_model::run::Plan::Graph(graph) = &spec.plan else { return None };
    match &graph.templates.get(template as usize)?.body {
        Body::Steps(groups) => Some(groups),
        _ => None,
    }
}

/// `child 'id' failed`, the id as Argo's clients compute it.
pub(super) fn child_failed(run: &crate::Run, key: StepKey) -> String {
    let id = names::node_id(&run.spec.name, &names::full_name(run, key));
    format!("child '{id}' failed")
}
