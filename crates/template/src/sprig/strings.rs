//! Functions on texts.

use std::sync::Arc;

use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::strings::{join, made, repeat, replace, split, trim_chars};
use crate::expr::builtins::{Function, MANY, arg, function, int, text};
use crate::go;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("hello", 0, 0, |_, _| Ok(Value::str("Hello!"))),
    function("trim", 1, 1, |args, env| made(text(args, 0)?.trim(), env)),
    function("trimAll", 2, 2, |args, env| made(trim_chars(text(args, 1)?, text(args, 0)?), env)),
    function("trimall", 2, 2, |args, env| made(trim_chars(text(args, 1)?, text(args, 0)?), env)),
    function("trimPrefix", 2, 2, |args, env| {
        let source = text(args, 1)?;
        made(source.strip_prefix(text(args, 0)?).unwrap_or(source), env)
    }),
    function("trimSuffix", 2, 2, |args, env| {
        let source = text(args, 1)?;
        made(source.strip_suffix(text(args, 0)?).unwrap_or(source), env)
    }),
    function("upper", 1, 1, |args, env| made(&text(args, 0)?.to_uppercase(), env)),
    function("lower", 1, 1, |args, env| made(&text(args, 0)?.to_lowercase(), env)),
    function("title", 1, 1, |args, env| made(&title(text(args, 0)?), env)),
    function("untitle", 1, 1, |args, env| made(&words(text(args, 0)?, lower_first), env)),
    function("swapcase", 1, 1, |args, env| made(&swap_case(text(args, 0)?), env)),
    function("initials", 1, 1, |args, env| {
        let initials = text(args, 0)?.split_whitespace().filter_map(|word| word.chars().next());
        made(&initials.collect::<String>(), env)
    }),
    function("nospace", 1, 1, |args, env| {
        made(&text(args, 0)?.split_whitespace().collect::<String>(), env)
    }),
    function("substr", 3, 3, |args, env| {
        substring(int(args, 0)?, int(args, 1)?, text(args, 2)?, env)
    }),
    function("trunc", 2, 2, |args, env| truncate(int(args, 0)?, text(args, 1)?, env)),
    function("repeat", 2, 2, |args, env| repeat(text(args, 1)?, int(args, 0)?, env)),
    function("contains", 2, 2, |args, _| Ok(Value::Bool(text(args, 1)?.contains(text(args, 0)?)))),
    function("hasPrefix", 2, 2, |args, _| {
        Ok(Value::Bool(text(args, 1)?.starts_with(text(args, 0)?)))
    }),
    function("hasSuffix", 2, 2, |args, _| {
        Ok(Value::Bool(text(args, 1)?.ends_with(text(args, 0)?)))
    }),
    function("quote", 0, MANY, |args, env| each(args, env, |text| go::quoted(&text))),
    function("squote", 0, MANY, |args, env| each(args, env, |text| format!("'{text}'"))),
    function("cat", 0, MANY, |args, env| each(args, env, |text| text)),
    function("indent", 2, 2, |args, env| indent(int(args, 0)?, "", text(args, 1)?, env)),
    function("nindent", 2, 2, |args, env| indent(int(args, 0)?, "\n", text(args, 1)?, env)),
    function("replace", 3, 3, |args, env| {
        replace(text(args, 2)?, text(args, 0)?, text(args, 1)?, -1, env)
    }),
    function("plural", 3, 3, |args, env| made(text(args, usize::from(int(args, 2)? != 1))?, env)),
    function("toString", 1, 1, |args, env| {
        env.burn(arg(args, 0).weight())?;
        made(&arg(args, 0).to_string(), env)
    }),
    function("split", 2, 2, |args, env| {
        numbered(&split(text(args, 1)?, text(args, 0)?, -1, false, env)?)
    }),
    function("splitn", 3, 3, |args, env| {
        numbered(&split(text(args, 2)?, text(args, 0)?, int(args, 1)?, false, env)?)
    }),
    function("splitList", 2, 2, |args, env| split(text(args, 1)?, text(args, 0)?, -1, false, env)),
    function("toStrings", 1, 1, |args, env| Value::texts(texts(arg(args, 0), env)?)),
    function("join", 2, 2, |args, env| {
        let parts = texts(arg(args, 1), env)?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        join(&parts, text(args, 0)?, env)
    }),
    function("sortAlpha", 1, 1, |args, env| {
        let mut parts = texts(arg(args, 0), env)?;
        parts.sort();
        Value::texts(parts)
    }),
];

