//! Names that a template gives to its steps (argo-workflows `workflow/controller/operator.go`
//! `executeTemplate`): they change what is shown, and nothing else.

mod common;

use argosy_engine::names;
use argosy_model::Phase;
use common::{World, code, ok, printing};
use serde_json::{Value, json};

fn named(body: Value, more: Value) -> Value {
    let mut template = json!({"name": "named", "body": body, "display_name":
        "os-{{inputs.parameters.v}}", "inputs": {"parameters": [{"name": "v"}]}});
    template.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    template
}

fn shown(world: &World, name: &str) -> String {
    names::display_name(&world.run, world.key(name))
}

fn call(name: &str, value: &str) -> Value {
    json!({"name": name, "target": {"Template": 1},
        "arguments": {"parameters": [{"name": "v", "value": value}]}})
}

#[test]
fn a_template_names_what_its_calls_came_to() {
    let mut each = call("each", "{{item}}");
    each["each"] = json!({"Items": ["x1", "x2"]});
    let mut skipped = call("skipped", "y");
    skipped["when"] = json!("1 == 2");
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[each, call("one", "9.1"), skipped]]}},
        named(json!({"Process": {}}), json!({}))]});
    let world = World::of(graph, |_, _, _| ok());
    for (name, expected) in [
        ("wf", "wf"),
        ("wf[0]", "[0]"),
        ("wf[0].each", "each"),
        ("wf[0].each(0:x1)", "os-x1"),
        ("wf[0].each(1:x2)", "os-x2"),
        ("wf[0].one", "os-9.1"),
        ("wf[0].skipped", "skipped"),
    ] {
        assert_eq!(shown(&world, name), expected, "{name}");
    }
}

#[test]
fn tries_keep_their_own_names() {
    let say = json!({"name": "say", "body": {"Process": {}}});
    let body = json!({"Steps": [[{"name": "s", "target": {"Template": 2}}]]});
    let graph = json!({"templates": [
        {"name": "main", "body": {"Dag": {"tasks": [call("a", "b")]}}},
        named(body, json!({"retry": {"limit": "1"}})),
        say]});
    let world = World::of(graph, |_, _, _| code(1));
    assert_eq!(shown(&world, "wf.a"), "os-b");
    assert_eq!(
        (shown(&world, "wf.a(0)"), shown(&world, "wf.a(1)")),
        ("a(0)".into(), "a(1)".into())
    );
    assert_eq!(shown(&world, "wf.a(0)[0].s"), "s");
}

#[test]
fn calls_are_found_by_their_names_and_not_by_what_is_shown() {
    let mut taker = call("b", "{{steps.a.outputs.result}}");
    taker["target"] = json!({"Template": 2});
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[call("a", "x")], [taker]]}},
        named(json!({"Process": {}}), json!({})),
        {"name": "say", "inputs": {"parameters": [{"name": "v"}]}, "body": {"Process": {"main":
            {"args": ["{{inputs.parameters.v}}"]}}}}]});
    let world = World::of(graph, |_, _, process| match process.main.args.first() {
        None => printing("told"),
        Some(text) => printing(text),
    });
    let b = world.run.step(world.key("wf[1].b")).unwrap();
    assert_eq!(b.outputs.as_ref().unwrap().result.as_deref(), Some("told"));
}

#[test]
fn a_name_that_is_none_ends_the_step_in_error() {
    for (value, told) in [
        (
            "a b",
            "[E0109] displayName must match the regex ^[a-zA-Z0-9][a-zA-Z0-9-.]{0,61}[a-zA-Z0-9]$",
        ),
        ("{{=asInt(\"x\")}}", "[E0306] "),
    ] {
        let graph = json!({"templates": [
            {"name": "main", "body": {"Steps": [[call("a", value)]]}},
            named(json!({"Process": {}}), json!({}))]});
        let world = World::of(graph, |_, _, _| ok());
        assert_eq!(world.phase("wf[0].a"), Phase::Error, "{value}");
        assert!(world.message("wf[0].a").starts_with(told), "{}", world.message("wf[0].a"));
        assert!(world.started.is_empty(), "{value}");
        assert_eq!(shown(&world, "wf[0].a"), "a");
    }
}

#[test]
fn all_parameters_are_a_list_in_a_tag_and_an_object_in_an_expression() {
    let args = json!([
        "{{inputs.parameters}}",
        "{{workflow.parameters}}",
        "{{workflow.parameters.json}}",
        "{{=inputs.parameters.v + workflow.parameters.p}}",
    ]);
    let graph = json!({
        "arguments": {"parameters": [{"name": "p", "value": "<q>", "allowed": ["<q>", "r"]}]},
        "templates": [
            {"name": "main", "body": {"Steps": [[
                {"name": "a", "target": {"Template": 1},
                 "arguments": {"parameters": [{"name": "v", "value": "1"}]}}]]}},
            {"name": "say", "body": {"Process": {"main": {"args": args}}},
             "inputs": {"parameters": [{"name": "v"}, {"name": "z", "default": "dz"}]},
             "outputs": {"parameters": [{"name": "o", "from": {"Path": "/o"}}]}}]});
    let world = World::of(graph, |_, _, spec| common::writing("o", &spec.main.args.join("|")));
    let inputs = r#"[{"name":"v","value":"1"},{"name":"z","default":"dz","value":"dz"}]"#;
    // As Go writes it.
    let run = r#"[{"name":"p","value":"\u003cq\u003e","enum":["\u003cq\u003e","r"]}]"#;
    let shown = format!("{inputs}|{run}|{run}|1<q>");
    assert_eq!(world.output("wf[0].a", "o"), Some(Value::from(shown)));
}
