//! The names of variables in an expression.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ast::{Kind, Node, children};
use crate::value::Value;

/// A chain of members that starts at a name: `a.b["c-d"]`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path<'a> {
    /// The parts from the left; at least one.
    pub(super) parts: Vec<&'a str>,
    /// Whether one of its links is `?.`.
    pub(super) optional: bool,
}

/// The chain that `node` is, unless it starts elsewhere or an index is computed.
pub(super) fn of(node: &Node) -> Option<Path<'_>> {
    match &node.kind {
        Kind::Name(name) => Some(Path { parts: vec![name], optional: false }),
        Kind::Member { object, key, optional } => {
            let Kind::Literal(Value::Str(key)) = &key.kind else { return None };
            let mut path = of(object)?;
            path.parts.push(key);
            path.optional |= optional;
            Some(path)
        }
        _ => None,
    }
}

/// All free variables below `root` as dotted names, sorted.
pub(super) fn names(root: &Node) -> Vec<String> {
    let mut found = BTreeSet::new();
    collect(root, &mut Vec::new(), &mut found);
    found.into_iter().collect()
}

fn collect<'a>(node: &'a Node, bound: &mut Vec<&'a Arc<str>>, found: &mut BTreeSet<String>) {
    if let Some(path) = of(node) {
        let first = path.parts.first().copied().unwrap_or("");
        if !bound.iter().any(|name| name.as_ref() == first) {
            found.insert(path.parts.join("."));
        }
        return;
    }
    if let Kind::Let { name, value, body } = &node.kind {
        collect(value, bound, found);
        bound.push(name);
        collect(body, bound, found);
        bound.pop();
        return;
    }
    for child in children(&node.kind) {
        collect(child, bound, found);
    }
}
