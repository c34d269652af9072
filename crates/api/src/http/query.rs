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

/// The value that a field selector asks a field to have: `metadata.name=x`.
pub(super) fn field<'s>(selector: &'s str, name: &str) -> Option<&'s str> {
    selector.split(',').find_map(|part| {
        let (key, value) = part.split_once('=')?;
        (key.trim() == name).then(|| value.trim_start_matches('=').trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_selectors_give_their_value() {
        assert_eq!(field("metadata.name=x", "metadata.name"), Some("x"));
        assert_eq!(field("a=b,metadata.name==y", "metadata.name"), Some("y"));
        assert_eq!(field("metadata.namespace=x", "metadata.name"), None);
    }
}
