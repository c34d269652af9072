//! `workflow.failures`: the failed steps as a JSON list (argo-workflows `docs/variables.md`).

use std::sync::Arc;

use argosy_model::{Kind, StepKey, limits};
use argosy_template::Lookup;
use serde_json::{Value, json};

use crate::names;
use crate::run::Run;
use crate::scope::rfc3339;

/// The list. It is a value like others, so no longer than one may be; and made once for as long as
/// nothing more fails, as every item of a loop may name it.
pub(crate) fn lookup(run: &Run) -> Lookup {
    match run.failures.get_or_init(|| list(run)) {
        Some(text) => Lookup::Known(Value::from(&**text)),
        None => Lookup::TooLarge { most: limits::PARAMETER_BYTES.max },
    }
}

/// Nothing where it is too long.
fn list(run: &Run) -> Option<Arc<str>> {
    let most = usize::try_from(limits::PARAMETER_BYTES.max).unwrap_or(usize::MAX);
    let mut text = String::from("[");
    for key in &run.failed {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&one(run, *key).to_string());
        // The bracket at the end is to find room, too.
        if text.len() >= most {
            return None;
        }
    }
    text.push(']');
    Some(text.into())
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
    /// Enters a step that has ended among the failed ones, where it is one.
    pub(crate) fn note_failed(&mut self, key: StepKey) {
        let step = self.at(key);
        let is_work = step.kind.has_attempts() || step.kind == Kind::Nothing;
        if step.phase.is_failure() && is_work {
            self.failed.insert(key);
            self.failures.take();
        }
    }
}
