//! Inputs and outputs in the shape of the Argo object.

use argosy_engine::{Run, names};
use argosy_model::graph::Template;
use argosy_model::{Archive, Artifact, Inputs, Location, Outputs};
use serde_json::{Map, Value, json};

/// An artifact with its place. Bytes in our own store are an S3 key, as the embedded endpoint
/// serves them.
pub(crate) fn artifact_json(name: &str, artifact: &Artifact) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(name));
    match &artifact.at {
        Location::Blob { key } => object.insert("s3".into(), json!({"key": key})),
        Location::Raw { data } => object.insert("raw".into(), json!({"data": data})),
        Location::Http { url } => object.insert("http".into(), json!({"url": url})),
        Location::S3(at) => object.insert(
            "s3".into(),
            json!({"endpoint": at.endpoint, "bucket": at.bucket, "key": at.key}),
        ),
    };
    match artifact.archive {
        Archive::Default => {}
        Archive::None => {
            object.insert("archive".into(), json!({"none": {}}));
        }
        Archive::Tar(level) => {
            object.insert("archive".into(), json!({"tar": {"compressionLevel": level}}));
        }
        Archive::Zip => {
            object.insert("archive".into(), json!({"zip": {}}));
        }
    }
    if !artifact.sub_path.is_empty() {
        object.insert("subPath".into(), json!(artifact.sub_path));
    }
    Value::Object(object)
}

/// Values of a template's inputs.
pub(super) fn inputs(template: Option<&Template>, inputs: Option<&Inputs>) -> Option<Value> {
    let (template, inputs) = (template?, inputs?);
    let parameters: Vec<_> = template
        .inputs
        .parameters
        .iter()
        .zip(&*inputs.parameters)
        .map(|(declared, value)| json!({"name": declared.name, "value": value}))
        .collect();
    let artifacts: Vec<_> = template
        .inputs
        .artifacts
        .iter()
        .zip(&*inputs.artifacts)
        .filter_map(|(declared, artifact)| {
            let mut object = artifact_json(&declared.argument.name, artifact.as_ref()?);
            object["path"] = json!(declared.path);
            Some(object)
        })
        .collect();
    lists(parameters, artifacts)
}

/// What a step left behind.
pub(crate) fn outputs(run: &Run, outputs: Option<&Outputs>) -> Option<Value> {
    let outputs = outputs?;
    let parameters = outputs
        .parameters
        .iter()
        .map(|(name, value)| json!({"name": name, "value": names::plain(value)}))
        .collect();
    let artifacts = outputs.artifacts.iter().map(|(name, artifact)| {
        let mut object = artifact_json(name, artifact);
        if matches!(&artifact.at, Location::Blob { key } if run.collected.contains(key)) {
            object["deleted"] = json!(true);
        }
        object
    });
    let artifacts = artifacts.collect();
    let mut object = match lists(parameters, artifacts) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    if let Some(result) = &outputs.result {
        object.insert("result".into(), json!(result));
    }
    if let Some(code) = outputs.exit_code {
        object.insert("exitCode".into(), json!(code.to_string()));
    }
    (!object.is_empty()).then_some(Value::Object(object))
}

fn lists(parameters: Vec<Value>, artifacts: Vec<Value>) -> Option<Value> {
    let mut object = Map::new();
    if !parameters.is_empty() {
        object.insert("parameters".into(), Value::Array(parameters));
    }
    if !artifacts.is_empty() {
        object.insert("artifacts".into(), Value::Array(artifacts));
    }
    (!object.is_empty()).then_some(Value::Object(object))
}

/// What the whole run left behind.
pub(super) fn globals(run: &Run) -> Value {
    let parameters = run
        .globals
        .iter()
        .map(|(name, value)| json!({"name": name, "value": names::plain(value)}))
        .collect();
    let artifacts = run.global_artifacts.iter().map(|(name, a)| artifact_json(name, a)).collect();
    lists(parameters, artifacts).unwrap_or_else(|| json!({}))
}
