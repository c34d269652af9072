//! Stop, terminate, suspend, resume, and values from outside.

use argosy_model::attempt::Kill;
use argosy_model::graph::OutputFrom;
use argosy_model::{Event, Kind, Phase, Shutdown, StepKey};

use super::Supplied;
use super::call::shutdown_text;
use super::turn::Turn;

impl Turn<'_> {
    pub(super) fn on_shutdown(&mut self, how: Shutdown, message: String) {
        if self.run.shutdown == Some(Shutdown::Terminate) || self.run.shutdown == Some(how) {
            return;
        }
        self.emit(Event::ShutdownOrdered { how, message });
        if self.run.steps.is_empty() {
            return self.end_unstarted();
        }
        self.end_all(Kill::Shutdown, &shutdown_text(how), how == Shutdown::Stop);
    }

    /// Ends a run that never began, as it was accepted suspended or waits for its locks: its root
    /// is refused.
    pub(super) fn end_unstarted(&mut self) {
        self.emit(Event::RunResumed);
        self.begin();
    }

    /// Ends everything that is alive, but for exit handlers where they are spared.
    pub(super) fn end_all(&mut self, why: Kill, message: &str, spare_exit: bool) {
        let keys: Vec<StepKey> = (0u32..).map(StepKey).take(self.run.steps.len()).collect();
        for key in keys {
            let step = self.run.at(key);
            if step.phase.is_terminal() || (spare_exit && self.run.is_exit_work(key)) {
                continue;
            }
            let (kind, unopened) =
                (step.kind, step.phase == Phase::Waiting && step.attempts.is_empty());
            if kind == Kind::Suspend || unopened {
                self.end(key, Phase::Failed, Some(message.to_owned()), None);
            } else if kind.has_attempts() {
                self.kill_leaf(key, why);
            } else if kind == Kind::Retry && self.waits_for_try(key) {
                self.end(key, Phase::Failed, Some(message.to_owned()), None);
            }
        }
        for frame in self.run.frames.values_mut() {
            frame.gated.clear();
        }
    }

    fn waits_for_try(&self, key: StepKey) -> bool {
        let children = self.run.children(key).iter();
        children.into_iter().all(|child| self.run.at(*child).phase.is_terminal())
    }

    pub(super) fn on_suspend(&mut self) {
        if !self.run.suspended && self.run.shutdown.is_none() {
            self.emit(Event::RunSuspended);
        }
    }

    /// Lets the run and its suspended steps, or only the named steps, go on.
    pub(super) fn on_resume(&mut self, steps: &[StepKey]) {
        if steps.is_empty() && self.run.suspended {
            self.emit(Event::RunResumed);
            if self.run.steps.is_empty() {
                return self.begin();
            }
        }
        let keys: Vec<StepKey> = (0u32..).map(StepKey).take(self.run.steps.len()).collect();
        for key in keys {
            let step = self.run.at(key);
            let waits = step.kind == Kind::Suspend && step.phase == Phase::Running;
            if waits && (steps.is_empty() || steps.contains(&key)) {
                self.end_suspend(key);
            }
        }
    }

    pub(super) fn on_supply(&mut self, supplied: Supplied) {
        let waits = self
            .run
            .step(supplied.step)
            .is_some_and(|step| step.kind == Kind::Suspend && step.phase == Phase::Running);
        if waits {
            let Supplied { step, parameters } = supplied;
            self.emit(Event::OutputsSupplied { step, parameters });
        }
    }

    /// A suspended step goes on: with what was supplied, or with the defaults of what was not.
    pub(super) fn end_suspend(&mut self, key: StepKey) {
        let supplied = self.run.at(key).outputs.as_deref().cloned().unwrap_or_default();
        let missing = self.run.template_of(key).and_then(|template| {
            template.outputs.parameters.iter().find(|output| {
                output.from == OutputFrom::Supplied
                    && output.default.is_none()
                    && supplied.parameter(&output.name).is_none()
            })
        });
        if let Some(missing) = missing {
            let text = format!(
                "raw output parameter '{}' has not been set and does not have a default value",
                missing.name
            );
            return self.end(key, Phase::Failed, Some(text), None);
        }
        match self.leaf_outputs(key, supplied, true) {
            Ok(mut outputs) => {
                self.fill_defaults(key, &mut outputs);
                self.end(key, Phase::Succeeded, None, Some(outputs));
            }
            Err(text) => self.end(key, Phase::Error, Some(text), None),
        }
    }

    fn fill_defaults(&self, key: StepKey, outputs: &mut argosy_model::Outputs) {
        let Some(template) = self.run.template_of(key) else { return };
        for declared in &template.outputs.parameters {
            if let (None, Some(default)) = (outputs.parameter(&declared.name), &declared.default) {
                outputs.parameters.push((declared.name.as_str().into(), default.clone().into()));
            }
        }
    }
}
