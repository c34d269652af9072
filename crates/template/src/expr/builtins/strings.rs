//! Functions on texts.

use super::{Function, arg, count, function, int, list, text, wanted};
use crate::env::Env;
use crate::error::Fault;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("trim", 1, 2, |args, env| {
        let source = text(args, 0)?;
        let trimmed = match arg(args, 1) {
            Value::Nil => source.trim(),
            _ => trim_chars(source, text(args, 1)?),
        };
        made(trimmed, env)
    }),
    function("trimPrefix", 1, 2, |args, env| {
        let source = text(args, 0)?;
        made(source.strip_prefix(optional(args, " ")?).unwrap_or(source), env)
    }),
    function("trimSuffix", 1, 2, |args, env| {
        let source = text(args, 0)?;
        made(source.strip_suffix(optional(args, " ")?).unwrap_or(source), env)
    }),
    function("upper", 1, 1, |args, env| made(&text(args, 0)?.to_uppercase(), env)),
    function("lower", 1, 1, |args, env| made(&text(args, 0)?.to_lowercase(), env)),
    function("split", 2, 3, |args, env| {
        split(text(args, 0)?, text(args, 1)?, limit(args)?, false, env)
    }),
    function("splitAfter", 2, 3, |args, env| {
        split(text(args, 0)?, text(args, 1)?, limit(args)?, true, env)
    }),
    function("replace", 3, 4, |args, env| {
        let times = match arg(args, 3) {
            Value::Nil => -1,
            _ => int(args, 3)?,
        };
        replace(text(args, 0)?, text(args, 1)?, text(args, 2)?, times, env)
    }),
    function("repeat", 2, 2, |args, env| repeat(text(args, 0)?, int(args, 1)?, env)),
    function("join", 1, 2, |args, env| {
        let glue = optional(args, "")?;
        let parts = list(args, 0)?.items.iter().map(|item| match item {
            Value::Str(part) => Ok(part.as_ref()),
            other => Err(wanted("an array of strings", 0, other)),
        });
        join(&parts.collect::<Result<Vec<_>, _>>()?, glue, env)
    }),
    function("indexOf", 2, 2, |args, _| Ok(place(text(args, 0)?.find(text(args, 1)?)))),
    function("lastIndexOf", 2, 2, |args, _| Ok(place(text(args, 0)?.rfind(text(args, 1)?)))),
    function("hasPrefix", 2, 2, |args, _| {
        Ok(Value::Bool(text(args, 0)?.starts_with(text(args, 1)?)))
    }),
    function("hasSuffix", 2, 2, |args, _| {
        Ok(Value::Bool(text(args, 0)?.ends_with(text(args, 1)?)))
    }),
];

/// A text that was made: it is paid for.
pub(crate) fn made(text: &str, env: &mut Env) -> Result<Value, Fault> {
    env.produce(text.len())?;
    Ok(Value::str(text))
}

/// `source` without the characters of `set` at its ends.
pub(crate) fn trim_chars<'a>(source: &'a str, set: &str) -> &'a str {
    source.trim_matches(|c| set.contains(c))
}

fn optional<'a>(args: &'a [Value], default: &'a str) -> Result<&'a str, Fault> {
    if args.len() > 1 { text(args, 1) } else { Ok(default) }
}

fn limit(args: &[Value]) -> Result<i64, Fault> {
    if args.len() > 2 { int(args, 2) } else { Ok(-1) }
}

/// A byte offset, or -1.
fn place(found: Option<usize>) -> Value {
    found.map_or(Value::Int(-1), count)
}

/// The parts of `source` between separators: at most `limit` of them unless it is negative. An
/// empty separator parts the characters.
pub(crate) fn split(
    source: &str,
    separator: &str,
    limit: i64,
    keep: bool,
    env: &mut Env,
) -> Result<Value, Fault> {
    env.produce(source.len())?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = source;
    while parts.len() + 1 < most {
        let end = match separator {
            "" => rest.chars().next().map(char::len_utf8).filter(|len| *len < rest.len()),
            _ => rest.find(separator),
        };
        let Some(end) = end else { break };
        env.burn(1)?;
        let kept = if keep { end + separator.len() } else { end };
        parts.push(rest.get(..kept).unwrap_or(""));
        rest = rest.get(end + separator.len()..).unwrap_or("");
    }
    let nothing_left = separator.is_empty() && source.is_empty();
    if most > 0 && !nothing_left {
        parts.push(rest);
    }
    Value::texts(parts)
}

/// `source` with `old` replaced, at most `times` times unless negative.
pub(crate) fn replace(
    source: &str,
    old: &str,
    new: &str,
    times: i64,
    env: &mut Env,
) -> Result<Value, Fault> {
    let most = usize::try_from(times).unwrap_or(usize::MAX);
    let found = source.matches(old).take(most).count();
    env.burn(found)?;
    env.produce(source.len() + found.saturating_mul(new.len()))?;
    Ok(Value::str(source.replacen(old, new, most)))
}

/// `source`, `times` times.
pub(crate) fn repeat(source: &str, times: i64, env: &mut Env) -> Result<Value, Fault> {
    let times = usize::try_from(times)
        .map_err(|_| format!("repeat takes a count of at least zero, not {times}"))?;
    env.produce(source.len().saturating_mul(times))?;
    Ok(Value::str(source.repeat(times)))
}

/// The parts with `glue` between.
pub(crate) fn join(parts: &[&str], glue: &str, env: &mut Env) -> Result<Value, Fault> {
    let bytes: usize = parts.iter().map(|part| part.len() + glue.len()).sum();
    env.burn(parts.len())?;
    env.produce(bytes)?;
    Ok(Value::str(parts.join(glue)))
}
