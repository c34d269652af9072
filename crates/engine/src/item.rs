//! Items of loops as texts (argo-workflows `pkg/apis/workflow/v1alpha1/item.go`,
//! `workflow/controller/operator.go` `processItem`).

use std::collections::BTreeMap;

use argosy_model::Item;
use argosy_template::{Lookup, json_text};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The item of a value that was written in the manifest: its numbers are floats, its keys sorted.
pub(crate) fn of_value(value: &Value) -> Result<Item, String> {
    Item::new(argosy_template::to_go_json(value)).map_err(|error| error.to_string())
}

/// The item that is this string.
pub(crate) fn of_text(text: String) -> Result<Item, String> {
    Item::of_text(text).map_err(|error| error.to_string())
}

/// The items of a JSON list; what it is instead, if it is none.
pub(crate) fn listed(list: &str) -> Result<Result<Vec<Item>, &'static str>, serde_json::Error> {
    let whole: &RawValue = serde_json::from_str(list)?;
    if !whole.get().starts_with('[') {
        return Ok(Err(kind(whole.get())));
    }
    let items: Vec<&RawValue> = serde_json::from_str(list)?;
    let item = |item: &RawValue| Item::new(json_text::compact(item.get()));
    items.into_iter().map(item).collect::<Result<_, _>>().map(Ok)
}

fn kind(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

/// An item as the name of its step shows it, brackets and all.
pub(crate) fn name(item: &Item) -> String {
    if let Some(text) = item.as_plain() {
        return text.to_owned();
    }
    let json: &str = &item.json();
    if let Some(members) = members(json) {
        let shown = members.iter().map(|(key, value)| format!("{key}:{}", bare(value.get())));
        let mut shown: Vec<_> = shown.collect();
        shown.sort();
        return shown.join(",");
    }
    match json.starts_with('[').then(|| serde_json::from_str::<Vec<&RawValue>>(json)) {
        Some(Ok(list)) => {
            let shown: Vec<_> = list.iter().map(|value| bare(value.get())).collect();
            format!("[{}]", shown.join(" "))
        }
        _ => bare(json),
    }
}

/// A JSON text without the quotes of a string; what is escaped in it stays so.
fn bare(json: &str) -> String {
    let inner = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    json_text::unescape_html(inner.unwrap_or(json))
}

fn members(json: &str) -> Option<BTreeMap<String, &RawValue>> {
    json.starts_with('{').then(|| serde_json::from_str(json).ok())?
}

/// `item` and `item.<key>`. Numbers and booleans are texts, in expressions too.
pub(crate) fn lookup(item: Option<&Item>, path: &[&str]) -> Lookup {
    let Some(item) = item else { return Lookup::Unknown };
    let json = item.json();
    let mut at: &str = &json;
    for part in path {
        let Some(next) = members(at).and_then(|members| members.get(*part).copied()) else {
            return Lookup::Unknown;
        };
        at = next.get();
    }
    match scalar(at) {
        Some(value) => Lookup::Known(value),
        None if path.is_empty() => whole(at),
        None => {
            let text = json_text::unescape_html(at);
            Lookup::Written { text, value: read(at) }
        }
    }
}

/// An item that is an object or a list. The keys of an object are sorted, but none below.
fn whole(json: &str) -> Lookup {
    let Some(members) = members(json) else {
        return Lookup::Written { text: json_text::escape_html(json), value: read(json) };
    };
    let parts: Vec<_> = members
        .iter()
        .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), value.get()))
        .collect();
    let text = json_text::escape_html(&format!("{{{}}}", parts.join(",")));
    let value: Map<_, _> = members
        .into_iter()
        .map(|(key, value)| (key, scalar(value.get()).unwrap_or_else(|| read(value.get()))))
        .collect();
    Lookup::Written { text, value: Value::Object(value) }
}

/// The text of what is neither an object nor a list.
fn scalar(json: &str) -> Option<Value> {
    match json.as_bytes().first() {
        Some(b'{' | b'[') => None,
        Some(b'"' | b'n') => Some(read(json)),
        _ => Some(Value::from(json)),
    }
}

/// A JSON text as a value; as it stands where no value can hold it (1e400, half of a surrogate
/// pair).
fn read(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| Value::from(bare(json)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_value_can_hold_is_seen_as_it_stands() {
        for (json, path, expected) in [
            ("1E400", &[][..], Lookup::Known(Value::from("1E400"))),
            (r#"{"a":1E400}"#, &["a"], Lookup::Known(Value::from("1E400"))),
            (r#""\ud800x""#, &[], Lookup::Known(Value::from("\\ud800x"))),
            (r#"{"a":null}"#, &["a"], Lookup::Known(Value::Null)),
            (r#"{"a":1,"a":2}"#, &["a"], Lookup::Known(Value::from("2"))),
            (r#"{"a":1}"#, &["b"], Lookup::Unknown),
        ] {
            let item = Item::new(json.to_owned()).unwrap();
            assert_eq!(lookup(Some(&item), path), expected, "{json}");
        }
    }
}
