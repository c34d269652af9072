//! Why the open parts of a run are where they are.

mod common;

use argosy_engine::Input;
use argosy_model::run::Plan;
use common::{World, code, graph, ok};
use serde_json::{Value, json};

/// A run so many ms after its start, which is at 1 s. Processes that begin with `x` never end,
/// those with `f` fail, and others end well.
fn after(ms: i64, value: Value) -> World {
    let answer = |name: &str, _: u32, _: &argosy_model::process::ProcessSpec| match name
        .rsplit('.')
        .next()
        .and_then(|name| name.chars().next())
    {
        Some('x') => None,
        Some('f') => code(1),
        _ => ok(),
    };
    let mut world = World::start(Plan::Graph(Box::new(graph(value))), answer, false);
    world.pass(ms);
    world
}

fn told(world: &World) -> Vec<(String, String)> {
    let all = argosy_engine::explain(&world.run, 1_000).into_iter();
    all.map(|waiting| (waiting.step, waiting.why.sentence("wf"))).collect()
}

fn check(world: &World, expected: &[(&str, &str)]) {
    let told = told(world);
    let told: Vec<_> = told.iter().map(|(step, why)| (&**step, &**why)).collect();
    assert_eq!(told, expected);
}

fn dag(tasks: &[(&str, &str)]) -> Value {
    let tasks = tasks.iter().map(|(name, depends)| {
        let depends = Some(depends).filter(|depends| !depends.is_empty());
        json!({"name": name, "target": {"Template": 1}, "depends": depends})
    });
    json!({"templates": [
        {"name": "main", "body": {"Dag": {"tasks": tasks.collect::<Vec<_>>()}}},
        {"name": "leaf", "body": {"Process": {}}}]})
}

#[test]
fn tasks_that_depends_holds_back_say_what_they_wait_for() {
    let tasks =
        [("xa", ""), ("b", ""), ("c", "xa && b"), ("d", "any(xa, c)"), ("xe", "b.Succeeded")];
    check(
        &after(150, dag(&tasks)),
        &[
            ("wf.xa", "runs"),
            ("wf.xe", "runs"),
            ("wf.c", "waits for xa to end"),
            ("wf.d", "waits for some of xa, c to end"),
        ],
    );
    let names: Vec<String> = (0..7).map(|at| format!("x{at}")).collect();
    let mut tasks: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "")).collect();
    let all = names.join(" && ");
    tasks.push(("last", &all));
    let world = after(50, dag(&tasks));
    let last = "waits for x0, x1, x2, x3, x4 and 2 more to end".to_owned();
    assert_eq!(told(&world).last(), Some(&("wf.last".to_owned(), last)));
    assert_eq!(argosy_engine::explain(&world.run, 3).len(), 3);
}

#[test]
fn a_pause_says_until_when_and_for_what() {
    let by = json!({"parameters": [{"name": "by", "from": "Supplied"},
        {"name": "at", "from": "Supplied", "default": "noon"}]});
    for (duration, outputs, expected) in [
        (json!(null), json!({}), "waits for somebody to resume it (`argosy resume wf`)"),
        (
            json!("20"),
            json!({}),
            "waits until 1970-01-01T00:00:21Z, or for somebody to resume it (`argosy resume wf`)",
        ),
        (json!(null), by.clone(), "waits for a value of by (`argosy resume wf -p by=VALUE`)"),
        (
            json!("20"),
            by,
            "waits until 1970-01-01T00:00:21Z for a value of by, and fails without \
             (`argosy resume wf -p by=VALUE`)",
        ),
    ] {
        let graph = json!({"templates": [
            {"name": "main", "outputs": outputs, "body": {"Suspend": {"duration": duration}}}]});
        check(&after(500, graph), &[("wf", expected)]);
    }
}

#[test]
fn a_suspended_run_says_so() {
    let lets = "is suspended; `argosy resume wf` lets it go on";
    let steps = json!([[{"name": "a", "target": {"Template": 1}}],
        [{"name": "b", "target": {"Template": 1}}]]);
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": steps}}, {"name": "leaf", "body": {"Process": {}}}]});
    let mut held = graph.clone();
    held["suspend"] = json!(true);
    check(&after(500, held), &[("wf", lets)]);
    let mut world = after(50, graph);
    world.input(Input::Suspend);
    world.pass(100);
    let resumed = "waits for the run to be resumed (`argosy resume wf`)";
    check(&world, &[("wf", lets), ("wf[1].b", resumed)]);
}

#[test]
fn what_waits_for_its_time_or_its_place_says_so() {
    let mut graph = dag(&[("f", "")]);
    graph["templates"][0]["retry"] = json!({"limit": "1", "backoff": "10s"});
    // It fails 100 ms after the start at 1 s.
    check(&after(500, graph), &[("wf", "is tried again at 1970-01-01T00:00:11Z")]);
    let mut graph = dag(&[("xa", ""), ("b", "")]);
    graph["parallelism"] = json!(1);
    let limit = "waits for another step to end: the limit `parallelism` is reached";
    check(&after(500, graph), &[("wf.xa", "runs"), ("wf.b", limit)]);
}

#[test]
fn an_attempt_that_is_queued_is_named_and_one_that_runs_is_not() {
    let world =
        World::start(Plan::Graph(Box::new(graph(dag(&[("xa", "")])))), |_, _, _| None, false);
    let [waiting] = &argosy_engine::explain(&world.run, 9)[..] else { panic!("one waits") };
    assert_eq!(waiting.attempt.map(|attempt| attempt.step), Some(world.key("wf.xa")));
    assert_eq!(waiting.why.sentence("wf"), "waits for a machine");
    let world = after(50, dag(&[("xa", "")]));
    assert_eq!(argosy_engine::explain(&world.run, 9)[0].attempt, None);
    assert!(argosy_engine::explain(&after(500, dag(&[("b", "")])).run, 9).is_empty());
}
