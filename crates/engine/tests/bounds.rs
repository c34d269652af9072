//! What one turn and one run may come to. Numbers of steps are counted by hand from the graphs.

mod common;

use argosy_engine::Input;
use argosy_model::run::{Plan, TaskSpec};
use argosy_model::{AttemptPhase, Effect, Event, Phase, RunPhase, Shutdown, StepKey};
use common::{World, code, graph, ok, writing};
use serde_json::{Value, json};

/// Events that a turn makes at most: what it may, and what follows at once from the last of it.
const TURN: usize = 2_000 + 64;

fn leaf() -> Value {
    json!({"name": "leaf", "body": {"Process": {}}})
}

fn main_of(body: &Value) -> Value {
    json!({"templates": [{"name": "main", "body": body}, leaf()]})
}

fn call(name: &str) -> Value {
    json!({"name": name, "target": {"Template": 1}})
}

fn looped(count: usize) -> Value {
    let mut each = call("each");
    each["each"] = json!({"Sequence": {"count": count.to_string()}});
    each
}

fn start(
    value: Value,
    answer: impl FnMut(&str, u32, &argosy_model::ProcessSpec) -> Option<argosy_model::End> + 'static,
) -> World {
    World::start(Plan::Graph(Box::new(graph(value))), answer, false)
}

fn assert_bounded(world: &World) {
    let most = world.turns.iter().map(|turn| turn.events.len()).max().unwrap();
    assert!(most <= TURN, "{most} events in one turn");
}

fn events(world: &World) -> impl Iterator<Item = &Event> {
    world.turns.iter().flat_map(|turn| &turn.events)
}

fn phases(world: &World, phase: Phase) -> usize {
    world.run.steps.iter().filter(|step| step.phase == phase).count()
}

/// Loops in loops, `levels` deep, each over `count` numbers.
fn nested(count: usize, levels: u32) -> Vec<Value> {
    let level = |at: u32| {
        let each = json!({"Sequence": {"count": count.to_string()}});
        let call = json!({"name": "each", "target": {"Template": at + 1}, "each": each});
        json!({"name": format!("l{at}"), "body": {"Steps": [[call]]}})
    };
    (0..levels).map(level).chain([leaf()]).collect()
}

#[test]
fn a_template_that_calls_itself_twice_grows_by_bounded_turns() {
    let again = |name: &str| json!({"name": name, "target": {"Template": 0}});
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[again("a"), again("b")]]}}]});
    let mut world = start(graph, |_, _, _| ok());
    for _ in 0..10 {
        let before = world.run.steps.len();
        world.lose();
        world.input(Input::Wake);
        assert!(world.run.steps.len() > before + 500, "a turn gets on");
    }
    assert_bounded(&world);
    assert_eq!(world.run.phase, RunPhase::Running);
    world.input(Input::Shutdown { how: Shutdown::Terminate, message: String::new() });
    world.settle();
    assert_eq!(world.run.phase, RunPhase::Failed);
    assert_bounded(&world);
}

/// Every level lists 100,000 items and goes on to the next. The list is made while the run goes
/// on, so that nothing is known beforehand.
fn growing() -> Value {
    let list = json!(vec![0; 100_000]).to_string();
    let again = json!({"name": "again", "target": {"Template": 0}});
    let each = json!({"name": "each", "target": {"Template": 1}, "each": {"Param": list}});
    json!({"on_exit": {"name": "bye", "target": {"Template": 1}}, "templates": [
        {"name": "main", "body": {"Steps": [[again, each]]}}, leaf()]})
}

