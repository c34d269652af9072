//! Label selectors.

use argosy_model::{Code, Diagnostic, RunPhase};

use super::error::Answer;
use crate::argo::names;

/// One requirement of a label selector.
#[derive(Debug)]
enum Requirement<'s> {
    Has(&'s str),
    HasNot(&'s str),
    In(&'s str, Vec<&'s str>),
    NotIn(&'s str, Vec<&'s str>),
    Above(&'s str, i64),
    Below(&'s str, i64),
}

/// A Kubernetes label selector: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<2`
/// (apimachinery `pkg/labels/selector.go`).
#[derive(Debug)]
pub(super) struct Selector<'s>(Vec<Requirement<'s>>);

impl<'s> Selector<'s> {
    /// Reads a selector; an empty one selects everything.
    pub(super) fn parse(text: &'s str) -> Answer<Selector<'s>> {
        if text.trim().is_empty() {
            return Ok(Selector(Vec::new()));
        }
        let parts = split_outside_brackets(text).into_iter().map(str::trim);
        let requirements = parts.map(|part| {
            requirement(part).ok_or_else(|| {
                let what = format!("{part:?} is not a part of a label selector");
                let help =
                    "write a=b, a!=b, a in (b,c), a notin (b,c), a>1, a<1, a or !a, separated by commas";
                Diagnostic::new(Code::BadRequest, what).help(help).into()
            })
        });
        requirements.collect::<Answer<_>>().map(Selector)
    }

    /// Whether it selects everything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether labels meet it.
    pub(super) fn matches(&self, labels: &[(String, String)], phase: RunPhase) -> bool {
        let own = |name: &str| -> Option<String> {
            match name {
                "workflows.argoproj.io/phase" => Some(phase.as_str().to_owned()),
                "workflows.argoproj.io/completed" => phase.is_terminal().then(|| "true".to_owned()),
                _ => labels.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()),
            }
        };
        self.0.iter().all(|requirement| match requirement {
            Requirement::Has(name) => own(name).is_some(),
            Requirement::HasNot(name) => own(name).is_none(),
            Requirement::In(name, values) => {
                own(name).is_some_and(|v| values.contains(&v.as_str()))
            }
            Requirement::NotIn(name, values) => {
                own(name).is_none_or(|v| !values.contains(&v.as_str()))
            }
            Requirement::Above(name, bound) => number(own(name)).is_some_and(|own| own > *bound),
            Requirement::Below(name, bound) => number(own(name)).is_some_and(|own| own < *bound),
        })
    }
}

/// The number that a label is.
fn number(value: Option<String>) -> Option<i64> {
    value?.parse().ok()
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

fn requirement(part: &str) -> Option<Requirement<'_>> {
    if let Some(name) = part.strip_prefix('!') {
        return key(name).map(Requirement::HasNot);
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '=' | '!' | '(' | '<' | '>');
    let (name, rest) = part.split_at(part.find(ends).unwrap_or(part.len()));
    let (name, rest) = (key(name)?, rest.trim());
    if rest.is_empty() {
        return Some(Requirement::Has(name));
    }
    if let Some(wanted) = rest.strip_prefix("!=") {
        return Some(Requirement::NotIn(name, vec![label_value(wanted)?]));
    }
    if let Some(wanted) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
        return Some(Requirement::In(name, vec![label_value(wanted)?]));
    }
    if let Some(bound) = rest.strip_prefix('>') {
        return Some(Requirement::Above(name, label_value(bound)?.parse().ok()?));
    }
    if let Some(bound) = rest.strip_prefix('<') {
        return Some(Requirement::Below(name, label_value(bound)?.parse().ok()?));
    }
    match rest.strip_prefix("notin") {
        Some(list) => values(list).map(|values| Requirement::NotIn(name, values)),
        None => values(rest.strip_prefix("in")?).map(|values| Requirement::In(name, values)),
    }
}

fn key(text: &str) -> Option<&str> {
    let text = text.trim();
    names::label_key(text).is_ok().then_some(text)
}

fn label_value(text: &str) -> Option<&str> {
    let text = text.trim();
    names::label_value(text).is_ok().then_some(text)
}

fn values(text: &str) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    inner.split(',').map(label_value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors_are_read_as_kubernetes_reads_them() {
        let labels = [("a", "1"), ("b", "2"), ("word", "x")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
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
            ("a in (0, 1), b!=3", true),
            ("a = 1", true),
            ("a in(1)", true),
            ("c notin ()", true),
            ("a=", false),
            ("a>0", true),
            ("a > 1", false),
            ("a<2,b<3", true),
            ("a<1", false),
            ("c>0", false),
            ("word>0", false),
            ("word in (x,)", true),
            ("word!=", true),
            ("workflows.argoproj.io/phase in (Running,Failed),a", true),
            ("workflows.argoproj.io/completed=true", false),
        ] {
            let selector = Selector::parse(selector).unwrap();
            assert_eq!(selector.matches(&labels, RunPhase::Running), expected, "{selector:?}");
        }
    }

    #[test]
    fn selectors_that_kubernetes_refuses_are_refused() {
        for selector in [
            "a in", "a in 1", "a in (1", "a(1)", "a=1,", ",a", "a==b=c", "a b", "!", "=1", "a>x",
            "a>", "a>-1", "a>=1", "a<>1", "-a", "a/b/c", "/a", "a=b c", "A_/x", "a notin",
        ] {
            let refused = Selector::parse(selector).unwrap_err();
            assert_eq!(refused.0[0].code, Code::BadRequest, "{selector}");
        }
    }
}
