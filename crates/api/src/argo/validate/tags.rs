//! Tags and expressions that can never have a value.

use std::sync::Arc;

use argosy_model::Code;
use argosy_model::graph::{Body, Call, Graph};
use argosy_template::{Expr, Text, When};

use super::names::{RunNames, Scope};
use super::siblings::Siblings;
use crate::argo::resolve::Build;
use crate::argo::schema::{self, Language};
use crate::argo::sink::Sink;
use crate::argo::yaml::Node;

/// Checks all texts of a graph.
pub(super) fn check(build: &mut Build<'_>, graph: &Graph) {
    let run = RunNames::of(graph, build.is_open);
    let mut searched = 0;
    for (at, template) in graph.templates.iter().enumerate() {
        let Some(slot) = build.slots.get(at).cloned() else { continue };
        let siblings = Siblings::of(template);
        let scope = Scope {
            run: &run,
            graph,
            template: Some(template),
            siblings: &siblings,
            call: None,
            has_item: false,
            is_before: false,
            searched,
        };
        searched = check_template(&mut build.sink, scope, &slot.node);
    }
    let spec = Arc::clone(&build.spec);
    let siblings = Siblings::default();
    let (template, call, has_item) = (None, None, false);
    let siblings = &siblings;
    let is_before = true;
    let mut scope =
        Scope { run: &run, graph, template, siblings, call, has_item, is_before, searched };
    judge_parts(&mut build.sink, &mut scope, &spec, &["synchronization"]);
    for entry in spec.get("hooks").map_or(&[][..], Node::entries) {
        judge(&mut build.sink, &mut scope, &schema::HOOK, &entry.node, &[]);
    }
}

/// Checks the texts of a template and of its calls, and tells how much was searched by now.
fn check_template(sink: &mut Sink, mut scope: Scope<'_>, node: &Node) -> usize {
    judge(
        sink,
        &mut scope,
        &schema::TEMPLATE,
        node,
        &["steps", "dag", "memoize", "synchronization"],
    );
    // Looked up, and taken, before anything of the template is done.
    scope.is_before = true;
    judge_parts(sink, &mut scope, node, &["memoize", "synchronization"]);
    scope.is_before = false;
    let Some(template) = scope.template else { return scope.searched };
    match &template.body {
        Body::Steps(groups) => {
            let nodes = node.list("steps").iter().flat_map(Node::items);
            for (call, node) in groups.iter().flatten().zip(nodes) {
                check_call(sink, &mut scope, call, &schema::STEP, node);
            }
        }
        Body::Dag(dag) => {
            let Some(node) = node.get("dag") else { return scope.searched };
            if let Some(target) = node.get("target") {
                judge_text(sink, &mut scope, target, Language::Tags);
            }
            for (call, node) in dag.tasks.iter().zip(node.list("tasks")) {
                check_call(sink, &mut scope, call, &schema::DAG_TASK, node);
            }
        }
        _ => {}
    }
    scope.searched
}

/// Checks the texts of some fields of a template, or of the run.
fn judge_parts(sink: &mut Sink, scope: &mut Scope<'_>, node: &Node, parts: &[&str]) {
    let others: Vec<&str> =
        node.entries().iter().map(|entry| &*entry.key).filter(|key| !parts.contains(key)).collect();
    judge(sink, scope, &schema::TEMPLATE, node, &others);
}

fn check_call<'g>(
    sink: &mut Sink,
    scope: &mut Scope<'g>,
    call: &'g Call,
    object: &schema::Object,
    node: &Node,
) {
    scope.call = Some(call);
    scope.has_item = call.each.is_some();
    judge(sink, scope, object, node, &["inline", "hooks", "onExit"]);
    // A hook is evaluated whenever something changes, and sees all there is by then.
    scope.call = None;
    for entry in node.get("hooks").map_or(&[][..], Node::entries) {
        judge(sink, scope, &schema::HOOK, &entry.node, &[]);
    }
    scope.has_item = false;
}

fn judge(
    sink: &mut Sink,
    scope: &mut Scope<'_>,
    object: &schema::Object,
    node: &Node,
    without: &[&str],
) {
    schema::texts(object, node, without, &mut |node, language| {
        judge_text(sink, scope, node, language);
    });
}

fn judge_text(sink: &mut Sink, scope: &mut Scope<'_>, node: &Node, language: Language) {
    if sink.is_full() {
        return;
    }
    let text = node.as_text().unwrap_or_default();
    // What cannot be read was refused at load.
    let names = match language {
        Language::Condition => When::parse(text).map(|when| when.names()),
        Language::Expression if !text.contains("{{") => Expr::parse(text).map(|e| e.names()),
        Language::Tags | Language::Expression => Text::parse(text).map(|text| text.names()),
    };
    // An expression may ask whether there is a value.
    let asks = text.contains("??") || text.contains("?.");
    for name in names.into_iter().flatten().filter(|_| !asks) {
        if let Err((why, help)) = scope.judge(&name) {
            let what = format!("failed to resolve {{{{{name}}}}}: {why}");
            sink.refuse(Code::Unresolved, node.mark, what).help = help;
        }
    }
}
