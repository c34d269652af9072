//! `retries` and `lastRetry.*` in templates of steps and tasks that are tried again
//! (argo-workflows `workflow/controller/operator.go` `executeTemplate`).

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use argosy_model::{Phase, RunPhase};
use common::{World, code, ok};
use serde_json::{Value, json};

/// The body of one call, by either planner.
fn bodies(call: &Value) -> [Value; 2] {
    [json!({"Steps": [[call]]}), json!({"Dag": {"tasks": [call]}})]
}

/// A process that says what it is given.
fn say() -> Value {
    json!({"name": "say", "inputs": {"parameters": [{"name": "text"}]},
        "body": {"Process": {"main": {"args": ["{{inputs.parameters.text}}"]}}}})
}

fn given(text: &str) -> Value {
    json!({"parameters": [{"name": "text", "value": text}]})
}

/// A run in which the first processes fail, so many of them, and what each was given.
fn run(graph: Value, failing: usize) -> (World, Vec<String>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    let world = World::of(graph, move |_, _, process| {
        sink.borrow_mut().push(process.main.args[0].clone());
        if sink.borrow().len() <= failing { code(3) } else { ok() }
    });
    let seen = seen.borrow().clone();
    (world, seen)
}

#[test]
fn a_template_of_calls_sees_the_number_of_its_try_and_the_last_one() {
    let text = "{{retries}} {{lastRetry.exitCode}} {{lastRetry.status}} {{lastRetry.duration}} \
                {{=lastRetry.message == '' ? 'nothing' : 'something'}}";
    let call = json!({"name": "a", "target": {"Template": 1}, "arguments": given(text)});
    for body in bodies(&call) {
        let main = json!({"name": "main", "retry": {"limit": "2"}, "body": body,
            "outputs": {"parameters": [{"name": "tries", "from": {"Value": "{{retries}}"}}]}});
        let (world, seen) = run(json!({"templates": [main, say()]}), 2);
        assert_eq!(world.run.phase, RunPhase::Succeeded);
        let told = if body.get("Steps").is_some() { "something" } else { "nothing" };
        // Steps and DAGs have no exit code. A DAG that fails has no message, steps name the child.
        let failed = |number: u32| format!("{number} 0 Failed 0 {told}");
        assert_eq!(seen, ["0 0  0 nothing".to_owned(), failed(1), failed(2)], "{body}");
        let root = world.run.step(world.key("wf")).unwrap();
        let tries = root.outputs.as_ref().and_then(|outputs| outputs.parameter("tries"));
        assert_eq!(tries, Some(&json!("2")), "{body}");
    }
}

#[test]
fn every_text_of_the_template_sees_them() {
    let plain = |more: Value| {
        let mut call = json!({"name": "a", "target": {"Template": 1}, "arguments": given("x")});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    for (call, expected) in [
        // The first try is skipped over, and so succeeds.
        (plain(json!({"when": "{{retries}} == 0"})), &["x"][..]),
        (plain(json!({"when": "{{retries}} == 1"})), &[]),
        (
            plain(json!({"each": {"Param": "[\"{{retries}}\"]"}, "arguments": given("{{item}}")})),
            &["0", "1"],
        ),
        (
            plain(json!({"each": {"Sequence": {"count": "{{=asInt(retries) + 1}}"}},
                "arguments": given("{{retries}}.{{item}}")})),
            &["0.0", "1.0", "1.1"],
        ),
        (plain(json!({"arguments": given("{{=lastRetry.status ?? 'none'}}")})), &["", "Failed"]),
    ] {
        for body in bodies(&call) {
            let main = json!({"name": "main", "retry": {"limit": "1"}, "body": body});
            let (_, seen) = run(json!({"templates": [main, say()]}), 1);
            assert_eq!(seen, expected, "{body}");
        }
    }
}

#[test]
fn what_is_called_sees_its_own_tries_alone() {
    let outer = json!({"name": "b", "target": {"Template": 1}, "arguments": given("{{retries}}")});
    let inner = json!({"name": "c", "target": {"Template": 2},
        "arguments": given("{{inputs.parameters.text}}.{{retries}}")});
    for (main, nested) in bodies(&outer).into_iter().zip(bodies(&inner).into_iter().rev()) {
        let graph = json!({"templates": [
            {"name": "main", "retry": {"limit": "1"}, "body": main},
            {"name": "nested", "retry": {"limit": "1"}, "body": nested,
             "inputs": {"parameters": [{"name": "text"}]}},
            say()]});
        let (world, seen) = run(graph, 3);
        assert_eq!(world.run.phase, RunPhase::Succeeded);
        assert_eq!(seen, ["0.0", "0.1", "1.0", "1.1"]);
    }
    // Without tries of its own it sees none: nothing is replaced in what is called.
    let inner = json!({"name": "c", "target": {"Template": 2}, "arguments": given("{{retries}}")});
    let graph = json!({"templates": [
        {"name": "main", "retry": {"limit": "1"}, "body": {"Steps": [[outer]]}},
        {"name": "nested", "body": {"Dag": {"tasks": [inner]}},
         "inputs": {"parameters": [{"name": "text"}]}},
        say()]});
    let (world, seen) = run(graph, 0);
    assert!(seen.is_empty());
    assert_eq!(world.phase("wf"), Phase::Failed);
}

#[test]
fn how_often_is_tried_may_come_from_the_templates_own_inputs() {
    let call = json!({"name": "a", "target": {"Template": 1}, "arguments": given("x")});
    for body in bodies(&call) {
        let main = json!({"name": "main", "body": body,
            "inputs": {"parameters": [{"name": "most", "value": "2"}]},
            "retry": {"limit": "{{inputs.parameters.most}}"}});
        let (world, seen) = run(json!({"templates": [main, say()]}), 9);
        assert_eq!((world.phase("wf"), seen.len()), (Phase::Failed, 3), "{body}");
        assert_eq!(world.message("wf"), "No more retries left");
    }
}
