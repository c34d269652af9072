//! What the steps of a run printed.
//!
//! One entry a line, as Argo's stream has them: `{"content": ..., "podName": ...}`. Of a line that
//! is no text, `bytes` has what was written (in base 64); `unfinished` says that the next entry
//! belongs to the same line.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use argosy_engine::{Run, names};
use argosy_exec::logs::{self, Log};
use argosy_model::{AttemptId, Code, Diagnostic, RunId};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::{Stream, stream};
use regex::Regex;
use serde_json::Value;

use super::error::{Answer, Refusal, bad_request};
use super::extract::Path;
use super::query::{self, Query};
use super::select::{self, Named};
use super::watch::{self, Batch, Framing};
use super::{Door, workflows};
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
    /// Of this pod or step; nothing, where there is none.
    pod: Option<String>,
    /// Of this step, which is there.
    step: Option<Named>,
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
            step: None,
            container: text("logOptions.container"),
            grep: grep.map_err(|error| bad_request(format!("grep: {error}")))?,
            tail: tail.map_err(|_| bad_request("logOptions.tailLines is not a number"))?,
            follow: query::flag(query, "logOptions.follow"),
        })
    }
}

/// `GET /api/v1/workflows/{space}/{name}/log`; of one step with `argosy.step`, which is refused
/// where there is none of that name.
pub(super) async fn of_workflow(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
    query: Query,
    headers: HeaderMap,
) -> Answer<Response> {
    let wanted = Wanted::of(&query, None)?;
    let step = query::value(&query, "argosy.step");
    answer(&door, &space, &name, (wanted, step), &headers).await
}

/// `GET /api/v1/workflows/{space}/{name}/{pod}/log`
pub(super) async fn of_named_pod(
    State(door): State<Door>,
    Path((space, name, pod)): Path<(String, String, String)>,
    query: Query,
    headers: HeaderMap,
) -> Answer<Response> {
    let wanted = Wanted::of(&query, Some(pod))?;
    answer(&door, &space, &name, (wanted, None), &headers).await
}

async fn answer(
    door: &Door,
    space: &str,
    name: &str,
    (mut wanted, step): (Wanted, Option<&str>),
    headers: &HeaderMap,
) -> Answer<Response> {
    let view = workflows::view(door, space, name).await?;
    wanted.step = step.map(|step| view.show(|run| select::named(run, step))).transpose()?;
    let run = view.read(|run| run.id);
    let data_dir = door.data_dir.clone();
    let framing = Framing::of(headers);
    let (sources, pass) = (HashMap::new(), None);
    let reader = Reader { view, run, data_dir, wanted, framing, sources, pass };
    Ok(watch::respond(framing, reader.batches()))
}

/// A line of a log, or a piece of one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line<'t> {
    bytes: Cow<'t, [u8]>,
    /// Whether the line goes on.
    unfinished: bool,
}

impl Line<'_> {
    fn of(bytes: &[u8], unfinished: bool) -> Line<'_> {
        Line { bytes: Cow::Borrowed(bytes), unfinished }
    }

    fn kept(self) -> Line<'static> {
        Line { bytes: Cow::Owned(self.bytes.into_owned()), unfinished: self.unfinished }
    }

    /// What it says; the replacement character stands for bytes that are no text.
    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// Writes its entry, with `whose` it is. There are millions of them: nothing is made for one
    /// that is then thrown away.
    fn write(&self, whose: &str, out: &mut Vec<u8>) {
        let text = self.text();
        out.extend_from_slice(b"{\"content\":");
        // A text can be written, and memory takes it.
        let _ = serde_json::to_writer(&mut *out, &*text);
        out.extend_from_slice(whose.as_bytes());
        if matches!(text, Cow::Owned(_)) {
            let bytes = BASE64_STANDARD.encode(&self.bytes);
            out.extend_from_slice(format!(",\"bytes\":\"{bytes}\"").as_bytes());
        }
        if self.unfinished {
            out.extend_from_slice(b",\"unfinished\":true");
        }
        out.push(b'}');
    }
}

/// The part of an entry that is the same for all lines of a file.
fn whose(pod: &str, container: &str) -> String {
    format!(",\"podName\":{},\"container\":{}", Value::from(pod), Value::from(container))
}

