//! Stored objects: as the loader's library, and as what is put into the store.

use std::collections::HashMap;

use argosy_model::{Code, Diagnostic};
use argosy_store::ObjectChange;
use serde_json::Value;

use super::error::Answer;
use super::{Door, query};
use crate::argo::{Kind, Object, check_space, load};

/// The space that the objects of a request go to.
pub(super) struct Destination<'s> {
    space: &'s str,
    /// Whether it only holds for objects that name none.
    is_default: bool,
}

impl<'s> Destination<'s> {
    /// The space of the path, which holds unless the query says otherwise.
    pub(super) fn of(space: &'s str, query: &HashMap<String, String>) -> Answer<Destination<'s>> {
        check_space(space)?;
        Ok(Destination { space, is_default: query::flag(query, "argosy.spaceIsDefault")? })
    }

    /// The space that an object goes to.
    pub(super) fn space_of<'o>(&'o self, object: &'o Object) -> Answer<&'o str> {
        Ok(object.space_in(self.space, self.is_default)?)
    }
}

/// Kinds that are stored, with whether they belong to a space.
const STORED: [(Kind, bool); 4] = [
    (Kind::WorkflowTemplate, true),
    (Kind::ClusterWorkflowTemplate, false),
    (Kind::ConfigMap, true),
    (Kind::Secret, true),
];

/// The space of a kind's objects in the store.
pub(super) fn home(kind: Kind, space: &str) -> String {
    let owned = STORED.iter().any(|(known, owned)| *known == kind && *owned);
    if owned { space.to_owned() } else { String::new() }
}

/// The objects of a stored document.
pub(super) fn parse(name: &str, data: &[u8]) -> Answer<Vec<Object>> {
    let text = std::str::from_utf8(data).map_err(|_| {
        Diagnostic::new(Code::DataDamaged, format!("the stored object {name:?} is damaged"))
    })?;
    Ok(load(name, text)?.objects)
}

/// The change that stores an object.
fn change(space: &str, object: &Object) -> ObjectChange {
    ObjectChange {
        space: home(object.kind, space),
        kind: object.kind.as_str().to_owned(),
        name: object.name.clone(),
        data: Some(object.json.to_string().into_bytes()),
    }
}

/// Stores the objects of a list that are no runs; their `kind/name`.
pub(super) async fn store(
    door: &Door,
    to: &Destination<'_>,
    objects: &[Object],
) -> Answer<Vec<String>> {
    let stored = objects.iter().filter(|object| object.kind != Kind::Workflow);
    let changes = stored.map(|object| Ok(change(to.space_of(object)?, object)));
    let changes: Vec<ObjectChange> = changes.collect::<Answer<_>>()?;
    if let Some(nameless) = changes.iter().find(|change| change.name.is_empty()) {
        let what = format!("a {} needs metadata.name to be stored", nameless.kind);
        return Err(Diagnostic::new(Code::MissingField, what).into());
    }
    let names = changes.iter().map(|change| format!("{}/{}", change.kind, change.name)).collect();
    if !changes.is_empty() {
        door.service.put_objects(changes).await?;
    }
    Ok(names)
}

/// Stores every object of a text; refuses one with a run in it.
pub(super) async fn store_all(
    door: &Door,
    to: &Destination<'_>,
    file: &str,
    text: &str,
) -> Answer<Vec<String>> {
    let objects = load(file, text)?.objects;
    if objects.iter().any(|object| object.kind == Kind::Workflow) {
        let what = "a Workflow is submitted, not stored";
        return Err(Diagnostic::new(Code::BadRequest, what).help("use `argosy submit`").into());
    }
    store(door, to, &objects).await
}

/// The texts of a stored configuration map or secret.
#[must_use]
pub fn pairs(kind: Kind, document: &Value) -> Vec<(String, Vec<u8>)> {
    let texts = |field: &str| document[field].as_object().into_iter().flatten();
    let text = |(key, value): (&String, &Value)| {
        (key.clone(), argosy_engine::names::plain(value).into_bytes())
    };
    let decoded = |(key, value): (&String, &Value)| {
        let bytes = value.as_str().map(base64).unwrap_or_default();
        (key.clone(), bytes)
    };
    match kind {
        Kind::Secret => texts("data").map(decoded).chain(texts("stringData").map(text)).collect(),
        _ => texts("data").map(text).chain(texts("binaryData").map(decoded)).collect(),
    }
}

/// Standard base64 with or without padding; empty for what is none, as the loader refuses that.
fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let text: String = text.split_whitespace().collect();
    base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default()
}
