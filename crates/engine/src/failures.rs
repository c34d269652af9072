//! `workflow.failures` (argo-workflows `workflow/controller/operator.go`, `failedNodeStatus`).

use argosy_model::{Kind, Step, StepKey};
use argosy_template::{go, json_text};
use serde_json::{Value, json};

use crate::names;
use crate::outcome::Outcome;
use crate::run::Run;
use crate::scope::rfc3339;

/// Every failed node: a JSON list as a quoted text, which a shell reads between double quotes as
/// the list; `"null"`, if nothing failed (argo-workflows `docs/variable-flow/variables.md`).
pub(crate) fn failures(run: &Run) -> String {
    let mut list = Vec::new();
    for (key, step) in (0u32..).map(StepKey).zip(&run.steps) {
        if step.phase.is_failure() && is_node(run, step) {
            let message = step.message.as_deref().unwrap_or_default();
            let node = Node { key, number: None, phase: step.phase, ended_ms: step.ended_ms };
            list.push(node.shown(run, message));
        }
        failed_tries(run, key, step, &mut list);
    }
    let json = if list.is_empty() { "null".to_owned() } else { Value::from(list).to_string() };
    go::quoted(&json_text::escape_html(&json))
}

/// Whether a step is a node upstream. A loop in a group is not: its items are the group's.
fn is_node(run: &Run, step: &Step) -> bool {
    let in_group = run.step(step.parent).is_some_and(|parent| parent.kind == Kind::Group);
    step.kind != Kind::FanOut || !in_group
}

/// The tries of a process that is tried again are nodes below it.
fn failed_tries(run: &Run, key: StepKey, step: &Step, list: &mut Vec<Value>) {
    let is_tried = matches!(step.kind, Kind::Process | Kind::ContainerSet)
        && run.template_of(key).is_some_and(|template| template.retry.is_some());
    let tries = step.attempts.iter().filter(|attempt| is_tried && !attempt.was_infrastructure());
    for (number, attempt) in (0u32..).zip(tries) {
        let Some(Outcome { phase, message }) = Outcome::of_attempt(attempt, run) else { continue };
        if phase.is_failure() {
            let ended_ms = attempt.end.as_deref().map_or(0, |end| end.ended_ms);
            let node = Node { key, number: Some(number), phase, ended_ms };
            list.push(node.shown(run, &message));
        }
    }
}

/// A step, or one of its tries.
struct Node {
    key: StepKey,
    number: Option<u32>,
    phase: argosy_model::Phase,
    ended_ms: i64,
}

impl Node {
    fn shown(&self, run: &Run, message: &str) -> Value {
        let is_group = run.at(self.key).kind == Kind::Group;
        let template = run.template_of(self.key).filter(|_| !is_group);
        let template = template.map_or("", |template| &template.name);
        let short = names::display_name(run, self.key);
        let (full, short) = match self.number {
            Some(number) => (names::try_name(run, self.key, number), format!("{short}({number})")),
            None => (names::full_name(run, self.key), short),
        };
        json!({
            "displayName": short,
            "message": message,
            "templateName": template,
            "phase": self.phase.as_str(),
            "podName": names::pod_name(&run.spec.name, &full, template),
            "finishedAt": rfc3339(self.ended_ms),
        })
    }
}
