//! Artifacts on their way from one step to another
//! (argo-workflows `docs/walk-through/artifacts.md`, `workflow/controller/scope.go`).

mod common;

use argosy_model::{Archive, Artifact, End, Exit, Location, Outputs, RunPhase};
use common::{World, ok};
use serde_json::{Value, json};

fn blob(key: &str) -> Artifact {
    let at = Location::Blob { key: key.into() };
    Artifact { at, archive: Archive::Default, sub_path: String::new() }
}

fn keeping(key: &str) -> Option<End> {
    let artifacts = vec![("out".into(), blob(key))];
    Some(End { outputs: Outputs { artifacts, ..Outputs::default() }, ..End::bare(Exit::Code(0)) })
}

fn producer(global_name: &str) -> Value {
    let output = json!({"name": "out", "path": "/tmp/out", "global_name": global_name});
    json!({"name": "produce", "outputs": {"artifacts": [output]}, "body": {"Process": {}}})
}

fn consumer() -> Value {
    let input = json!({"argument": {"name": "in"}, "path": "/tmp/in"});
    json!({"name": "consume", "inputs": {"artifacts": [input]}, "body": {"Process": {}}})
}

fn call(name: &str, template: u32, source: Option<Value>) -> Value {
    let artifacts: Vec<_> =
        source.into_iter().map(|source| json!({"name": "in", "source": source})).collect();
    json!({"name": name, "target": {"Template": template}, "arguments": {"artifacts": artifacts}})
}

/// What the consumer of a graph finds at its input.
fn consumed(graph: Value) -> Option<Artifact> {
    let found = std::rc::Rc::new(std::cell::RefCell::new(None));
    let seen = std::rc::Rc::clone(&found);
    let world = World::of(graph, move |name, _, process| {
        if name.ends_with("produce") {
            return keeping("k");
        }
        *seen.borrow_mut() = process.inputs.first().map(|input| input.artifact.clone());
        ok()
    });
    assert_eq!(world.run.phase, RunPhase::Succeeded, "{:?}", world.run.main);
    found.take()
}

#[test]
fn a_step_finds_the_artifact_that_a_tag_or_an_expression_names() {
    for source in [
        json!({"From": "{{steps.produce.outputs.artifacts.out}}"}),
        json!({"Expression": "steps.produce.outputs.artifacts.out"}),
        json!({"From": "{{workflow.outputs.artifacts.everywhere}}"}),
    ] {
        let steps = json!([[call("produce", 1, None)], [call("consume", 2, Some(source.clone()))]]);
        let main = json!({"name": "main", "body": {"Steps": steps}});
        let graph = json!({"templates": [main, producer("everywhere"), consumer()]});
        assert_eq!(consumed(graph), Some(blob("k")), "{source}");
    }
}

#[test]
fn an_input_artifact_is_handed_on() {
    let inner = json!({
        "name": "inner",
        "inputs": {"artifacts": [{"argument": {"name": "in"}}]},
        "body": {"Steps": [[call("consume", 2, Some(json!({"From": "{{inputs.artifacts.in}}"})))]]},
    });
    let produced = json!({"From": "{{steps.produce.outputs.artifacts.out}}"});
    let steps = json!([[call("produce", 1, None)], [call("inner", 3, Some(produced))]]);
    let main = json!({"name": "main", "body": {"Steps": steps}});
    let graph = json!({"templates": [main, producer(""), consumer(), inner]});
    assert_eq!(consumed(graph), Some(blob("k")));
}

#[test]
fn outputs_of_a_nested_template_come_from_its_steps() {
    let inner = json!({
        "name": "inner",
        "outputs": {"artifacts": [
            {"name": "out", "source": {"From": "{{steps.produce.outputs.artifacts.out}}"}}
        ]},
        "body": {"Steps": [[call("produce", 1, None)]]},
    });
    let produced = json!({"From": "{{steps.inner.outputs.artifacts.out}}"});
    let steps = json!([[call("inner", 3, None)], [call("consume", 2, Some(produced))]]);
    let main = json!({"name": "main", "body": {"Steps": steps}});
    let graph = json!({"templates": [main, producer(""), consumer(), inner]});
    assert_eq!(consumed(graph), Some(blob("k")));
}
