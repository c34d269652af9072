//! Calls of a template against each other, and against what they call.

use argosy_model::Code;
use argosy_model::graph::{
    Argument, Arguments, ArtifactSource, Body, Call, Graph, InputArtifactDecl, Target, Template,
};

use super::dag;
use crate::argo::resolve::{Build, Slot};
use crate::argo::yaml::Node;

/// Checks all calls of a graph.
pub(super) fn check(build: &mut Build<'_>, graph: &Graph) {
    for (at, template) in graph.templates.iter().enumerate() {
        let Some(slot) = build.slots.get(at).cloned() else { continue };
        match &template.body {
            Body::Dag(tasks) => {
                dag::check(build, &slot, tasks);
                let nodes = slot.node.get("dag").map_or(&[][..], |dag| dag.list("tasks"));
                for (task, node) in tasks.tasks.iter().zip(nodes) {
                    call(build, graph, node, task);
                }
            }
            Body::Steps(groups) => steps(build, graph, &slot, groups),
            _ => {}
        }
    }
    entrypoint(build, graph);
}

fn steps(build: &mut Build<'_>, graph: &Graph, slot: &Slot, groups: &[Vec<Call>]) {
    let nodes = slot.node.list("steps");
    let all: Vec<Node> = nodes.iter().flat_map(Node::items).cloned().collect();
    build.check_unique(&all, "steps");
    for (group, nodes) in groups.iter().zip(nodes) {
        for (step, node) in group.iter().zip(nodes.items()) {
            call(build, graph, node, step);
        }
    }
}

/// Every input of the called template has a value.
fn call(build: &mut Build<'_>, graph: &Graph, node: &Node, call: &Call) {
    let Target::Template(at) = call.target else { return };
    let Some(target) = graph.templates.get(at as usize) else { return };
    for what in missing(target, &call.arguments) {
        let text = format!("`{}` does not give the {what} of `{}`", call.name, target.name);
        build.sink.refuse(Code::MissingArgument, node.mark, text).help =
            "add it to its arguments".into();
    }
}

/// The run's own arguments have values for all inputs of the entrypoint.
fn entrypoint(build: &mut Build<'_>, graph: &Graph) {
    let (Some(target), Some(slot)) = (
        graph.templates.get(graph.entrypoint as usize),
        build.slots.get(graph.entrypoint as usize).cloned(),
    ) else {
        return;
    };
    for what in missing(target, &graph.arguments) {
        let text = format!("the run does not give the {what} of its entrypoint `{}`", target.name);
        let mark = slot.node.get("inputs").unwrap_or(&slot.node).mark;
        build.sink.refuse(Code::MissingArgument, mark, text).help =
            "add it to spec.arguments".into();
    }
}

/// Inputs of a template that nobody gives.
fn missing(target: &Template, given: &Arguments) -> Vec<String> {
    let has_parameter = |input: &Argument| {
        let own = input.value.is_some()
            || input.expression.is_some()
            || input.config_map.is_some()
            || input.default.is_some();
        own || given.parameters.iter().any(|given| given.name == input.name)
    };
    let has_artifact = |input: &InputArtifactDecl| {
        let own = input.argument.optional || input.argument.source != ArtifactSource::Unset;
        own || given.artifacts.iter().any(|given| given.name == input.argument.name)
    };
    let parameters = target.inputs.parameters.iter().filter(|input| !has_parameter(input));
    let artifacts = target.inputs.artifacts.iter().filter(|input| !has_artifact(input));
    parameters
        .map(|input| format!("parameter `{}`", input.name))
        .chain(artifacts.map(|input| format!("artifact `{}`", input.argument.name)))
        .collect()
}
