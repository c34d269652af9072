//! What the steps of a run printed.
//!
//! One entry a line, as Argo's stream has them: `{"content": ..., "podName": ...}`.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use argosy_engine::{Run, names};
use argosy_exec::logs::{self, Log};
use argosy_model::{AttemptId, RunId};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::{Stream, stream};
use regex::Regex;
use serde_json::{Value, json};

use super::error::{Answer, bad_request};
use super::extract::Path;
use super::query::{self, Query};
use super::{Door, watch, workflows};
use crate::ports::RunView;

/// Bytes that are read from one file at once.
const CHUNK: usize = 256 << 10;

/// A line that is longer than this is shown in pieces.
const MAX_LINE: usize = 64 << 10;

/// How often a follower looks whether a file has grown.
const LOOK: Duration = Duration::from_millis(100);

/// Which lines are wanted.
#[derive(Clone, Default)]
struct Wanted {
    pod: Option<String>,
    container: Option<String>,
    grep: Option<Regex>,
    tail: Option<usize>,
    follow: bool,
}

impl Wanted {
    fn of(query: &HashMap<String, String>, pod: Option<String>) -> Answer<Wanted> {
        let text = |name: &str| query::value(query, name).map(str::to_owned);
        let grep = text("grep").map(|source| Regex::new(&source)).transpose();
        let tail = text("logOptions.tailLines").map(|count| count.parse()).transpose();
        Ok(Wanted {
            pod: pod.or_else(|| text("podName")),
            container: text("logOptions.container"),
            grep: grep.map_err(|error| bad_request(format!("grep: {error}")))?,
            tail: tail.map_err(|_| bad_request("logOptions.tailLines is not a number"))?,
            follow: query::flag(query, "logOptions.follow"),
        })
    }
}

/// `GET /api/v1/workflows/{space}/{name}/log`
pub(super) async fn of_workflow(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
    query: Query,
    headers: HeaderMap,
) -> Answer<Response> {
    let wanted = Wanted::of(&query, None)?;
    answer(&door, &space, &name, wanted, &headers).await
}

/// `GET /api/v1/workflows/{space}/{name}/{pod}/log`
pub(super) async fn of_named_pod(
    State(door): State<Door>,
    Path((space, name, pod)): Path<(String, String, String)>,
    query: Query,
    headers: HeaderMap,
) -> Answer<Response> {
    let wanted = Wanted::of(&query, Some(pod))?;
    answer(&door, &space, &name, wanted, &headers).await
}

async fn answer(
    door: &Door,
    space: &str,
    name: &str,
    wanted: Wanted,
    headers: &HeaderMap,
) -> Answer<Response> {
    let view = workflows::view(door, space, name).await?;
    let run = view.read(|run| run.id);
    let data_dir = door.data_dir.clone();
    let reader = Reader { view, run, data_dir, wanted, sources: HashMap::new(), pass: None };
    Ok(watch::respond(headers, reader.batches()))
}

/// How far one file has been read.
#[derive(Default)]
struct Source {
    offset: u64,
    rest: Vec<u8>,
    /// Whether only new lines are to come: the last ones of those before have been given.
    caught_up: bool,
    /// Of what was there at the first look, the last lines so far, where only those are wanted.
    tail: VecDeque<String>,
}

/// One look at all files, in order.
struct Pass {
    files: VecDeque<(String, Log)>,
    /// Whether nothing can be added any more.
    last: bool,
}

struct Reader {
    view: RunView,
    run: RunId,
    data_dir: PathBuf,
    wanted: Wanted,
    sources: HashMap<(AttemptId, String, logs::Stream), Source>,
    pass: Option<Pass>,
}