#[test]
fn a_run_that_passes_the_limit_on_steps_is_ended_as_a_whole() {
    for crash in [false, true] {
        let plan = Plan::Graph(Box::new(graph(growing())));
        let mut world = World::start(plan, |_, _, _| ok(), crash);
        world.settle();
        assert_eq!(world.run.phase, RunPhase::Error);
        let text = "is over the limit `steps` of 1000000";
        assert!(world.run.message.contains(text), "{}", world.run.message);
        assert!(world.message("wf").contains(text), "{}", world.message("wf"));
        assert_eq!(world.started, Vec::<String>::new(), "nor does the exit handler run");
        let given_up = |event: &Event| matches!(event, Event::GivenUp { .. });
        let after = events(&world).skip_while(|event| !given_up(event));
        assert!(!after.into_iter().any(|event| matches!(event, Event::StepAdded(_))));
        assert!(world.run.steps.iter().all(|step| step.phase.is_terminal()));
        // Nine lists fit into 1,000,000 with their loops, the tenth does not.
        assert_eq!(world.run.items.len(), 9);
        assert_bounded(&world);
    }
}

#[test]
fn a_run_that_is_over_the_limit_ends_what_is_alive() {
    let mut grow = growing()["templates"][0].clone();
    grow["body"]["Steps"][0][0]["target"] = json!({"Template": 2});
    let calls = json!([call("a"), call("b"), {"name": "grow", "target": {"Template": 2}}]);
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [calls]}}, leaf(), grow]});
    let mut world = start(graph, |_, _, _| None);
    world.settle();
    assert_eq!(world.started, ["wf[0].a", "wf[0].b"]);
    let kills = world.told.iter().filter(|effect| matches!(effect, Effect::Kill(..)));
    assert_eq!((world.run.phase, kills.count()), (RunPhase::Error, 2));
    let attempts = world.run.steps.iter().flat_map(|step| &step.attempts);
    assert!(attempts.into_iter().all(|attempt| attempt.phase == AttemptPhase::Ended));
    assert_eq!(world.message("wf[0].a"), "ended with its run, which came to a limit");
}

#[test]
fn loops_whose_product_is_known_are_refused_at_once() {
    let world = World::of(json!({"templates": nested(100, 5)}), |_, _, _| ok());
    assert_eq!((world.run.phase, world.turns.len()), (RunPhase::Error, 1));
    // 100 of the innermost come to 103 steps with their loop, group and template, and so on:
    // 103, 10303, 1030303, 103030303, 10303030303.
    let text = "10303030303 steps is over the limit `steps` of 1000000";
    assert!(world.run.message.contains(text), "{}", world.run.message);
    assert_eq!(world.run.steps.len(), 1);
}

#[test]
fn exactly_as_many_steps_as_the_limit_are_let_begin() {
    // An inner loop of 996 is 999 steps with its own three, 1,000 of it with the outer three
    // 999,003, and a second group of 996 calls makes it 1,000,000.
    for (calls, refused) in [(996, false), (997, true)] {
        let mut templates = nested(996, 2);
        templates[0]["body"]["Steps"][0][0]["each"]["Sequence"]["count"] = json!("1000");
        let more: Vec<Value> = (0..calls)
            .map(|at| json!({"name": format!("s{at}"), "target": {"Template": 2}}))
            .collect();
        templates[0]["body"]["Steps"].as_array_mut().unwrap().push(json!(more));
        let mut world = start(json!({"templates": templates}), |_, _, _| None);
        (0..5).for_each(|_| world.input(Input::Wake));
        assert_eq!(world.run.given_up.is_some(), refused, "{calls}: {:?}", world.run.given_up);
    }
}

