//! Strings with `{{tag}}` and `{{=expression}}` parts.

use std::collections::BTreeSet;

use crate::env::{Env, MAX_NESTING};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::json;
use crate::scope::{Lookup, Scope};
use crate::value::Value;

/// A string field of a manifest, parsed once.
///
/// `{{ name }}` stands for a variable, white space around the name not counting; `{{=source}}`
/// for the value of an expression. A tag may hold tags, `{{inputs.parameters.{{item}}}}`: the
/// inner ones are inserted first. Braces that are never closed are plain text. What is inserted
/// is data: braces in it have no meaning.
#[derive(Debug, Clone)]
pub struct Text {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Literal {
        /// Byte offset in the text.
        at: usize,
        text: String,
    },
    Tag(Tag),
    Expression {
        /// Byte offset of the expression in the text.
        at: usize,
        source: String,
        expr: Expr,
    },
}

/// The name between braces, which may itself have tags in it.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    /// Byte offset of its braces in the text.
    at: usize,
    parts: Vec<Part>,
}

impl Text {
    /// Parses a text.
    ///
    /// # Errors
    /// [`Error::Syntax`] for an expression that is none, or tags nested deeper than
    /// [`MAX_NESTING`].
    pub fn parse(source: &str) -> Result<Self> {
        Parser { source, at: 0 }.text().map(|parts| Self { parts })
    }

