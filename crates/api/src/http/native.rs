//! What no upstream's API has: applying documents of any kind, explanations, timelines.

use argosy_engine::{Waiting, names};
use argosy_model::StepKey;
use argosy_model::attempt::Attempt;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::error::Answer;
use super::extract::{Path, Text};
use super::query::{self, Query};
use super::{Asked, Door, library, select, workflows};
use crate::argo_status::outputs;

/// `POST /argosy/v1/spaces/{space}/objects`: stores every template, configuration map and secret
/// of a text with one or more documents.
pub(super) async fn apply(
    State(door): State<Door>,
    Path(space): Path<String>,
    query: Query,
    _caller: Asked,
    Text(body): Text,
) -> Answer<Json<Value>> {
    let file = query::value(&query, "file").unwrap_or("-");
    let asked = library::Destination::of(&space, &query)?;
    let stored = library::store_all(&door, &asked, file, &body).await?;
    Ok(Json(json!({"stored": stored})))
}

/// `POST /argosy/v1/spaces/{space}/submissions`: a line of JSON with submit options, and after it a
/// manifest file. Values of parameters may be too long for an address.
pub(super) async fn submit(
    State(door): State<Door>,
    Path(space): Path<String>,
    query: Query,
    caller: Asked,
    Text(body): Text,
) -> Answer<Json<Value>> {
    let (options, manifest) = body.split_once('\n').unwrap_or((&body, ""));
    let options = workflows::json_body(options)?;
    workflows::create_file(&door, &space, &query, &caller, (&options, manifest)).await.map(Json)
}

/// `GET /argosy/v1/spaces/{space}/runs/{name}/explain`: why each step that is not over waits.
pub(super) async fn explain(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
) -> Answer<Json<Value>> {
    let view = workflows::view(&door, &space, &name).await?;
    let (phase, name, waiting) =
        view.show(|run| (run.phase, run.spec.name.clone(), argosy_engine::explain(run, EXPLAINED)));
    let mut steps = Vec::new();
    for Waiting { step, attempt, why } in waiting {
        let from_queue = match attempt {
            Some(attempt) => door.service.explain(attempt).await?,
            None => None,
        };
        steps.push(match from_queue {
            Some(reason) => json!({
                "step": step, "sentence": reason.sentence(),
                "detail": reason, "remedy": reason.remedy()}),
            None => json!({"step": step, "sentence": why.sentence(&name), "detail": why}),
        });
    }
    Ok(Json(json!({"run": name, "phase": phase.as_str(), "steps": steps})))
}

/// How many steps are explained.
const EXPLAINED: usize = 1_000;

/// `GET /argosy/v1/spaces/{space}/runs/{name}/steps?step=`: the step of that name with the timeline
/// of every attempt, or all steps.
pub(super) async fn steps(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
    query: Query,
) -> Answer<Json<Value>> {
    let view = workflows::view(&door, &space, &name).await?;
    let (name, steps) = view.show(|run| {
        let keys: Vec<_> = match query::value(&query, "step") {
            Some(wanted) => vec![select::named(run, wanted)?.step],
            None => (0u32..).map(StepKey).take(run.steps.len()).collect(),
        };
        let steps = keys.into_iter().filter_map(|key| step_json(run, key)).collect::<Vec<_>>();
        Ok::<_, super::Refusal>((run.spec.name.clone(), steps))
    })?;
    Ok(Json(json!({"run": name, "steps": steps})))
}

fn step_json(run: &argosy_engine::Run, key: StepKey) -> Option<Value> {
    let step = run.step(key)?;
    let full = names::full_name(run, key);
    let attempts: Vec<_> = step.attempts.iter().enumerate().map(attempt_json).collect();
    Some(json!({
        "name": full, "id": names::node_id(&run.spec.name, &full),
        "displayName": names::display_name(run, key),
        "phase": step.phase, "message": step.message,
        "createdMs": step.created_ms, "startedMs": step.started_ms,
        "endedMs": step.ended_ms, "attempts": attempts,
        "outputs": outputs(run, step.outputs.as_deref())}))
}

fn attempt_json((number, attempt): (usize, &Attempt)) -> Value {
    let end = attempt.end.as_deref();
    json!({
        "number": number, "phase": attempt.phase, "kill": attempt.kill,
        "queuedMs": attempt.queued_ms, "notBeforeMs": attempt.not_before_ms,
        "placedMs": attempt.placed_ms,
        "stagedMs": end.map_or(0, |end| end.staged_ms),
        "startedMs": attempt.started_ms,
        "endedMs": end.map_or(0, |end| end.ended_ms),
        "savedMs": end.map_or(0, |end| end.saved_ms),
        "exit": end.map(|end| &end.exit),
        "message": end.map(|end| &end.message),
        "usage": end.map(|end| &end.usage),
    })
}
