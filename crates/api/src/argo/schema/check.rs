//! A document against the table: unknown fields, wrong types, what is refused, what is outdated,
//! and texts that cannot be read.

use argosy_model::{Code, limits, resources};
use argosy_template::{Expr, Text, When, go};

use super::{Field, Kind, Object, Treatment};
use crate::argo::sink::Sink;
use crate::argo::yaml::{Entry, Mark, Node, Value};

/// Checks an object and all that is in it. `path` is how people name it.
pub(crate) fn check(object: &Object, node: &Node, path: &str, sink: &mut Sink) {
    if !matches!(node.value, Value::Map(_)) {
        return wrong_type(node, path, "an object", sink);
    }
    for entry in node.entries() {
        let path = join(path, &entry.key);
        match object.fields.iter().find(|field| field.name == &*entry.key) {
            Some(field) => check_field(field, entry, &path, sink),
            None => unknown(object, entry, &path, sink),
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn unknown(object: &Object, entry: &Entry, path: &str, sink: &mut Sink) {
    let near = object
        .fields
        .iter()
        .map(|field| (strsim::damerau_levenshtein(field.name, &entry.key), field.name))
        .min()
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1));
    let what = format!("unknown field `{path}` of {}", object.name);
    let help = near.map_or(String::new(), |(_, name)| format!("did you mean `{name}`?"));
    sink.refuse(Code::UnknownField, entry.mark, what).help = help;
}

fn check_field(field: &Field, entry: &Entry, path: &str, sink: &mut Sink) {
    let node = &entry.node;
    if node.value == Value::Null {
        return;
    }
    match field.treatment {
        Treatment::Ignored(_) => return,
        Treatment::Refused(_) if node.value == Value::Bool(false) => return,
        Treatment::Refused(why) => {
            let what = format!("`{path}` is not supported: {why}");
            sink.refuse(Code::Unsupported, entry.mark, what);
            return;
        }
        Treatment::Deprecated(instead) => {
            let what = format!("`{path}` is an older spelling");
            sink.warn(Code::UnknownField, entry.mark, what).help = format!("write `{instead}`");
        }
        Treatment::Works => {}
    }
    check_kind(field.kind, node, path, sink);
}

fn check_kind(kind: Kind, node: &Node, path: &str, sink: &mut Sink) {
    match kind {
        Kind::Free => {}
        Kind::Text => text(node, path, sink, tags),
        Kind::Expression => text(node, path, sink, expression),
        Kind::Condition => text(node, path, sink, condition),
        Kind::Duration => text(node, path, sink, duration),
        Kind::Scalar => scalar(node, path, sink),
        Kind::Number => number(node, path, sink),
        Kind::Texts => list(node, path, sink, |item, path, sink| text(item, path, sink, tags)),
        Kind::Scalars => list(node, path, sink, scalar),
        Kind::Items => list(node, path, sink, |item, _, sink| item_tags(item, sink)),
        Kind::Pairs => {
            labels(node, path, sink);
            map(node, path, sink, |item, path, sink| text(item, path, sink, tags));
        }
        Kind::Quantities => map(node, path, sink, quantity),
        Kind::Bool => match node.value {
            Value::Bool(_) => {}
            _ => wrong_type(node, path, "true or false", sink),
        },
        Kind::Int => match &node.value {
            Value::Number(number) if number.is_i64() => {}
            _ => wrong_type(node, path, "a whole number", sink),
        },
        Kind::Choice(words) => choice(words, node, path, sink),
        Kind::One(object) => check(object, node, path, sink),
        Kind::Many(object) => {
            list(node, path, sink, |item, path, sink| check(object, item, path, sink))
        }
        Kind::Groups(object) => list(node, path, sink, |group, path, sink| {
            list(group, path, sink, |item, path, sink| check(object, item, path, sink));
        }),
        Kind::Keyed(object) => {
            map(node, path, sink, |item, path, sink| check(object, item, path, sink))
        }
    }
}

/// Labels and annotations, of which there may be many.
fn labels(node: &Node, path: &str, sink: &mut Sink) {
    if !path.ends_with("labels") && !path.ends_with("annotations") {
        return;
    }
    if let Err(many) = limits::LABELS.check(node.entries().len() as u64, path) {
        sink.refuse(many.code, node.mark, many.what);
    }
}

fn wrong_type(node: &Node, path: &str, wanted: &str, sink: &mut Sink) {
    let what = format!("`{path}` takes {wanted}, and here is {}", node.kind_name());
    sink.refuse(Code::WrongType, node.mark, what);
}

fn list(node: &Node, path: &str, sink: &mut Sink, each: impl Fn(&Node, &str, &mut Sink)) {
    let Value::List(items) = &node.value else { return wrong_type(node, path, "a list", sink) };
    for (index, item) in items.iter().enumerate() {
        each(item, &format!("{path}[{index}]"), sink);
    }
}

fn map(node: &Node, path: &str, sink: &mut Sink, each: impl Fn(&Node, &str, &mut Sink)) {
    let Value::Map(entries) = &node.value else { return wrong_type(node, path, "an object", sink) };
    for entry in entries {
        each(&entry.node, &format!("{path}.{}", entry.key), sink);
    }
}

fn text(node: &Node, path: &str, sink: &mut Sink, read: impl Fn(&str, Mark, &mut Sink)) {
    match &node.value {
        Value::Text(text) => read(text, node.mark, sink),
        Value::Number(_) | Value::Bool(_) => {
            let what = format!("`{path}` takes a text, and here is {}", node.kind_name());
            sink.refuse(Code::WrongType, node.mark, what).help = "put it in quotes".into();
        }
        _ => wrong_type(node, path, "a text", sink),
    }
}

fn scalar(node: &Node, path: &str, sink: &mut Sink) {
    match &node.value {
        Value::Text(text) => tags(text, node.mark, sink),
        Value::Number(_) | Value::Bool(_) => {}
        _ => wrong_type(node, path, "a text, a number or a boolean", sink),
    }
}

fn item_tags(node: &Node, sink: &mut Sink) {
    if let Some(text) = node.as_text() {
        tags(text, node.mark, sink);
    }
    node.items().iter().for_each(|item| item_tags(item, sink));
    node.entries().iter().for_each(|entry| item_tags(&entry.node, sink));
}

fn number(node: &Node, path: &str, sink: &mut Sink) {
    match &node.value {
        Value::Number(number) if number.is_i64() => {}
        Value::Text(text) if text.contains("{{") => tags(text, node.mark, sink),
        Value::Text(text) if text.trim().parse::<i64>().is_ok() => {}
        Value::Text(text) => {
            let what = format!("`{path}` takes a whole number, not {text:?}");
            sink.refuse(Code::BadValue, node.mark, what);
        }
        _ => wrong_type(node, path, "a whole number", sink),
    }
}

fn choice(words: &[&str], node: &Node, path: &str, sink: &mut Sink) {
    let Some(text) = node.as_text() else { return wrong_type(node, path, "a text", sink) };
    if !words.contains(&text) {
        let what = format!("`{path}` does not take {text:?}");
        sink.refuse(Code::BadValue, node.mark, what).help =
            format!("it is one of {}", words.join(", "));
    }
}

fn quantity(node: &Node, path: &str, sink: &mut Sink) {
    let known = node.scalar().is_some_and(|text| resources::quantity_milli(&text).is_some());
    if !known {
        let what = format!("`{path}` is not a quantity such as 500m or 2Gi");
        sink.refuse(Code::BadValue, node.mark, what);
    }
}

fn duration(text: &str, mark: Mark, sink: &mut Sink) {
    if text.contains("{{") {
        return tags(text, mark, sink);
    }
    if !text.is_empty() && go::duration::parse_or_seconds(text).is_err() {
        let what = format!("{text:?} is not a duration");
        sink.refuse(Code::BadValue, mark, what).help = "write 30s, 5m or 1h30m".into();
    }
}

fn tags(text: &str, mark: Mark, sink: &mut Sink) {
    if let Err(error) = Text::parse(text) {
        sink.refuse(Code::BadExpression, mark, error.to_string());
    }
}

/// An expression may hold tags, which are inserted as text first; it can be read when they are.
fn expression(text: &str, mark: Mark, sink: &mut Sink) {
    if let Err(refused) = limits::EXPRESSION_BYTES.check(text.len() as u64, "expression") {
        sink.refuse(refused.code, mark, refused.what);
        return;
    }
    if text.contains("{{") {
        return tags(text, mark, sink);
    }
    if let Err(error) = Expr::parse(text) {
        sink.refuse(Code::BadExpression, mark, error.to_string());
    }
}

fn condition(text: &str, mark: Mark, sink: &mut Sink) {
    if let Err(refused) = limits::EXPRESSION_BYTES.check(text.len() as u64, "condition") {
        sink.refuse(refused.code, mark, refused.what);
        return;
    }
    if let Err(error) = When::parse(text) {
        sink.refuse(Code::BadExpression, mark, error.to_string());
    }
}
