//! Paths into JSON documents: `$.a['b'][0].c`, wildcards, slices, unions, filters, descent.
//!
//! Two readings of a path are in use. [`JsonPath::query`] is the one of `jsonpath(json, path)` in
//! expressions: a path that can match one place only gives that value, or an error if there is
//! none; other paths give an array. [`JsonPath::render`] is the one of `valueFrom.jsonPath`: a
//! template of text and `{paths}` whose matches are joined by spaces.

mod filter;
mod parse;
mod select;
mod template;

use crate::env::Env;
use crate::error::{Fault, Result};
use crate::value::Value;

/// A parsed path.
#[derive(Debug, Clone)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(i64),
    Slice {
        from: Option<i64>,
        to: Option<i64>,
        step: i64,
    },
    All,
    /// Several keys, indexes or slices.
    Union(Vec<Step>),
    Filter(filter::Condition),
    /// The value itself and all values below it.
    Descent,
}

impl Step {
    /// Whether the step leads to one place at most.
    fn is_definite(&self) -> bool {
        matches!(self, Self::Key(_) | Self::Index(_))
    }
}

impl JsonPath {
    /// Parses a path. A leading `$` may be left out.
    ///
    /// # Errors
    /// [`crate::Error::Syntax`] with the byte offset of what does not fit.
    pub fn parse(source: &str) -> Result<Self> {
        parse::path(source)
    }

    /// All matches in a document, in the order of the path.
    ///
    /// # Errors
    /// The errors of the bounds in `env`.
    pub fn find(
        &self,
        document: &serde_json::Value,
        env: &mut Env,
    ) -> Result<Vec<serde_json::Value>> {
        let root = Value::from_json(document).map_err(|fault| fault.at(0))?;
        let found = select::all(&self.steps, &root, &root, env);
        let found = found.and_then(|found| found.iter().map(Value::to_json).collect());
        found.map_err(|fault| fault.at(0))
    }

    /// The text of a `valueFrom.jsonPath` template such as `{.status.phase}` for a document.
    ///
    /// # Errors
    /// [`crate::Error::Syntax`] for a template that is none; [`crate::Error::Evaluation`] for a
    /// key that the document lacks.
    pub fn render(template: &str, document: &serde_json::Value, env: &mut Env) -> Result<String> {
        template::render(template, document, env)
    }

    /// The value at a path that leads to one place, else an array of all matches.
    pub(crate) fn query(&self, root: &Value, env: &mut Env) -> std::result::Result<Value, Fault> {
        let found = select::all(&self.steps, root, root, env)?;
        if self.steps.iter().all(Step::is_definite) {
            return found.into_iter().next().ok_or_else(|| "jsonpath: key not found".into());
        }
        Value::list(found)
    }
}

#[cfg(test)]
mod tests;
