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
    if !build.is_open {
        entrypoint(build, graph);
    }
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
    for Missing { list, name } in missing(target, &call.arguments) {
        let what = format!("inputs.{list}.{name} of `{}` was not supplied", target.name);
        let help = format!("add it to the arguments of `{}`, or give it a default", call.name);
        build.sink.refuse(Code::MissingArgument, node.mark, what).help = help;
    }
}

/// The run's own arguments have values for all inputs of the entrypoint.
fn entrypoint(build: &mut Build<'_>, graph: &Graph) {
    let at = graph.entrypoint as usize;
    let (Some(target), Some(slot)) = (graph.templates.get(at), build.slots.get(at).cloned()) else {
        return;
    };
    for Missing { list, name } in missing(target, &graph.arguments) {
        let inputs = slot.node.at(&["inputs", list]).map_or(&[][..], Node::items);
        let input = inputs.iter().find(|input| input.text("name") == name);
        let mark = input.and_then(|input| input.get("name")).unwrap_or(&slot.node).mark;
        let what = format!("inputs.{list}.{name} was not supplied");
        build.sink.refuse(Code::MissingArgument, mark, what).help = match list {
            "parameters" => format!("add -p {name}=VALUE or a default"),
            _ => "add it to spec.arguments".to_owned(),
        };
    }
}

/// An input without a value.
struct Missing<'t> {
    list: &'static str,
    name: &'t str,
}

/// Inputs of a template that nobody gives.
fn missing<'t>(target: &'t Template, given: &Arguments) -> Vec<Missing<'t>> {
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
        .map(|input| Missing { list: "parameters", name: &input.name })
        .chain(artifacts.map(|input| Missing { list: "artifacts", name: &input.argument.name }))
        .collect()
}