/// How far one file has been read.
#[derive(Default)]
struct Source {
    offset: u64,
    rest: Vec<u8>,
    /// Whether only new lines are to come: the last ones of those before have been given.
    caught_up: bool,
    /// Of what was there at the first look, the last lines so far, where only those are wanted.
    tail: VecDeque<Line<'static>>,
    /// Whether it could not be read, which has been said.
    is_broken: bool,
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
    framing: Framing,
    sources: HashMap<(AttemptId, String, logs::Stream), Source>,
    pass: Option<Pass>,
}

impl Reader {
    /// All entries, of one chunk of a file at a time: however long logs are, little is held.
    fn batches(self) -> impl Stream<Item = Batch> + Send {
        stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            loop {
                let Some(mut pass) = reader.pass.take() else {
                    match reader.begin() {
                        Ok(pass) => reader.pass = Some(pass),
                        Err(refusal) => return Some((reader.refused(&refusal), None)),
                    }
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

    fn refused(&self, refusal: &Refusal) -> Batch {
        let mut batch = Batch::new(self.framing);
        batch.refuse(refusal);
        batch
    }

    fn begin(&self) -> Answer<Pass> {
        // Whether the run had ended is asked before its files are read for the last time.
        let last = !self.wanted.follow || self.view.read(|run| run.phase.is_terminal());
        let files = logs::list(&self.data_dir, self.run).map_err(|error| {
            unreadable(&logs::folder(&self.data_dir, self.run), "the logs of the run", &error)
        })?;
        let mut named: Vec<(i64, String, Log)> = files
            .into_iter()
            .filter(|file| {
                self.wanted.container.as_ref().is_none_or(|name| *name == file.container)
            })
            .filter_map(|file| {
                let (at, pod) = self.view.read(|run| pod_of(run, file.attempt, &self.wanted))?;
                Some((at, pod, file))
            })
            .collect();
        named.sort_by_key(|(at, _, file)| (*at, file.attempt, file.stream));
        Ok(Pass { files: named.into_iter().map(|(_, pod, file)| (pod, file)).collect(), last })
    }

    /// The entries of the next chunk, and whether the file has no more for now. An unfinished line
    /// is one, too, when nothing follows.
    fn read_chunk(&mut self, file: &Log, pod: &str, last: bool) -> (Batch, bool) {
        let mut batch = Batch::new(self.framing);
        let source =
            self.sources.entry((file.attempt, file.container.clone(), file.stream)).or_default();
        if source.is_broken {
            return (batch, true);
        }
        let bytes = match logs::read(&self.data_dir, file, source.offset, CHUNK) {
            Ok(bytes) => bytes,
            Err(error) => {
                source.is_broken = true;
                let path = file.path(&self.data_dir);
                batch.refuse(&unreadable(&path, &format!("a log of {pod}"), &error));
                return (batch, true);
            }
        };
        let ended = bytes.is_empty();
        source.offset += bytes.len() as u64;
        let mut text = std::mem::take(&mut source.rest);
        text.extend_from_slice(&bytes);
        let (mut lines, length) = lines_of(&text, last && ended);
        source.rest.extend_from_slice(&text[length..]);
        if let Some(grep) = &self.wanted.grep {
            lines.retain(|line| grep.is_match(&line.text()));
        }
        if let Some(tail) = self.wanted.tail.filter(|_| !source.caught_up) {
            let from = lines.len().saturating_sub(tail);
            source.tail.extend(lines.drain(..).skip(from).map(Line::kept));
            source.tail.drain(..source.tail.len().saturating_sub(tail));
            if ended {
                source.caught_up = true;
                lines.extend(std::mem::take(&mut source.tail));
            }
        }
        let whose = whose(pod, &file.container);
        lines.iter().for_each(|line| batch.push(|out| line.write(&whose, out)));
        (batch, ended)
    }
}

fn unreadable(path: &std::path::Path, what: &str, error: &io::Error) -> Refusal {
    let what = format!("{what} cannot be read: {}: {error}", path.display());
    let help =
        "the user of the server must be able to read the folder `logs` of its data directory";
    Diagnostic::new(Code::DataUnreadable, what).help(help).into()
}

/// The whole lines of a text (and the unfinished last one, at the end), and how much of it they are.
fn lines_of(text: &[u8], at_end: bool) -> (Vec<Line<'_>>, usize) {
    let mut lines = Vec::new();
    let mut from = 0;
    while let Some(length) = text[from..].iter().position(|byte| *byte == b'\n') {
        lines.push(Line::of(&text[from..from + length], false));
        from += length + 1;
    }
    let rest = &text[from..];
    if !rest.is_empty() && at_end {
        lines.push(Line::of(rest, false));
        from = text.len();
    } else if rest.len() > MAX_LINE {
        let whole = whole_characters(rest);
        lines.push(Line::of(&rest[..whole], true));
        from += whole;
    }
    (lines, from)
}

/// The length of a text without the beginning of a character at its end.
fn whole_characters(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(4);
    let starts = (from..bytes.len()).rev().find(|at| bytes[*at] & 0xc0 != 0x80);
    let is_whole = |at: usize| {
        let cut = std::str::from_utf8(&bytes[at..]).err();
        cut.is_none_or(|error| error.error_len().is_some())
    };
    starts.filter(|at| !is_whole(*at)).unwrap_or(bytes.len())
}

/// When an attempt was queued, and its pod's name; `None` where another one is wanted.
fn pod_of(run: &Run, attempt: AttemptId, wanted: &Wanted) -> Option<(i64, String)> {
    if wanted.step.is_some_and(|named| named.step != attempt.step) {
        return None;
    }
    let step = run.step(attempt.step)?;
    let known = step.attempts.get(attempt.number as usize)?;
    let template = run.template_of(attempt.step);
    let before = step.attempts.iter().take(attempt.number as usize);
    let tries = before.filter(|attempt| !attempt.was_infrastructure()).count();
    let number = u32::try_from(tries).ok()?;
    if wanted.step.and_then(|named| named.number).is_some_and(|wanted| wanted != number) {
        return None;
    }
    let full = match template.filter(|template| template.retry.is_some()) {
        Some(_) => names::try_name(run, attempt.step, number),
        None => names::full_name(run, attempt.step),
    };
    let pod =
        names::pod_name(&run.spec.name, &full, template.map_or("", |template| &template.name));
    let is_wanted = |wanted: &String| {
        *wanted == pod
            || *wanted == full
            || *wanted == names::display_name(run, attempt.step)
            || *wanted == names::full_name(run, attempt.step)
    };
    wanted.pod.as_ref().is_none_or(is_wanted).then_some((known.queued_ms, pod))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(line: &Line<'_>) -> Value {
        let mut written = Vec::new();
        line.write(&whose("p", "c"), &mut written);
        serde_json::from_slice(&written).unwrap()
    }

    #[test]
    fn lines_survive_bytes_that_are_no_text() {
        let text = b"one\n\xff\xfe two\r\n\x00three".to_vec();
        let (lines, length) = lines_of(&text, false);
        assert_eq!(lines, [Line::of(b"one", false), Line::of(b"\xff\xfe two\r", false)]);
        assert_eq!(
            entry(&lines[0]),
            json!({"content": "one", "podName": "p", "container": "c"})
        );
        // Base 64 of ff fe 20 74 77 6f 0d, by hand: 111111 111111 111000 100000 | 011101 000111
        // 011101 101111 | 000011 01(0000).
        let shown = json!({"content": "\u{fffd}\u{fffd} two\r", "podName": "p", "container": "c",
            "bytes": "//4gdHdvDQ=="});
        assert_eq!(entry(&lines[1]), shown);
        assert_eq!(&text[length..], b"\x00three");
        let last = lines_of(&text[length..], true);
        assert_eq!(last, (vec![Line::of(b"\x00three", false)], 6));
    }

    #[test]
    fn a_line_that_is_too_long_comes_in_pieces_of_whole_characters() {
        for (end, left) in [
            (&b"x"[..], &b""[..]),
            ("ä".as_bytes(), b""),
            (b"\xc3", b"\xc3"),
            (b"\xf0\x9f\x98", b"\xf0\x9f\x98"),
            // No beginning of any character.
            (b"\xff", b""),
            (b"\x80\x80\x80\x80", b""),
        ] {
            let all = [vec![b'a'; MAX_LINE], end.to_vec()].concat();
            let whole = all.len() - left.len();
            let piece = Line::of(&all[..whole], true);
            assert_eq!(lines_of(&all, false), (vec![piece.clone()], whole), "{end:?}");
            assert_eq!(entry(&piece)["unfinished"], true);
        }
        let one = vec![b'a'; MAX_LINE];
        assert_eq!(lines_of(&one, false), (Vec::new(), 0), "one that is not may be ended yet");
    }
}
