//! The template dialect of kubectl: text with paths in braces.

use super::{Step, parse, select};
use crate::env::Env;
use crate::error::{Error, Fault, Result};
use crate::json;
use crate::value::Value;

/// The text of a template for a document. A template without braces is one path.
pub(super) fn render(
    template: &str,
    document: &serde_json::Value,
    env: &mut Env,
) -> Result<String> {
    let root = Value::from_json(document).map_err(|fault| fault.at(0))?;
    if !template.contains('{') {
        return insert(template, 0, &root, env);
    }
    let mut out = String::new();
    let mut at = 0;
    while let Some(open) = template.get(at..).and_then(|rest| rest.find('{')) {
        out.push_str(template.get(at..at + open).unwrap_or(""));
        let start = at + open + 1;
        let end = closing(template.get(start..).unwrap_or(""));
        let end = end.ok_or_else(|| Error::Syntax {
            at: start,
            message: "a brace is not closed".to_owned(),
        })?;
        out.push_str(&insert(template.get(start..start + end).unwrap_or(""), start, &root, env)?);
        at = start + end + 1;
    }
    out.push_str(template.get(at..).unwrap_or(""));
    Ok(out)
}

/// The place of the brace that closes, braces in quotes not counting.
fn closing(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (None, '}') => return Some(at),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

/// The matches of one path, with spaces between; or the text of a literal in quotes.
fn insert(source: &str, at: usize, root: &Value, env: &mut Env) -> Result<String> {
    let trimmed = source.trim();
    for quote in ['"', '\''] {
        if let Some(text) = trimmed.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Ok(text.replace("\\n", "\n").replace("\\t", "\t"));
        }
    }
    let path = parse::path(source).map_err(|error| error.shifted(at))?;
    let texts = || {
        let found = select::all(&path.steps, root, root, env)?;
        if found.is_empty() && path.steps.iter().all(Step::is_definite) {
            return Err(Fault::Message(format!("{trimmed} is not found")));
        }
        let mut texts = Vec::new();
        for value in &found {
            env.burn(value.weight())?;
            texts.push(text(value)?);
        }
        let text = texts.join(" ");
        env.produce(text.len())?;
        Ok(text)
    };
    let mut texts = texts;
    texts().map_err(|fault| fault.at(at))
}

/// A match as text: groups as JSON.
fn text(value: &Value) -> std::result::Result<String, Fault> {
    match value {
        Value::Str(text) => Ok(text.to_string()),
        Value::Nil => Ok(String::new()),
        other => json::write(other, json::COMPACT),
    }
}
