//! All texts of an object that something will evaluate.

use super::{Field, Kind, Object, Treatment};
use crate::argo::yaml::Node;

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// Text with tags.
    Tags,
    /// An expression.
    Expression,
    /// A condition.
    Condition,
}

/// Visits every text of an object, but for those in fields named in `without`.
pub(crate) fn texts<'n>(
    object: &Object,
    node: &'n Node,
    without: &[&str],
    visit: &mut dyn FnMut(&'n Node, Language),
) {
    for entry in node.entries() {
        let known = |field: &&Field| field.name == &*entry.key && !without.contains(&field.name);
        if let Some(field) = object.fields.iter().find(known) {
            field_texts(field, &entry.node, visit);
        }
    }
}

fn field_texts<'n>(field: &Field, node: &'n Node, visit: &mut dyn FnMut(&'n Node, Language)) {
    if matches!(field.treatment, Treatment::Ignored(_) | Treatment::Refused(_)) {
        return;
    }
    match field.kind {
        Kind::Text | Kind::Scalar | Kind::Duration(_) | Kind::Number(_) => leaf(node, visit),
        Kind::Expression => visit(node, Language::Expression),
        Kind::Condition => visit(node, Language::Condition),
        Kind::Texts | Kind::Scalars | Kind::Items => items(node, visit),
        Kind::Pairs => node.entries().iter().for_each(|entry| leaf(&entry.node, visit)),
        Kind::One(object) => texts(object, node, &[], visit),
        Kind::Many(object) => {
            node.items().iter().for_each(|item| texts(object, item, &[], visit));
        }
        Kind::Groups(object) => {
            let calls = node.items().iter().flat_map(Node::items);
            calls.for_each(|item| texts(object, item, &[], visit));
        }
        Kind::Keyed(object) => {
            node.entries().iter().for_each(|entry| texts(object, &entry.node, &[], visit));
        }
        Kind::Quantities | Kind::Bool | Kind::Int(_) | Kind::Choice(_) | Kind::Free => {}
    }
}

fn leaf<'n>(node: &'n Node, visit: &mut dyn FnMut(&'n Node, Language)) {
    if node.as_text().is_some() {
        visit(node, Language::Tags);
    }
}

fn items<'n>(node: &'n Node, visit: &mut dyn FnMut(&'n Node, Language)) {
    leaf(node, visit);
    node.items().iter().for_each(|item| items(item, visit));
    node.entries().iter().for_each(|entry| items(&entry.node, visit));
}
