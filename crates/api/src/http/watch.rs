//! Watches: the run whenever it has changed. Changes that come faster than they are read are one
//! change; the last state always arrives.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use serde_json::json;
use tokio::time::Instant;

use super::Door;
use super::error::{Answer, Refusal, bad_request, not_found};
use super::extract::Path;
use super::fields::Fields;
use super::query::{self, Query};
use crate::argo_status::{Pieces, outline};
use crate::ports::RunView;

/// Telling a run for longer than this is worth a pause.
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
    let is_whole = query::value(&query, "argosy.nodes") != Some("false");
    let framing = Framing::of(&headers);
    let changes = Changes::of(view, is_whole, framing);
    let told = stream::unfold(changes, |mut changes| async move {
        let text = changes.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), changes))
    });
    Ok(framing.answer(Body::from_stream(told)))
}

/// The run now, and after every change until its end. A large run takes its time to be told, in
/// pieces of which one is held at a time; three times that time passes before it is told again.
struct Changes {
    view: RunView,
    framing: Framing,
    /// Whether the nodes are told, too.
    is_whole: bool,
    /// How the next one is called.
    kind: &'static str,
    /// Whether no change follows the one that is being told.
    over: bool,
    /// What is left of it.
    left: Option<(RunView, Pieces)>,
    took: Duration,
}

impl Changes {
    fn of(view: RunView, is_whole: bool, framing: Framing) -> Changes {
        let took = Duration::ZERO;
        Changes { view, framing, is_whole, kind: "ADDED", over: false, left: None, took }
    }

    /// The next piece of text.
    async fn next(&mut self) -> Option<String> {
        if self.left.is_some() {
            return self.go_on();
        }
        if !self.over && self.took > BRIEF {
            tokio::time::sleep(self.took * 3).await;
        }
        if self.over || (self.kind == "MODIFIED" && !self.view.changed().await) {
            return None;
        }
        let began = Instant::now();
        // First, or a change between the two would be the last and not be told.
        self.over = self.view.read(|run| run.phase.is_terminal());
        let kind = std::mem::replace(&mut self.kind, "MODIFIED");
        let mut text =
            format!("{}{{\"result\":{{\"type\":\"{kind}\",\"object\":", self.framing.before);
        if self.is_whole {
            let still = self.view.still();
            let pieces = still.read(Pieces::of);
            self.left = Some((still, pieces));
        } else {
            text.push_str(&self.view.read(outline).to_string());
            text.push_str(&self.framing.end());
        }
        self.took = began.elapsed();
        Some(text)
    }

    fn go_on(&mut self) -> Option<String> {
        let began = Instant::now();
        let (still, pieces) = self.left.as_mut()?;
        let piece = still.read(|run| pieces.next(run));
        self.took += began.elapsed();
        if piece.is_none() {
            self.left = None;
        }
        Some(piece.unwrap_or_else(|| self.framing.end()))
    }
}

/// A part of a stream of results, as it is sent. One that cannot be given does not end the stream.
pub(super) struct Batch {
    framing: Framing,
    text: Vec<u8>,
}

impl Batch {
    pub(super) fn new(framing: Framing) -> Batch {
        Batch { framing, text: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A result, of which `write` writes the JSON.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.text.extend_from_slice(self.framing.before.as_bytes());
        self.text.extend_from_slice(b"{\"result\":");
        write(&mut self.text);
        self.text.push(b'}');
        self.text.extend_from_slice(self.framing.after.as_bytes());
    }

    /// One that cannot be given, as the gateway of gRPC says it.
    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        let Framing { before, after, .. } = self.framing;
        let line = json!({"error": refusal.body()});
        self.text.extend_from_slice(format!("{before}{line}{after}").as_bytes());
    }
}

/// A stream of results, given in batches.
pub(super) fn respond(
    framing: Framing,
    batches: impl Stream<Item = Batch> + Send + 'static,
) -> Response {
    use futures::StreamExt;
    let texts = batches.map(|batch| Ok::<_, Infallible>(Bytes::from(batch.text)));
    framing.answer(Body::from_stream(texts))
}

/// What stands around each result: server-sent events where the client asks for them, else it has a
/// line.
#[derive(Clone, Copy)]
pub(super) struct Framing {
    before: &'static str,
    after: &'static str,
    kind: &'static str,
}

impl Framing {
    pub(super) fn of(headers: &HeaderMap) -> Framing {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        match accept.is_some_and(|accept| accept.contains("text/event-stream")) {
            true => Framing { before: "data: ", after: "\n\n", kind: "text/event-stream" },
            false => Framing { before: "", after: "\n", kind: "application/json" },
        }
    }

    /// The end of a change and of its result.
    fn end(&self) -> String {
        format!("}}}}{}", self.after)
    }

    fn answer(self, body: Body) -> Response {
        ([(header::CONTENT_TYPE, self.kind)], body).into_response()
    }
}
