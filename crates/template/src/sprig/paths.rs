//! Functions on slash-separated paths.

use crate::expr::builtins::strings::made;
use crate::expr::builtins::{Function, function, text};
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("base", 1, 1, |args, env| made(base(text(args, 0)?), env)),
    function("osBase", 1, 1, |args, env| made(base(text(args, 0)?), env)),
    function("dir", 1, 1, |args, env| made(&dir(text(args, 0)?), env)),
    function("osDir", 1, 1, |args, env| made(&dir(text(args, 0)?), env)),
    function("clean", 1, 1, |args, env| made(&clean(text(args, 0)?), env)),
    function("osClean", 1, 1, |args, env| made(&clean(text(args, 0)?), env)),
    function("ext", 1, 1, |args, env| made(ext(text(args, 0)?), env)),
    function("osExt", 1, 1, |args, env| made(ext(text(args, 0)?), env)),
    function("isAbs", 1, 1, |args, _| Ok(Value::Bool(text(args, 0)?.starts_with('/')))),
    function("osIsAbs", 1, 1, |args, _| Ok(Value::Bool(text(args, 0)?.starts_with('/')))),
];

/// The last element.
fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { "/" } else { trimmed.rsplit('/').next().unwrap_or(trimmed) }
}

/// All but the last element, cleaned.
fn dir(path: &str) -> String {
    clean(path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or(""))
}

/// The suffix of the last element, with its dot.
fn ext(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or("");
    last.rfind('.').and_then(|at| last.get(at..)).unwrap_or("")
}

/// The shortest path that means the same.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if rooted => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
