//! The dynamic planner: a running task asks for children, one at a time. And labels that a graph
//! sets at its start.

use argosy_model::graph::Graph;
use argosy_model::{AttemptId, Event, Kind, Phase, Role, StepKey, TaskSpec};

use super::bind::eval;
use super::turn::{Turn, Work};

impl Turn<'_> {
    /// A child for the task whose attempt asks. Asking twice for the same name is asking once.
    pub(super) fn on_child(&mut self, parent: AttemptId, task: Box<TaskSpec>) {
        if !self.run.is_current(parent) || self.run.at(parent.step).kind != Kind::Task {
            return;
        }
        let key = parent.step;
        let frame = self.run.frames.get(key);
        let known = frame.is_some_and(|frame| frame.names.contains_key(task.name.as_str()));
        if known || !self.may_add(1) {
            return;
        }
        let number = u32::try_from(self.run.children(key).len()).unwrap_or(u32::MAX);
        let at = u32::try_from(self.run.tasks.len()).unwrap_or(u32::MAX);
        self.emit(Event::TaskAdded(task));
        let child = self.add(key, Role::Child(number), Kind::Task, at, None);
        self.then(Work::Open(child));
    }

    /// A task is over: children that it left behind are not needed any more.
    pub(super) fn end_children(&mut self, key: StepKey) {
        let open = self.run.frames.get(key).is_some_and(|frame| frame.open > 0);
        if self.run.at(key).kind == Kind::Task && open {
            self.run.deserted.insert(key, 0);
        }
    }

    /// Ends the next of the children that a task left behind.
    pub(super) fn desert(&mut self) -> bool {
        let Some((key, told)) = self.run.deserted.pop_first() else { return false };
        let Some(child) = self.run.children(key).get(told).copied() else { return true };
        self.run.deserted.insert(key, told + 1);
        self.spend(1);
        let step = self.run.at(child);
        if matches!(step.role, Role::Child(_)) && !step.phase.is_terminal() {
            self.abort(child);
        }
        true
    }

    fn abort(&mut self, key: StepKey) {
        if self.run.at(key).attempts.is_empty() {
            let text = "ended, as nothing needs it".to_owned();
            return self.end(key, Phase::Failed, Some(text), None);
        }
        self.kill_leaf(key, argosy_model::attempt::Kill::NotNeeded);
    }

    /// Labels whose values are expressions (argo-workflows `workflowMetadata.labelsFrom`).
    pub(super) fn set_labels(&mut self, graph: &Graph) {
        let mut labels = Vec::new();
        for (name, source) in &graph.labels_from {
            if let Ok(value) = eval(&self.view(StepKey::NONE), source) {
                labels.push((name.clone(), crate::names::plain(&value)));
            }
        }
        if !labels.is_empty() {
            self.emit(Event::LabelsSet(labels));
        }
    }
}