impl Reader {
    /// All entries, of one chunk of a file at a time: however long logs are, little is held.
    fn batches(self) -> impl Stream<Item = Vec<Value>> + Send {
        stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            loop {
                let Some(mut pass) = reader.pass.take() else {
                    reader.pass = Some(reader.begin());
                    continue;
                };
                let Some((pod, file)) = pass.files.front() else {
                    if pass.last {
                        return None;
                    }
                    tokio::time::sleep(LOOK).await;
                    continue;
                };
                let (entries, ended) = reader.read_chunk(file, pod, pass.last);
                if ended {
                    pass.files.pop_front();
                }
                reader.pass = Some(pass);
                if !entries.is_empty() {
                    return Some((entries, Some(reader)));
                }
                tokio::task::yield_now().await;
            }
        })
    }

    fn begin(&self) -> Pass {
        // Whether the run had ended is asked before its files are read for the last time.
        let last = !self.wanted.follow || self.view.read(|run| run.phase.is_terminal());
        let files = logs::list(&self.data_dir, self.run).unwrap_or_default();
        let mut named: Vec<(i64, String, Log)> = files
            .into_iter()
            .filter(|file| {
                self.wanted.container.as_ref().is_none_or(|name| *name == file.container)
            })
            .filter_map(|file| {
                let (at, pod) =
                    self.view.read(|run| pod_of(run, file.attempt, self.wanted.pod.as_deref()))?;
                Some((at, pod, file))
            })
            .collect();
        named.sort_by_key(|(at, _, file)| (*at, file.attempt, file.stream));
        Pass { files: named.into_iter().map(|(_, pod, file)| (pod, file)).collect(), last }
    }

    /// The entries of the next chunk, and whether the file has no more for now. An unfinished line
    /// is one, too, when nothing follows.
    fn read_chunk(&mut self, file: &Log, pod: &str, last: bool) -> (Vec<Value>, bool) {
        let source =
            self.sources.entry((file.attempt, file.container.clone(), file.stream)).or_default();
        let bytes = logs::read(&self.data_dir, file, source.offset, CHUNK).unwrap_or_default();
        let ended = bytes.is_empty();
        source.offset += bytes.len() as u64;
        source.rest.extend_from_slice(&bytes);
        let mut lines = Vec::new();
        take_lines(&mut source.rest, last && ended, &mut lines);
        lines.retain(|line| self.wanted.grep.as_ref().is_none_or(|grep| grep.is_match(line)));
        if let Some(tail) = self.wanted.tail.filter(|_| !source.caught_up) {
            source.tail.extend(lines.drain(..));
            source.tail.drain(..source.tail.len().saturating_sub(tail));
            if ended {
                source.caught_up = true;
                lines.extend(std::mem::take(&mut source.tail));
            }
        }
        let entry = |line| json!({"content": line, "podName": pod, "container": file.container});
        (lines.into_iter().map(entry).collect(), ended)
    }
}

/// Moves whole lines (and the unfinished last one, at the end) out of `rest`. Bytes that are no
/// UTF-8 are shown as the replacement character.
fn take_lines(rest: &mut Vec<u8>, at_end: bool, lines: &mut Vec<String>) {
    let mut from = 0;
    while let Some(length) = rest[from..].iter().position(|byte| *byte == b'\n') {
        lines.push(String::from_utf8_lossy(&rest[from..from + length]).into_owned());
        from += length + 1;
    }
    rest.drain(..from);
    if !rest.is_empty() && (at_end || rest.len() > MAX_LINE) {
        lines.push(String::from_utf8_lossy(rest).into_owned());
        rest.clear();
    }
}

/// When an attempt was queued, and its pod's name; `None` where another pod is wanted.
fn pod_of(run: &Run, attempt: AttemptId, wanted: Option<&str>) -> Option<(i64, String)> {
    let step = run.step(attempt.step)?;
    let known = step.attempts.get(attempt.number as usize)?;
    let template = run.template_of(attempt.step);
    let before = step.attempts.iter().take(attempt.number as usize);
    let tries = before.filter(|attempt| !attempt.was_infrastructure()).count();
    let full = match template.filter(|template| template.retry.is_some()) {
        Some(_) => names::try_name(run, attempt.step, u32::try_from(tries).ok()?),
        None => names::full_name(run, attempt.step),
    };
    let pod =
        names::pod_name(&run.spec.name, &full, template.map_or("", |template| &template.name));
    let shown = names::display_name(run, attempt.step);
    let matches = wanted.is_none_or(|wanted| {
        wanted == pod
            || wanted == full
            || wanted == shown
            || wanted == names::full_name(run, attempt.step)
    });
    matches.then_some((known.queued_ms, pod))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_bytes_that_are_no_text() {
        let mut rest = b"one\n\xff\xfe two\r\n\x00three".to_vec();
        let mut lines = Vec::new();
        take_lines(&mut rest, false, &mut lines);
        assert_eq!(lines, ["one", "\u{fffd}\u{fffd} two\r"]);
        take_lines(&mut rest, true, &mut lines);
        assert_eq!(lines.last().map(String::as_str), Some("\u{0}three"));
        assert!(rest.is_empty());
    }
}
