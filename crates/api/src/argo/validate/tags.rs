//! Tags and expressions that can never have a value.

use std::sync::Arc;

use argosy_engine::depends::Depends;
use argosy_model::Code;
use argosy_model::graph::{Body, Call, Graph, Template};
use argosy_template::{Expr, Text, When};

use super::names::{Calls, RunNames, Scope};
use crate::argo::resolve::{Build, Slot};
use crate::argo::schema::{self, Language};
use crate::argo::sink::Sink;
use crate::argo::yaml::Node;

/// Checks all texts of a graph.
pub(super) fn check(build: &mut Build<'_>, graph: &Graph) {
    let run = RunNames::of(graph, build.is_open);
    for (at, template) in graph.templates.iter().enumerate() {
        if let Some(slot) = build.slots.get(at).cloned() {
            Checker { run: &run, graph, template, sink: &mut build.sink }.check(&slot);
        }
    }
    let spec = Arc::clone(&build.spec);
    let scope =
        Scope { run: &run, graph, template: None, calls: Calls::default(), has_item: false };
    for entry in spec.get("hooks").map_or(&[][..], Node::entries) {
        judge(&mut build.sink, &scope, &schema::HOOK, &entry.node, &[]);
    }
}

struct Checker<'g, 's> {
    run: &'g RunNames,
    graph: &'g Graph,
    template: &'g Template,
    sink: &'s mut Sink,
}

impl<'g> Checker<'g, '_> {
    fn scope(&self, calls: Calls<'g>, has_item: bool) -> Scope<'g> {
        Scope { run: self.run, graph: self.graph, template: Some(self.template), calls, has_item }
    }

    fn check(&mut self, slot: &Slot) {
        let node = &*slot.node;
        let all: Vec<&Call> = match &self.template.body {
            Body::Steps(groups) => groups.iter().flatten().collect(),
            Body::Dag(dag) => dag.tasks.iter().collect(),
            _ => Vec::new(),
        };
        let outer = self.scope(Calls { ended: all, others: Vec::new() }, false);
        judge(self.sink, &outer, &schema::TEMPLATE, node, &["steps", "dag"]);
        match &self.template.body {
            Body::Steps(groups) => self.steps(node, groups),
            Body::Dag(dag) => self.tasks(node, &dag.tasks),
            _ => {}
        }
    }

    /// Steps see those of earlier groups.
    fn steps(&mut self, node: &Node, groups: &'g [Vec<Call>]) {
        for (at, (group, nodes)) in groups.iter().zip(node.list("steps")).enumerate() {
            let (before, after) = groups.split_at(at);
            let calls = Calls {
                ended: before.iter().flatten().collect(),
                others: after.iter().flatten().collect(),
            };
            for (call, node) in group.iter().zip(nodes.items()) {
                self.call(&schema::STEP, node, call, calls.clone());
            }
        }
    }

    /// Tasks see those that they wait for, directly or not.
    fn tasks(&mut self, node: &Node, tasks: &'g [Call]) {
        let Some(dag) = node.get("dag") else { return };
        let target = self.scope(Calls::default(), false);
        if let Some(text) = dag.get("target") {
            judge_text(self.sink, &target, text, Language::Tags);
        }
        for (task, node) in tasks.iter().zip(dag.list("tasks")) {
            let before = ancestors(task, tasks);
            let (ended, others) = tasks.iter().partition(|other| before.contains(&&*other.name));
            self.call(&schema::DAG_TASK, node, task, Calls { ended, others });
        }
    }

    fn call(&mut self, object: &schema::Object, node: &Node, call: &'g Call, calls: Calls<'g>) {
        let has_item = call.each.is_some();
        let scope = self.scope(calls.clone(), has_item);
        judge(self.sink, &scope, object, node, &["inline", "hooks", "onExit"]);
        // A hook is evaluated whenever something changes, and sees all there is by then.
        let Calls { mut ended, others } = calls;
        ended.extend(others);
        let scope = self.scope(Calls { ended, others: Vec::new() }, has_item);
        for entry in node.get("hooks").map_or(&[][..], Node::entries) {
            judge(self.sink, &scope, &schema::HOOK, &entry.node, &[]);
        }
    }
}

/// Names of all tasks that a task waits for.
fn ancestors<'g>(task: &'g Call, tasks: &'g [Call]) -> Vec<&'g str> {
    let mut found: Vec<&str> = Vec::new();
    let mut open = vec![task];
    while let Some(task) = open.pop() {
        let depends = task.depends.as_deref().and_then(|text| Depends::parse(text).ok());
        for name in depends.iter().flat_map(Depends::tasks) {
            let Some(next) = tasks.iter().find(|other| other.name == name) else { continue };
            if !found.contains(&next.name.as_str()) {
                found.push(&next.name);
                open.push(next);
            }
        }
    }
    found
}

fn judge(
    sink: &mut Sink,
    scope: &Scope<'_>,
    object: &schema::Object,
    node: &Node,
    without: &[&str],
) {
    schema::texts(object, node, without, &mut |node, language| {
        judge_text(sink, scope, node, language);
    });
}

fn judge_text(sink: &mut Sink, scope: &Scope<'_>, node: &Node, language: Language) {
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
