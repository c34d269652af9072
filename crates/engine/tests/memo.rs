//! Outputs of earlier steps take the place of a step's own.

mod common;

use argosy_engine::Input;
use argosy_model::{Effect, Event, Outputs, Phase, StepKey};
use common::{World, writing};
use serde_json::{Value, json};

/// A step with a cache before one that uses its output, and all that there is in the cache.
fn run(memo: Value, kept: Option<(i64, &str)>) -> World {
    let kept = kept.map(|(at_ms, value)| {
        let parameters = vec![("p".into(), Value::from(value))];
        (at_ms, Box::new(Outputs { parameters, ..Outputs::default() }))
    });
    let declared = json!({"parameters": [
        {"name": "p", "from": {"Path": "/tmp/p"}, "global_name": "g"}]});
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [
            [{"name": "a", "target": {"Template": 1},
              "arguments": {"parameters": [{"name": "x", "value": "k-1"}]}}],
            [{"name": "b", "target": {"Template": 2}, "when": "{{steps.a.outputs.parameters.p}} == new"}]]}},
        {"name": "cached", "inputs": {"parameters": [{"name": "x"}]}, "outputs": declared,
         "memo": memo, "body": {"Process": {}}},
        {"name": "leaf", "body": {"Process": {}}}]});
    World::with_cache(graph, kept, |name, _, _| {
        if name == "wf[0].a" { writing("p", "new") } else { common::ok() }
    })
}

fn remembered(world: &World) -> Vec<StepKey> {
    let remembered = |effect: &Effect| match effect {
        Effect::Remember(_, step) => Some(*step),
        _ => None,
    };
    world.told.iter().filter_map(remembered).collect()
}

#[test]
fn what_is_not_there_is_run_and_kept() {
    let world = run(json!({"key": "{{inputs.parameters.x}}", "cache": "c"}), None);
    assert_eq!(world.started, ["wf[0].a", "wf[1].b"]);
    let a = world.key("wf[0].a");
    assert_eq!(remembered(&world), [a]);
    let recall = world.run.step(a).unwrap().recall.as_deref().unwrap();
    assert_eq!((&*recall.cache, &*recall.key, recall.hit), ("c", "k-1", false));
}

#[test]
fn what_is_there_is_taken_and_nothing_is_run() {
    let world = run(json!({"key": "{{inputs.parameters.x}}", "cache": "c"}), Some((0, "new")));
    assert_eq!(world.started, ["wf[1].b"]);
    assert_eq!(world.output("wf[0].a", "p"), Some(json!("new")));
    assert_eq!(world.run.globals.get("g"), Some(&json!("new")));
    assert_eq!(world.run.step(world.key("wf[0].a")).unwrap().attempts.len(), 0);
    assert_eq!(remembered(&world), []);
}

#[test]
fn what_is_too_old_counts_as_not_there() {
    // Everything begins at 1,000 ms.
    for (kept_ms, hit) in [(0, true), (-1, false)] {
        let world = run(json!({"key": "k", "cache": "c", "max_age": "1s"}), Some((kept_ms, "old")));
        assert_eq!(world.started.is_empty(), hit, "{kept_ms}");
        assert_eq!(remembered(&world).is_empty(), hit, "{kept_ms}");
    }
}

#[test]
fn an_age_that_is_none_is_said() {
    for age in ["{{=\"-1s\"}}", "{{=\"60\"}}"] {
        let world = run(json!({"key": "k", "cache": "c", "max_age": age}), Some((1_000, "old")));
        assert_eq!(world.phase("wf[0].a"), Phase::Error, "{age}");
        assert!(world.message("wf[0].a").starts_with("[E0213] maxAge: "), "{age}");
        assert!(world.started.is_empty());
    }
}

#[test]
fn a_key_is_letters_digits_and_hyphens() {
    let long = "k".repeat(254);
    for key in ["", "-a", "a_b", "a b", "ä", &long] {
        let world = run(json!({"key": key, "cache": "c"}), None);
        assert_eq!(world.phase("wf[0].a"), Phase::Error, "{key}");
        assert!(world.started.is_empty());
    }
}

#[test]
fn a_key_may_be_as_long_as_its_limit() {
    let world = run(json!({"key": "k".repeat(253), "cache": "c"}), None);
    assert_eq!(world.phase("wf[0].a"), Phase::Succeeded);
    let world = run(json!({"key": "k".repeat(254), "cache": "c"}), None);
    assert!(world.message("wf[0].a").contains("`memo-key-bytes`"), "{}", world.message("wf[0].a"));
}

#[test]
fn an_answer_that_nobody_waits_for_is_nothing() {
    let mut world = run(json!({"key": "k", "cache": "c"}), None);
    let before = world.turns.len();
    let at = ("c".to_owned(), "k".to_owned());
    world.input(Input::Recalled { step: StepKey(99), at, found: None });
    assert_eq!(world.turns.len(), before);
    let recalled = |event: &&Event| matches!(event, Event::Recalled { .. });
    let events: Vec<_> = world.turns.iter().flat_map(|turn| &turn.events).collect();
    assert_eq!(events.iter().filter(|event| recalled(event)).count(), 1);
}

#[test]
fn tries_of_a_whole_template_are_looked_up_once_and_survive_losses() {
    let graph = json!({"templates": [
        {"name": "main", "memo": {"key": "k", "cache": "c"}, "retry": {"limit": "2"},
         "body": {"Steps": [[{"name": "a", "target": {"Template": 1}}]]}},
        {"name": "leaf", "body": {"Process": {}}}]});
    let mut tries = 0;
    let world = World::crashing(graph, move |_, _, _| {
        tries += 1;
        if tries < 2 { common::code(1) } else { common::ok() }
    });
    assert_eq!(world.phase("wf"), Phase::Succeeded);
    assert_eq!(world.started.len(), 2);
    assert_eq!(remembered(&world), [StepKey(0)]);
}
