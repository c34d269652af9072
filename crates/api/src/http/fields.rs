//! Field selectors (apimachinery `pkg/fields/selector.go`). What Kubernetes can select custom objects
//! by, their name and namespace, is all that there is.

use argosy_model::{Code, Diagnostic};

use super::error::Answer;

/// What a selector may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Space,
}

#[derive(Debug)]
struct Requirement<'s> {
    field: Field,
    value: &'s str,
    equal: bool,
}

/// A field selector: `metadata.name=a,metadata.namespace!=b`.
#[derive(Debug)]
pub(super) struct Fields<'s>(Vec<Requirement<'s>>);

impl<'s> Fields<'s> {
    /// Reads a selector; an empty one selects everything. One that is not understood is refused, as
    /// whoever deletes what a list shows must not be shown more than was asked for.
    pub(super) fn parse(text: &'s str) -> Answer<Fields<'s>> {
        let parts = text.split(',').filter(|part| !part.is_empty());
        let requirements = parts.map(|part| {
            requirement(part).ok_or_else(|| {
                let what = format!("{part:?} is not a field selector that runs have");
                let help = "select by metadata.name or metadata.namespace, with = or !=; a phase \
                            is selected by the label workflows.argoproj.io/phase";
                Diagnostic::new(Code::BadRequest, what).help(help).into()
            })
        });
        requirements.collect::<Answer<_>>().map(Fields)
    }

    /// Whether it selects everything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one name that it asks for.
    pub(super) fn name(&self) -> Option<&'s str> {
        let mut wanted = self.0.iter().filter(|part| part.field == Field::Name && part.equal);
        wanted.next().map(|part| part.value)
    }

    /// Whether a run of this owner and name meets it.
    pub(super) fn matches(&self, space: &str, name: &str) -> bool {
        self.0.iter().all(|part| {
            let own = if part.field == Field::Name { name } else { space };
            (own == part.value) == part.equal
        })
    }
}

fn requirement(part: &str) -> Option<Requirement<'_>> {
    let (name, value, equal) = if let Some((name, value)) = part.split_once("!=") {
        (name, value, false)
    } else {
        let (name, value) = part.split_once('=')?;
        (name, value.strip_prefix('=').unwrap_or(value), true)
    };
    let field = match name.trim() {
        "metadata.name" => Field::Name,
        "metadata.namespace" => Field::Space,
        _ => return None,
    };
    Some(Requirement { field, value: value.trim(), equal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_spaces_are_selected() {
        for (selector, name, matches) in [
            ("", None, true),
            ("metadata.name=a", Some("a"), true),
            ("metadata.name==a", Some("a"), true),
            ("metadata.name=b", Some("b"), false),
            ("metadata.name=a,metadata.name=b", Some("a"), false),
            ("metadata.name!=a", None, false),
            ("metadata.name!=b,metadata.namespace=s", None, true),
            ("metadata.namespace=t", None, false),
            ("metadata.namespace!=t,", None, true),
        ] {
            let fields = Fields::parse(selector).unwrap();
            assert_eq!((fields.name(), fields.matches("s", "a")), (name, matches), "{selector}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for part in ["status.phase=Running", "nosuch=1", "metadata.name", "metadata.name>a", "="] {
            let refused = Fields::parse(&format!("metadata.name=a,{part}")).unwrap_err();
            assert_eq!(refused.0[0].code, Code::BadRequest);
            assert!(refused.0[0].what.contains(&format!("{part:?}")), "{part}");
        }
    }
}
