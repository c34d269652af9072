//! What no upstream's API has: applying documents of any kind, explanations, timelines.

use argosy_engine::names;
use argosy_model::attempt::Attempt;
use argosy_model::{AttemptId, AttemptPhase, Kind, Phase, Step, StepKey};
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
    let name = view.read(|run| run.spec.name.clone());
    let (phase, waiting) = view.show(|run| {
        let keys = (0u32..).map(StepKey).take(run.steps.len());
        let waiting = keys
            .filter_map(|key| run.step(key).map(|step| (key, step)))
            .filter(|(_, step)| !step.phase.is_terminal())
            .filter(|(key, step)| {
                let leaf = step.kind.has_attempts() || step.kind == Kind::Suspend;
                leaf || waits_for_lock(run, *key)
            })
            .map(|(key, step)| {
                let queued = run
                    .current_attempt(key)
                    .filter(|(_, attempt)| attempt.phase == AttemptPhase::Queued);
                let reason = engine_reason(run, key, step);
                (names::full_name(run, key), queued.map(|(id, _)| id), reason)
            })
            .take(1_000);
        let waiting: Vec<_> = run_reason(run).into_iter().chain(waiting).collect();
        (run.phase, waiting)
    });
    let mut steps = Vec::new();
    for (step, queued, reason) in waiting {
        let from_queue = match queued {
            Some(attempt) => door.service.explain(attempt).await?,
            None => None,
        };
        steps.push(match from_queue {
            Some(reason) => json!({
                "step": step, "sentence": reason.sentence(),
                "detail": reason, "remedy": reason.remedy()}),
            None => json!({"step": step, "sentence": reason}),
        });
    }
    Ok(Json(json!({"run": name, "phase": phase.as_str(), "steps": steps})))
}

fn waits_for_lock(run: &argosy_engine::Run, key: StepKey) -> bool {
    run.locks.get(&key).is_some_and(|holding| !holding.taken)
}

/// Why a run has not begun.
fn run_reason(run: &argosy_engine::Run) -> Option<(String, Option<AttemptId>, String)> {
    let waits = waits_for_lock(run, StepKey::NONE) && run.steps.is_empty();
    waits.then(|| (run.spec.name.clone(), None, run.message.clone()))
}

/// Why a step is where it is, as far as the run alone decides.
fn engine_reason(run: &argosy_engine::Run, key: StepKey, step: &Step) -> String {
    if let (true, Some(message)) = (waits_for_lock(run, key), &step.message) {
        return message.to_string();
    }
    match (step.kind, step.phase, step.attempts.last().map(|attempt| attempt.phase)) {
        (Kind::Suspend, Phase::Running, _) => {
            "waits for somebody to resume it (`argosy resume`)".to_owned()
        }
        (_, Phase::Waiting, None) if run.suspended => {
            "waits for the run to be resumed (`argosy resume`)".to_owned()
        }
        (_, Phase::Waiting, None) => {
            "waits for another step to end: the limit `parallelism` is reached".to_owned()
        }
        (_, _, Some(AttemptPhase::Placed)) => "is being started".to_owned(),
        (_, _, Some(AttemptPhase::Running)) => "runs".to_owned(),
        _ => "waits for a machine".to_owned(),
    }
}

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
