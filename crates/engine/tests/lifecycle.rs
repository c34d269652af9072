//! One lifecycle for both planners: retries and their two budgets, deadlines, stop, suspension,
//! and children that a running task asks for.

mod common;

use std::cell::Cell;
use std::rc::Rc;

use argosy_engine::{Input, Supplied, decide, submit};
use argosy_model::attempt::{End, Exit};
use argosy_model::graph::{Retry, RetryPolicy};
use argosy_model::run::{Plan, TaskSpec};
use argosy_model::{AttemptId, Effect, Phase, ProcessSpec, RunId, RunPhase, Shutdown, StepKey};
use common::{World, code, ok};
use serde_json::{Value, json};

fn one(template: &Value) -> Value {
    let mut template = template.clone();
    template["name"] = json!("main");
    json!({"templates": [template]})
}

fn process(more: &Value) -> Value {
    let mut template = json!({"body": {"Process": {}}});
    for (key, value) in more.as_object().unwrap() {
        template[key] = value.clone();
    }
    one(&template)
}

/// Ends the first tries as told, and later ones well.
fn tries(ends: &'static [Exit]) -> impl FnMut(&str, u32, &ProcessSpec) -> Option<End> {
    move |_, number, _| {
        let end = ends.get(number as usize).cloned().unwrap_or(Exit::Code(0));
        Some(End::with_message(end, ""))
    }
}

const FAILED: Exit = Exit::Code(1);
const LOST: Exit = Exit::Lost;
const REFUSED: Exit = Exit::Refused;

