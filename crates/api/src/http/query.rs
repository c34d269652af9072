//! Query strings with Argo's dotted names.

use std::collections::HashMap;

use super::error::{Answer, bad_request};

/// A query string.
pub(super) struct Query(pub(super) HashMap<String, String>);

impl std::ops::Deref for Query {
    type Target = HashMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// A value of the query; empty counts as absent.
pub(super) fn value<'q>(query: &'q HashMap<String, String>, name: &str) -> Option<&'q str> {
    query.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

/// A flag of the query, as the gateway of gRPC reads one (Go `strconv.ParseBool`).
pub(super) fn flag(query: &HashMap<String, String>, name: &str) -> Answer<bool> {
    match value(query, name) {
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
        None | Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
        Some(other) => Err(bad_request(format!("{name}: {other:?} is neither true nor false"))),
    }
}

/// A whole number of the query that is not below `least`.
pub(super) fn number(
    query: &HashMap<String, String>,
    name: &str,
    least: u64,
) -> Answer<Option<u64>> {
    let Some(text) = value(query, name) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number >= least);
    number
        .map(Some)
        .ok_or_else(|| bad_request(format!("{name}: {text:?} is no whole number, {least} or more")))
}
