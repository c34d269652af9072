//! Graphs that a seed draws.

use argosy_model::RunSpec;
use argosy_model::run::Plan;
use serde_json::{Value, json};

use crate::Random;
use crate::world::{RUN_LOCK, STEP_LOCK};

/// A run of a few steps: a DAG, groups of steps, or a loop.
pub(crate) fn draw(random: &mut Random, number: u64) -> RunSpec {
    let main = match random.below(3) {
        0 => dag(random),
        1 => steps(random),
        _ => fan_out(random),
    };
    let mut graph = json!({"templates": [main, {"name": "leaf", "body": {"Process": {}}}]});
    lock(random, &mut graph);
    let graph = serde_json::from_value(graph).unwrap_or_default();
    RunSpec {
        space: "default".into(),
        name: format!("run-{number}"),
        uid: format!("uid-{number}"),
        door: "sim".into(),
        labels: Vec::new(),
        priority: 0,
        plan: Plan::Graph(Box::new(graph)),
        source: Value::Null,
    }
}

/// Some runs want a lock for all of themselves, some for each of their processes.
fn lock(random: &mut Random, graph: &mut Value) {
    let name = format!("m{}", random.below(2));
    let locks = json!([{"Mutex": {"name": name}}]);
    let variable = match random.below(3) {
        0 => {
            graph["locks"] = locks;
            RUN_LOCK
        }
        1 => {
            graph["templates"][1]["locks"] = locks;
            STEP_LOCK
        }
        _ => return,
    };
    let env = json!([{"name": variable, "value": {"Text": name}}]);
    graph["templates"][1]["body"] = json!({"Process": {"main": {"env": env}}});
}

fn dag(random: &mut Random) -> Value {
    let count = 2 + random.below(6);
    let tasks: Vec<Value> = (0..count)
        .map(|at| {
            let before: Vec<String> =
                (0..at).filter(|_| random.chance(2)).map(|before| format!("t{before}")).collect();
            let depends = (!before.is_empty()).then(|| before.join(" && "));
            json!({"name": format!("t{at}"), "target": {"Template": 1}, "depends": depends})
        })
        .collect();
    json!({"name": "main", "body": {"Dag": {"tasks": tasks}}})
}

fn steps(random: &mut Random) -> Value {
    let groups: Vec<Value> = (0..1 + random.below(3))
        .map(|group| {
            let calls = (0..1 + random.below(3))
                .map(|call| json!({"name": format!("s{group}-{call}"), "target": {"Template": 1}}));
            Value::from(calls.collect::<Vec<_>>())
        })
        .collect();
    json!({"name": "main", "body": {"Steps": groups}})
}

fn fan_out(random: &mut Random) -> Value {
    let count = (1 + random.below(40)).to_string();
    json!({"name": "main", "body": {"Steps": [[
        {"name": "each", "target": {"Template": 1}, "each": {"Sequence": {"count": count}}}]]}})
}
