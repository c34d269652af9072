//! Every field of every object that a manifest may hold, and what becomes of it. One table for
//! the check at load, for the walk over all texts, and for the compatibility page.

mod calls;
mod check;
mod documents;
mod io;
mod pod;
mod spec;
mod template;
mod walk;

pub use documents::{CLUSTER_WORKFLOW_TEMPLATE, CONFIG_MAP, SECRET, WORKFLOW, WORKFLOW_TEMPLATE};

pub(crate) use calls::{DAG_TASK, HOOK, STEP};
pub(crate) use check::check;
pub(crate) use template::TEMPLATE;
pub(crate) use walk::{Language, texts};

/// A kind of object, with its fields.
#[derive(Debug)]
pub struct Object {
    /// Its name upstream.
    pub name: &'static str,
    /// Its fields, as upstream's reference lists them.
    pub fields: &'static [Field],
}

/// A field of an object.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What becomes of it.
    pub treatment: Treatment,
}

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It does what it does upstream.
    Works,
    /// It is accepted, kept and shown again, and has no effect here, for this reason.
    Ignored(&'static str),
    /// It is refused, for this reason.
    Refused(&'static str),
    /// An older spelling that works with a warning; what takes its place.
    Deprecated(&'static str),
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A text that may hold tags.
    Text,
    /// A text, number or boolean, kept as text, that may hold tags.
    Scalar,
    /// A list of texts.
    Texts,
    /// A list of scalars.
    Scalars,
    /// Texts under names.
    Pairs,
    /// An expression.
    Expression,
    /// A condition in the dialect of `when`.
    Condition,
    /// A duration, or a text with tags that becomes one.
    Duration(Span),
    /// A whole number, or a text with tags that becomes one.
    Number(Range),
    /// Kubernetes quantities under names.
    Quantities,
    /// True or false.
    Bool,
    /// A whole number.
    Int(Range),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An object.
    One(&'static Object),
    /// A list of objects.
    Many(&'static Object),
    /// A list of lists of objects.
    Groups(&'static Object),
    /// Objects under names.
    Keyed(&'static Object),
    /// Any JSON, whose texts may hold tags.
    Items,
    /// Anything; not looked into.
    Free,
}

/// Whole numbers that a field takes, both ends among them.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The smallest.
    pub least: i64,
    /// The largest.
    pub most: i64,
}

impl Range {
    const fn new(least: i64, most: i64) -> Range {
        Range { least, most }
    }

    /// What an `int32` of upstream holds, from `least` on.
    const fn from(least: i64) -> Range {
        Range { least, most: i32::MAX as i64 }
    }
}

/// Durations that a field takes.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Whether it has to be longer than nothing. None is negative.
    pub some: bool,
    /// Whether a bare number counts seconds.
    pub bare: bool,
}

/// All objects, outer ones first.
#[must_use]
pub fn objects() -> Vec<&'static Object> {
    let mut found: Vec<&'static Object> =
        vec![&WORKFLOW, &WORKFLOW_TEMPLATE, &CLUSTER_WORKFLOW_TEMPLATE, &CONFIG_MAP, &SECRET];
    let mut at = 0;
    while let Some(object) = found.get(at).copied() {
        at += 1;
        for field in object.fields {
            let (Kind::One(inner) | Kind::Many(inner) | Kind::Groups(inner) | Kind::Keyed(inner)) =
                field.kind
            else {
                continue;
            };
            if found.iter().all(|known| known.name != inner.name) {
                found.push(inner);
            }
        }
    }
    found
}

/// All fields with the object that they are a part of.
#[must_use]
pub fn fields() -> Vec<(&'static Object, &'static Field)> {
    let fields = |object: &'static Object| object.fields.iter().map(move |field| (object, field));
    objects().into_iter().flat_map(fields).collect()
}

const fn works(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, treatment: Treatment::Works }
}

const fn ignored(name: &'static str, why: &'static str) -> Field {
    Field { name, kind: Kind::Free, treatment: Treatment::Ignored(why) }
}

const fn refused(name: &'static str, why: &'static str) -> Field {
    Field { name, kind: Kind::Free, treatment: Treatment::Refused(why) }
}

const fn deprecated(name: &'static str, kind: Kind, instead: &'static str) -> Field {
    Field { name, kind, treatment: Treatment::Deprecated(instead) }
}

/// Reasons that several fields share.
mod why {
    pub(super) const CLUSTER: &str = "it steers Kubernetes, which is not there";
    pub(super) const MACHINE: &str = "processes run on the machine of the server";
    pub(super) const USER: &str = "processes run as the user of the server";
    pub(super) const NO_GC_POD: &str = "the server deletes artifacts, without a pod";
    pub(super) const SERVER: &str = "the server sets it";
    pub(super) const SERVICE: &str = "outside services are not reached yet";
    pub(super) const VOLUME: &str = "volumes of this kind are not built yet";
    pub(super) const PROBE: &str = "only daemons are probed, and they are not built yet";
}

#[cfg(test)]
mod tests {
    use super::spec::SPEC;
    use super::*;

    #[test]
    fn every_field_of_the_reference_is_in_the_table() {
        // Field counts of argo-workflows v4.1.2 `docs/fields.md`, and the older spellings on top.
        for (object, count) in [(&SPEC, 44), (&TEMPLATE, 42)] {
            let counted = object
                .fields
                .iter()
                .filter(|field| !matches!(field.treatment, Treatment::Deprecated(_)))
                .count();
            assert_eq!(counted, count, "{}", object.name);
        }
    }

    #[test]
    fn no_object_has_a_field_twice() {
        for object in objects() {
            let mut names: Vec<_> = object.fields.iter().map(|field| field.name).collect();
            names.sort_unstable();
            let before = names.len();
            names.dedup();
            assert_eq!(names.len(), before, "{}", object.name);
        }
    }
}
