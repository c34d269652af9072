//! Locks of one run: when they are asked for, and when given back.

mod common;

use argosy_engine::Input;
use argosy_model::graph::Lock;
use argosy_model::run::Plan;
use argosy_model::{Code, Diagnostic, Effect, Phase, RunPhase, Shutdown, StepKey};
use common::{World, graph, ok};
use serde_json::{Value, json};

fn run_locked() -> Value {
    json!({"locks": [{"Mutex": {"name": "{{workflow.name}}-m"}}],
           "templates": [{"name": "main", "body": {"Process": {}}}]})
}

fn step_locked() -> Value {
    json!({"templates": [
        {"name": "main", "body": {"Steps": [[{"name": "a", "target": {"Template": 1},
            "arguments": {"parameters": [{"name": "x", "value": "n"}]}}]]}},
        {"name": "leaf", "inputs": {"parameters": [{"name": "x"}]}, "retry": {"limit": "1"},
         "locks": [{"Semaphore": {"config_map": "c", "key": "{{inputs.parameters.x}}"}},
                   {"Mutex": {"name": "m"}}],
         "body": {"Process": {}}}]})
}

/// A world in which all locks are somebody else's.
fn waiting(value: Value) -> World {
    let mut world = World::start(Plan::Graph(Box::new(graph(value))), |_, _, _| ok(), false);
    world.locked = true;
    world
}

fn asks_and_returns(world: &World) -> Vec<(char, StepKey)> {
    let shown = |effect: &Effect| match effect {
        Effect::Acquire(_, step) => Some(('a', *step)),
        Effect::Release(_, step) => Some(('r', *step)),
        _ => None,
    };
    world.told.iter().filter_map(shown).collect()
}

#[test]
fn locks_are_asked_for_once_with_final_names_and_given_back_at_the_end() {
    let first = StepKey(2);
    for (value, owner, names) in [
        (run_locked(), StepKey::NONE, vec![Lock::Mutex { name: "wf-m".into() }]),
        (
            step_locked(),
            first,
            vec![
                Lock::Mutex { name: "m".into() },
                Lock::Semaphore { config_map: "c".into(), key: "n".into() },
            ],
        ),
    ] {
        for crash in [false, true] {
            let graph = graph(value.clone());
            let mut tries = 0;
            let answer = move |_: &str, _: u32, _: &_| {
                tries += 1;
                if tries == 1 && owner == first { common::code(1) } else { ok() }
            };
            let mut world = World::start(Plan::Graph(Box::new(graph)), answer, crash);
            let holding = world.run.locks.get(&owner);
            if let Some(holding) = holding {
                assert_eq!(holding.locks, names);
            }
            world.settle();
            assert_eq!(world.run.phase, RunPhase::Succeeded);
            // A retry keeps them: they are asked for once, whatever was lost in between.
            assert_eq!(asks_and_returns(&world), [('a', owner), ('r', owner)], "{owner:?}");
            assert!(world.run.locks.is_empty());
        }
    }
}

#[test]
fn whoever_waits_says_so_and_goes_on_once_it_may() {
    for (value, owner) in [(run_locked(), StepKey::NONE), (step_locked(), StepKey(2))] {
        let mut world = waiting(value);
        world.settle();
        assert_eq!(world.started, Vec::<String>::new());
        let lock = Lock::Mutex { name: "m".into() };
        let message = "Waiting for default/Mutex/m lock. Lock status: 0/1".to_owned();
        world.input(Input::LocksKept { step: owner, lock: lock.clone(), message: message.clone() });
        let said = |world: &World| match world.run.step(owner) {
            Some(step) => step.message.as_deref().unwrap_or_default().to_owned(),
            None => world.run.message.clone(),
        };
        assert_eq!(said(&world), message);
        let turns = world.turns.len();
        world.input(Input::LocksKept { step: owner, lock, message });
        assert_eq!(world.turns.len(), turns, "the same again is nothing new");
        world.input(Input::LocksGiven { step: owner });
        world.settle();
        assert_eq!((world.run.phase, said(&world)), (RunPhase::Succeeded, String::new()));
    }
}

#[test]
fn what_waits_is_ended_by_a_stop_and_by_a_refusal() {
    let stop = Input::Shutdown { how: Shutdown::Stop, message: String::new() };
    for (value, owner) in [(run_locked(), StepKey::NONE), (step_locked(), StepKey(2))] {
        let why = Diagnostic::new(Code::NotFound, "no such map");
        let refuse = Input::LocksRefused { step: owner, why };
        for (input, phase) in [(stop.clone(), RunPhase::Failed), (refuse, RunPhase::Error)] {
            let mut world = waiting(value.clone());
            world.settle();
            world.input(input);
            world.settle();
            let expected = if owner.is_none() { phase } else { RunPhase::Failed };
            assert_eq!(world.run.phase, expected);
            assert_eq!(asks_and_returns(&world), [('a', owner), ('r', owner)]);
            // An answer that comes too late is nothing.
            world.input(Input::LocksGiven { step: owner });
            assert_eq!(world.started, Vec::<String>::new());
        }
    }
}

#[test]
fn the_time_of_a_run_passes_while_it_waits() {
    let mut value = run_locked();
    value["active_deadline_s"] = json!(5);
    let mut world = waiting(value);
    world.settle();
    assert_eq!((world.run.phase, world.now_ms), (RunPhase::Failed, 6_000));
    assert_eq!(world.phase("wf"), Phase::Failed);
    assert_eq!(world.message("wf"), "Step exceeded its deadline");
}

#[test]
fn a_run_that_is_given_its_locks_while_suspended_begins_when_resumed() {
    let mut world = waiting(run_locked());
    world.settle();
    world.input(Input::Suspend);
    world.input(Input::LocksGiven { step: StepKey::NONE });
    world.settle();
    assert_eq!(world.started, Vec::<String>::new());
    world.input(Input::Resume { steps: Vec::new() });
    world.settle();
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    assert_eq!(asks_and_returns(&world).len(), 2);
}