#[test]
fn policies_decide_which_ends_are_tried_again() {
    // (policy, ends of the first tries, tries in all, phase)
    let cases: [(RetryPolicy, &'static [Exit], usize, Phase); 9] = [
        (RetryPolicy::OnFailure, &[], 1, Phase::Succeeded),
        (RetryPolicy::OnFailure, &[FAILED], 2, Phase::Succeeded),
        (RetryPolicy::OnFailure, &[FAILED, FAILED], 3, Phase::Succeeded),
        (RetryPolicy::OnFailure, &[FAILED, FAILED, FAILED], 3, Phase::Failed),
        (RetryPolicy::OnFailure, &[REFUSED], 1, Phase::Error),
        (RetryPolicy::OnError, &[REFUSED], 2, Phase::Succeeded),
        (RetryPolicy::OnError, &[FAILED], 1, Phase::Failed),
        (RetryPolicy::Always, &[REFUSED, FAILED], 3, Phase::Succeeded),
        (RetryPolicy::OnTransientError, &[FAILED], 1, Phase::Failed),
    ];
    for (policy, ends, count, phase) in cases {
        let graph = process(&json!({"retry": {"limit": "2", "policy": policy}}));
        let world = World::of(graph, tries(ends));
        let step = &world.run.steps[0];
        assert_eq!((step.attempts.len(), step.phase), (count, phase), "{policy:?} {ends:?}");
    }
}

#[test]
fn what_the_infrastructure_lost_is_not_on_the_users_budget() {
    let world = World::of(process(&json!({})), tries(&[LOST, LOST, LOST]));
    assert_eq!((world.run.steps[0].attempts.len(), world.run.phase), (4, RunPhase::Succeeded));
    let graph = process(&json!({"retry": {"limit": "1"}}));
    let world = World::of(graph, tries(&[LOST, FAILED, LOST, FAILED]));
    assert_eq!((world.run.steps[0].attempts.len(), world.run.phase), (4, RunPhase::Failed));
    assert_eq!(world.message("wf"), "No more retries left");
}

/// Ms that pass before each attempt but the first is placed.
fn waits(world: &World) -> Vec<i64> {
    let attempts = &world.run.steps[0].attempts;
    let pairs = attempts.windows(2);
    pairs.map(|pair| pair[1].placed_ms - pair[0].end.as_ref().unwrap().ended_ms).collect()
}

#[test]
fn the_machine_is_left_alone_for_longer_and_longer_while_attempts_are_lost() {
    // What ran, and was lost with its spawner, runs again at once; what is lost again does not.
    let world = World::of(process(&json!({})), tries(&[LOST, LOST, LOST]));
    assert_eq!(waits(&world), [0, 2_000, 4_000]);
    // An end of the step's own is between.
    let graph = process(&json!({"retry": {"limit": "1"}}));
    let world = World::of(graph, tries(&[LOST, FAILED, LOST]));
    assert_eq!(waits(&world), [0, 0, 0]);
}

#[test]
fn what_never_ran_for_want_of_room_is_tried_again_after_a_while() {
    let plan = Plan::Graph(Box::new(common::graph(process(&json!({})))));
    let (mut run, _) = submit(RunId(1), common::spec(plan), 0);
    let mut waits = Vec::new();
    while !run.phase.is_terminal() {
        let (attempt, queued) = run.current_attempt(StepKey(0)).unwrap();
        waits.push(queued.not_before_ms);
        let _ = decide(&mut run, Input::Placed { attempt, machine: 0 }, 0);
        let end = Box::new(End::with_message(LOST, "cannot make a pipe"));
        let _ = decide(&mut run, Input::Ended { attempt, end }, 0);
    }
    let doubled = [0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
    assert_eq!(waits, [&doubled[..], &[60_000; 14]].concat());
    assert_eq!(
        run.steps[0].message.as_deref(),
        Some("[E0305] the attempt was lost 21 times, the last time so: cannot make a pipe")
    );
}

#[test]
fn a_step_that_is_lost_again_and_again_is_given_up() {
    let world = World::of(process(&json!({})), |_, _, _| Some(End::bare(Exit::Lost)));
    assert_eq!(world.run.phase, RunPhase::Error);
    assert_eq!(world.run.steps[0].attempts.len(), 21, "one, and the limit of 20 more");
}

#[test]
fn backoff_grows_by_its_factor_up_to_its_cap() {
    let retry = json!({"limit": "4", "backoff": "10s", "factor": "2", "cap": "30s"});
    let world =
        World::of(process(&json!({"retry": retry})), tries(&[FAILED, FAILED, FAILED, FAILED]));
    let attempts = &world.run.steps[0].attempts;
    let waits: Vec<i64> = attempts
        .windows(2)
        .map(|pair| pair[1].placed_ms - pair[0].end.as_ref().unwrap().ended_ms)
        .collect();
    assert_eq!(waits, [10_000, 20_000, 30_000, 30_000]);
}

#[test]
fn nothing_is_tried_again_when_waiting_would_pass_the_longest_time() {
    let retry = json!({"limit": "9", "backoff": "10s", "factor": "2", "max_duration": "25s"});
    let world = World::of(process(&json!({"retry": retry})), |_, _, _| code(1));
    // Waits of 10 s fit; after the second try, a wait of 20 s would end after 25 s.
    assert_eq!(world.run.steps[0].attempts.len(), 2);
    assert_eq!(world.message("wf"), "Backoff would exceed max duration limit");
}

#[test]
fn the_longest_time_of_all_tries_ends_the_one_that_runs_but_not_the_first() {
    let retry = json!({"limit": "9", "backoff": "1s", "max_duration": "4s"});
    // The first try takes 5 s and is not bounded.
    let mut world = World::of(process(&json!({"retry": retry})), |_, _, _| None);
    world.pass(5_000);
    assert_eq!(world.run.steps[0].phase, Phase::Running);
    // The second one, which begins after 1 s of backoff, is ended 4 s after the first one began.
    let world = World::of(process(&json!({"retry": retry})), |_, number, _| {
        code(1).filter(|_| number == 0)
    });
    let attempts = &world.run.steps[0].attempts;
    assert_eq!(attempts.len(), 2);
    let first = attempts[0].started_ms;
    assert_eq!(attempts[1].end.as_ref().unwrap().ended_ms - first, 4_000);
    assert_eq!(attempts[1].kill, Some(argosy_model::attempt::Kill::Deadline));
    assert_eq!(world.phase("wf"), Phase::Failed);
    assert_eq!(world.message("wf"), "Max duration limit exceeded");
}

#[test]
fn the_last_try_is_seen_as_its_node_shows_it() {
    // argo-workflows `operator.go`: `lastChildNode.Phase` and `.Message`, in tags and expressions.
    // Where there is no exit code, `executeTemplate` has 0 for the next try.
    let deadline = "Step exceeded its deadline";
    for (exit, phase, exit_code, message) in [
        (Some(Exit::Code(3)), "Failed", "3", "main: Error (exit code 3)"),
        (Some(Exit::OutOfMemory), "Failed", "137", "OOMKilled (exit code 137)"),
        (Some(REFUSED), "Error", "0", "no such image"),
        (None, "Failed", "143", deadline),
    ] {
        let condition =
            format!("lastRetry.status == '{phase}' && lastRetry.message == '{message}'");
        let retry = json!({"limit": "1", "policy": "Always", "expression": condition});
        let args = "{{retries}} {{lastRetry.exitCode}} {{lastRetry.status}} {{lastRetry.message}}";
        let graph = one(&json!({"retry": retry, "active_deadline_s": "5",
            "body": {"Process": {"main": {"args": [args]}}}}));
        let seen = Rc::new(std::cell::RefCell::new(Vec::new()));
        let sink = Rc::clone(&seen);
        let world = World::of(graph, move |_, number, process| {
            sink.borrow_mut().push(process.main.args[0].clone());
            let text = if exit == Some(REFUSED) { message } else { "" };
            if number == 0 { Some(End::with_message(exit.clone()?, text)) } else { ok() }
        });
        assert_eq!(world.run.phase, RunPhase::Succeeded, "{message}");
        assert_eq!(*seen.borrow(), ["0 0  ", &format!("1 {exit_code} {phase} {message}")]);
    }
}

#[test]
fn an_expression_about_the_last_try_must_hold() {
    for (expression, count) in [
        ("asInt(lastRetry.exitCode) == 1", 4),
        ("lastRetry.exitCode == '2'", 1),
        ("lastRetry.status == 'Failed' && asInt(retries) < 1", 2),
        ("false", 1),
    ] {
        let retry = json!({"limit": "3", "policy": "Always", "expression": expression});
        let world = World::of(process(&json!({"retry": retry})), |_, _, _| code(1));
        assert_eq!(world.run.steps[0].attempts.len(), count, "{expression}");
    }
}

#[test]
fn retries_and_the_last_try_are_seen_by_the_process() {
    let graph = one(&json!({"retry": {"limit": "2"}, "body": {"Process": {"main": {
        "args": ["{{retries}} {{lastRetry.exitCode}} {{lastRetry.status}}"]}}}}));
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&seen);
    let world = World::of(graph, move |_, number, process| {
        sink.lock().unwrap().push(process.main.args[0].clone());
        code(i32::try_from(number).unwrap() + 5).filter(|_| number < 2).or_else(ok)
    });
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    assert_eq!(*seen.lock().unwrap(), ["0 0 ", "1 5 Failed", "2 6 Failed"]);
}

#[test]
fn deadlines_end_what_runs_and_what_waits() {
    let running = World::of(process(&json!({"active_deadline_s": "5"})), |_, _, _| None);
    assert_eq!(running.message("wf"), "Step exceeded its deadline");
    assert_eq!(running.now_ms, 1_000 + 5_000);
    let graph = json!({"parallelism": 1, "templates": [
        {"name": "main", "body": {"Steps": [[
            {"name": "long", "target": {"Template": 1}}, {"name": "late", "target": {"Template": 2}}]]}},
        {"name": "long", "body": {"Process": {}}, "active_deadline_s": "60"},
        {"name": "late", "body": {"Process": {}}, "timeout": "10s"}]});
    let waiting = World::of(graph, |_, _, _| None);
    assert_eq!(waiting.message("wf[0].late"), "Step exceeded its deadline");
    let late = waiting.run.step(waiting.key("wf[0].late")).unwrap();
    assert_eq!((late.ended_ms, late.attempts.len()), (11_000, 0));
}

#[test]
fn a_number_or_time_from_a_tag_that_can_mean_nothing_ends_its_step_with_a_clear_error() {
    let from_tag = "{{workflow.parameters.v}}";
    let retry = |field: Value| {
        let mut retry = json!({"limit": "1", "backoff": "1s"});
        retry.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
        json!({"retry": retry})
    };
    // (what the field is of, its value, the message, processes that were run)
    let cases = [
        (json!({"timeout": from_tag}), "-5s", "timeout: \"-5s\" is not longer than nothing", 0),
        (json!({"timeout": from_tag}), "0", "timeout: \"0\" is not longer than nothing", 0),
        (
            json!({"active_deadline_s": from_tag}),
            "0",
            "activeDeadlineSeconds: \"0\" is not a whole number from 1 on",
            0,
        ),
        (
            json!({"active_deadline_s": from_tag}),
            "5s",
            "activeDeadlineSeconds: \"5s\" is not a whole number from 1 on",
            0,
        ),
        (
            retry(json!({"limit": from_tag})),
            "-1",
            "retryStrategy.limit: \"-1\" is not a whole number from 0 on",
            1,
        ),
        (
            retry(json!({"factor": from_tag})),
            "-2",
            "retryStrategy.backoff.factor: \"-2\" is not a whole number from 0 on",
            1,
        ),
        (
            retry(json!({"backoff": from_tag})),
            "-1s",
            "retryStrategy.backoff.duration: \"-1s\" is not a duration from 0 on",
            1,
        ),
        (
            retry(json!({"cap": from_tag})),
            "-1s",
            "retryStrategy.backoff.cap: \"-1s\" is not a duration from 0 on",
            1,
        ),
        (
            retry(json!({"max_duration": from_tag})),
            "-1s",
            "retryStrategy.backoff.maxDuration: \"-1s\" is not a duration from 0 on",
            1,
        ),
    ];
    for (more, value, message, run) in cases {
        let mut graph = process(&more);
        graph["arguments"] = json!({"parameters": [{"name": "v", "value": value}]});
        let rendered = Rc::new(Cell::new(0));
        let count = Rc::clone(&rendered);
        let world = World::of(graph, move |_, _, _| {
            count.set(count.get() + 1);
            code(1)
        });
        assert_eq!(world.phase("wf"), Phase::Error, "{more}");
        assert_eq!(world.message("wf"), format!("[E0213] {message}"), "{more}");
        assert_eq!(rendered.get(), run, "{more}");
    }
}

#[test]
fn a_pause_until_a_time_that_has_passed_is_none() {
    let mut graph = one(&json!({"body": {"Suspend": {"duration": "{{workflow.parameters.v}}"}}}));
    graph["arguments"] = json!({"parameters": [{"name": "v", "value": "-5s"}]});
    let world = World::of(graph, |_, _, _| None);
    assert_eq!((world.phase("wf"), world.now_ms), (Phase::Succeeded, 1_000));
}

fn two_groups() -> Value {
    json!({"on_exit": {"name": "bye", "target": {"Template": 1}}, "templates": [
        {"name": "main", "body": {"Steps": [
            [{"name": "a", "target": {"Template": 1}}], [{"name": "b", "target": {"Template": 1}}]]}},
        {"name": "leaf", "body": {"Process": {}}}]})
}

#[test]
fn stop_ends_what_runs_and_lets_the_exit_handler_run() {
    for (how, started) in
        [(Shutdown::Stop, vec!["wf[0].a", "wf.onExit"]), (Shutdown::Terminate, vec!["wf[0].a"])]
    {
        let mut world =
            World::of(two_groups(), |name, _, _| if name == "wf[0].a" { None } else { ok() });
        world.input(Input::Shutdown { how, message: String::new() });
        world.settle();
        assert_eq!(world.started, started);
        assert_eq!(world.run.phase, RunPhase::Failed);
        assert_eq!(world.run.message, format!("Stopped with strategy '{how:?}'"));
        assert_eq!(world.message("wf[0].a"), format!("workflow shutdown with strategy:  {how:?}"));
    }
}

#[test]
fn what_a_stopped_loop_has_not_started_is_there_and_failed() {
    // As upstream has it: each item gets its node, and where the run was stopped before, that is
    // all it gets (argo-workflows `workflow/controller/workflowpod.go`, `createWorkflowPod`).
    for run_bound in [false, true] {
        let each = json!({"Sequence": {"count": "5"}});
        let call = json!({"name": "each", "target": {"Template": 1}, "each": each});
        let mut graph = json!({"templates": [
            {"name": "main", "body": {"Steps": [[call]]}}, {"name": "leaf", "body": {"Process": {}}}]});
        let bounded = if run_bound { &mut graph } else { &mut graph["templates"][0] };
        bounded["parallelism"] = json!(2);
        let mut world = World::of(graph, |_, _, _| None);
        world.input(Input::Shutdown { how: Shutdown::Stop, message: String::new() });
        world.settle();
        assert_eq!(world.started, ["wf[0].each(0:0)", "wf[0].each(1:1)"]);
        for at in 0..5 {
            let name = format!("wf[0].each({at}:{at})");
            assert_eq!(world.phase(&name), Phase::Failed);
            assert_eq!(world.message(&name), "workflow shutdown with strategy:  Stop");
        }
    }
}

#[test]
fn a_suspended_run_starts_nothing_new_until_it_is_resumed() {
    let mut world =
        World::of(two_groups(), |name, _, _| if name == "wf[0].a" { None } else { ok() });
    world.input(Input::Suspend);
    world.end("wf[0].a", 0);
    world.settle();
    assert_eq!(world.started, ["wf[0].a"]);
    world.input(Input::Resume { steps: Vec::new() });
    world.settle();
    assert_eq!(world.started, ["wf[0].a", "wf[1].b", "wf.onExit"]);
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

#[test]
fn a_run_that_is_accepted_suspended_begins_when_it_is_resumed() {
    let mut graph = two_groups();
    graph["suspend"] = json!(true);
    let mut world = World::of(graph.clone(), |_, _, _| ok());
    assert!(world.run.steps.is_empty() && world.run.suspended);
    world.input(Input::Resume { steps: Vec::new() });
    world.settle();
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    let mut world = World::of(graph, |_, _, _| ok());
    world.input(Input::Shutdown { how: Shutdown::Terminate, message: "no".into() });
    world.settle();
    assert_eq!((world.run.phase, world.run.message.as_str()), (RunPhase::Failed, "no"));
    assert!(world.started.is_empty());
}

#[test]
fn a_pause_ends_by_itself_or_by_somebody_with_values() {
    let pause = |duration: Value| one(&json!({"body": {"Suspend": {"duration": duration}}}));
    let timed = World::of(pause(json!("20")), |_, _, _| ok());
    assert_eq!((timed.run.phase, timed.now_ms), (RunPhase::Succeeded, 21_000));
    let supplied = json!({"outputs": {"parameters": [{"name": "by", "from": "Supplied"}]},
                          "body": {"Suspend": {}}});
    let mut world = World::of(one(&supplied), |_, _, _| ok());
    let step = world.key("wf");
    world.input(supply(step, &[("by", "Ada")], None));
    world.input(Input::Resume { steps: vec![step] });
    assert_eq!(
        (world.run.phase, world.output("wf", "by")),
        (RunPhase::Succeeded, Some(json!("Ada")))
    );
}

fn supply(step: StepKey, values: &[(&str, &str)], phase: Option<Phase>) -> Input {
    let parameters = values.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
    Input::Supply(Supplied { step, parameters, phase, message: String::new() })
}

#[test]
fn a_resume_that_lacks_a_value_is_refused_and_so_are_values_that_nothing_waits_for() {
    // argo-workflows `util.go`, `OverrideOutputParametersWithDefault` and `updateSuspendedNode`.
    let pause = json!({"body": {"Suspend": {}}, "outputs": {"parameters": [
        {"name": "by", "from": "Supplied"}, {"name": "at", "from": "Supplied", "default": "noon"},
        {"name": "fixed", "from": {"Value": "x"}}]}});
    let mut world = World::of(one(&pause), |_, _, _| ok());
    let step = world.key("wf");
    let missing = "raw output parameter 'by' has not been set and does not have a default value";
    let why = |world: &World, input: &Input| argosy_engine::refused(&world.run, input);
    let succeed = Some(Phase::Succeeded);
    for (input, text) in [
        (Input::Resume { steps: Vec::new() }, missing),
        (Input::Resume { steps: vec![step] }, missing),
        (supply(step, &[("at", "dawn")], succeed), missing),
        (supply(step, &[("nosuch", "x")], None), "node is not expecting output parameter 'nosuch'"),
        (
            supply(step, &[("fixed", "y")], None),
            "cannot set output parameter 'fixed' because it is not supplied or was already set",
        ),
        (Input::Resume { steps: vec![StepKey(7)] }, "none of these steps is suspended"),
    ] {
        assert_eq!(why(&world, &input).as_deref(), Some(text), "{input:?}");
    }
    let given = supply(step, &[("by", "Ada")], None);
    assert_eq!(why(&world, &given), None);
    world.input(given);
    assert_eq!(
        why(&world, &supply(step, &[("by", "Bob")], None)).as_deref(),
        Some("cannot set output parameter 'by' because it is not supplied or was already set")
    );
    let resume = Input::Resume { steps: Vec::new() };
    assert_eq!(why(&world, &resume), None);
    world.input(resume);
    assert_eq!(world.output("wf", "at"), Some(json!("noon")));
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    // Values and the end in one, and an end that is none of the good ones.
    for (input, phase) in [
        (supply(step, &[("by", "Ada")], succeed), Phase::Succeeded),
        (supply(step, &[], Some(Phase::Failed)), Phase::Failed),
    ] {
        let mut world = World::of(one(&pause), |_, _, _| ok());
        assert_eq!(why(&world, &input), None);
        world.input(input);
        assert_eq!(world.phase("wf"), phase);
    }
}

fn task(name: &str) -> TaskSpec {
    TaskSpec { name: name.into(), ..TaskSpec::default() }
}

fn child(world: &mut World, parent: &str, name: &str) {
    let parent = world.run.current_attempt(world.key(parent)).unwrap().0;
    world.input(Input::Child { parent, task: Box::new(task(name)) });
}

#[test]
fn a_running_task_gets_the_children_that_it_asks_for_once() {
    let mut world =
        World::of_task(task("root"), |name, _, _| if name == "wf" { None } else { ok() });
    child(&mut world, "wf", "a0");
    child(&mut world, "wf", "a0");
    child(&mut world, "wf", "a1");
    world.settle();
    assert_eq!(world.started, ["wf", "wf.a0", "wf.a1"]);
    assert_eq!(world.run.phase, RunPhase::Running, "the parent decides");
    world.end("wf", 0);
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

#[test]
fn children_end_with_the_task_that_asked_for_them() {
    let mut world = World::of_task(task("root"), |_, _, _| None);
    child(&mut world, "wf", "a0");
    world.settle();
    world.end("wf", 0);
    world.settle();
    assert_eq!(world.phase("wf.a0"), Phase::Failed);
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

#[test]
fn an_attempt_that_is_not_the_current_one_is_not_heard() {
    let retry = Some(Retry { limit: Some("3".into()), ..Retry::default() });
    let mut world = World::of_task(TaskSpec { retry, ..task("root") }, |_, _, _| None);
    let old = world.run.current_attempt(world.key("wf")).unwrap().0;
    world.end("wf", 1);
    world.settle();
    let turns = world.turns.len();
    let end = || Box::new(End::bare(Exit::Code(0)));
    world.input(Input::Ended { attempt: old, end: end() });
    world.input(Input::Started { attempt: old, at_ms: 9 });
    world.input(Input::Child { parent: old, task: Box::new(task("late")) });
    world.input(Input::Ended { attempt: AttemptId { number: 7, ..old }, end: end() });
    assert_eq!(world.turns.len(), turns, "no event came of any of it");
    assert_eq!(world.run.steps[0].attempts.len(), 2);
}

#[test]
fn a_task_tells_the_scheduler_its_gang() {
    let gang = argosy_model::effect::Gang { id: "g".into(), size: 2 };
    let spec =
        common::spec(Plan::Task(Box::new(TaskSpec { gang: Some(gang.clone()), ..task("t") })));
    let (_, decision) = argosy_engine::submit(argosy_model::RunId(1), spec, 0);
    let jobs: Vec<_> = decision
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Enqueue(job) => job.gang.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(jobs, [gang]);
}

/// What an exit handler sees as `workflow.failures`.
fn failures_of(mut graph: Value, exit: i32) -> String {
    let seen = Rc::new(std::cell::RefCell::new(String::new()));
    let sink = Rc::clone(&seen);
    graph["templates"].as_array_mut().unwrap().push(json!({"name": "exit", "body":
        {"Process": {"main": {"args": ["{{workflow.failures}}"]}}}}));
    graph["on_exit"] = json!({"target": {"Template": 2}});
    World::of(graph, move |name, _, process| {
        if name.ends_with("onExit") {
            *sink.borrow_mut() = process.main.args[0].clone();
            return ok();
        }
        code(exit)
    });
    seen.take()
}

#[test]
fn failures_are_a_quoted_list_of_all_failed_nodes() {
    // argo-workflows `docs/variable-flow/variables.md`: JSON within a text of Go, "null" for none.
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[{"name": "a", "target": {"Template": 1},
            "each": {"Items": ["x"]}}]]}},
        {"name": "leaf", "body": {"Process": {}}, "retry": {"limit": "1"}}]});
    assert_eq!(failures_of(graph.clone(), 0), r#""null""#);
    let text = failures_of(graph, 1);
    assert!(text.starts_with(r#""[{\"displayName\":\"wf\",\"message\":\"child 'wf-"#), "{text}");
    let inner: String = serde_json::from_str(&text).unwrap();
    let list: Value = serde_json::from_str(&inner).unwrap();
    let word = |node: &Value, name: &str| node[name].as_str().unwrap().to_owned();
    let shown: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (word(node, "displayName"), word(node, "templateName")))
        .collect();
    // The root, its group, the item that was tried again, and both tries; a loop in a group is
    // no node of its own.
    let expected = [
        ("wf", "main"),
        ("[0]", ""),
        ("a(0:x)", "leaf"),
        ("a(0:x)(0)", "leaf"),
        ("a(0:x)(1)", "leaf"),
    ];
    assert_eq!(shown, expected.map(|(name, template)| (name.to_owned(), template.to_owned())));
    assert_eq!(list[2]["message"], "No more retries left");
    assert_eq!(list[4]["message"], "main: Error (exit code 1)");
}
