//! Resume, and values from outside for steps that wait for them
//! (argo-workflows `workflow/util/util.go` `ResumeWorkflow`, `updateSuspendedNode`).

use argosy_model::graph::{OutputDecl, OutputFrom};
use argosy_model::{Event, Kind, Outputs, Phase, StepKey};
use serde_json::Value;

use super::turn::Turn;
use super::{Input, Supplied};
use crate::Run;

/// Why a run does not do what somebody outside asks of it. Nothing of it is done then.
#[must_use]
pub fn refused(run: &Run, input: &Input) -> Option<String> {
    if run.phase.is_terminal() {
        return None;
    }
    match input {
        Input::Resume { steps } => {
            let mut waiting = suspended(run, steps).peekable();
            if !steps.is_empty() && waiting.peek().is_none() {
                return Some("none of these steps is suspended".to_owned());
            }
            waiting.find_map(|key| missing(run, key, &[]))
        }
        Input::Supply(Supplied { step, parameters, phase, .. }) => {
            if !is_suspended(run, *step) {
                return Some("the step is not suspended".to_owned());
            }
            let refused = parameters.iter().find_map(|(name, _)| not_settable(run, *step, name));
            let ends_well = *phase == Some(Phase::Succeeded);
            refused.or_else(|| ends_well.then(|| missing(run, *step, parameters))?)
        }
        _ => None,
    }
}

/// Whether a step is a pause that goes on.
#[must_use]
pub fn is_suspended(run: &Run, key: StepKey) -> bool {
    let step = run.step(key);
    step.is_some_and(|step| step.kind == Kind::Suspend && step.phase == Phase::Running)
}

/// The suspended ones of these steps, or of all where none is named.
fn suspended<'r>(run: &'r Run, steps: &'r [StepKey]) -> impl Iterator<Item = StepKey> + 'r {
    let all = (0u32..).map(StepKey).take(if steps.is_empty() { run.steps.len() } else { 0 });
    steps.iter().copied().chain(all).filter(|key| is_suspended(run, *key))
}

fn declared(run: &Run, key: StepKey) -> &[OutputDecl] {
    run.template_of(key).map_or(&[], |template| &template.outputs.parameters)
}

fn supplied_so_far(run: &Run, key: StepKey, name: &str) -> bool {
    run.at(key).outputs.as_deref().is_some_and(|outputs| outputs.parameter(name).is_some())
}

/// Values that a step needs to go on, and that neither it nor `given` has.
pub(crate) fn lacking<'r>(
    run: &'r Run,
    key: StepKey,
    given: &'r [(Box<str>, Value)],
) -> impl Iterator<Item = &'r OutputDecl> {
    declared(run, key).iter().filter(move |output| {
        output.from == OutputFrom::Supplied
            && output.default.is_none()
            && !supplied_so_far(run, key, &output.name)
            && given.iter().all(|(name, _)| **name != *output.name)
    })
}

/// The first of them, as a person is told it.
fn missing(run: &Run, key: StepKey, given: &[(Box<str>, Value)]) -> Option<String> {
    let name = &lacking(run, key, given).next()?.name;
    Some(format!(
        "raw output parameter '{name}' has not been set and does not have a default value"
    ))
}

fn not_settable(run: &Run, key: StepKey, name: &str) -> Option<String> {
    let Some(output) = declared(run, key).iter().find(|output| output.name == name) else {
        return Some(format!("node is not expecting output parameter '{name}'"));
    };
    let settable = output.from == OutputFrom::Supplied && !supplied_so_far(run, key, name);
    (!settable).then(|| {
        format!(
            "cannot set output parameter '{name}' because it is not supplied or was already set"
        )
    })
}

impl Turn<'_> {
    /// Lets the run and its suspended steps, or only the named steps, go on.
    pub(super) fn on_resume(&mut self, steps: &[StepKey]) {
        if steps.is_empty() && self.run.suspended {
            self.emit(Event::RunResumed);
            if self.run.steps.is_empty() {
                return self.begin();
            }
        }
        let keys: Vec<StepKey> = suspended(self.run, steps).collect();
        for key in keys {
            if !self.is_spent() {
                self.end_suspend(key, None);
            } else if is_suspended(self.run, key) {
                // Its pause is over; the end of it comes with a later turn.
                self.emit(Event::DeadlineSet { step: key, deadline_ms: self.now_ms });
            }
        }
    }

    pub(super) fn on_supply(&mut self, supplied: Supplied) {
        let Supplied { step, parameters, phase, message } = supplied;
        if !is_suspended(self.run, step) {
            return;
        }
        if !parameters.is_empty() {
            self.emit(Event::OutputsSupplied { step, parameters });
        }
        let message = Some(message).filter(|message| !message.is_empty());
        match phase {
            Some(Phase::Succeeded) => self.end_suspend(step, message),
            Some(phase) => {
                let outputs = self.run.at(step).outputs.as_deref().cloned();
                self.end(step, phase, message, outputs);
            }
            None => {
                let message =
                    message.map(|message| Event::StepMessage { step, message: message.into() });
                message.into_iter().for_each(|event| self.emit(event));
            }
        }
    }

    /// A suspended step goes on: with what was supplied, or with the defaults of what was not.
    pub(super) fn end_suspend(&mut self, key: StepKey, message: Option<String>) {
        if let Some(text) = missing(self.run, key, &[]) {
            return self.end(key, Phase::Failed, Some(text), None);
        }
        let supplied = self.run.at(key).outputs.as_deref().cloned().unwrap_or_default();
        match self.leaf_outputs(key, supplied, true) {
            Ok(mut outputs) => {
                self.fill_defaults(key, &mut outputs);
                self.end(key, Phase::Succeeded, message, Some(outputs));
            }
            Err(why) => self.refuse(key, &why),
        }
    }

    fn fill_defaults(&self, key: StepKey, outputs: &mut Outputs) {
        for declared in declared(self.run, key) {
            if let (None, Some(default)) = (outputs.parameter(&declared.name), &declared.default) {
                outputs.parameters.push((declared.name.as_str().into(), default.clone().into()));
            }
        }
    }
}
