//! Loops: what depends on them, and what is collected from them.

mod common;

use argosy_model::Phase;
use common::{World, code, ok};
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
