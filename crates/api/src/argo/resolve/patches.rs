//! Patches of pods (`podSpecPatch`). One without tags is judged when it is read.

use argosy_engine::patch;
use argosy_model::graph::ProcessTemplate;
use argosy_model::{Code, Diagnostic};
use serde_json::Value;

use super::build::Build;
use crate::argo::yaml::{self, Node};

impl Build<'_> {
    /// Patches of the run and of the template, in the order in which they are laid on.
    pub(super) fn patches(&mut self, template: &Node, process: &ProcessTemplate) -> Vec<Value> {
        // What is wrong with that of the run is told once.
        let of_run = given(&self.spec).and_then(|node| read(node).ok());
        let own = given(template);
        let own = own.and_then(|node| self.judged(node, |patch| patch::judge(process, patch)));
        of_run.into_iter().chain(own).collect()
    }

    /// Judges the patch of the run.
    pub(super) fn check_run_patch(&mut self) {
        let spec = self.spec.clone();
        let _judged = given(&spec).and_then(|node| self.judged(node, patch::judge_anywhere));
    }

    /// A patch. What cannot be done is refused here, unless tags may still change it.
    fn judged(
        &mut self,
        node: &Node,
        judge: impl Fn(&Value) -> Result<(), Diagnostic>,
    ) -> Option<Value> {
        let has_tags = node.as_text().unwrap_or_default().contains("{{");
        let found = read(node).and_then(|patch| match has_tags {
            true => Ok(patch),
            false => judge(&patch).map(|()| patch),
        });
        match found {
            Ok(patch) => Some(patch),
            Err(why) => {
                self.sink.refuse(why.code, node.mark, why.what);
                None
            }
        }
    }
}

fn given(object: &Node) -> Option<&Node> {
    object.get("podSpecPatch").filter(|node| node.as_text() != Some(""))
}

/// One patch: a tree where it is one with its tags in it, else the text.
fn read(node: &Node) -> Result<Value, Diagnostic> {
    let text = node.as_text().unwrap_or_default();
    let trees = yaml::parse("", text).ok();
    let trees = trees.as_deref().map(|trees| trees.iter().map(Node::to_json).collect::<Vec<_>>());
    match trees.as_deref() {
        Some([tree]) if tree.is_object() => Ok(tree.clone()),
        _ if text.contains("{{") => Ok(Value::from(text)),
        _ => {
            let what = "a podSpecPatch has to be an object in YAML or JSON";
            Err(Diagnostic::new(Code::BadValue, what))
        }
    }
}
