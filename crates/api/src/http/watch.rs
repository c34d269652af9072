//! Watches: the run whenever it has changed. Changes that come faster than they are read are one
//! change; the last state always arrives.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Door;
use super::error::{Answer, bad_request, not_found};
use super::extract::Path;
use super::fields::Fields;
use super::query::{self, Query};
use crate::argo_status::{outline, workflow};
use crate::ports::RunView;

/// Showing a run for longer than this is worth a pause.
const BRIEF: Duration = Duration::from_millis(5);

/// `GET /api/v1/workflow-events/{space}?listOptions.fieldSelector=metadata.name=X`
pub(super) async fn events(
    State(door): State<Door>,
    Path(space): Path<String>,
    query: Query,
    headers: HeaderMap,
) -> Answer<Response> {
    let selector = query::value(&query, "listOptions.fieldSelector").unwrap_or_default();
    let fields = Fields::parse(selector)?;
    let name = fields
        .name()
        .ok_or_else(|| bad_request("a watch needs listOptions.fieldSelector=metadata.name=NAME"))?;
    let row = door.service.find(&space, name).await?;
    let row = row.filter(|row| fields.matches(&row.space, &row.name));
    let row = row.ok_or_else(|| not_found("run", name))?;
    let view = door.service.run(row.id).await?;
    let show: fn(&RunView) -> Value = match query::value(&query, "argosy.nodes") {
        Some("false") => |view| view.read(outline),
        _ => |view| view.show(workflow),
    };
    Ok(respond(&headers, changes(view, show)))
}

/// The run now, and after every change until its end. A large run takes its time to be shown, and
/// three times that time passes before it is shown again.
fn changes(view: RunView, show: fn(&RunView) -> Value) -> impl Stream<Item = Batch> {
    let begin = (view, "ADDED", false, Duration::ZERO);
    stream::unfold(begin, move |(mut view, kind, over, took)| async move {
        if !over && took > BRIEF {
            tokio::time::sleep(took * 3).await;
        }
        if over || (kind == "MODIFIED" && !view.changed().await) {
            return None;
        }
        let began = Instant::now();
        // First, or a change between the two would be the last and not be shown.
        let over = view.read(|run| run.phase.is_terminal());
        let object = show(&view);
        let change = json!({"type": kind, "object": object});
        Some((vec![Ok(change)], (view, "MODIFIED", over, began.elapsed())))
    })
}

/// A part of a stream of results. One that cannot be given does not end the stream.
pub(super) type Batch = Vec<Answer<Value>>;

/// A stream of results, given in batches: server-sent events where the client asks for them, else a
/// line each.
pub(super) fn respond(
    headers: &HeaderMap,
    batches: impl Stream<Item = Batch> + Send + 'static,
) -> Response {
    use futures::StreamExt;
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let sse = accept.is_some_and(|accept| accept.contains("text/event-stream"));
    let (before, after) = if sse { ("data: ", "\n\n") } else { ("", "\n") };
    let body = Body::from_stream(batches.map(move |batch| {
        let lines = batch.into_iter().map(|result| match result {
            Ok(value) => json!({"result": value}).to_string(),
            // As the gateway of gRPC says it.
            Err(refusal) => json!({"error": refusal.body()}).to_string(),
        });
        let text: String = lines.map(|line| format!("{before}{line}{after}")).collect();
        Ok::<_, Infallible>(Bytes::from(text))
    }));
    let kind = if sse { "text/event-stream" } else { "application/json" };
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}
