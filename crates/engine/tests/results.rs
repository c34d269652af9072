//! Whose standard output is kept: of the steps of which something in the calling template asks it.

mod common;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use argosy_model::RunPhase;
use common::{World, ok, printing};
use serde_json::{Value, json};

/// Runs a graph whose processes print "x" as their result, where that is to be kept. The full names
/// of those, and the run.
fn kept(graph: Value) -> (BTreeSet<String>, World) {
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    let noted = Rc::clone(&all);
    let world = World::of(graph, move |name, _, process| {
        if !process.outputs.result {
            return ok();
        }
        noted.borrow_mut().insert(name.to_owned());
        printing("[1]")
    });
    let all = all.borrow().clone();
    (all, world)
}

fn leaf() -> Value {
    json!({"name": "leaf", "inputs": {"parameters": [{"name": "p", "default": ""}]},
        "body": {"Process": {}}})
}

fn call(name: &str, value: &str) -> Value {
    json!({"name": name, "target": {"Template": 1},
        "arguments": {"parameters": [{"name": "p", "value": value}]}})
}

/// Steps `a`, `b` and then `c`, to which more is added.
fn steps(more: Value) -> Value {
    let mut last = call("c", "");
    last.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"templates": [
        {"name": "main", "body": {"Steps": [[call("a", ""), call("b", "")], [last]]}}, leaf()]})
}

#[test]
fn only_what_is_asked_for_is_kept() {
    let argument =
        |value: &str| json!({"arguments": {"parameters": [{"name": "p", "value": value}]}});
    let expression =
        |source: &str| json!({"arguments": {"parameters": [{"name": "p", "expression": source}]}});
    let hook = |expression: &str, value: &str| json!({"hooks": [{"name": "h", "expression": expression, "call": call("", value)}]});
    for (more, expected) in [
        (json!({}), ""),
        (argument("steps.a.outputs.result"), ""),
        (argument("{{steps.a.outputs.result}}"), "a"),
        (argument("{{steps.a.outputs.exitCode}} {{steps.b.status}} {{steps.a.id}}"), ""),
        (argument("{{=steps.b.outputs.result}}"), "b"),
        (argument("{{=steps['a'].outputs.result}}"), "a"),
        (argument("{{=steps['a']['outputs'][\"result\"] + 'x'}}"), "a"),
        (argument("{{=steps?.a?.outputs?.result ?? 'x'}}"), "a"),
        // The step, or all that it left, as a whole.
        (argument("{{=toJson(steps.a)}}"), "a"),
        (argument("{{=toJson(steps.b.outputs)}}"), "b"),
        (argument("{{=let x = steps.a; x.outputs.result}}"), "a"),
        (argument("{{=steps.a.outputs['re' + 'sult']}}"), "a"),
        // Whichever: it is known only later.
        (argument("{{=steps['a' + ''].outputs.result}}"), "ab"),
        (argument("{{steps.{{steps.a.name}}.outputs.result}}"), "ab"),
        (argument("{{{{workflow.name}}.a}}"), "ab"),
        (expression("steps.b.outputs.result"), "b"),
        (expression("{'{{x}}': steps.b.outputs.result}"), "b"),
        (json!({"when": "{{steps.a.outputs.result}} == x"}), "a"),
        (json!({"each": {"Param": "{{steps.b.outputs.result}}"}}), "b"),
        (json!({"each": {"Items": [{"k": ["{{steps.b.outputs.result}}"]}]}}), "b"),
        (json!({"each": {"Sequence": {"count": "{{steps.a.outputs.result}}"}}}), "a"),
        (json!({"target": {"Named": {"scope": "", "name": "{{steps.a.outputs.result}}"}}}), "a"),
        (
            json!({"arguments": {"artifacts": [
            {"name": "p", "source": {"Raw": "{{steps.a.outputs.result}}"}}]}}),
            "a",
        ),
        (hook("", "{{steps.a.outputs.result}}"), "a"),
        (hook("", "{{steps.c.outputs.result}}"), "c"),
        (hook("steps.b.outputs.result == 'x'", ""), "b"),
    ] {
        let (names, _) = kept(steps(more.clone()));
        let letters = |name: &String| name.split('.').nth(1).unwrap().chars().next().unwrap();
        assert_eq!(names.iter().map(letters).collect::<String>(), expected, "{more}");
    }
}

#[test]
fn outputs_of_the_calling_template_ask_for_it() {
    for (from, kept_of_a) in [
        (json!({"Parameter": "{{tasks.a.outputs.result}}"}), true),
        (json!({"Expression": "tasks.a.outputs.result"}), true),
        (json!({"Value": "{{tasks.b.outputs.result}}"}), false),
    ] {
        let tasks = [call("a", ""), call("b", "")];
        let (names, _) = kept(json!({"templates": [
            {"name": "main", "body": {"Dag": {"tasks": tasks}},
             "outputs": {"parameters": [{"name": "o", "from": from}]}}, leaf()]}));
        assert_eq!(names.contains("wf.a"), kept_of_a);
        assert_eq!(names.contains("wf.b"), !kept_of_a);
    }
}

#[test]
fn what_another_template_asks_of_its_own_calls_does_not_count() {
    // `inner` asks for its own `a`; `main` has one, too. Its inner `a` is a loop of tries.
    let mut looped = call("a", "");
    looped["each"] = json!({"Items": [1, 2]});
    looped["target"] = json!({"Template": 3});
    let mut retried = leaf();
    retried["retry"] = json!({"limit": "1"});
    let (names, world) = kept(json!({"templates": [
        {"name": "main", "body": {"Steps": [
            [call("a", ""), {"name": "in", "target": {"Template": 2}}]]}},
        leaf(),
        {"name": "inner", "body": {"Steps": [
            [looped], [call("b", "{{steps.a.outputs.result}}")]]}},
        retried]}));
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    assert_eq!(Vec::from_iter(names), ["wf[0].in[0].a(0:1)", "wf[0].in[0].a(1:2)"]);
    let inputs = world.run.step(world.key("wf[0].in[1].b")).unwrap().inputs.as_deref().unwrap();
    assert_eq!(inputs.parameters[0].as_deref(), Some("[[1],[1]]"));
}

#[test]
fn nobody_can_ask_for_the_result_of_the_root_or_of_a_handler() {
    let exit = call("steps", "{{=toJson(steps)}}");
    let (names, world) = kept(json!({"templates": [leaf(), leaf()], "on_exit": exit}));
    assert_eq!(world.started[0], "wf");
    assert_eq!(names, BTreeSet::new());
}

/// 300 items that print 200 KiB: 60 MiB, of which nobody asks anything, in a run that may hold 1.
#[test]
fn what_items_print_is_not_held_by_the_run() {
    let run = |asked: bool| {
        let mut each = call("each", "");
        each["each"] = json!({"Sequence": {"count": "300"}});
        let text = if asked { "{{steps.each.outputs.result}}" } else { "" };
        let graph = json!({"templates": [
            {"name": "main", "body": {"Steps": [[each], [call("b", text)]]}}, leaf()]});
        let printed = "x".repeat(200 << 10);
        World::of(
            graph,
            move |_, _, process| {
                if process.outputs.result { printing(&printed) } else { ok() }
            },
        )
    };
    assert!(run(false).run.bytes() < 1 << 20);
    // Kept, each is held once: of an attempt that its step has ended with, not beside it. (What is
    // made of all of them would be longer than a parameter may be.)
    let (most, least) = (run(true).run.bytes(), 300 * (200 << 10));
    assert!((least..least + (1 << 20)).contains(&most), "{most}");
}
