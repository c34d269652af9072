//! What the steps of a run printed.
//!
//! One entry a line, as Argo's stream has them: `{"content": ..., "podName": ...}`.

use std::collections::HashMap;
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
    let reader =
        Reader { view, run, data_dir: door.data_dir.clone(), wanted, sources: HashMap::new() };
    Ok(watch::respond(headers, reader.lines()))
}

/// How far one file has been read.
#[derive(Default)]
struct Source {
    offset: u64,
    rest: Vec<u8>,
}

struct Reader {
    view: RunView,
    run: RunId,
    data_dir: PathBuf,
    wanted: Wanted,
    sources: HashMap<(AttemptId, String, logs::Stream), Source>,
}

impl Reader {
    fn lines(self) -> impl Stream<Item = Value> + Send {
        stream::unfold(
            (self, Vec::<Value>::new(), false),
            |(mut reader, mut ready, mut over)| async move {
                loop {
                    if let Some(entry) = ready.pop() {
                        return Some((entry, (reader, ready, over)));
                    }
                    if over {
                        return None;
                    }
                    // Whether the run had ended is asked before its files are read for the last time.
                    over = !reader.wanted.follow || reader.view.read(|run| run.phase.is_terminal());
                    ready = reader.read(over);
                    ready.reverse();
                    if ready.is_empty() && !over {
                        tokio::time::sleep(LOOK).await;
                    }
                }
            },
        )
    }

    /// New entries of all files; unfinished lines, too, when nothing follows.
    fn read(&mut self, last: bool) -> Vec<Value> {
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
        let mut entries = Vec::new();
        for (_, pod, file) in named {
            entries.extend(self.read_file(&file, &pod, last));
        }
        entries
    }

    fn read_file(&mut self, file: &Log, pod: &str, last: bool) -> Vec<Value> {
        let source =
            self.sources.entry((file.attempt, file.container.clone(), file.stream)).or_default();
        let first = source.offset == 0;
        let mut lines = Vec::new();
        loop {
            let bytes = logs::read(&self.data_dir, file, source.offset, CHUNK).unwrap_or_default();
            source.offset += bytes.len() as u64;
            source.rest.extend_from_slice(&bytes);
            take_lines(&mut source.rest, last && bytes.is_empty(), &mut lines);
            if bytes.is_empty() {
                break;
            }
        }
        lines.retain(|line| self.wanted.grep.as_ref().is_none_or(|grep| grep.is_match(line)));
        let skip = match self.wanted.tail {
            Some(tail) if first => lines.len().saturating_sub(tail),
            _ => 0,
        };
        lines
            .into_iter()
            .skip(skip)
            .map(|line| json!({"content": line, "podName": pod, "container": file.container}))
            .collect()
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
