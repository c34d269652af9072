//! Names of objects, of their spaces, and of what is in them (Kubernetes' object names; the rule
//! for templates is that of argo-workflows `workflow/validate/validate.go`).

use argosy_model::{Code, Diagnostic, limits};

use super::load::{Kind, Object};
use super::resolve::names::{self, Rule};
use super::sink::Sink;
use super::yaml::{Mark, Node};

/// Checks the name of a space.
///
/// # Errors
/// [`Code::BadName`].
pub fn check_space(name: &str) -> Result<(), Diagnostic> {
    names::label(name).map_err(|why| {
        Diagnostic::new(Code::BadName, format!("{name:?} is not a name of a space")).help(why)
    })
}

impl Object {
    /// The space that this object goes to, when `space` is asked for: that one, but for an object
    /// that names another where `space` is only what holds unless somebody says otherwise.
    ///
    /// # Errors
    /// [`Code::Conflict`] where two spaces are asked for.
    pub fn space_in<'s>(&'s self, space: &'s str, is_default: bool) -> Result<&'s str, Diagnostic> {
        if self.kind == Kind::ClusterWorkflowTemplate || self.namespace.is_empty() {
            return Ok(space);
        }
        if is_default || self.namespace == space {
            return Ok(&self.namespace);
        }
        let own = &self.namespace;
        let node = self.tree.at(&["metadata", "namespace"]).unwrap_or(&self.tree);
        let what = format!("the object is of the namespace {own:?}, and {space:?} is asked for");
        let help = format!("ask for {own} (`--namespace {own}`), or take metadata.namespace out");
        Err(Diagnostic::new(Code::Conflict, what).at(node.mark.in_file(&self.file)).help(help))
    }
}

/// Checks the names in a document.
pub(super) fn check(kind: Kind, tree: &Node, sink: &mut Sink) {
    if let Some(metadata) = tree.get("metadata") {
        let name = |key: &str| metadata.get(key).filter(|node| node.as_text() != Some(""));
        if let Some(node) = name("name") {
            named(node, "the name", names::object, sink);
        }
        if let Some(node) = name("namespace") {
            named(node, "the namespace", names::label, sink);
        }
    }
    match kind {
        Kind::ConfigMap | Kind::Secret => keys(tree, sink),
        _ => templates(tree, sink),
    }
}

fn named(node: &Node, what: &str, rule: Rule, sink: &mut Sink) {
    // Anything but a text has been refused by its type.
    let Some(name) = node.as_text() else { return };
    if let Err(long) = limits::NAME_BYTES.check(name.len() as u64, what) {
        sink.refuse(long.code, node.mark, long.what);
    } else if let Err(why) = rule(name) {
        refuse(format!("{what} {name:?} is not allowed"), why, node.mark, sink);
    }
}

fn refuse(what: String, why: &str, mark: Mark, sink: &mut Sink) {
    sink.refuse(Code::BadName, mark, what).help = why.into();
}

fn templates(tree: &Node, sink: &mut Sink) {
    let spec = tree.get("spec").map_or(&[][..], |spec| spec.list("templates"));
    for template in spec {
        match (template.get("name"), template.text("name")) {
            (Some(node), name) if !name.is_empty() => {
                if let Err(why) = names::field(name) {
                    refuse(format!("{name:?} is not a name of a template"), why, node.mark, sink);
                }
            }
            // Another type has been refused as such.
            (Some(node), _) if node.as_text().is_none() => {}
            _ => drop(sink.refuse(Code::MissingField, template.mark, "the template has no name")),
        }
    }
}

/// Keys, which are names of files where such an object is a volume.
fn keys(tree: &Node, sink: &mut Sink) {
    for field in ["data", "binaryData", "stringData"] {
        for entry in tree.get(field).map_or(&[][..], Node::entries) {
            if let Err(why) = names::key(&entry.key) {
                refuse(format!("{:?} is not a key of `{field}`", entry.key), why, entry.mark, sink);
            }
        }
    }
}
