//! Locks in the shape of the Argo object (argo-workflows
//! `pkg/apis/workflow/v1alpha1/workflow_types.go` `SynchronizationStatus`).

use argosy_engine::{Run, names};
use argosy_model::graph::Lock;
use argosy_model::{Holding, StepKey};
use serde_json::{Map, Value, json};

/// Whether a run has not begun, as it waits for its own locks.
pub(super) fn keep_run(run: &Run) -> bool {
    run.steps.is_empty() && run.locks.get(&StepKey::NONE).is_some_and(|holding| !holding.taken)
}

/// What a node waits for.
pub(super) fn of_node(run: &Run, key: StepKey) -> Option<Value> {
    let awaited = run.locks.get(&key)?.awaited.as_ref()?;
    Some(json!({"waiting": names::lock_name(&run.spec.space, awaited)}))
}

/// What the run and its steps hold and wait for; `None` for nothing.
pub(super) fn of_run(run: &Run) -> Option<Value> {
    let mut status = Map::new();
    for (field, word, holders, is) in [
        ("mutex", "mutex", "holder", is_mutex as fn(&Lock) -> bool),
        ("semaphore", "semaphore", "holders", |lock: &Lock| !is_mutex(lock)),
    ] {
        let mut kind = Map::new();
        for (list, taken) in [("holding", true), ("waiting", false)] {
            let entries: Vec<Value> = run
                .locks
                .iter()
                .filter(|(_, holding)| holding.taken == taken)
                .flat_map(|(key, holding)| named(run, *key, holding, is))
                .map(|(lock, holder)| match (taken, holders) {
                    (false, _) => json!({word: lock}),
                    (true, "holder") => json!({word: lock, holders: holder}),
                    (true, _) => json!({word: lock, holders: [holder]}),
                })
                .collect();
            if !entries.is_empty() {
                kind.insert(list.into(), Value::Array(entries));
            }
        }
        if !kind.is_empty() {
            status.insert(field.into(), Value::Object(kind));
        }
    }
    (!status.is_empty()).then_some(Value::Object(status))
}

fn is_mutex(lock: &Lock) -> bool {
    matches!(lock, Lock::Mutex { .. })
}

/// Locks of one kind with their holder: the run's name, or the id of the node.
fn named(
    run: &Run,
    key: StepKey,
    holding: &Holding,
    is: fn(&Lock) -> bool,
) -> impl Iterator<Item = (String, String)> {
    let space = &run.spec.space;
    let holder = match key.is_none() {
        true => format!("{space}/{}", run.spec.name),
        false => {
            let id = names::node_id(&run.spec.name, &names::full_name(run, key));
            format!("{space}/{}/{id}", run.spec.name)
        }
    };
    holding
        .locks
        .iter()
        .filter(move |lock| is(lock))
        .map(move |lock| (names::lock_name(space, lock), holder.clone()))
}
