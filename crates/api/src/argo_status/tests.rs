//! Shapes worked out from argo-workflows `workflow/controller/{steps,dag,operator}.go`.

use argosy_engine::{Input, Run, decide, submit};
use argosy_model::attempt::{ContainerEnd, End, Exit};
use argosy_model::graph::Lock;
use argosy_model::run::Plan;
use argosy_model::{RunId, RunSpec, StepKey};
use serde_json::{Value, json};

use super::{Pieces, workflow};

fn run(graph: Value) -> Run {
    let spec = RunSpec {
        space: "argo".into(),
        name: "wf".into(),
        uid: "u".into(),
        door: "argo".into(),
        labels: Vec::new(),
        priority: 0,
        plan: Plan::Graph(Box::new(serde_json::from_value(graph).unwrap())),
        source: json!({"metadata": {"generateName": "wf-"}, "spec": {"entrypoint": "main"}}),
    };
    submit(RunId(1), spec, 1_000).0
}

fn finish(run: &mut Run, step: u32, exit: i32) {
    let attempt = run.current_attempt(StepKey(step)).unwrap().0;
    let _ = decide(run, Input::Placed { attempt, machine: 0 }, 2_000);
    let end = Box::new(End { started_ms: 2_000, ended_ms: 3_000, ..End::bare(Exit::Code(exit)) });
    let _ = decide(run, Input::Ended { attempt, end }, 3_000);
}