#[test]
fn exactly_as_many_bytes_as_the_limit_are_let_go_on() {
    // Two steps, the first of which leaves a parameter x behind. Its name and 32 for the value
    // stand beside the text, and all of it in the attempt's end and in the step's outputs.
    const TEXT: usize = 1_000;
    let first = json!({"name": "a", "target": {"Template": 2}});
    let graph = json!({
        "on_exit": {"name": "bye", "target": {"Template": 1}},
        "templates": [
            {"name": "main", "body": {"Steps": [[first], [call("b")]]}}, leaf(),
            {"name": "writes", "body": {"Process": {}},
             "outputs": {"parameters": [{"name": "x", "from": {"Path": "/x"}}]}}]});
    let held = 2 * (1 + 32 + TEXT as u64);
    for (most, refused) in [(held, false), (held - 1, true)] {
        for lost in [false, true] {
            let text = "t".repeat(TEXT);
            let answer = move |name: &str, _: u32, _: &argosy_model::ProcessSpec| {
                if name == "wf[0].a" { writing("x", &text) } else { ok() }
            };
            let mut world = start(graph.clone(), answer);
            world.run.max_bytes = most;
            if lost {
                world.lose();
            }
            world.settle();
            let (phase, started) = match refused {
                true => (RunPhase::Error, vec!["wf[0].a"]),
                false => (RunPhase::Succeeded, vec!["wf[0].a", "wf[1].b", "wf.onExit"]),
            };
            assert_eq!((world.run.phase, &world.started), (phase, &names(&started)));
            let told = format!(
                "[E0107] the run holds too much: {held} bytes is over the limit `run-bytes` of {most}"
            );
            assert_eq!(world.run.message, if refused { &*told } else { "" });
        }
    }
}

