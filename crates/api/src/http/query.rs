//! Query strings with Argo's dotted names.

use std::collections::HashMap;

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

/// A flag of the query.
pub(super) fn flag(query: &HashMap<String, String>, name: &str) -> bool {
    value(query, name) == Some("true")
}