fn node<'a>(workflow: &'a Value, name: &str) -> &'a Value {
    let nodes = workflow["status"]["nodes"].as_object().unwrap();
    nodes.values().find(|node| node["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn id(workflow: &Value, name: &str) -> Value {
    node(workflow, name)["id"].clone()
}

fn two_groups() -> Value {
    json!({"templates": [
        {"name": "main", "body": {"Steps": [
            [{"name": "a", "target": {"Template": 1}}],
            [{"name": "b", "target": {"Template": 1}}]]}},
        {"name": "leaf", "body": {"Process": {}}}]})
}

#[test]
fn steps_hang_group_by_group() {
    let mut run = run(two_groups());
    finish(&mut run, 2, 0);
    let workflow = workflow(&run);
    assert_eq!(id(&workflow, "wf"), "wf");
    assert_eq!(node(&workflow, "wf")["children"], json!([id(&workflow, "wf[0]")]));
    assert_eq!(node(&workflow, "wf[0]")["children"], json!([id(&workflow, "wf[0].a")]));
    assert_eq!(node(&workflow, "wf[0]")["type"], "StepGroup");
    assert_eq!(node(&workflow, "wf[0].a")["children"], json!([id(&workflow, "wf[1]")]));
    assert_eq!(node(&workflow, "wf[0].a")["boundaryID"], "wf");
    assert_eq!(node(&workflow, "wf[0].a")["type"], "Pod");
    assert_eq!(node(&workflow, "wf[0].a")["outputs"]["exitCode"], "0");
    assert_eq!(node(&workflow, "wf[1].b")["phase"], "Pending");
    assert_eq!(workflow["status"]["progress"], "1/2");
    assert_eq!(workflow["status"]["phase"], "Running");
}

#[test]
fn tasks_hang_below_what_they_depend_on() {
    let mut run = run(json!({"templates": [
        {"name": "main", "body": {"Dag": {"tasks": [
            {"name": "A", "target": {"Template": 1}},
            {"name": "B", "target": {"Template": 1}, "depends": "A"}]}}},
        {"name": "leaf", "body": {"Process": {}}}]}));
    finish(&mut run, 1, 0);
    finish(&mut run, 2, 0);
    let workflow = workflow(&run);
    assert_eq!(node(&workflow, "wf")["children"], json!([id(&workflow, "wf.A")]));
    assert_eq!(node(&workflow, "wf.A")["children"], json!([id(&workflow, "wf.B")]));
    assert_eq!(node(&workflow, "wf")["outboundNodes"], json!([id(&workflow, "wf.B")]));
    assert_eq!(workflow["status"]["phase"], "Succeeded");
    assert_eq!(workflow["metadata"]["labels"]["workflows.argoproj.io/completed"], "true");
}

#[test]
fn a_loop_over_nothing_is_a_skipped_node_and_no_group() {
    // argo-workflows `dag.go` `executeDAGTask`: "DAG task with empty withParams list should be
    // skipped".
    for (list, kind, phase) in [("[]", "Skipped", "Skipped"), ("[1]", "TaskGroup", "Running")] {
        let task = json!({"name": "a", "target": {"Template": 1}, "each": {"Param": list}});
        let graph = json!({"templates": [
            {"name": "main", "body": {"Dag": {"tasks": [task]}}},
            {"name": "leaf", "body": {"Process": {}}}]});
        let workflow = workflow(&run(graph));
        let node = node(&workflow, "wf.a");
        assert_eq!((&node["type"], &node["phase"]), (&json!(kind), &json!(phase)), "{list}");
    }
}

#[test]
fn tries_are_nodes_below_a_retry_node() {
    let mut graph = two_groups();
    graph["templates"][1]["retry"] = json!({"limit": "1"});
    let mut run = run(graph);
    finish(&mut run, 2, 3);
    finish(&mut run, 2, 0);
    let workflow = workflow(&run);
    let retry = node(&workflow, "wf[0].a");
    assert_eq!(retry["type"], "Retry");
    assert_eq!(
        retry["children"],
        json!([id(&workflow, "wf[0].a(0)"), id(&workflow, "wf[0].a(1)"), id(&workflow, "wf[1]")])
    );
    assert_eq!(node(&workflow, "wf[0].a(0)")["phase"], "Failed");
    assert_eq!(node(&workflow, "wf[0].a(0)")["outputs"]["exitCode"], "3");
    assert_eq!(node(&workflow, "wf[0].a(0)")["message"], "main: Error (exit code 3)");
    assert_eq!(node(&workflow, "wf[0].a(1)")["phase"], "Succeeded");
    assert_eq!(node(&workflow, "wf[0].a(1)")["nodeFlag"]["retried"], true);
}

#[test]
fn a_try_that_exceeded_its_deadline_says_so() {
    let mut run = run(json!({"templates": [{"name": "main", "body": {"Process": {}},
        "active_deadline_s": "5", "retry": {"limit": "2"}}]}));
    let attempt = run.current_attempt(StepKey(0)).unwrap().0;
    let _ = decide(&mut run, Input::Placed { attempt, machine: 0 }, 1_000);
    let _ = decide(&mut run, Input::Started { attempt, at_ms: 1_000 }, 1_000);
    let _ = decide(&mut run, Input::Wake, 6_000);
    let end = Box::new(End { ended_ms: 6_000, ..End::bare(Exit::Killed) });
    let _ = decide(&mut run, Input::Ended { attempt, end }, 6_000);
    let workflow = workflow(&run);
    let first = node(&workflow, "wf(0)");
    assert_eq!(
        (&first["phase"], &first["message"]),
        (&json!("Failed"), &json!("Step exceeded its deadline"))
    );
}

#[test]
fn a_try_that_was_never_started_ends_with_its_step() {
    let mut run = run(json!({"templates": [{
        "name": "main", "body": {"Process": {}}, "timeout": "5s", "retry": {"limit": "2"}}]}));
    finish(&mut run, 0, 1);
    let attempt = run.current_attempt(StepKey(0)).unwrap().0;
    assert_eq!(attempt.number, 1, "it waits to be placed");
    let _ = decide(&mut run, Input::Wake, 6_500);
    let workflow = workflow(&run);
    let last = node(&workflow, "wf(1)");
    assert_eq!(last["phase"], "Failed");
    assert_eq!(last["finishedAt"], "1970-01-01T00:00:06Z");
    assert_eq!(last["message"], node(&workflow, "wf")["message"]);
    assert_ne!(last["message"], Value::Null);
}

#[test]
fn locks_are_shown_where_they_are_held_and_where_they_are_waited_for() {
    let waiting = |step, lock: Lock| Input::LocksKept { step, lock, message: "Waiting".into() };
    let mutex = Lock::Mutex { name: "m".into() };
    let mut whole = two_groups();
    whole["locks"] = json!([{"Mutex": {"name": "m"}}]);
    let mut run_waits = run(whole);
    let _ = decide(&mut run_waits, waiting(StepKey::NONE, mutex), 2_000);
    let shown = workflow(&run_waits);
    assert_eq!(shown["status"]["phase"], "Pending");
    assert_eq!(shown["status"]["message"], "Waiting");
    let locks = json!({"mutex": {"waiting": [{"mutex": "argo/Mutex/m"}]}});
    assert_eq!(shown["status"]["synchronization"], locks);

    let mut leaf = two_groups();
    let semaphore = json!({"Semaphore": {"config_map": "c", "key": "k"}});
    leaf["templates"][1]["locks"] = json!([semaphore]);
    let mut step_waits = run(leaf);
    let lock = serde_json::from_value(semaphore).unwrap();
    let _ = decide(&mut step_waits, waiting(StepKey(2), lock), 2_000);
    let shown = workflow(&step_waits);
    let name = "argo/ConfigMap/c/k";
    assert_eq!(node(&shown, "wf[0].a")["synchronizationStatus"], json!({"waiting": name}));
    let _ = decide(&mut step_waits, Input::LocksGiven { step: StepKey(2) }, 3_000);
    let shown = workflow(&step_waits);
    let node = node(&shown, "wf[0].a");
    assert_eq!(node.get("synchronizationStatus"), None);
    let holder = format!("argo/wf/{}", node["id"].as_str().unwrap());
    let locks = json!({"semaphore": {"holding": [{"semaphore": name, "holders": [holder]}]}});
    assert_eq!(shown["status"]["synchronization"], locks);
}

#[test]
fn members_of_a_container_set_are_nodes_below_their_pod() {
    let member =
        |name: &str, needs: &[&str]| json!({"container": {"name": name}, "dependencies": needs});
    let set = json!([member("a", &[]), member("b", &["a"]), member("c", &["b"])]);
    let mut run = run(json!({"templates": [
        {"name": "main", "body": {"ContainerSet": {"set": set}}}]}));
    let shown = workflow(&run);
    assert_eq!(node(&shown, "wf")["children"], json!([id(&shown, "wf.a")]));
    assert_eq!(node(&shown, "wf.a")["phase"], "Pending");
    let attempt = run.current_attempt(StepKey(0)).unwrap().0;
    let _ = decide(&mut run, Input::Placed { attempt, machine: 0 }, 2_000);
    let _ = decide(&mut run, Input::Started { attempt, at_ms: 2_000 }, 2_000);
    let shown = workflow(&run);
    let phases =
        |shown: &Value| ["wf.a", "wf.b", "wf.c"].map(|name| node(shown, name)["phase"].clone());
    assert_eq!(phases(&shown), ["Running", "Pending", "Pending"]);
    let ended = |name: &str, exit, at| ContainerEnd {
        name: name.into(),
        exit,
        started_ms: at,
        ended_ms: at + 1_000,
    };
    let containers = vec![ended("a", Exit::Code(0), 2_000), ended("b", Exit::Code(3), 3_000)];
    let end = Box::new(End { containers, ..End::bare(Exit::Code(3)) });
    let _ = decide(&mut run, Input::Ended { attempt, end }, 4_000);
    let shown = workflow(&run);
    assert_eq!(phases(&shown), ["Succeeded", "Failed", "Omitted"]);
    let failed = node(&shown, "wf.b");
    assert_eq!(
        (&failed["type"], &failed["outputs"]["exitCode"]),
        (&json!("Container"), &json!("3"))
    );
    assert_eq!(
        (&failed["startedAt"], &failed["finishedAt"]),
        (&json!("1970-01-01T00:00:03Z"), &json!("1970-01-01T00:00:04Z"))
    );
    assert_eq!(failed["children"], json!([id(&shown, "wf.c")]));
    assert_eq!(failed["templateName"], "main");
}

#[test]
fn a_large_run_is_told_in_pieces() {
    let each = json!({"Sequence": {"count": "2000"}});
    let graph = |count: &str| {
        let mut call = json!({"name": "each", "target": {"Template": 1}, "each": each});
        call["each"]["Sequence"]["count"] = json!(count);
        json!({"templates": [{"name": "main", "body": {"Steps": [[call]]}},
            {"name": "leaf", "retry": {"limit": "1"}, "body": {"Process": {}}}]})
    };
    // Steps beside the items: the template, its group and the loop.
    for (count, several) in [("1", false), ("2000", true)] {
        let mut run = run(graph(count));
        while run.steps.len() < 3 + count.parse::<usize>().unwrap() {
            let _ = decide(&mut run, Input::Wake, 1_000);
        }
        finish(&mut run, 3, 0);
        let mut pieces = Pieces::of(&run);
        let pieces: Vec<String> = std::iter::from_fn(|| pieces.next(&run)).collect();
        assert_eq!(pieces.len() > 2, several);
        // A piece is over with the node that fills it. The largest is the group with its 2,000
        // children, each named by the run's name and a number of ten digits at most.
        assert!(pieces.iter().all(|piece| piece.len() < (64 << 10) + 2_000 * 16 + 2_000));
        assert_eq!(serde_json::from_str::<Value>(&pieces.concat()).unwrap(), workflow(&run));
    }
}
