//! The variables that templates see.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What a scope says of one name.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// The name has this value.
    Known(Value),
    /// The name has a value that tags show as it was written: a JSON text, which no value that is
    /// computed with would keep.
    Written {
        /// What stands in place of a tag.
        text: String,
        /// What expressions see.
        value: Value,
    },
    /// The name is known to have no value, as its producer was skipped: nil in expressions.
    Absent,
    /// The name has a value that is longer than a value may be.
    TooLarge {
        /// How long it may be, in bytes.
        most: u64,
    },
    /// The scope does not know the name, or not yet.
    Unknown,
}

/// Variables by path: `["steps", "a", "outputs", "result"]`, `["item"]`.
///
/// A path may name a group, `["inputs", "parameters"]`: its value is the whole group as a JSON
/// object. For a key that a known object lacks, [`Lookup::Absent`] gives nil and
/// [`Lookup::Unknown`] an error that names it.
pub trait Scope {
    /// The value at `path`, which is never empty.
    fn get(&self, path: &[&str]) -> Lookup;
}

/// A scope over a map from dotted names to values. Names with a common prefix form a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MapScope {
    /// The variables by dotted name.
    pub values: BTreeMap<String, Value>,
    /// Dotted names that are known to have no value.
    pub absent: Vec<String>,
}

impl MapScope {
    /// An empty scope.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// The same with one more name that is known to have no value.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.absent.push(name.to_owned());
        self
    }

    /// The variables below `name.` as an object, or nothing if there are none.
    fn group(&self, name: &str) -> Option<Value> {
        let prefix = format!("{name}.");
        let below = self.values.range(prefix.clone()..);
        let mut group = Map::new();
        for (key, value) in below.take_while(|(key, _)| key.starts_with(&prefix)) {
            let parts: Vec<&str> = key[prefix.len()..].split('.').collect();
            insert(&mut group, &parts, value);
        }
        (!group.is_empty()).then_some(Value::Object(group))
    }
}

/// Puts `value` at `parts`, making the objects on the way.
fn insert(group: &mut Map<String, Value>, parts: &[&str], value: &Value) {
    match parts {
        [] => {}
        [last] => {
            group.insert((*last).to_owned(), value.clone());
        }
        [first, rest @ ..] => {
            let inner =
                group.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

impl Scope for MapScope {
    fn get(&self, path: &[&str]) -> Lookup {
        let name = path.join(".");
        if let Some(value) = self.values.get(&name) {
            return Lookup::Known(value.clone());
        }
        if self.absent.contains(&name) {
            return Lookup::Absent;
        }
        self.group(&name).map_or(Lookup::Unknown, Lookup::Known)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prefix_is_a_group_of_all_names_below() {
        let scope = MapScope::new().with("a.b", 1).with("a.c.d", "x").with("ab", 2);
        assert_eq!(scope.get(&["a"]), Lookup::Known(json!({"b": 1, "c": {"d": "x"}})));
        assert_eq!(scope.get(&["a", "c", "d"]), Lookup::Known(json!("x")));
        assert_eq!(scope.get(&["a", "x"]), Lookup::Unknown);
        assert_eq!(scope.without("gone").get(&["gone"]), Lookup::Absent);
    }
}
