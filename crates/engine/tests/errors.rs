//! Why a step could not be carried out: each message begins with the code of its error.

mod common;

use argosy_model::Phase;
use common::{World, code, ok};
use serde_json::{Value, json};

/// A run whose second step is made by this call, with the template that it calls.
fn called(call: &Value, more: &Value) -> World {
    let mut call = call.clone();
    call["name"] = json!("b");
    call["target"] = call.get("target").cloned().unwrap_or(json!({"Template": 2}));
    let mut template = json!({"name": "used", "body": {"Process": {}}});
    template.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[{"name": "a", "target": {"Template": 1}}], [call]]}},
        {"name": "leaf", "body": {"Process": {}}},
        template]});
    World::of(graph, |_, _, _| ok())
}

#[test]
fn what_cannot_be_carried_out_says_so_with_its_code() {
    let given = |value: &str| json!({"arguments": {"parameters": [{"name": "p", "value": value}]}});
    let takes = json!({"inputs": {"parameters": [{"name": "p"}]}});
    let one_of = json!({"inputs": {"parameters": [{"name": "p", "allowed": ["x", "y"]}]}});
    let named = json!({"target": {"Named": {"scope": "", "name": "{{=\"no\" + \"ne\"}}"}}});
    let dag = json!({"body": {"Dag": {"tasks": [], "target": "none"}}});
    let none = json!({});
    for (call, template, told) in [
        (&json!({"when": "{{=asInt(\"x\") == 1}}"}), &none, "[E0306] cannot evaluate"),
        (&given("{{=asInt(\"x\")}}"), &takes, "[E0306] cannot evaluate"),
        (
            &given(&format!("{{{{=repeat(\"x\", {})}}}}", (1 << 20) + 1)),
            &takes,
            "[E0107] parameter",
        ),
        (&none, &takes, "[E0208] inputs.parameters.p was not supplied"),
        (&given("z"), &one_of, "[E0209] inputs.parameters.p: \"z\" is not among"),
        (&named, &none, "[E0201] template \"none\" does not exist"),
        (&json!({"each": {"Param": "{\"a\": 1}"}}), &none, "[E0207] withParam value must be"),
        (&json!({"each": {"Sequence": {"count": "x"}}}), &none, "[E0207] withSequence: \"x\""),
        (&none, &dag, "[E0205] target \"none\" is not a task"),
        (&none, &json!({"timeout": "{{=\"soon\"}}"}), "[E0213] "),
        (
            &none,
            &json!({"body": {"Process": {"main": {"args": ["{{=asInt(\"x\")}}"]}}}}),
            "[E0306] ",
        ),
        (
            &none,
            &json!({"body": {"Process": {"patches": ["{"]}}}),
            "[E0213] podSpecPatch: not JSON",
        ),
        (
            &none,
            &json!({"body": {"Process": {"patches": [{"volumes": []}]}}}),
            "[E0211] podSpecPatch",
        ),
    ] {
        let world = called(call, template);
        assert_eq!(world.phase("wf[1].b"), Phase::Error, "{call} {template}");
        let message = world.message("wf[1].b");
        assert!(message.starts_with(told), "{call} {template}: {message}");
    }
}

#[test]
fn what_a_program_did_has_no_code() {
    let graph = json!({"templates": [{"name": "main", "body": {"Process": {}}}]});
    let world = World::of(graph, |_, _, _| code(3));
    assert_eq!(world.message("wf"), "main: Error (exit code 3)");
}

#[test]
fn an_attempt_that_is_lost_too_often_says_so_with_its_code() {
    let graph = json!({"templates": [{"name": "main", "body": {"Process": {}}}]});
    let world = World::of(graph, |_, _, _| Some(argosy_model::End::bare(argosy_model::Exit::Lost)));
    // `infrastructure-retries` of them are 20, after the first one.
    assert_eq!(world.message("wf"), "[E0305] the attempt was lost 21 times");
}
