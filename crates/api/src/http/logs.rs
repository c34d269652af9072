//! What the steps of a run printed.
//!
//! One entry a line, as Argo's stream has them: `{"content": ..., "podName": ...}`. Of a line that
//! is no text, `bytes` has what was written (in base 64); `unfinished` says that the next entry
//! belongs to the same line.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
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
use serde_json::Value;

use super::error::{Answer, Refusal};
use super::extract::Path;
use super::log_options::Wanted;
use super::query::{self, Query};
use super::watch::{self, Batch, Framing};
use super::{Door, select, workflows};
use crate::ports::{RunView, Service};

/// Bytes that are read from one file at once.
const CHUNK: usize = 256 << 10;

/// A line that is longer than this is shown in pieces.
const MAX_LINE: usize = 64 << 10;

/// Of a line that is longer than this only so much, and a chunk at most, is matched by `grep`.
const MATCHED: usize = 1 << 20;

/// How often a follower looks whether a file has grown.
const LOOK: Duration = Duration::from_millis(100);

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
    if let Some(pod) = &wanted.pod {
        view.show(|run| may_have(run, pod, wanted.follow))?;
    }
    Ok(Reader::new(door, view, wanted, Framing::of(headers)).respond())
}

/// Refuses a pod that the run has not, and does not get either where somebody waits for it.
fn may_have(run: &Run, pod: &str, waits: bool) -> Answer<()> {
    match select::named(run, pod) {
        Err(refusal) if refusal.is_not_found() && (!waits || run.phase.is_terminal()) => {
            Err(refusal)
        }
        // One name may be that of several pods here: all of them are meant.
        _ => Ok(()),
    }
}

/// A line of a log, or a piece of one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line<'t> {
    bytes: &'t [u8],
    /// Whether the line goes on.
    unfinished: bool,
}

impl Line<'_> {
    fn of(bytes: &[u8], unfinished: bool) -> Line<'_> {
        Line { bytes, unfinished }
    }

    /// What it says; the replacement character stands for bytes that are no text.
    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes)
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
            let bytes = BASE64_STANDARD.encode(self.bytes);
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

/// A container of an attempt.
type Container = (AttemptId, String);

/// A log, and the pod whose it is.
struct Part {
    pod: String,
    log: Log,
}

impl Part {
    fn container(&self) -> Container {
        (self.log.attempt, self.log.container.clone())
    }
}

/// How far one file has been read.
#[derive(Default)]
struct Source {
    offset: u64,
    rest: Vec<u8>,
    /// Whether the line is wanted whose first piece has been given.
    verdict: Option<bool>,
    /// Whether it could not be read, which has been said.
    is_broken: bool,
}

/// One look at all files, in order.
struct Pass {
    parts: VecDeque<Part>,
    /// The first of them. What is open is read to its end even if it is deleted.
    open: Option<File>,
    /// Whether nothing can be added any more.
    last: bool,
}

struct Reader {
    service: Arc<dyn Service>,
    view: RunView,
    run: RunId,
    data_dir: PathBuf,
    wanted: Wanted,
    framing: Framing,
    sources: HashMap<Log, Source>,
    /// Where it has been found out where the last lines begin.
    placed: HashSet<Container>,
    /// What may still be told of each, where that is limited.
    left: HashMap<Container, u64>,
    /// Whose line has been begun and goes on, and the end of its entries.
    begun: Option<(Log, String)>,
    pass: Option<Pass>,
    is_over: bool,
}

impl Reader {
    fn new(door: &Door, view: RunView, wanted: Wanted, framing: Framing) -> Reader {
        Reader {
            service: Arc::clone(&door.service),
            run: view.read(|run| run.id),
            view,
            data_dir: door.data_dir.clone(),
            wanted,
            framing,
            sources: HashMap::new(),
            placed: HashSet::new(),
            left: HashMap::new(),
            begun: None,
            pass: None,
            is_over: false,
        }
    }

    fn respond(self) -> Response {
        watch::respond(self.framing, self.batches())
    }

    /// All entries, of one chunk of a file at a time: however long logs are, little is held.
    fn batches(self) -> impl Stream<Item = Batch> + Send {
        stream::unfold(self, |mut reader| async move {
            let batch = reader.next().await?;
            Some((batch, reader))
        })
    }

