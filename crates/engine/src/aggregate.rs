//! The outputs of a loop: lists over its succeeded children, in the order of their items
//! (argo-workflows `workflow/controller/operator.go` `processAggregateNodeOutputs`).

use argosy_model::{Outputs, Phase, Role, Step, StepKey};
use argosy_template::{Lookup, json_text};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::names;
use crate::run::Run;

/// The value below `outputs.` of a loop.
pub(crate) fn aggregate(run: &Run, key: StepKey, step: &Step, path: &[&str]) -> Lookup {
    if !step.phase.is_terminal() {
        return Lookup::Unknown;
    }
    if run.items.get(&key).is_none_or(|items| items.is_empty()) {
        return match path {
            ["result" | "parameters"] | ["parameters", _] => Lookup::Known(json!("[]")),
            _ => Lookup::Absent,
        };
    }
    let children = run.children(key).iter().map(|child| run.at(*child));
    let outputs = children
        .filter(|child| matches!(child.role, Role::Item(_)) && child.phase == Phase::Succeeded)
        .filter_map(|child| child.outputs.as_deref());
    let text = match path {
        ["result"] => list(outputs.filter_map(|o| o.result.as_deref()).map(json_or_text)),
        ["parameters"] => list(outputs.map(|o| text_parameters_object(o).to_string())),
        ["parameters", name @ ..] => {
            let name = name.join(".");
            values(outputs.filter_map(|o| o.parameter(&name)).map(names::plain).collect())
        }
        _ => return Lookup::Unknown,
    };
    Lookup::Known(Value::String(text))
}

fn list(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.collect::<Vec<_>>().join(","))
}

/// The values of one parameter: as JSON if all are objects or lists, else as texts
/// (`aggregatedJSONValueList`).
fn values(texts: Vec<String>) -> String {
    let group = |text: &String| serde_json::from_str(text).ok().filter(is_group);
    match texts.iter().map(group).collect::<Option<Vec<Value>>>() {
        Some(groups) => list(groups.iter().map(argosy_template::to_go_json)),
        None => list(texts.into_iter().map(|text| Value::from(text).to_string())),
    }
}

fn is_group(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Among all parameters of an item each is a text, whatever it looks like.
fn as_text(value: &Value) -> Value {
    Value::from(names::plain(value))
}

fn text_parameters_object(outputs: &Outputs) -> Value {
    let texts = outputs.parameters.iter().map(|(name, value)| (name.to_string(), as_text(value)));
    Value::Object(texts.collect())
}

/// A result as it was written, if it is JSON.
fn json_or_text(text: &str) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => json_text::compact(json.get()),
        Err(_) => Value::from(text).to_string(),
    }
}
