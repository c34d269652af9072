//! Texts cut or broken to a width, which counts bytes (Masterminds/goutils `stringutils.go`,
//! `wordutils.go`).

use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::strings::made;
use crate::expr::builtins::{Function, function, int, text};
use crate::value::Value;

const ELLIPSIS: &str = "...";

pub(super) static TABLE: &[Function] = &[
    function("abbrev", 2, 2, |args, env| {
        let (width, source) = (int(args, 0)?, text(args, 1)?);
        if width < 4 { made(source, env) } else { made(&abbreviated(source, 0, size(width)), env) }
    }),
    function("abbrevboth", 3, 3, |args, env| {
        let (left, right, source) = (int(args, 0)?, int(args, 1)?, text(args, 2)?);
        if right < 4 || (left > 0 && right < 7) {
            return made(source, env);
        }
        made(&abbreviated(source, size(left), size(right)), env)
    }),
    function("wrap", 2, 2, |args, env| wrapped(text(args, 1)?, int(args, 0)?, "\n", false, env)),
    function("wrapWith", 3, 3, |args, env| {
        wrapped(text(args, 2)?, int(args, 0)?, text(args, 1)?, true, env)
    }),
];

fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// A part of a text by its bytes.
fn part(text: &str, from: usize, to: usize) -> String {
    String::from_utf8_lossy(text.as_bytes().get(from..to).unwrap_or(&[])).into_owned()
}

/// At most `width` bytes of a text from `offset` on, with an ellipsis where something is missing.
fn abbreviated(text: &str, offset: usize, width: usize) -> String {
    let (len, room) = (text.len(), width.saturating_sub(ELLIPSIS.len()));
    if len <= width {
        return text.to_owned();
    }
    // As much of the end as there is room for.
    let offset = offset.min(len - room);
    if offset <= 4 {
        return part(text, 0, room) + ELLIPSIS;
    }
    if offset + room < len {
        // Between two ellipses.
        let rest = part(text, offset, len);
        let inner = room.saturating_sub(ELLIPSIS.len());
        let shown = if rest.len() <= room { rest } else { part(&rest, 0, inner) + ELLIPSIS };
        return ELLIPSIS.to_owned() + &shown;
    }
    ELLIPSIS.to_owned() + &part(text, len - room, len)
}

/// A text in lines of at most `width` bytes, broken at spaces; words that are longer are broken
/// only with `breaks_words`.
fn wrapped(
    source: &str,
    width: i64,
    newline: &str,
    breaks_words: bool,
    env: &mut Env,
) -> Result<Value, Fault> {
    let newline = if newline.is_empty() { "\n" } else { newline };
    let width = size(width).max(1);
    env.produce(source.len())?;
    let (bytes, mut out, mut at) = (source.as_bytes(), Vec::new(), 0);
    let space = |byte: &u8| *byte == b' ';
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() > width) {
        if rest.first().is_some_and(space) {
            at += 1;
            continue;
        }
        let (head, tail) = rest.split_at(width);
        // A space right behind the line ends it as well.
        let before = if tail.first().is_some_and(space) { Some(width) } else { None };
        let before = before.or_else(|| head.iter().rposition(space));
        let behind = || Some(tail.iter().position(space)? + width);
        let (end, next) = match before {
            Some(end) => (end, end + 1),
            None if breaks_words => (width, width),
            None => behind().map_or((rest.len(), rest.len()), |end| (end, end + 1)),
        };
        out.extend_from_slice(rest.get(..end).unwrap_or(rest));
        at += next;
        if next > end || breaks_words {
            env.produce(newline.len())?;
            out.extend_from_slice(newline.as_bytes());
        }
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or(&[]));
    Ok(Value::str(String::from_utf8_lossy(&out)))
}
