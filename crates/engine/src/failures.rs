//! `workflow.failures`: the failed steps as a JSON list (argo-workflows `docs/variables.md`).

use std::sync::OnceLock;

use argosy_model::{Kind, StepKey, limits};
use argosy_template::Lookup;
use serde_json::{Value, json};

use crate::names;
use crate::run::Run;
use crate::scope::rfc3339;

/// The failures up to a step, without the bracket at the end.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    text: String,
    last: StepKey,
}

/// The list. It is a value like others, so no longer than one may be; and it is kept, as every item
/// of a loop may name it.
pub(crate) fn lookup(run: &Run) -> Lookup {
    match run.failures.get_or_init(|| list(run)) {
        Some(listed) => Lookup::Known(Value::from(format!("{}]", listed.text))),
        None => Lookup::TooLarge { most: limits::PARAMETER_BYTES.max },
    }
}

/// Nothing where it is too long.
fn list(run: &Run) -> Option<Listed> {
    let none = Listed { text: String::from("["), last: StepKey::ROOT };
    run.failed.iter().try_fold(none, |listed, key| listed.with(run, *key))
}

impl Listed {
    fn with(mut self, run: &Run, key: StepKey) -> Option<Listed> {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(&one(run, key).to_string());
        self.last = key;
        // The bracket at the end is to find room, too.
        ((self.text.len() as u64) < limits::PARAMETER_BYTES.max).then_some(self)
    }
}

fn one(run: &Run, key: StepKey) -> Value {
    let step = run.at(key);
    let full = names::full_name(run, key);
    let template = run.template_of(key).map_or("", |template| &template.name);
    json!({
        "displayName": names::display_name(run, key),
        "message": step.message.as_deref().unwrap_or_default(),
        "templateName": template,
        "phase": step.phase.as_str(),
        "podName": names::pod_name(&run.spec.name, &full, template),
        "finishedAt": rfc3339(step.ended_ms),
    })
}

impl Run {
    /// Adds a failure to the list, where that is known. What is too long stays so.
    fn list_failed(&mut self, key: StepKey) {
        let listed = match self.failures.take() {
            Some(Some(listed)) if listed.last < key => listed.with(self, key),
            Some(None) => None,
            // It belongs somewhere before the end: the list is made anew once somebody asks.
            _ => return,
        };
        self.failures = OnceLock::from(listed);
    }

    /// Enters a step that has ended among the failed ones, where it is one.
    pub(crate) fn note_failed(&mut self, key: StepKey) {
        let step = self.at(key);
        let is_work = step.kind.has_attempts() || step.kind == Kind::Nothing;
        if step.phase.is_failure() && is_work {
            self.failed.insert(key);
            self.list_failed(key);
        }
    }
}
