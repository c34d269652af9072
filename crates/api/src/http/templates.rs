//! Stored templates (argo-workflows `pkg/apiclient/{workflowtemplate,clusterworkflowtemplate}`).

use std::collections::HashMap;

use argosy_store::ObjectChange;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::error::{Answer, bad_request, not_found};
use super::extract::{Path, Text};
use super::{Door, library, workflows};
use crate::argo::Kind;

const OWN: Kind = Kind::WorkflowTemplate;
const CLUSTER: Kind = Kind::ClusterWorkflowTemplate;

async fn all(door: &Door, kind: Kind, space: &str) -> Answer<Json<Value>> {
    let stored = door.service.objects(&library::home(kind, space), kind.as_str()).await?;
    let items: Vec<Value> = stored.iter().filter_map(document).collect();
    Ok(Json(json!({"metadata": {}, "items": items})))
}

/// A stored document with what the store knows about it.
fn document(stored: &argosy_store::Object) -> Option<Value> {
    let mut value: Value = serde_json::from_slice(&stored.data).ok()?;
    value["metadata"]["creationTimestamp"] = crate::argo_status::time(stored.created_ms);
    value["metadata"]["resourceVersion"] = json!(stored.version.to_string());
    if !stored.space.is_empty() {
        value["metadata"]["namespace"] = json!(stored.space);
    }
    Some(value)
}

async fn one(door: &Door, kind: Kind, space: &str, name: &str) -> Answer<Value> {
    let stored = door.service.object(&library::home(kind, space), kind.as_str(), name).await?;
    let found = stored.as_ref().and_then(document);
    found.ok_or_else(|| not_found(kind.as_str(), name))
}

async fn put(
    door: &Door,
    kind: Kind,
    space: &str,
    name: Option<&str>,
    body: &str,
) -> Answer<Json<Value>> {
    let body = workflows::json_body(body)?;
    let mut value = body["template"].clone();
    if let Value::Object(map) = &mut value {
        map.entry("kind").or_insert_with(|| json!(kind.as_str()));
    }
    let object = workflows::one_object(&value, "template")?;
    if object.kind != kind {
        return Err(bad_request(format!("the template is a {}", object.kind.as_str())));
    }
    match name {
        Some(name) if name != object.name => return Err(bad_request("the names differ")),
        Some(name) => drop(one(door, kind, space, name).await?),
        None if one(door, kind, space, &object.name).await.is_ok() => {
            let what = format!("a {} named {:?} exists", kind.as_str(), object.name);
            let taken = argosy_model::Diagnostic::new(argosy_model::Code::AlreadyExists, what);
            return Err(taken.help("update it with PUT").into());
        }
        None => {}
    }
    let anywhere = if kind == CLUSTER { "default" } else { space };
    let asked = library::Destination::of(anywhere, &HashMap::new())?;
    library::store(door, &asked, std::slice::from_ref(&object)).await?;
    Ok(Json(one(door, kind, space, &object.name).await?))
}

async fn remove(door: &Door, kind: Kind, space: &str, name: &str) -> Answer<Json<Value>> {
    one(door, kind, space, name).await?;
    let change = ObjectChange {
        space: library::home(kind, space),
        kind: kind.as_str().to_owned(),
        name: name.to_owned(),
        data: None,
    };
    door.service.put_objects(vec![change]).await?;
    Ok(Json(json!({})))
}

pub(super) async fn list(
    State(door): State<Door>,
    Path(space): Path<String>,
) -> Answer<Json<Value>> {
    all(&door, OWN, &space).await
}

pub(super) async fn create(
    State(door): State<Door>,
    Path(space): Path<String>,
    Text(body): Text,
) -> Answer<Json<Value>> {
    put(&door, OWN, &space, None, &body).await
}

pub(super) async fn get(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
) -> Answer<Json<Value>> {
    one(&door, OWN, &space, &name).await.map(Json)
}

pub(super) async fn update(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
    Text(body): Text,
) -> Answer<Json<Value>> {
    put(&door, OWN, &space, Some(&name), &body).await
}

pub(super) async fn delete(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
) -> Answer<Json<Value>> {
    remove(&door, OWN, &space, &name).await
}

pub(super) async fn list_cluster(State(door): State<Door>) -> Answer<Json<Value>> {
    all(&door, CLUSTER, "").await
}

pub(super) async fn create_cluster(State(door): State<Door>, body: String) -> Answer<Json<Value>> {
    put(&door, CLUSTER, "", None, &body).await
}

pub(super) async fn get_cluster(
    State(door): State<Door>,
    Path(name): Path<String>,
) -> Answer<Json<Value>> {
    one(&door, CLUSTER, "", &name).await.map(Json)
}

pub(super) async fn update_cluster(
    State(door): State<Door>,
    Path(name): Path<String>,
    Text(body): Text,
) -> Answer<Json<Value>> {
    put(&door, CLUSTER, "", Some(&name), &body).await
}

pub(super) async fn delete_cluster(
    State(door): State<Door>,
    Path(name): Path<String>,
) -> Answer<Json<Value>> {
    remove(&door, CLUSTER, "", &name).await
}
