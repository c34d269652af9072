//! Patches of processes, with the step's own names in them.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use argosy_model::{Phase, Resources};
use common::{World, ok};
use serde_json::{Value, json};

fn patched(patches: Value, resources: &str) -> (World, Vec<(String, Resources)>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&seen);
    let main = json!({"name": "main", "image": "a",
        "claim": {"requests": {"cpu_milli": 100}}});
    let world = World::of(
        json!({"templates": [{
            "name": "main",
            "inputs": {"parameters": [{"name": "r", "value": resources}]},
            "body": {"Process": {"main": main, "resources": {"cpu_milli": 100},
                                 "patches": patches}}}]}),
        move |_, _, process| {
            told.borrow_mut().push((process.main.image.clone(), process.resources));
            ok()
        },
    );
    let seen = seen.borrow().clone();
    (world, seen)
}

#[test]
fn patches_are_rendered_with_the_steps_inputs_and_laid_on_in_order() {
    let tree = json!({"containers": [{"name": "main", "image": "{{workflow.name}}",
        "resources": {"requests": {"cpu": "3"}}}]});
    // The second is JSON only once its tag is replaced.
    let text =
        r#"{"containers":[{"name":"main","resources":{"requests": {{inputs.parameters.r}} }}]}"#;
    let (world, seen) = patched(json!([tree, text]), r#"{"cpu": "250m", "memory": "1Mi"}"#);
    assert_eq!(world.phase("wf"), Phase::Succeeded);
    let needs = Resources { cpu_milli: 250, memory_bytes: 1 << 20, gpus: 0 };
    assert_eq!(seen, [("wf".to_owned(), needs)]);
}

#[test]
fn a_patch_that_cannot_be_laid_on_ends_the_step_in_error() {
    for (patch, word) in [
        (json!("{{inputs.parameters.r}}"), "not JSON"),
        (json!({"containers": [{"name": "x"}]}), "no container \"x\""),
        (json!({"containers": [{"name": "main", "image": "{{nope}}"}]}), "{{nope}}"),
    ] {
        let (world, seen) = patched(json!([patch]), "- yaml");
        assert_eq!(world.phase("wf"), Phase::Error, "{patch}");
        assert!(world.message("wf").contains(word), "{}", world.message("wf"));
        assert_eq!(seen, []);
    }
}