    /// The text itself, if it has no tags.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal { text, .. }] => Some(text),
            _ => None,
        }
    }

    /// The variables that the text may read, as dotted names, sorted. Of a name with a tag in it
    /// only the segments before the tag are known.
    pub fn names(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        names(&self.parts, &mut found);
        found.into_iter().collect()
    }

    /// Whether a tag's name begins with another tag, so that it may come to be any name.
    pub fn makes_names(&self) -> bool {
        self.parts.iter().any(Part::makes_names)
    }

    /// The text with all tags replaced: strings as they are, other values as compact JSON in
    /// Go's form.
    ///
    /// # Errors
    /// [`Error::Unresolved`] for a name that the scope does not know, [`Error::Absent`] for one
    /// without a value, [`Error::Nil`] for an expression without a value, and the errors of
    /// [`Expr::eval`].
    pub fn render(&self, scope: &dyn Scope, env: &mut Env) -> Result<String> {
        render(&self.parts, scope, env)
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

fn names(parts: &[Part], found: &mut BTreeSet<String>) {
    for part in parts {
        match part {
            Part::Literal { .. } => {}
            Part::Expression { expr, .. } => found.extend(expr.names()),
            Part::Tag(tag) => {
                found.extend(tag.known_name());
                names(&tag.parts, found);
            }
        }
    }
}

fn render(parts: &[Part], scope: &dyn Scope, env: &mut Env) -> Result<String> {
    let mut out = String::new();
    for part in parts {
        let text = part.render(scope, env)?;
        env.produce(text.len()).map_err(|fault| fault.at(0))?;
        out.push_str(&text);
    }
    Ok(out)
}

impl Part {
    /// Byte offset in the text.
    pub(crate) fn at(&self) -> usize {
        match self {
            Self::Literal { at, .. } | Self::Expression { at, .. } => *at,
            Self::Tag(tag) => tag.at,
        }
    }

    fn makes_names(&self) -> bool {
        let Self::Tag(tag) = self else { return false };
        tag.known_name().is_none() || tag.parts.iter().any(Self::makes_names)
    }

    /// What stands in place of this part.
    pub(crate) fn render(&self, scope: &dyn Scope, env: &mut Env) -> Result<String> {
        match self {
            Self::Literal { text, .. } => Ok(text.clone()),
            Self::Tag(tag) => tag.render(scope, env),
            Self::Expression { at, source, expr } => {
                let value = expr.value(scope, env).map_err(|error| error.shifted(*at))?;
                if matches!(value, Value::Nil) {
                    return Err(Error::Nil { source_text: source.trim().to_owned() });
                }
                insert(&value, env)
            }
        }
    }
}

/// A value as text.
fn insert(value: &Value, env: &mut Env) -> Result<String> {
    if let Value::Str(text) = value {
        return Ok(text.to_string());
    }
    env.burn(value.weight()).map_err(|fault| fault.at(0))?;
    json::write(value, json::COMPACT).map_err(|fault| fault.at(0))
}

impl Tag {
    /// The whole name, or the segments before the first inner tag.
    fn known_name(&self) -> Option<String> {
        let Some(Part::Literal { text: first, .. }) = self.parts.first() else { return None };
        let known = match self.parts.len() {
            1 => Some(first.as_str()),
            _ => first.rsplit_once('.').map(|(known, _)| known),
        };
        known.map(|name| name.trim().to_owned())
    }

    fn render(&self, scope: &dyn Scope, env: &mut Env) -> Result<String> {
        let name = render(&self.parts, scope, env)?;
        let name = name.trim();
        let path: Vec<&str> = name.split('.').collect();
        env.burn(path.len()).map_err(|fault| fault.at(0))?;
        match scope.get(&path) {
            Lookup::Known(serde_json::Value::String(text)) => Ok(text),
            Lookup::Known(json) => {
                insert(&Value::from_json(&json).map_err(|fault| fault.at(0))?, env)
            }
            Lookup::Written { text, .. } => Ok(text),
            Lookup::Absent => Err(Error::Absent { name: name.to_owned() }),
            Lookup::TooLarge { most } => Err(Error::TooLarge { name: name.to_owned(), most }),
            Lookup::Unknown => Err(Error::Unresolved { name: name.to_owned() }),
        }
    }
}

/// How many `}}` an expression may contain before the one that ends it.
const MAX_INNER_BRACES: usize = 8;

struct Parser<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    /// The parts of the text. Open tags are on a stack; those never closed become text.
    fn text(mut self) -> Result<Vec<Part>> {
        let mut stack = vec![Open { at: 0, parts: Vec::new() }];
        while self.at < self.source.len() {
            let rest = self.rest();
            let open = rest.find("{{");
            let close = if stack.len() > 1 { rest.find("}}") } else { None };
            let next = [open, close].into_iter().flatten().min().unwrap_or(rest.len());
            let text = rest.get(..next).unwrap_or("").to_owned();
            push(&mut stack, Part::Literal { at: self.at, text });
            let at = self.at + next;
            self.at = at + 2;
            if next == rest.len() {
                break;
            } else if close == Some(next) {
                let open = stack.pop();
                let tag = open.map(|Open { at, parts }| Part::Tag(Tag { at, parts }));
                tag.into_iter().for_each(|tag| push(&mut stack, tag));
            } else if let Some(expression) = self.expression()? {
                push(&mut stack, expression);
            } else if stack.len() > MAX_NESTING {
                let message = format!("tags nested deeper than {MAX_NESTING} levels");
                return Err(Error::Syntax { at, message });
            } else {
                stack.push(Open { at, parts: Vec::new() });
            }
        }
        Ok(flatten(stack))
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or("")
    }

    /// The expression after `{{=`, if one starts here and is closed. It ends at the first `}}`
    /// that leaves an expression before it, as maps in it may end in braces too.
    fn expression(&mut self) -> Result<Option<Part>> {
        let Some(rest) = self.rest().strip_prefix('=') else { return Ok(None) };
        let at = self.at + 1;
        let mut failed = None;
        for (end, _) in rest.match_indices("}}").take(MAX_INNER_BRACES) {
            // Of three braces the last two close: the first may be the end of a map.
            let end = if rest[end..].starts_with("}}}") { end + 1 } else { end };
            let source = rest.get(..end).unwrap_or("");
            match Expr::parse(source) {
                Ok(expr) => {
                    self.at = at + end + 2;
                    return Ok(Some(Part::Expression { at, source: source.to_owned(), expr }));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(None), |error| Err(error.shifted(at)))
    }
}

/// A tag that is not closed yet; the bottom one is the text.
struct Open {
    /// Byte offset of its braces.
    at: usize,
    parts: Vec<Part>,
}

/// Adds a part to the innermost open tag.
fn push(stack: &mut [Open], part: Part) {
    if let Some(open) = stack.last_mut() {
        append(&mut open.parts, part);
    }
}

/// Adds a part at the end. Neighbouring literals become one.
fn append(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (_, Part::Literal { text, .. }) if text.is_empty() => {}
        (Some(Part::Literal { text: before, .. }), Part::Literal { text, .. }) => {
            before.push_str(&text);
        }
        (_, part) => parts.push(part),
    }
}

/// The parts of all open tags, their braces being text.
fn flatten(stack: Vec<Open>) -> Vec<Part> {
    let mut flat = Vec::new();
    for (level, open) in stack.into_iter().enumerate() {
        if level > 0 {
            append(&mut flat, Part::Literal { at: open.at, text: "{{".to_owned() });
        }
        open.parts.into_iter().for_each(|part| append(&mut flat, part));
    }
    flat
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
