//! `workflow.failures`: every failed node (argo-workflows `workflow/controller/operator.go`,
//! `failedNodeStatus`), as a JSON list in a quoted text, which a shell reads between double quotes
//! as the list; `"null"`, if nothing failed (`docs/variable-flow/variables.md`).

use std::sync::OnceLock;

use argosy_model::{Attempt, Kind, Phase, StepKey, limits};
use argosy_template::{Lookup, go, json_text};
use serde_json::Value;

use crate::names;
use crate::outcome::Outcome;
use crate::run::Run;
use crate::scope::rfc3339;

/// The failures up to a step, quoted, without what is around them.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    text: String,
    last: StepKey,
}

/// Bytes of the quotes and brackets around the list.
const AROUND: usize = 4;

/// The list. It is a value like others, so no longer than one may be; and it is kept, as every item
/// of a loop may name it.
pub(crate) fn lookup(run: &Run) -> Lookup {
    match run.failures.get_or_init(|| list(run)) {
        Some(Listed { text, .. }) if text.is_empty() => Lookup::Known(Value::from("\"null\"")),
        Some(Listed { text, .. }) => Lookup::Known(Value::from(format!("\"[{text}]\""))),
        None => Lookup::TooLarge { most: limits::PARAMETER_BYTES.max },
    }
}

/// Nothing where it is too long.
fn list(run: &Run) -> Option<Listed> {
    let none = Listed { text: String::new(), last: StepKey::ROOT };
    run.failed.iter().try_fold(none, |listed, key| listed.with(run, *key))
}

impl Listed {
    fn with(mut self, run: &Run, key: StepKey) -> Option<Listed> {
        for node in nodes(run, key) {
            if !self.text.is_empty() {
                self.text.push(',');
            }
            self.text.push_str(&node);
        }
        self.last = key;
        let size = (self.text.len() + AROUND) as u64;
        (size <= limits::PARAMETER_BYTES.max).then_some(self)
    }
}

/// The failed ones among a step and its tries, as they stand in the quoted text.
fn nodes(run: &Run, key: StepKey) -> Vec<String> {
    let step = run.at(key);
    let message = step.message.as_deref().unwrap_or_default();
    let (full, short) = (names::full_name(run, key), names::display_name(run, key));
    let own = is_failed_node(run, key)
        .then(|| node(run, key, [&full, &short, message], (step.phase, step.ended_ms)));
    let tries = tries(run, key).filter_map(|(number, attempt)| {
        let Outcome { phase, message } = failed(run, attempt)?;
        let ended_ms = attempt.end.as_deref().map_or(0, |end| end.ended_ms);
        let full = names::try_name(run, key, number);
        let short = format!("{}({number})", names::short_name(run, key));
        Some(node(run, key, [&full, &short, &message], (phase, ended_ms)))
    });
    own.into_iter().chain(tries).collect()
}

fn node(
    run: &Run,
    key: StepKey,
    [full, short, message]: [&str; 3],
    (phase, ended_ms): (Phase, i64),
) -> String {
    let is_group = run.at(key).kind == Kind::Group;
    let template = run.template_of(key).filter(|_| !is_group);
    let template = template.map_or("", |template| &template.name);
    let members = [
        ("displayName", short),
        ("message", message),
        ("templateName", template),
        ("phase", phase.as_str()),
        ("podName", &names::pod_name(&run.spec.name, full, template)),
        ("finishedAt", &rfc3339(ended_ms)),
    ];
    let mut out = String::from("{");
    for (at, (name, value)) in members.into_iter().enumerate() {
        out.push_str(if at == 0 { "\\\"" } else { ",\\\"" });
        out.push_str(name);
        out.push_str("\\\":");
        push_text(&mut out, value);
    }
    out.push('}');
    out
}

/// Adds a text as JSON, as that stands in a quoted text. Most have nothing to escape.
fn push_text(out: &mut String, text: &str) {
    let special = |c: char| c.is_ascii_control() || matches!(c, '"' | '\\' | '<' | '>' | '&');
    if text.contains(special) {
        let quoted = go::quoted(&json_text::escape_html(&Value::from(text).to_string()));
        // Only the quotes around it go: those of the JSON text are escaped.
        out.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
    } else {
        out.extend(["\\\"", text, "\\\""]);
    }
}

/// A loop in a group is no node upstream: its items are the group's.
fn is_failed_node(run: &Run, key: StepKey) -> bool {
    let step = run.at(key);
    let in_group = || run.step(step.parent).is_some_and(|parent| parent.kind == Kind::Group);
    step.phase.is_failure() && !(step.kind == Kind::FanOut && in_group())
}

/// The tries of a process that is tried again are nodes below it.
fn tries(run: &Run, key: StepKey) -> impl Iterator<Item = (u32, &Attempt)> {
    let step = run.at(key);
    let is_tried = matches!(step.kind, Kind::Process | Kind::ContainerSet)
        && run.template_of(key).is_some_and(|template| template.retry.is_some());
    let all = step.attempts.iter().filter(move |_| is_tried);
    (0u32..).zip(all.filter(|attempt| !attempt.was_infrastructure()))
}

fn failed(run: &Run, attempt: &Attempt) -> Option<Outcome> {
    Outcome::of_attempt(attempt, run).filter(|outcome| outcome.phase.is_failure())
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

    /// Enters a step, one of whose tries has ended or which has itself, among the failed ones,
    /// where it is one.
    pub(crate) fn note_failed(&mut self, key: StepKey) {
        let has_failed = is_failed_node(self, key)
            || tries(self, key).any(|(_, attempt)| failed(self, attempt).is_some());
        if has_failed {
            self.failed.insert(key);
            self.list_failed(key);
        }
    }
}
