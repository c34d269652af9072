//! The document that a run shows as its own.

use argosy_model::Graph;
use serde_json::{Map, Value, json};

use super::run::Identity;
use crate::argo::load::{Kind, Object};

/// The workflow's document with the name, labels and arguments that the run has. For a stored
/// template it is the document of a workflow that refers to it.
pub(super) fn of_run(workflow: &Object, space: &str, identity: &Identity, graph: &Graph) -> Value {
    let given = if workflow.kind == Kind::Workflow { &workflow.json } else { &Value::Null };
    let mut metadata = part(given, "metadata");
    metadata.insert("name".into(), json!(identity.name));
    metadata.insert("namespace".into(), json!(space));
    for (key, pairs) in [("labels", &identity.labels), ("annotations", &identity.annotations)] {
        if !pairs.is_empty() {
            let map = pairs.iter().map(|(key, value)| (key.clone(), json!(value)));
            metadata.insert(key.into(), Value::Object(map.collect()));
        }
    }
    let mut spec = part(given, "spec");
    if workflow.kind != Kind::Workflow {
        let cluster = workflow.kind == Kind::ClusterWorkflowTemplate;
        let reference = json!({"name": workflow.name, "clusterScope": cluster});
        spec.insert("workflowTemplateRef".into(), reference);
    }
    if !graph.arguments.parameters.is_empty() {
        let mut arguments = part(&Value::Object(spec.clone()), "arguments");
        arguments.insert("parameters".into(), parameters(&arguments, graph));
        spec.insert("arguments".into(), Value::Object(arguments));
    }
    json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": metadata,
        "spec": spec,
    })
}

fn part(value: &Value, key: &str) -> Map<String, Value> {
    value.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The run's parameters with their values, each with what else its document says of it.
fn parameters(arguments: &Map<String, Value>, graph: &Graph) -> Value {
    let list = arguments.get("parameters").and_then(Value::as_array);
    let named = |name: &str| {
        let known = list?.iter().find(|known| known.get("name").is_some_and(|n| n == name));
        known.and_then(Value::as_object).cloned()
    };
    let shown = graph.arguments.parameters.iter().map(|parameter| {
        let mut shown = named(&parameter.name).unwrap_or_default();
        shown.remove("valueFrom");
        shown.insert("name".into(), json!(parameter.name));
        shown.insert("value".into(), json!(parameter.value));
        Value::Object(shown)
    });
    shown.collect()
}
