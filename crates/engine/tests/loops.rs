//! Loops: what depends on them, and what is collected from them.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use argosy_model::{Exit, Phase, RunPhase};
use common::{World, code, ok, printing, writing};
use serde_json::{Value, json};

fn leaf() -> Value {
    json!({"name": "leaf", "body": {"Process": {}}})
}

fn each(name: &str, list: &str) -> Value {
    json!({"name": name, "target": {"Template": 1}, "each": {"Param": list}})
}

#[test]
fn what_depends_on_a_loop_asks_its_items() {
    // argo-workflows `dag.go` `evaluateDependsLogic`: only a group of tasks has children, and a
    // loop over nothing is a skipped node.
    for (list, depends, after) in [
        ("[]", "loop.AllFailed", Phase::Omitted),
        ("[]", "loop.AnySucceeded", Phase::Omitted),
        ("[]", "loop.Skipped", Phase::Succeeded),
        ("[]", "loop", Phase::Succeeded),
        ("[1, 1]", "loop.AllFailed", Phase::Succeeded),
        ("[0, 1]", "loop.AllFailed", Phase::Omitted),
        ("[0, 1]", "loop.AnySucceeded", Phase::Succeeded),
        ("[1, 1]", "loop.AnySucceeded", Phase::Omitted),
    ] {
        let after_it = json!({"name": "b", "target": {"Template": 1}, "depends": depends});
        let tasks = json!([each("loop", list), after_it]);
        let main = json!({"name": "main", "body": {"Dag": {"tasks": tasks}}});
        let world = World::of(json!({"templates": [main, leaf()]}), |name, _, _| {
            if name.ends_with(":1)") { code(1) } else { ok() }
        });
        assert_eq!(world.phase("wf.b"), after, "{depends} of {list}");
    }
}

/// Runs a loop whose items write these values, then one that is given what is collected.
fn collected(values: &'static [&'static str]) -> String {
    let count = json!({"count": values.len().to_string()});
    let producer = json!({"name": "p", "target": {"Template": 1}, "each": {"Sequence": count}});
    let all = json!([{"name": "text", "value": "{{steps.p.outputs.parameters.v}}"}]);
    let taker = json!({"name": "t", "target": {"Template": 2}, "arguments": {"parameters": all}});
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[producer], [taker]]}},
        {"name": "leaf", "outputs": {"parameters": [{"name": "v", "from": {"Path": "/v"}}]},
         "body": {"Process": {}}},
        {"name": "take", "inputs": {"parameters": [{"name": "text"}]},
         "body": {"Process": {"main": {"args": ["{{inputs.parameters.text}}"]}}}}]});
    let mut values = values.iter();
    let world = World::of(graph, move |_, _, process| match process.main.args.first() {
        None => writing("v", values.next().unwrap()),
        Some(text) => printing(text),
    });
    assert_eq!(world.run.phase, RunPhase::Succeeded, "{:?}", world.run.main);
    let taken = world.run.step(world.key("wf[1].t")).unwrap();
    taken.outputs.as_ref().unwrap().result.clone().unwrap().into_string()
}

#[test]
fn collected_parameters_that_are_all_objects_or_lists_are_json() {
    // argo-workflows `operator.go` `tryJSONUnmarshal`: otherwise each of them is a text.
    for (values, expected) in [
        (&[r#"{"k": 0, "a": 1.50}"#, "[ 1 ]"][..], r#"[{"a":1.5,"k":0},[1]]"#),
        (&[r#"{"k":0}"#, "7"], r#"["{\"k\":0}","7"]"#),
        (&[r#"{"k":0}"#, "x"], r#"["{\"k\":0}","x"]"#),
        (&["1", "2"], r#"["1","2"]"#),
    ] {
        assert_eq!(collected(values), expected);
    }
}

#[test]
fn hooks_about_an_item_see_the_item_under_the_name_of_its_call() {
    // argo-workflows `dag.go` `executeDAGTask`: the node of the item is what `tasks.a` is.
    for words in ["tasks", "steps"] {
        let text =
            format!("{{{{item}}}} {{{{{words}.a.status}}}} {{{{{words}.a.outputs.parameters.o}}}}");
        let hook = |name: &str, expression: &str| {
            let arguments = json!({"parameters": [{"name": "p", "value": text}]});
            json!({"name": name, "expression": expression,
                   "call": {"target": {"Template": 2}, "arguments": arguments}})
        };
        let ok_only = format!("{words}.a.status == 'Succeeded'");
        let call = json!({"name": "a", "target": {"Template": 1}, "each": {"Items": ["x", "y"]},
            "hooks": [hook("exit", ""), hook("good", &ok_only)]});
        let body = match words {
            "tasks" => json!({"Dag": {"tasks": [call]}}),
            _ => json!({"Steps": [[call]]}),
        };
        let graph = json!({"templates": [
            {"name": "main", "body": body},
            {"name": "leaf", "outputs": {"parameters": [{"name": "o", "from": {"Path": "/o"}}]},
             "body": {"Process": {}}},
            {"name": "hook", "inputs": {"parameters": [{"name": "p"}]},
             "body": {"Process": {"main": {"args": ["{{inputs.parameters.p}}"]}}}}]});
        let seen = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&seen);
        let world = World::of(graph, move |name, _, process| {
            if let Some(text) = process.main.args.first() {
                let hook = name.rsplit('.').next().unwrap_or_default();
                sink.borrow_mut().push(format!("{hook}: {text}"));
                return ok();
            }
            let mut end = writing("o", if name.contains("0:x") { "O1" } else { "O2" })?;
            if name.contains("1:y") {
                end.exit = Exit::Code(1);
            }
            Some(end)
        });
        assert_eq!(world.run.phase, RunPhase::Failed, "y fails");
        let mut seen = seen.take();
        seen.sort();
        assert_eq!(
            seen,
            ["good: x Succeeded O1", "onExit: x Succeeded O1", "onExit: y Failed O2"],
            "{words}"
        );
    }
}
