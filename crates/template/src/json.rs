//! JSON as Go writes it.

use std::collections::BTreeMap;

use crate::env::MAX_DEPTH;
use crate::error::Fault;
use crate::go;
use crate::value::Value;

/// How to write a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// `<`, `>` and `&` as `\u003c` and so on: Go's default.
    pub(crate) escape_html: bool,
    /// Two spaces a level, one line a member.
    pub(crate) indent: bool,
}

/// What `json.Marshal` does.
pub(crate) const COMPACT: Style = Style { escape_html: true, indent: false };

/// The compact JSON text of a document in the form of Go's `json.Marshal`: keys sorted, `<`, `>`
/// and `&` escaped.
///
/// A document deeper than [`crate::MAX_DEPTH`] is written as `null`; readers stop before that.
pub fn to_go_json(document: &serde_json::Value) -> String {
    let mut out = String::new();
    match document_at(&mut out, document, 0) {
        Some(()) => out,
        None => "null".to_owned(),
    }
}

/// Writes what is `depth` levels down; nothing for what is too deep.
fn document_at(out: &mut String, json: &serde_json::Value, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match json {
        // Whole numbers keep all their digits, also those that no `int` of an expression holds.
        serde_json::Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => out.push_str(&go::json_float(float)),
            None => out.push_str(&number.to_string()),
        },
        serde_json::Value::String(text) => string(out, text, COMPACT),
        serde_json::Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                document_at(out, item, depth + 1)?;
            }
            out.push(']');
        }
        serde_json::Value::Object(members) => {
            out.push('{');
            let sorted: BTreeMap<_, _> = members.iter().collect();
            for (at, (key, member)) in sorted.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                string(out, key, COMPACT);
                out.push(':');
                document_at(out, member, depth + 1)?;
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
    Some(())
}

/// The JSON text of a value.
///
/// # Errors
/// If a number is infinite or not a number.
pub(crate) fn write(value: &Value, style: Style) -> Result<String, Fault> {
    let mut out = String::new();
    value_at(&mut out, value, style, 0)?;
    Ok(out)
}

fn value_at(out: &mut String, value: &Value, style: Style, level: usize) -> Result<(), Fault> {
    match value {
        Value::Nil => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Int(int) | Value::Duration(int) => out.push_str(&int.to_string()),
        Value::Float(float) if float.is_finite() => out.push_str(&go::json_float(*float)),
        Value::Float(float) => return Err(format!("{} has no JSON form", go::float(*float)).into()),
        Value::Str(text) => string(out, text, style),
        Value::Time(_) | Value::Zone(_) => string(out, &value.to_string(), style),
        Value::List(list) => {
            let items = list.items.iter().map(|item| (None, item));
            group(out, ['[', ']'], items, style, level)?;
        }
        Value::Map(map) => {
            let entries = map.entries.iter().map(|(key, value)| (Some(key.as_ref()), value));
            group(out, ['{', '}'], entries, style, level)?;
        }
    }
    Ok(())
}

fn group<'a>(
    out: &mut String,
    [open, close]: [char; 2],
    members: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    style: Style,
    level: usize,
) -> Result<(), Fault> {
    out.push(open);
    let mut empty = true;
    for (key, value) in members {
        if !empty {
            out.push(',');
        }
        empty = false;
        line(out, style, level + 1);
        if let Some(key) = key {
            string(out, key, style);
            out.push_str(if style.indent { ": " } else { ":" });
        }
        value_at(out, value, style, level + 1)?;
    }
    if !empty {
        line(out, style, level);
    }
    out.push(close);
    Ok(())
}

fn line(out: &mut String, style: Style, level: usize) {
    if style.indent {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    }
}

fn string(out: &mut String, text: &str, style: Style) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' if style.escape_html => escape(out, c),
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => escape(out, c),
            _ => out.push(c),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, c: char) {
    out.push_str(&format!("\\u{:04x}", c as u32));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_written_as_go_writes_them() {
        let cases = [
            (json!({"b": [1, 2.0, 1.5], "a": null}), r#"{"a":null,"b":[1,2,1.5]}"#),
            (json!("<a & b>"), r#""\u003ca \u0026 b\u003e""#),
            (json!("\u{1}\n\"\\ü\u{2028}"), r#""\u0001\n\"\\ü\u2028""#),
            (json!(9_007_199_254_740_993_i64), "9007199254740993"),
            (json!(18_446_744_073_709_551_615_u64), "18446744073709551615"),
            (json!(1e21), "1e+21"),
            (json!(1e20), "100000000000000000000"),
            (json!(0.000_000_1), "1e-7"),
            (json!([]), "[]"),
            (json!({}), "{}"),
        ];
        for (document, expected) in cases {
            assert_eq!(to_go_json(&document), expected);
        }
    }

    #[test]
    fn indented_documents_have_two_spaces_a_level() {
        let value = Value::from_json(&json!({"a": [1], "b": {}})).unwrap();
        let style = Style { escape_html: true, indent: true };
        let expected = "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}";
        assert_eq!(write(&value, style).unwrap(), expected);
    }
}
