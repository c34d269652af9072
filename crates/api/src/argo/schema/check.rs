//! A document against the table: unknown fields, wrong types, what is refused, what is outdated,
//! and texts that cannot be read.

use argosy_model::{Code, limits, resources};
use argosy_template::{Expr, Text, When, go};

use super::{Field, Kind, Object, Range, Span, Treatment};
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
        Kind::Duration(span) => duration(span, node, path, sink),
        Kind::Scalar => scalar(node, path, sink),
        Kind::Number(range) => number(range, node, path, sink),
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
        Kind::Int(range) => match &node.value {
            Value::Number(_) => number(range, node, path, sink),
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

fn number(range: Range, node: &Node, path: &str, sink: &mut Sink) {
    let (shown, number) = match &node.value {
        Value::Text(text) if text.contains("{{") => return tags(text, node.mark, sink),
        Value::Text(text) => (format!("{text:?}"), text.trim().parse().ok()),
        Value::Number(number) if number.is_f64() => {
            return wrong_type(node, path, "a whole number", sink);
        }
        Value::Number(number) => (number.to_string(), number.as_i64()),
        _ => return wrong_type(node, path, "a whole number", sink),
    };
    let Range { least, most } = range;
    if !number.is_some_and(|number: i64| (least..=most).contains(&number)) {
        let bounds = match (least, most) {
            (i64::MIN, _) => String::new(),
            (_, i64::MAX) => format!(" from {least} on"),
            _ => format!(" from {least} to {most}"),
        };
        let what = format!("`{path}` takes a whole number{bounds}, not {shown}");
        sink.refuse(Code::BadValue, node.mark, what);
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

/// A text that is empty says nothing, as upstream.
fn duration(span: Span, node: &Node, path: &str, sink: &mut Sink) {
    let read = |text: &str, mark: Mark, sink: &mut Sink| {
        if text.is_empty() || text.contains("{{") {
            return tags(text, mark, sink);
        }
        let parse = if span.bare { go::duration::parse_or_seconds } else { go::duration::parse };
        let Ok(nanos) = parse(text) else {
            let what = format!("{text:?} is not a duration");
            sink.refuse(Code::BadValue, mark, what).help = "write 30s, 5m or 1h30m".into();
            return;
        };
        if nanos < i64::from(span.some) {
            let least = if span.some { "longer than nothing" } else { "at least 0s" };
            let what = format!("`{path}` has to be {least}, and here is {text:?}");
            sink.refuse(Code::BadValue, mark, what);
        }
    };
    text(node, path, sink, read);
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

#[cfg(test)]
mod tests {
    use super::super::fields;
    use super::*;

    /// Every field that holds a number or a duration: values at its bounds, and those beyond. The
    /// bounds are upstream's (`validate.go`, the marks in `workflow_types.go`), its types' (`int32`),
    /// Kubernetes' for `activeDeadlineSeconds`, and sense for the rest.
    const BOUNDS: [(&str, &[&str], &[&str]); 22] = [
        (
            "WorkflowSpec.activeDeadlineSeconds",
            &["1", "9223372036"],
            &["0", "-1", "9223372037", "18446744073709551615"],
        ),
        ("WorkflowSpec.parallelism", &["1"], &["0", "-1"]),
        ("WorkflowSpec.priority", &["-2147483648", "2147483647"], &["-2147483649", "2147483648"]),
        ("WorkflowSpec.ttlSecondsAfterFinished", &["0", "2147483647"], &["-1", "2147483648"]),
        ("TTLStrategy.secondsAfterCompletion", &["0", "2147483647"], &["-1", "2147483648"]),
        ("TTLStrategy.secondsAfterSuccess", &["0", "2147483647"], &["-1", "2147483648"]),
        ("TTLStrategy.secondsAfterFailure", &["0", "2147483647"], &["-1", "2147483648"]),
        (
            "Template.activeDeadlineSeconds",
            &["1", "\"2147483647\"", "\"{{inputs.parameters.s}}\""],
            &["0", "-1", "\"0\"", "\"5s\"", "2147483648"],
        ),
        ("Template.parallelism", &["1"], &["0", "-1"]),
        (
            "Template.timeout",
            &["1ns", "1h", "\"\"", "\"{{inputs.parameters.t}}\""],
            &["0s", "-5s", "\"0\"", "\"30\""],
        ),
        ("SuspendTemplate.duration", &["\"0\"", "0s", "\"20\""], &["-1ns", "\"-1\"", "soon"]),
        ("Memoize.maxAge", &["0s", "120s"], &["-1s", "\"120\""]),
        ("RetryStrategy.limit", &["0", "\"2147483647\""], &["-1", "\"-1\"", "2147483648"]),
        ("Backoff.duration", &["\"0\"", "1m"], &["\"-1\"", "-1m"]),
        ("Backoff.factor", &["0", "\"2\""], &["-1", "\"-2\"", "\"1.5\""]),
        ("Backoff.cap", &["\"5\"", "0s"], &["-1s", "\"-5\""]),
        ("Backoff.maxDuration", &["\"0\"", "1m"], &["-1m", "\"-1\""]),
        ("Sequence.count", &["0", "\"3\""], &["-1", "\"-1\"", "x"]),
        ("Sequence.start", &["-9223372036854775808"], &["9223372036854775808", "x"]),
        ("Sequence.end", &["9223372036854775807"], &["9223372036854775808", "x"]),
        ("Artifact.mode", &["0", "0777"], &["-1", "01000"]),
        ("TarStrategy.compressionLevel", &["-1", "9"], &["-2", "10"]),
    ];

    fn errors(object: &Object, text: &str) -> Vec<String> {
        let nodes = crate::argo::yaml::parse("a.yaml", text).unwrap();
        let mut sink = Sink::new(&"a.yaml".into());
        check(object, &nodes[0], "", &mut sink);
        let place = |error: &argosy_model::Diagnostic| error.place.clone().unwrap().column;
        sink.errors.iter().map(|error| format!("{} {}", error.code, place(error))).collect()
    }

    #[test]
    fn numbers_and_durations_that_can_mean_nothing_are_refused_at_their_place() {
        for (object, field) in fields() {
            if !matches!(field.kind, Kind::Int(_) | Kind::Number(_) | Kind::Duration(_)) {
                continue;
            }
            let name = format!("{}.{}", object.name, field.name);
            let known = BOUNDS.iter().find(|(known, ..)| *known == name);
            let (_, good, bad) = known.unwrap_or_else(|| panic!("{name} has no line"));
            for value in *good {
                let text = format!("{}: {value}\n", field.name);
                assert_eq!(errors(object, &text), Vec::<String>::new(), "{name}: {value}");
            }
            let refused = format!("E0213 {}", field.name.len() + 3);
            for value in *bad {
                let text = format!("{}: {value}\n", field.name);
                assert_eq!(errors(object, &text), [&*refused], "{name}: {value}");
            }
        }
    }
}
