//! A run as the Argo Workflow object that Argo's clients read, `status.nodes` included.
//!
//! Names and ids of nodes are what the clients compute again (`argosy_engine::names`). The source
//! of the shapes is argo-workflows `pkg/apis/workflow/v1alpha1/workflow_types.go`.

mod containers;
mod locks;
mod nodes;
mod outputs;
mod pieces;
#[cfg(test)]
mod tests;

use argosy_engine::Run;
use argosy_model::Shutdown;
use argosy_template::go;
use serde_json::{Map, Value, json};

pub use nodes::nodes;
pub(crate) use outputs::outputs;
pub use pieces::Pieces;

/// A time as Kubernetes objects spell it; null for 0.
#[must_use]
pub fn time(at_ms: i64) -> Value {
    if at_ms == 0 {
        return Value::Null;
    }
    Value::from(go::time::format_ms(go::time::RFC3339, at_ms))
}

/// The Workflow object of a run: what was submitted, its name and owner, and its status.
#[must_use]
pub fn workflow(run: &Run) -> Value {
    let mut object = outline(run);
    object["status"]["nodes"] = nodes(run);
    object
}

/// The same without its nodes, which may be many.
#[must_use]
pub fn outline(run: &Run) -> Value {
    let mut object = match &run.spec.source {
        Value::Object(map) => map.clone(),
        _ => Map::new(),
    };
    object.insert("apiVersion".into(), json!("argoproj.io/v1alpha1"));
    object.insert("kind".into(), json!("Workflow"));
    let metadata = metadata(run, object.get("metadata"));
    object.insert("metadata".into(), metadata);
    if let (Some(how), Some(Value::Object(spec))) = (run.shutdown, object.get_mut("spec")) {
        spec.insert("shutdown".into(), json!(shutdown(how)));
    }
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        if run.suspended {
            spec.insert("suspend".into(), json!(true));
        } else {
            spec.remove("suspend");
        }
    }
    object.insert("status".into(), status(run));
    Value::Object(object)
}

fn shutdown(how: Shutdown) -> &'static str {
    match how {
        Shutdown::Stop => "Stop",
        Shutdown::Terminate => "Terminate",
    }
}

fn metadata(run: &Run, submitted: Option<&Value>) -> Value {
    let mut metadata = match submitted {
        Some(Value::Object(map)) => map.clone(),
        _ => Map::new(),
    };
    metadata.insert("name".into(), json!(run.spec.name));
    metadata.insert("namespace".into(), json!(run.spec.space));
    metadata.insert("uid".into(), json!(run.spec.uid));
    metadata.insert("creationTimestamp".into(), time(run.accepted_ms));
    metadata.insert("resourceVersion".into(), json!(run.events.to_string()));
    let mut labels: Map<String, Value> =
        run.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    labels.insert("workflows.argoproj.io/phase".into(), json!(phase(run)));
    if run.phase.is_terminal() {
        labels.insert("workflows.argoproj.io/completed".into(), json!("true"));
    }
    metadata.insert("labels".into(), Value::Object(labels));
    Value::Object(metadata)
}

fn phase(run: &Run) -> &'static str {
    if locks::keep_run(run) { "Pending" } else { run.phase.as_str() }
}

fn status(run: &Run) -> Value {
    let (done, all) = run.progress();
    let mut status = Map::new();
    status.insert("phase".into(), json!(phase(run)));
    status.insert("startedAt".into(), time(run.accepted_ms));
    status.insert("finishedAt".into(), time(run.ended_ms));
    status.insert("progress".into(), json!(format!("{done}/{all}")));
    if !run.message.is_empty() {
        status.insert("message".into(), json!(run.message));
    }
    if let Some(locks) = locks::of_run(run) {
        status.insert("synchronization".into(), locks);
    }
    if run.phase.is_terminal() {
        status.insert("conditions".into(), json!([{"type": "Completed", "status": "True"}]));
    }
    let globals = outputs::globals(run);
    if globals != json!({}) {
        status.insert("outputs".into(), globals);
    }
    Value::Object(status)
}
