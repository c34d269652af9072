//! Documents as trees whose every part knows where it was written.

use std::sync::Arc;

use argosy_model::Place;
use serde_json::{Map, Number, Value as Json};

/// Where something begins in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Which file, where several are at hand; their list is kept by who reads them.
    pub file: u32,
}

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub mark: Mark,
    /// The value.
    pub value: Value,
}

/// A value as JSON has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Arc<str>),
    /// Values in order.
    List(Vec<Node>),
    /// Values under keys, each key once, in the order of the file.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where the key begins.
    pub mark: Mark,
    /// The key.
    pub key: Arc<str>,
    /// The value.
    pub node: Node,
}

impl Mark {
    /// The place in a file.
    #[must_use]
    pub fn in_file(self, file: &str) -> Place {
        Place { file: file.to_owned(), line: self.line, column: self.column }
    }
}

impl Node {
    /// A copy that says which file it is from.
    #[must_use]
    pub fn of_file(&self, file: u32) -> Node {
        let value = match &self.value {
            Value::List(items) => {
                Value::List(items.iter().map(|item| item.of_file(file)).collect())
            }
            Value::Map(entries) => {
                let entry = |entry: &Entry| Entry {
                    mark: Mark { file, ..entry.mark },
                    key: Arc::clone(&entry.key),
                    node: entry.node.of_file(file),
                };
                Value::Map(entries.iter().map(entry).collect())
            }
            other => other.clone(),
        };
        Node { mark: Mark { file, ..self.mark }, value }
    }

    /// The entries of a map; none of anything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value under a key, unless it is null: Go's JSON reader takes null for absent.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        let found = self.entries().iter().find(|entry| &*entry.key == key)?;
        (found.node.value != Value::Null).then_some(&found.node)
    }

    /// The value at the end of a path of keys.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The items of the list under a key.
    #[must_use]
    pub fn list(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::items)
    }

    /// The text itself, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text under a key; empty where there is none, as an absent string is in Go.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Node::as_text).unwrap_or_default()
    }

    /// The text under a key, if there is one that is not empty.
    #[must_use]
    pub fn some_text(&self, key: &str) -> Option<String> {
        Some(self.text(key)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The texts of the list under a key.
    #[must_use]
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.list(key).iter().filter_map(Node::as_text).map(str::to_owned).collect()
    }

    /// The truth value under a key; false where there is none.
    #[must_use]
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(|node| node.value == Value::Bool(true))
    }

    /// The whole number under a key.
    #[must_use]
    pub fn int(&self, key: &str) -> Option<i64> {
        match &self.get(key)?.value {
            Value::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// The same, where there is one that is not negative.
    #[must_use]
    pub fn count(&self, key: &str) -> Option<u64> {
        u64::try_from(self.int(key)?).ok()
    }

    /// A text, number or truth value as text. Numbers read as upstream's `AnyString` and
    /// `IntOrString` print them: `1.10` is `1.1`, `1e3` is `1000`.
    #[must_use]
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(match number.as_f64().filter(|_| number.is_f64()) {
                Some(float) => float.to_string(),
                None => number.to_string(),
            }),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The scalar under a key as text.
    #[must_use]
    pub fn any(&self, key: &str) -> Option<String> {
        self.get(key)?.scalar()
    }

    /// Texts under keys.
    #[must_use]
    pub fn pairs(&self, key: &str) -> Vec<(String, String)> {
        let entries = self.get(key).map_or(&[][..], Node::entries);
        let pair = |entry: &Entry| Some((entry.key.to_string(), entry.node.scalar()?));
        entries.iter().filter_map(pair).collect()
    }

    /// The value without its places.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Number(number) => Json::Number(number.clone()),
            Value::Text(text) => Json::from(&**text),
            Value::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(entries) => {
                let entry = |entry: &Entry| (entry.key.to_string(), entry.node.to_json());
                Json::Object(entries.iter().map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// How much there is of it: one for each node, and for each 64 bytes of text.
    #[must_use]
    pub fn weight(&self) -> u64 {
        1 + match &self.value {
            Value::Text(text) => text.len() as u64 / 64,
            Value::List(items) => items.iter().map(Node::weight).sum(),
            Value::Map(entries) => entries.iter().map(|entry| entry.node.weight()).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "an object",
        }
    }
}
