//! YAML and JSON as Kubernetes' tooling reads them: YAML 1.1 scalars, then JSON
//! (sigs.k8s.io/yaml). Every node keeps its place; duplicate keys, bombs and texts that no later
//! layer could keep are refused here.

mod build;
mod json;
mod node;
mod scalar;

use std::collections::HashSet;
use std::sync::Arc;

use argosy_model::{Code, Diagnostic, limits};

pub use node::{Entry, Mark, Node, Value};

/// Why a file cannot be read, before the file's name is known.
#[derive(Debug)]
struct Refusal {
    mark: Mark,
    diagnostic: Diagnostic,
}

fn refuse(code: Code, mark: Mark, what: impl Into<String>) -> Refusal {
    Refusal { mark, diagnostic: Diagnostic::new(code, what) }
}

/// What is said of a text that a parser has given up before it was counted how deep it is.
pub(crate) fn too_deep() -> String {
    let limit = limits::YAML_DEPTH;
    format!("file: more levels than the limit `{}` of {} allows", limit.name, limit.max)
}

/// Reads all documents of a file, leaving out empty ones.
///
/// # Errors
/// [`Code::NotYaml`], [`Code::DuplicateKey`], [`Code::TooLarge`] and [`Code::BadText`], with the
/// place.
pub fn parse(file: &str, text: &str) -> Result<Vec<Node>, Diagnostic> {
    let read = documents(text);
    let documents = read.map_err(|refusal| refusal.diagnostic.at(refusal.mark.in_file(file)))?;
    Ok(documents.into_iter().filter(|node| node.value != Value::Null).collect())
}

fn documents(text: &str) -> Result<Vec<Node>, Refusal> {
    let start = Mark { line: 1, column: 1, file: 0 };
    let size = limits::MANIFEST_BYTES.check(text.len() as u64, "file");
    size.map_err(|diagnostic| Refusal { mark: start, diagnostic })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(mark) = nul_at(text) {
        return Err(refuse(Code::BadText, mark, "the file holds a NUL byte"));
    }
    if text.trim_start().starts_with(['{', '[']) {
        match json::parse(text) {
            Ok(node) => return Ok(vec![node]),
            // It may be YAML in flow style; of errors that are no matter of syntax YAML has the
            // same.
            Err(refusal) if refusal.diagnostic.code != Code::NotYaml => return Err(refusal),
            Err(_) => {}
        }
    }
    build::parse(text)
}

fn nul_at(text: &str) -> Option<Mark> {
    let before = text.get(..text.find('\0')?)?;
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Some(Mark { line: number(line), column: number(column), file: 0 })
}

/// Entries of a map in the making.
#[derive(Debug, Default)]
struct Entries {
    list: Vec<Entry>,
    keys: HashSet<Arc<str>>,
}

impl Entries {
    fn add(&mut self, entry: Entry) -> Result<(), Refusal> {
        if !self.keys.insert(Arc::clone(&entry.key)) {
            let what = format!("the key `{}` stands twice in one object", entry.key);
            return Err(refuse(Code::DuplicateKey, entry.mark, what));
        }
        self.list.push(entry);
        Ok(())
    }

    /// Adds the entries of a map whose keys are not there yet.
    fn merge(&mut self, node: Node) {
        let Value::Map(entries) = node.value else { return };
        for entry in entries {
            if self.keys.insert(Arc::clone(&entry.key)) {
                self.list.push(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests;
