//! Lists of runs.

use argosy_store::{ListFilter, RunRow};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::Door;
use super::error::{Answer, bad_request};
use super::extract::Path;
use super::fields::Fields;
use super::labels::Selector;
use super::query::{self, Query};

/// Runs that one list shows at most.
const MAX_LIST: u32 = 10_000;

/// Rows that are read at once to find those that a selector selects.
const CHUNK: u32 = 1_000;

/// `GET /api/v1/workflows/{space}`
pub(super) async fn list(
    State(door): State<Door>,
    Path(space): Path<String>,
    query: Query,
) -> Answer<Json<Value>> {
    let limit = query::value(&query, "listOptions.limit").map(str::parse).transpose();
    let limit = limit.map_err(|_| bad_request("listOptions.limit is not a number"))?;
    let limit: u32 = limit.filter(|limit| *limit > 0).unwrap_or(MAX_LIST).min(MAX_LIST);
    let fields = query::value(&query, "listOptions.fieldSelector").unwrap_or_default();
    let fields = Fields::parse(fields)?;
    let labels = query::value(&query, "listOptions.labelSelector").unwrap_or_default();
    let labels = Selector::parse(labels)?;
    let before = query::value(&query, "listOptions.continue").map(str::parse).transpose();
    let before = before.map_err(|_| bad_request("listOptions.continue is not from here"))?;
    let selects = !(fields.is_empty() && labels.is_empty());
    let filter = ListFilter {
        space: (space != "-").then(|| space.clone()),
        name: fields.name().map(str::to_owned),
        name_prefix: query::value(&query, "namePrefix").unwrap_or_default().to_owned(),
        before: before.map(argosy_model::RunId),
        limit: if selects { CHUNK } else { limit },
        ..ListFilter::default()
    };
    let fits = |row: &RunRow| {
        fields.matches(&row.space, &row.name) && labels.matches(&row.labels, row.phase)
    };
    let (rows, more) = page(&door, filter, limit, fits).await?;
    let next = rows.last().filter(|_| more).map(|row| row.id.0.to_string());
    let items: Vec<Value> = rows.iter().map(summary).collect();
    Ok(Json(json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowList",
        "metadata": {"continue": next.unwrap_or_default(), "resourceVersion": ""},
        "items": items})))
}

/// The newest rows that fit, at most `limit`, and whether there may be more behind the last one.
/// Rows are looked at once: the next page begins where this one ends.
async fn page(
    door: &Door,
    mut filter: ListFilter,
    limit: u32,
    fits: impl Fn(&RunRow) -> bool,
) -> Answer<(Vec<RunRow>, bool)> {
    let mut found = Vec::new();
    loop {
        let rows = door.service.list(&filter).await?;
        let full = u32::try_from(rows.len()).is_ok_and(|count| count == filter.limit);
        filter.before = rows.last().map(|row| row.id);
        let room = (limit as usize).saturating_sub(found.len());
        found.extend(rows.into_iter().filter(&fits).take(room));
        if found.len() >= limit as usize {
            return Ok((found, true));
        }
        if !full {
            return Ok((found, false));
        }
    }
}

/// A run in a list: what its row says.
fn summary(row: &RunRow) -> Value {
    let labels: serde_json::Map<_, _> = row
        .labels
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)))
        .chain([("workflows.argoproj.io/phase".to_owned(), json!(row.phase.as_str()))])
        .collect();
    let mut spec = json!({"priority": row.priority});
    if row.suspended {
        spec["suspend"] = json!(true);
    }
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
        "metadata": {
            "name": row.name, "namespace": row.space, "uid": row.uid, "labels": labels,
            "creationTimestamp": crate::argo_status::time(row.accepted_ms)},
        "spec": spec,
        "status": {
            "phase": row.phase.as_str(), "message": row.message,
            "startedAt": crate::argo_status::time(row.accepted_ms),
            "finishedAt": crate::argo_status::time(row.ended_ms),
            "progress": format!("{}/{}", row.done, row.steps)}})
}