#[test]
fn a_turn_brings_a_bounded_number_of_bytes() {
    const TEXT: usize = 256 << 10;
    let mut each = looped(300);
    each["arguments"] = json!({"parameters": [{"name": "p", "value": "t".repeat(TEXT)}]});
    let mut leaf = leaf();
    leaf["inputs"] = json!({"parameters": [{"name": "p"}]});
    let body = json!({"Steps": [[each]]});
    let mut world =
        start(json!({"templates": [{"name": "main", "body": body}, leaf]}), |_, _, _| None);
    let mut before = world.run.bytes();
    while world.run.steps.len() < 3 + 300 {
        world.input(Input::Wake);
        let brought = world.run.bytes() - before;
        assert!(brought <= (32 << 20) + TEXT as u64 + 32, "{brought} bytes in one turn");
        before = world.run.bytes();
    }
    // The items are the numbers from 0 to 299, as texts.
    assert_eq!(before, 300 * (TEXT as u64 + 32) + 300 * 32 + 10 + 90 * 2 + 200 * 3);
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_may_come_to_less_is_not_refused_beforehand() {
    let mut templates = nested(100, 4);
    templates[0]["body"]["Steps"][0][0]["when"] = json!("false");
    let mut world = start(json!({"templates": templates.clone()}), |_, _, _| ok());
    world.settle();
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    // With its outputs remembered a step may have nothing below it.
    templates[0]["body"]["Steps"][0][0]["when"] = json!(null);
    templates[1]["memo"] = json!({"key": "k", "cache": "c"});
    let world = start(json!({"templates": templates}), |_, _, _| ok());
    assert_eq!(world.run.given_up, None);
}

#[test]
fn calls_of_every_kind_are_made_in_bounded_turns() {
    const MANY: usize = 2_500;
    let calls: Vec<Value> = (0..MANY).map(|at| call(&format!("t{at}"))).collect();
    let mut after = calls.clone();
    after[1..].iter_mut().for_each(|task| task["depends"] = json!("t0"));
    let mut omitted = after.clone();
    omitted[1..].iter_mut().for_each(|task| task["depends"] = json!("t0.Failed"));
    // (body, steps above the calls, calls that run)
    for (body, above, run) in [
        (json!({"Steps": [[looped(MANY)]]}), 3, MANY),
        (json!({"Steps": [calls]}), 2, MANY),
        (json!({"Dag": {"tasks": calls}}), 1, MANY),
        (json!({"Dag": {"tasks": after}}), 1, MANY),
        (json!({"Dag": {"tasks": omitted}}), 1, 1),
    ] {
        for lost in [false, true] {
            let mut world = start(main_of(&body), |_, _, _| ok());
            for _ in 0..if lost { 6 } else { 0 } {
                world.lose();
                world.input(Input::Wake);
            }
            world.settle();
            assert_eq!(world.run.phase, RunPhase::Succeeded);
            assert_eq!(world.run.steps.len(), above + MANY);
            assert_eq!(world.started.len(), run);
            assert_bounded(&world);
        }
    }
}

#[test]
fn the_calls_of_a_step_are_in_order_however_many_turns_they_take() {
    let calls: Vec<Value> = (0..3_000).map(|at| call(&format!("t{at}"))).collect();
    let mut world = start(main_of(&json!({"Steps": [calls]})), |_, _, _| ok());
    world.settle();
    let names = (0..3_000).map(|at| format!("wf[0].t{at}"));
    let shown: Vec<String> = world.names().into_iter().skip(2).collect();
    assert_eq!(shown, names.clone().collect::<Vec<_>>());
    assert_eq!(world.started, names.collect::<Vec<_>>());
}

#[test]
fn of_loops_in_loops_the_innermost_is_completed_first() {
    // 300 times (template, group, loop, 3 items): more than one turn.
    let mut templates = nested(3, 2);
    templates[0]["body"]["Steps"][0][0]["each"]["Sequence"]["count"] = json!("300");
    let mut world = start(json!({"templates": templates}), |_, _, _| ok());
    let outer = |world: &World| world.run.children(world.key("wf[0].each")).len();
    assert!(outer(&world) < 300);
    let inner = world.run.steps.iter().filter(|step| step.kind == argosy_model::Kind::FanOut);
    let open = inner.filter(|step| !step.phase.is_terminal()).count();
    assert!(open <= outer(&world) + 1);
    // All that were begun but the last are complete.
    let complete = (0..outer(&world) - 1).filter(|at| {
        world.run.children(world.key(&format!("wf[0].each({at}:{at})[0].each"))).len() == 3
    });
    assert_eq!(complete.count(), outer(&world) - 1);
    world.settle();
    assert_eq!((world.run.phase, world.started.len()), (RunPhase::Succeeded, 900));
}

#[test]
fn empty_groups_one_after_the_other_are_passed_in_bounded_turns() {
    let groups: Vec<Value> = (0..3_000).map(|_| json!([])).collect();
    let mut world = start(main_of(&json!({"Steps": groups})), |_, _, _| ok());
    world.lose();
    world.settle();
    assert_eq!((world.run.phase, world.run.steps.len()), (RunPhase::Succeeded, 3_001));
    assert_bounded(&world);
}

#[test]
fn a_loop_that_is_ended_while_it_grows_makes_no_further_items() {
    let mut graph = main_of(&json!({"Steps": [[looped(5_000)], [call("never")]]}));
    graph["on_exit"] = json!({"name": "bye", "target": {"Template": 1}});
    for (how, exits) in [(Shutdown::Stop, 1), (Shutdown::Terminate, 0)] {
        let mut world =
            start(graph.clone(), |name, _, _| if name == "wf.onExit" { ok() } else { None });
        let made = world.run.steps.len();
        assert!((500..5_000).contains(&made), "{made}");
        world.input(Input::Shutdown { how, message: String::new() });
        world.lose();
        world.settle();
        assert_eq!(world.run.phase, RunPhase::Failed);
        assert_eq!(world.run.steps.len(), made + exits);
        let text = format!("workflow shutdown with strategy:  {how:?}");
        let items = world.run.children(world.key("wf[0].each")).iter();
        let told =
            items.filter(|key| world.run.step(**key).unwrap().message.as_deref() == Some(&text));
        assert_eq!(told.count(), made - 3);
        assert_bounded(&world);
    }
}

#[test]
fn all_that_runs_is_ended_once_over_several_turns() {
    let mut world = start(main_of(&json!({"Steps": [[looped(3_000)]]})), |_, _, _| None);
    world.settle();
    assert_eq!(world.started.len(), 3_000);
    world.input(Input::Shutdown { how: Shutdown::Terminate, message: String::new() });
    world.lose();
    world.settle();
    assert_eq!((world.run.phase, phases(&world, Phase::Failed)), (RunPhase::Failed, 3_003));
    let kills = world.told.iter().filter(|effect| matches!(effect, Effect::Kill(..)));
    assert_eq!(kills.count(), 3_000);
    assert_bounded(&world);
}

#[test]
fn a_run_that_is_suspended_while_it_grows_goes_on_when_it_is_resumed() {
    let graph = main_of(&json!({"Steps": [[looped(3_000)]]}));
    let mut world = start(graph.clone(), |_, _, _| ok());
    let made = world.run.steps.len();
    world.input(Input::Suspend);
    world.lose();
    world.settle();
    assert_eq!((world.run.phase, world.run.steps.len()), (RunPhase::Running, made));
    world.input(Input::Resume { steps: Vec::new() });
    world.settle();
    assert_eq!((world.run.phase, world.started.len()), (RunPhase::Succeeded, 3_000));
    assert_bounded(&world);
    // It can also be ended.
    for how in [Shutdown::Stop, Shutdown::Terminate] {
        let mut world = start(graph.clone(), |_, _, _| None);
        world.input(Input::Suspend);
        world.input(Input::Shutdown { how, message: String::new() });
        world.settle();
        assert_eq!(world.run.phase, RunPhase::Failed, "{how:?}");
    }
}

#[test]
fn a_first_failure_leaves_out_those_that_wait_in_bounded_turns() {
    let each = looped(3_000);
    let graph = json!({"templates": [
        {"name": "main", "parallelism": 1, "fail_fast": true, "body": {"Steps": [[each]]}}, leaf()]});
    let mut world = start(graph, |_, _, _| code(1));
    (0..3).for_each(|_| world.input(Input::Wake));
    world.settle();
    assert_eq!(world.started.len(), 1);
    assert_eq!((world.run.phase, phases(&world, Phase::Omitted)), (RunPhase::Failed, 2_999));
    assert_bounded(&world);
}

#[test]
fn one_that_ends_while_it_waits_for_a_place_does_not_keep_the_next_from_it() {
    let graph = json!({"templates": [
        {"name": "main", "parallelism": 1, "body": {"Steps": [[
            call("a"), {"name": "b", "target": {"Template": 2}}, call("c")]]}},
        leaf(), {"name": "hasty", "body": {"Process": {}}, "timeout": "10s"}]});
    let mut world = start(graph, |name, _, _| if name == "wf[0].a" { None } else { ok() });
    world.settle();
    assert_eq!(world.phase("wf[0].b"), Phase::Failed, "its time was over while it waited");
    world.end("wf[0].a", 0);
    world.settle();
    assert_eq!(world.started, ["wf[0].a", "wf[0].c"]);
    assert!(world.run.phase.is_terminal());
}

#[test]
fn many_pauses_are_ended_in_bounded_turns() {
    for lost in [false, true] {
        let graph = json!({"templates": [
            {"name": "main", "body": {"Steps": [[looped(3_000)]]}},
            {"name": "pause", "body": {"Suspend": {}}}]});
        let mut world = start(graph, |_, _, _| ok());
        world.settle();
        assert_eq!(phases(&world, Phase::Running), 3_003);
        world.input(Input::Resume { steps: Vec::new() });
        if lost {
            world.lose();
        }
        world.settle();
        assert_eq!(world.run.phase, RunPhase::Succeeded);
        let ends = |turn: &argosy_model::Turn| {
            turn.events.iter().filter(|event| matches!(event, Event::StepEnded { .. })).count()
        };
        assert!(world.turns.iter().map(ends).max() <= Some(TURN));
    }
}

#[test]
fn children_that_a_task_leaves_behind_are_ended_in_bounded_turns() {
    let task = |name: &str| TaskSpec { name: name.into(), ..TaskSpec::default() };
    let mut world = World::start(Plan::Task(Box::new(task("root"))), |_, _, _| None, false);
    world.settle();
    let parent = world.run.current_attempt(StepKey::ROOT).unwrap().0;
    for at in 0..3_000 {
        world.input(Input::Child { parent, task: Box::new(task(&format!("c{at}"))) });
    }
    world.settle();
    world.end("wf", 0);
    world.lose();
    world.settle();
    assert_eq!((world.run.phase, phases(&world, Phase::Failed)), (RunPhase::Succeeded, 3_000));
    assert_bounded(&world);
}
