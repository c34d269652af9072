//! Query strings with Argo's dotted names.

use std::collections::HashMap;

use argosy_model::RunPhase;

/// A query string.
pub(super) type Query = axum::extract::Query<HashMap<String, String>>;

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

/// One requirement of a label selector.
enum Requirement<'s> {
    Has(&'s str),
    HasNot(&'s str),
    In(&'s str, Vec<&'s str>),
    NotIn(&'s str, Vec<&'s str>),
}

/// Whether labels meet a Kubernetes label selector
/// (`a=b,c!=d,e in (x,y),f notin (z),g,!h`).
pub(super) fn labels_match(selector: &str, labels: &[(String, String)], phase: RunPhase) -> bool {
    let own = |name: &str| -> Option<String> {
        match name {
            "workflows.argoproj.io/phase" => Some(phase.as_str().to_owned()),
            "workflows.argoproj.io/completed" => phase.is_terminal().then(|| "true".to_owned()),
            _ => labels.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()),
        }
    };
    requirements(selector).into_iter().all(|requirement| match requirement {
        Requirement::Has(name) => own(name).is_some(),
        Requirement::HasNot(name) => own(name).is_none(),
        Requirement::In(name, values) => own(name).is_some_and(|v| values.contains(&v.as_str())),
        Requirement::NotIn(name, values) => own(name).is_none_or(|v| !values.contains(&v.as_str())),
    })
}

fn requirements(selector: &str) -> Vec<Requirement<'_>> {
    split_outside_brackets(selector)
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(requirement)
        .collect()
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn requirement(part: &str) -> Requirement<'_> {
    if let Some((name, values)) = part.split_once(" notin ") {
        return Requirement::NotIn(name.trim(), bracketed(values));
    }
    if let Some((name, values)) = part.split_once(" in ") {
        return Requirement::In(name.trim(), bracketed(values));
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Requirement::NotIn(name.trim(), vec![value.trim()]);
    }
    if let Some((name, value)) = part.split_once('=') {
        return Requirement::In(name.trim(), vec![value.trim_start_matches('=').trim()]);
    }
    match part.strip_prefix('!') {
        Some(name) => Requirement::HasNot(name.trim()),
        None => Requirement::Has(part),
    }
}

fn bracketed(text: &str) -> Vec<&str> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    inner.split(',').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors_are_read_as_kubernetes_reads_them() {
        let labels = vec![("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())];
        for (selector, expected) in [
            ("", true),
            ("a=1", true),
            ("a==1,b=2", true),
            ("a=2", false),
            ("a!=2", true),
            ("c!=2", true),
            ("a in (0,1)", true),
            ("a notin (0,1)", false),
            ("a", true),
            ("!a", false),
            ("!c", true),
            ("workflows.argoproj.io/phase in (Running,Failed),a", true),
            ("workflows.argoproj.io/completed=true", false),
        ] {
            assert_eq!(labels_match(selector, &labels, RunPhase::Running), expected, "{selector}");
        }
    }

    #[test]
    fn field_selectors_give_their_value() {
        assert_eq!(field("metadata.name=x", "metadata.name"), Some("x"));
        assert_eq!(field("a=b,metadata.name==y", "metadata.name"), Some("y"));
        assert_eq!(field("metadata.namespace=x", "metadata.name"), None);
    }
}