    async fn next(&mut self) -> Option<Batch> {
        while !self.is_over {
            let told = match self.pass.take() {
                None => self.begin().await.map(|pass| (pass, Batch::new(self.framing))),
                Some(pass) if pass.parts.is_empty() => {
                    if pass.last {
                        break;
                    }
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                Some(pass) => self.go_on(pass).await,
            };
            match told {
                Err(refusal) => {
                    self.is_over = true;
                    let mut batch = Batch::new(self.framing);
                    batch.refuse(&refusal);
                    return Some(batch);
                }
                Ok((pass, batch)) => {
                    self.pass = Some(pass);
                    if !batch.is_empty() {
                        return Some(batch);
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        None
    }

    async fn begin(&self) -> Answer<Pass> {
        // Whether the run had ended is asked before its files are read for the last time.
        let has_ended = self.view.read(|run| run.phase.is_terminal());
        let last = !self.wanted.follow || has_ended;
        let logs = logs::list(&self.data_dir, self.run).map_err(|error| {
            unreadable(&logs::folder(&self.data_dir, self.run), "the logs of the run", &error)
        })?;
        if last {
            // A run is deleted before its files are.
            self.is_there().await?;
            let pod = self.wanted.pod.as_deref();
            pod.map_or(Ok(()), |pod| self.view.show(|run| may_have(run, pod, false)))?;
        }
        let wanted = |log: &Log| {
            self.wanted.container.as_ref().is_none_or(|name| *name == log.container)
                && self.wanted.stream.is_none_or(|stream| stream == log.stream)
        };
        let mut parts: Vec<(i64, Part)> = logs
            .into_iter()
            .filter(wanted)
            .filter_map(|log| {
                let (at, pod) = self.view.read(|run| pod_of(run, log.attempt, &self.wanted))?;
                Some((at, Part { pod, log }))
            })
            .collect();
        parts.sort_by(|(a_ms, a), (b_ms, b)| (a_ms, &a.log).cmp(&(b_ms, &b.log)));
        Ok(Pass { parts: parts.into_iter().map(|(_, part)| part).collect(), open: None, last })
    }

    /// Refuses to go on where the run has been deleted meanwhile.
    async fn is_there(&self) -> Answer<()> {
        let (space, name) = self.view.read(|run| (run.spec.space.clone(), run.spec.name.clone()));
        match self.service.find(&space, &name).await? {
            Some(row) if row.id == self.run => Ok(()),
            _ => {
                let what = format!("the run {name:?} was deleted while its logs were read");
                let help = "what was shown of them is not all";
                Err(Diagnostic::new(Code::NotFound, what).help(help).into())
            }
        }
    }

    /// The next chunk of a pass.
    async fn go_on(&mut self, mut pass: Pass) -> Answer<(Pass, Batch)> {
        let mut batch = Batch::new(self.framing);
        let file = match pass.open.take() {
            Some(file) => Ok(Some(file)),
            None => {
                self.place(&pass).await;
                pass.parts.front().map_or(Ok(None), |part| logs::open(&self.data_dir, &part.log))
            }
        };
        let Some(part) = pass.parts.front() else { return Ok((pass, batch)) };
        let read = match file {
            Ok(Some(file)) => {
                self.read_chunk(&file, part, pass.last, &mut batch).map(|ended| (file, ended))
            }
            // An attempt that is begun anew has its logs removed; else the run is deleted.
            Ok(None) => {
                self.is_there().await?;
                pass.parts.pop_front();
                return Ok((pass, batch));
            }
            Err(error) => Err(error),
        };
        match read {
            Ok((file, false)) => pass.open = Some(file),
            Ok((_, true)) => {
                pass.parts.pop_front();
            }
            Err(error) => {
                let source = self.sources.entry(part.log.clone()).or_default();
                if !std::mem::replace(&mut source.is_broken, true) {
                    let path = part.log.path(&self.data_dir);
                    batch.refuse(&unreadable(&path, &format!("a log of {}", part.pod), &error));
                }
                pass.parts.pop_front();
            }
        }
        Ok((pass, batch))
    }

    /// Finds out where the last lines of the first container of a pass begin, where only those are
    /// wanted.
    async fn place(&mut self, pass: &Pass) {
        let Some(tail) = self.wanted.tail else { return };
        let Some(container) = pass.parts.front().map(Part::container) else { return };
        if !self.placed.insert(container.clone()) {
            return;
        }
        let own = pass.parts.iter().take_while(|part| part.container() == container);
        let own: Vec<_> = own.map(|part| part.log.clone()).collect();
        let data_dir = self.data_dir.clone();
        let found = tokio::task::spawn_blocking(move || last_lines(&data_dir, own, tail)).await;
        for (log, offset) in found.unwrap_or_default() {
            self.sources.entry(log).or_default().offset = offset;
        }
    }

    /// The entries of the next chunk; whether the file has no more for now. An unfinished line is
    /// one, too, when nothing follows.
    fn read_chunk(
        &mut self,
        file: &File,
        part: &Part,
        last: bool,
        batch: &mut Batch,
    ) -> io::Result<bool> {
        let left = match self.wanted.limit {
            Some(limit) => Some(self.left.entry(part.container()).or_insert(limit)),
            None => None,
        };
        let source = self.sources.entry(part.log.clone()).or_default();
        let most = left
            .as_deref()
            .map_or(CHUNK, |left| usize::try_from(*left).map_or(CHUNK, |left| left.min(CHUNK)));
        let bytes = logs::read(file, source.offset, most)?;
        let ended = bytes.is_empty();
        source.offset += bytes.len() as u64;
        let mut at_end = last && ended;
        if let Some(left) = left {
            *left = left.saturating_sub(bytes.len() as u64);
            at_end |= *left == 0;
        }
        let mut text = std::mem::take(&mut source.rest);
        text.extend_from_slice(&bytes);
        let longest = if self.wanted.grep.is_some() { MATCHED } else { MAX_LINE };
        let (mut lines, length) = lines_of(&text, at_end, longest);
        source.rest.extend_from_slice(&text[length..]);
        if let Some(grep) = &self.wanted.grep {
            lines.retain(|line| source.wants(line, |text| grep.is_match(text)));
        }
        self.tell(part, &lines, at_end, batch);
        Ok(ended)
    }

    /// Tells lines. One that has been begun is ended before those of another file, and at the end of
    /// its own.
    fn tell(&mut self, part: &Part, lines: &[Line<'_>], at_end: bool, batch: &mut Batch) {
        let is_own = |log: &Log| *log == part.log;
        let stays = self.begun.as_ref().is_none_or(|(log, _)| match is_own(log) {
            true => !at_end || !lines.is_empty(),
            false => lines.is_empty(),
        });
        if !stays && let Some((_, whose)) = self.begun.take() {
            batch.push(|out| Line::of(b"", false).write(&whose, out));
        }
        let Some(last) = lines.last() else { return };
        let whose = whose(&part.pod, &part.log.container);
        lines.iter().for_each(|line| batch.push(|out| line.write(&whose, out)));
        self.begun = last.unfinished.then(|| (part.log.clone(), whose));
    }
}

impl Source {
    /// Whether a line is wanted. Its first piece decides for the others.
    fn wants(&mut self, line: &Line<'_>, matches: impl Fn(&str) -> bool) -> bool {
        let wants = self.verdict.take().unwrap_or_else(|| matches(&line.text()));
        self.verdict = line.unfinished.then_some(wants);
        wants
    }
}

/// Where the last lines begin in the logs of one container, which count as one text. A log that
/// cannot be read is told when it is.
fn last_lines(data_dir: &std::path::Path, logs: Vec<Log>, count: u64) -> Vec<(Log, u64)> {
    let mut left = count;
    let place = |log: Log| {
        let file = logs::open(data_dir, &log).ok()??;
        let (offset, lines) = logs::tail(&file, left).ok()?;
        left -= lines;
        Some((log, offset))
    };
    logs.into_iter().rev().filter_map(place).collect()
}

fn unreadable(path: &std::path::Path, what: &str, error: &io::Error) -> Refusal {
    let what = format!("{what} cannot be read: {}: {error}", path.display());
    let help =
        "the user of the server must be able to read the folder `logs` of its data directory";
    Diagnostic::new(Code::DataUnreadable, what).help(help).into()
}

/// The whole lines of a text (and the unfinished last one at the end, or when it is longer than
/// `longest`), and how much of it they are.
fn lines_of(text: &[u8], at_end: bool, longest: usize) -> (Vec<Line<'_>>, usize) {
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
    } else if rest.len() > longest {
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
        let (lines, length) = lines_of(&text, false, MAX_LINE);
        assert_eq!(lines, [Line::of(b"one", false), Line::of(b"\xff\xfe two\r", false)]);
        assert_eq!(entry(&lines[0]), json!({"content": "one", "podName": "p", "container": "c"}));
        // Base 64 of ff fe 20 74 77 6f 0d, by hand: 111111 111111 111000 100000 | 011101 000111
        // 011101 101111 | 000011 01(0000).
        let shown = json!({"content": "\u{fffd}\u{fffd} two\r", "podName": "p", "container": "c",
            "bytes": "//4gdHdvDQ=="});
        assert_eq!(entry(&lines[1]), shown);
        assert_eq!(&text[length..], b"\x00three");
        let last = lines_of(&text[length..], true, MAX_LINE);
        assert_eq!(last, (vec![Line::of(b"\x00three", false)], 6));
    }

    #[test]
    fn the_first_piece_of_a_line_decides_whether_the_others_are_wanted() {
        let mut source = Source::default();
        let pieces = [
            (&b"yes"[..], true, true),
            (b"no", true, true),
            (b"no", false, true),
            (b"no", true, false),
            (b"yes", false, false),
            (b"yes", false, true),
            (b"no", false, false),
        ];
        for (bytes, unfinished, wanted) in pieces {
            let line = Line::of(bytes, unfinished);
            assert_eq!(source.wants(&line, |text| text == "yes"), wanted, "{line:?}");
        }
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
            assert_eq!(lines_of(&all, false, MAX_LINE), (vec![piece.clone()], whole), "{end:?}");
            assert_eq!(entry(&piece)["unfinished"], true);
        }
        let one = vec![b'a'; MAX_LINE];
        assert_eq!(
            lines_of(&one, false, MAX_LINE),
            (Vec::new(), 0),
            "one that is not may be ended yet"
        );
    }
}