/// The members of a list as texts, without nil; any other value as the only one.
fn texts(value: &Value, env: &mut Env) -> Result<Vec<String>, Fault> {
    env.burn(value.weight())?;
    let single = std::slice::from_ref(value);
    let items = if let Value::List(list) = value { list.items.as_slice() } else { single };
    let given = items.iter().filter(|item| !matches!(item, Value::Nil));
    Ok(given.map(ToString::to_string).collect())
}

/// The arguments that are not nil, each changed, with spaces between.
fn each(args: &[Value], env: &mut Env, change: fn(String) -> String) -> Result<Value, Fault> {
    let mut parts = Vec::new();
    for arg in args.iter().filter(|arg| !matches!(arg, Value::Nil)) {
        env.burn(arg.weight())?;
        parts.push(change(arg.to_string()));
    }
    made(&parts.join(" "), env)
}

/// The members of a list under the keys `_0`, `_1`, ...
fn numbered(parts: &Value) -> Result<Value, Fault> {
    let Value::List(list) = parts else { return Ok(Value::Nil) };
    let entries = list.items.iter().enumerate();
    Value::map(entries.map(|(at, part)| (Arc::from(format!("_{at}")), part.clone())).collect())
}

/// Every letter at the start of a word in upper case.
fn title(text: &str) -> String {
    let mut before = ' ';
    let raised = text.chars().flat_map(|c| {
        let inside = before.is_alphanumeric() || before == '_';
        before = c;
        let upper: Vec<char> = if inside { vec![c] } else { c.to_uppercase().collect() };
        upper
    });
    raised.collect()
}

/// The text with `change` made to every word between spaces.
fn words(text: &str, change: fn(&str) -> String) -> String {
    text.split(' ').map(change).collect::<Vec<_>>().join(" ")
}

fn lower_first(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn swap_case(text: &str) -> String {
    let swapped = text.chars().map(|c| {
        if c.is_uppercase() { c.to_lowercase().to_string() } else { c.to_uppercase().to_string() }
    });
    swapped.collect()
}

/// Bytes `from` to `to` of a text, as far as they exist.
fn bytes(text: &str, from: usize, to: usize, env: &mut Env) -> Result<Value, Fault> {
    let to = to.min(text.len());
    let part = text.as_bytes().get(from.min(to)..to).unwrap_or(&[]);
    made(&String::from_utf8_lossy(part), env)
}

fn substring(start: i64, end: i64, text: &str, env: &mut Env) -> Result<Value, Fault> {
    let from = usize::try_from(start).unwrap_or(0);
    let to = usize::try_from(end).unwrap_or(if start < 0 { 0 } else { usize::MAX });
    bytes(text, from, to, env)
}

/// The first `count` bytes; the last ones if it is negative.
fn truncate(count: i64, text: &str, env: &mut Env) -> Result<Value, Fault> {
    let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 {
        return bytes(text, text.len().saturating_sub(size), text.len(), env);
    }
    bytes(text, 0, size, env)
}

fn indent(spaces: i64, before: &str, text: &str, env: &mut Env) -> Result<Value, Fault> {
    let spaces = usize::try_from(spaces.max(0)).unwrap_or(usize::MAX);
    let lines = text.matches('\n').count() + 1;
    env.produce(spaces.saturating_mul(lines).saturating_add(text.len()))?;
    let pad = " ".repeat(spaces);
    Ok(Value::str(format!("{before}{pad}{}", text.replace('\n', &format!("\n{pad}")))))
}
