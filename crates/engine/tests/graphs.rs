//! The static planner: expected ends are worked out from the rules in `docs/concepts` and the
//! upstream files that the planner's modules name.

mod common;

use argosy_model::run::Plan;
use argosy_model::{End, Exit, Phase, RunPhase, limits};
use common::{World, code, graph, ok, printing, writing};
use serde_json::{Value, json};

fn leaf() -> Value {
    json!({"name": "leaf", "body": {"Process": {}}})
}

fn dag(tasks: &Value) -> Value {
    json!({"entrypoint": 0, "templates": [{"name": "main", "body": {"Dag": {"tasks": tasks}}}, leaf()]})
}

fn task(name: &str, depends: &str) -> Value {
    let mut task = json!({"name": name, "target": {"Template": 1}});
    if !depends.is_empty() {
        task["depends"] = json!(depends);
    }
    task
}

fn failing(
    names: &'static [&'static str],
) -> impl FnMut(&str, u32, &argosy_model::ProcessSpec) -> Option<argosy_model::End> {
    move |name, _, _| if names.iter().any(|n| name.ends_with(n)) { code(1) } else { ok() }
}

#[test]
fn a_single_process_is_a_run() {
    let world = World::of(json!({"templates": [leaf()]}), |_, _, _| printing("hello"));
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    assert_eq!(world.started, ["wf"]);
    assert_eq!(world.run.steps[0].outputs.as_ref().unwrap().result.as_deref(), Some("hello"));
}

#[test]
fn a_diamond_runs_in_the_order_of_its_edges() {
    let tasks = json!([task("A", ""), task("B", "A"), task("C", "A"), task("D", "B && C")]);
    let world = World::of(dag(&tasks), |_, _, _| ok());
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    assert_eq!(world.started, ["wf.A", "wf.B", "wf.C", "wf.D"]);
    assert_eq!(world.most_alive, 2, "B and C go together");
}

#[test]
fn depends_decides_what_runs_after_each_kind_of_end() {
    // (depends of B, exit code of A, phase of B, phase of the run)
    for (depends, exit, phase, run) in [
        ("A", 0, Phase::Succeeded, RunPhase::Succeeded),
        ("A", 1, Phase::Omitted, RunPhase::Failed),
        ("A.Failed", 1, Phase::Succeeded, RunPhase::Succeeded),
        ("A.Failed", 0, Phase::Omitted, RunPhase::Succeeded),
        ("A.Succeeded || A.Failed", 1, Phase::Succeeded, RunPhase::Succeeded),
        ("!A.Succeeded", 1, Phase::Succeeded, RunPhase::Succeeded),
        ("A.Errored", 1, Phase::Omitted, RunPhase::Failed),
        ("A.AnySucceeded", 0, Phase::Omitted, RunPhase::Succeeded),
    ] {
        let tasks = json!([task("A", ""), task("B", depends)]);
        let world = World::of(
            dag(&tasks),
            move |name, _, _| {
                if name == "wf.A" { code(exit) } else { ok() }
            },
        );
        assert_eq!((world.phase("wf.B"), world.run.phase), (phase, run), "{depends} after {exit}");
    }
}

#[test]
fn any_and_at_least_start_as_soon_as_they_hold() {
    let tasks = json!([
        task("A", ""),
        task("slow", ""),
        task("B", "any(A, slow)"),
        task("C", "atLeast(2, A, B, slow)")
    ]);
    let world = World::of(dag(&tasks), |name, _, _| if name == "wf.slow" { None } else { ok() });
    assert_eq!(world.started, ["wf.A", "wf.slow", "wf.B", "wf.C"]);
    assert_eq!(world.phase("wf.C"), Phase::Succeeded);
    assert_eq!(world.run.phase, RunPhase::Running, "slow is still going on");
}

#[test]
fn a_failure_keeps_only_those_back_that_wait_for_parallelism() {
    // By default the first failure is enough; `failFast: false` lets all branches end.
    for (fail_fast, started) in [(json!(null), 2), (json!(false), 3)] {
        let tasks = json!([task("A", ""), task("B", ""), task("C", "")]);
        let mut graph = dag(&tasks);
        graph["templates"][0]["parallelism"] = json!(2);
        graph["templates"][0]["body"]["Dag"]["fail_fast"] = fail_fast;
        let world = World::of(graph, failing(&["wf.A"]));
        assert_eq!(world.run.phase, RunPhase::Failed);
        assert_eq!(world.started.len(), started);
    }
}

#[test]
fn a_loop_that_fails_fast_starts_no_further_item() {
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Sequence": {"count": "5"}});
    let mut graph = json!({"templates": [{"name": "main", "parallelism": 1, "fail_fast": true, "body": {"Steps": [[call]]}}, greeting()]});
    let world = World::of(graph.clone(), failing(&["(1:1)"]));
    assert_eq!(world.started, ["wf[0].each(0:0)", "wf[0].each(1:1)"]);
    assert_eq!(
        (world.run.phase, world.phase("wf[0].each(4:4)")),
        (RunPhase::Failed, Phase::Omitted)
    );
    graph["templates"][0]["fail_fast"] = json!(null);
    assert_eq!(World::of(graph, failing(&["(1:1)"])).started.len(), 5);
}

#[test]
fn the_runs_deadline_ends_what_runs_and_lets_the_exit_handler_run() {
    let mut graph = steps(&json!([[task("slow", "")], [task("never", "")]]));
    graph["active_deadline_s"] = json!(2);
    graph["on_exit"] = json!({"name": "bye", "target": {"Template": 1}});
    let world = World::of(graph, |name, _, _| if name.ends_with("slow") { None } else { ok() });
    assert_eq!(
        (world.run.phase, world.message("wf[0].slow")),
        (RunPhase::Failed, "Step exceeded its deadline".into())
    );
    assert_eq!(world.started, ["wf[0].slow", "wf.onExit"]);
}

#[test]
fn targets_leave_out_what_they_do_not_need() {
    let tasks = json!([task("A", ""), task("B", "A"), task("C", "A"), task("D", "B && C")]);
    let mut graph = dag(&tasks);
    graph["templates"][0]["body"]["Dag"]["target"] = json!("B");
    let world = World::of(graph, |_, _, _| ok());
    assert_eq!(world.started, ["wf.A", "wf.B"]);
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

fn steps(groups: &Value) -> Value {
    json!({"templates": [{"name": "main", "body": {"Steps": groups}}, leaf()]})
}

#[test]
fn groups_go_one_after_the_other() {
    let world = World::of(
        steps(&json!([[task("a", "")], [task("b", ""), task("c", "")], [task("d", "")]])),
        |_, _, _| ok(),
    );
    assert_eq!(world.started, ["wf[0].a", "wf[1].b", "wf[1].c", "wf[2].d"]);
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

#[test]
fn a_failed_group_ends_the_steps_unless_it_continues() {
    let mut call = task("a", "");
    let world = World::of(steps(&json!([[call.clone()], [task("b", "")]])), failing(&["a"]));
    assert_eq!(world.run.phase, RunPhase::Failed);
    assert_eq!(world.started, ["wf[0].a"]);
    assert!(world.message("wf").starts_with("child 'wf-"), "{}", world.message("wf"));
    call["continue_on_failed"] = json!(true);
    let world = World::of(steps(&json!([[call], [task("b", "")]])), failing(&["a"]));
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

fn greeting() -> Value {
    json!({"name": "say", "inputs": {"parameters": [{"name": "text"}]},
           "body": {"Process": {"main": {"args": ["{{inputs.parameters.text}}"]}}}})
}

fn say(name: &str, text: &str) -> Value {
    json!({"name": name, "target": {"Template": 1},
           "arguments": {"parameters": [{"name": "text", "value": text}]}})
}

/// Answers every process with its own first argument as result.
fn echo(_: &str, _: u32, process: &argosy_model::ProcessSpec) -> Option<argosy_model::End> {
    printing(process.main.args.first().map_or("", String::as_str))
}

#[test]
fn results_flow_from_step_to_step() {
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [
            [say("a", "one")],
            [say("b", "{{steps.a.outputs.result}} two")],
            [say("c", "{{steps.b.outputs.result}} three")]]}},
        greeting()]});
    let world = World::of(graph, echo);
    let last = world.run.step(world.key("wf[2].c")).unwrap();
    assert_eq!(last.outputs.as_ref().unwrap().result.as_deref(), Some("one two three"));
}

#[test]
fn values_with_braces_and_quotes_are_data() {
    let hostile = r#"{{workflow.name}} "x" \ {{= 1/0 }}"#;
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[say("a", "x")], [say("b", "{{steps.a.outputs.result}}")]]}},
        greeting()]});
    let world =
        World::of(
            graph,
            move |name, n, p| if name == "wf[0].a" { printing(hostile) } else { echo(name, n, p) },
        );
    let last = world.run.step(world.key("wf[1].b")).unwrap();
    assert_eq!(last.outputs.as_ref().unwrap().result.as_deref(), Some(hostile));
}

#[test]
fn an_unknown_tag_is_an_error_that_names_it() {
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[say("a", "{{steps.nobody.outputs.result}}")]]}}, greeting()]});
    let world = World::of(graph, echo);
    assert_eq!(world.phase("wf[0].a"), Phase::Error);
    assert!(world.message("wf[0].a").contains("{{steps.nobody.outputs.result}}"));
}

#[test]
fn loops_make_a_step_for_each_item_and_collect_in_order() {
    let mut call = say("each", "<{{item}}>");
    call["each"] = json!({"Items": ["a", 2, {"k": "v"}]});
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[call], [say("all", "{{steps.each.outputs.result}}")]]}}, greeting()]});
    let world = World::of(graph, echo);
    assert_eq!(world.started[..3], ["wf[0].each(0:a)", "wf[0].each(1:2)", "wf[0].each(2:k:v)"]);
    let all = world.run.step(world.key("wf[1].all")).unwrap();
    assert_eq!(
        all.outputs.as_ref().unwrap().result.as_deref(),
        Some(r#"["<a>","<2>","<{\"k\":\"v\"}>"]"#)
    );
}

#[test]
fn collected_parameters_are_texts_and_collected_results_are_json() {
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Items": [1, 2]});
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[call], [
            say("p", "{{steps.each.outputs.parameters.n}}"), say("r", "{{steps.each.outputs.result}}")]]}},
        {"name": "say", "inputs": {"parameters": [{"name": "text"}]},
         "outputs": {"parameters": [{"name": "n", "from": {"Path": "/tmp/n"}}]},
         "body": {"Process": {"main": {"args": ["{{inputs.parameters.text}}"]}}}}]});
    let world = World::of(graph, |name, n, p| {
        let mut end = echo(name, n, p)?;
        end.outputs.parameters.push(("n".into(), Value::from(p.main.args[0].clone())));
        Some(end)
    });
    let result = |name: &str| {
        let step = world.run.step(world.key(name)).unwrap();
        step.outputs.as_ref().unwrap().result.clone().unwrap()
    };
    assert_eq!(&*result("wf[1].p"), r#"["1","2"]"#);
    assert_eq!(&*result("wf[1].r"), "[1,2]");
}

#[test]
fn numbers_of_items_and_results_keep_their_text() {
    // Upstream's item is a `json.RawMessage`: only white space goes.
    let list = r#"[ 1.0, 1e3, 1.50, 12345678901234567890, 123456789012345678901234567890,
        {"b": {"z": 1.50, "a": 2}, "a": 0.1234567890123456789}, [ 1.10 ] ]"#;
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Param": list});
    let mut member = say("member", "{{item.n}} {{item.o}} {{=item.n}}");
    member["each"] = json!({"Param": r#"[{"n": 1.10, "o": {"b": 1e3, "a": "<"}}]"#});
    let all = say("all", "{{steps.each.outputs.result}}");
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[call, member], [all]]}}, greeting()]});
    let world = World::of(graph, echo);
    let result = |name: &str| {
        let step = world.run.step(world.key(name)).unwrap();
        step.outputs.as_ref().unwrap().result.clone().unwrap().into_string()
    };
    let whole = r#"{"a":0.1234567890123456789,"b":{"z":1.50,"a":2}}"#;
    for (name, text) in [
        ("(0:1.0)", "1.0"),
        ("(1:1e3)", "1e3"),
        ("(2:1.50)", "1.50"),
        ("(3:12345678901234567890)", "12345678901234567890"),
        ("(4:123456789012345678901234567890)", "123456789012345678901234567890"),
        (r#"(5:a:0.1234567890123456789,b:{"z":1.50,"a":2})"#, whole),
        ("(6:[1.10])", "[1.10]"),
    ] {
        assert_eq!(result(&format!("wf[0].each{name}")), text);
    }
    let member = r#"wf[0].member(0:n:1.10,o:{"b":1e3,"a":"<"})"#;
    assert_eq!(result(member), r#"1.10 {"b":1e3,"a":"<"} 1.10"#);
    let numbers = "1.0,1e3,1.50,12345678901234567890,123456789012345678901234567890";
    assert_eq!(result("wf[1].all"), format!("[{numbers},{whole},[1.10]]"));
}

#[test]
fn items_of_a_manifest_are_floats_and_whole_numbers() {
    // YAML becomes JSON on its way in, and `1.50` a float; integers of 64 bits stay what they are.
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Items": [1.50, 1000.0, 12_345_678_901_234_567_890_u64, {"v": 1.0}]});
    let graph = json!({"templates": [{"name": "main", "body": {"Steps": [[call]]}}, greeting()]});
    let world = World::crashing(graph, echo);
    let names = ["(0:1.5)", "(1:1000)", "(2:12345678901234567890)", "(3:v:1)"];
    assert_eq!(world.started, names.map(|name| format!("wf[0].each{name}")));
    let last = world.run.step(world.key("wf[0].each(3:v:1)")).unwrap();
    assert_eq!(last.outputs.as_ref().unwrap().result.as_deref(), Some(r#"{"v":1}"#));
}

#[test]
fn a_loop_over_nothing_is_skipped() {
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Param": "[]"});
    let graph = json!({"templates": [{"name": "main", "body": {"Steps": [[call]]}}, greeting()]});
    let world = World::of(graph, echo);
    assert_eq!(world.phase("wf[0].each"), Phase::Skipped);
    assert_eq!(world.message("wf[0].each"), "Skipped, empty params");
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

#[test]
fn a_loop_that_is_no_list_is_an_error() {
    for (param, part) in
        [("7", "a number"), ("nonsense", "could not be parsed"), ("{}", "an object")]
    {
        let mut call = say("each", "{{item}}");
        call["each"] = json!({"Param": param});
        let graph =
            json!({"templates": [{"name": "main", "body": {"Steps": [[call]]}}, greeting()]});
        let world = World::of(graph, echo);
        assert_eq!(world.phase("wf[0].each"), Phase::Error);
        assert!(world.message("wf[0].each").contains(part), "{}", world.message("wf[0].each"));
    }
}

#[test]
fn sequences_count_up_down_and_by_format() {
    for (sequence, names) in [
        (json!({"count": "3"}), vec!["0", "1", "2"]),
        (json!({"start": "3", "end": "1"}), vec!["3", "2", "1"]),
        (json!({"start": "1", "count": "2", "format": "n%02d"}), vec!["n01", "n02"]),
        (json!({"count": "0"}), vec![]),
    ] {
        let mut call = say("each", "{{item}}");
        call["each"] = json!({"Sequence": sequence});
        let graph =
            json!({"templates": [{"name": "main", "body": {"Steps": [[call]]}}, greeting()]});
        let world = World::of(graph, echo);
        let expected: Vec<_> =
            names.iter().enumerate().map(|(at, name)| format!("wf[0].each({at}:{name})")).collect();
        assert_eq!(world.started, expected);
    }
}

#[test]
fn large_loops_are_made_in_bounded_turns() {
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Sequence": {"count": "2500"}});
    let graph = json!({"templates": [{"name": "main", "body": {"Steps": [[call]]}}, greeting()]});
    let world = World::of(graph, echo);
    assert_eq!(world.run.phase, RunPhase::Succeeded);
    assert_eq!(world.started.len(), 2_500);
    let most = world.turns.iter().map(|turn| turn.events.len()).max().unwrap();
    assert!(most <= 2 * 1_000 + 10, "{most} events in one turn");
}

#[test]
fn parallelism_bounds_the_run_and_a_template() {
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Sequence": {"count": "9"}});
    let main = json!({"name": "main", "body": {"Steps": [[call]]}});
    let mut graph = json!({"templates": [main, greeting()]});
    graph["parallelism"] = json!(2);
    assert_eq!(World::of(graph.clone(), echo).most_alive, 2);
    graph["parallelism"] = json!(null);
    graph["templates"][0]["parallelism"] = json!(3);
    let world = World::of(graph, echo);
    assert_eq!((world.most_alive, world.started.len()), (3, 9));
}

#[test]
fn skipped_outputs_take_defaults_in_the_stated_order() {
    let mut producer = task("gen", "");
    producer["when"] = json!("1 == 2");
    for (producer_default, consumer_default, expected) in [
        (json!("from-producer"), json!("from-consumer"), Ok("from-producer")),
        (json!(null), json!("from-consumer"), Ok("from-consumer")),
        (json!(null), json!(null), Err(())),
    ] {
        let graph = json!({"templates": [
            {"name": "main", "body": {"Steps": [[producer.clone()], [
                {"name": "use", "target": {"Template": 2}, "arguments": {"parameters": [
                    {"name": "text", "value": "{{steps.gen.outputs.parameters.out}}"}]}}]]}},
            {"name": "leaf", "body": {"Process": {}}, "outputs": {"parameters": [
                {"name": "out", "from": {"Path": "/tmp/out"}, "default": producer_default}]}},
            {"name": "say", "inputs": {"parameters": [{"name": "text", "default": consumer_default}]},
             "body": {"Process": {"main": {"args": ["{{inputs.parameters.text}}"]}}}}]});
        let world = World::of(graph, echo);
        assert_eq!(world.phase("wf[0].gen"), Phase::Skipped);
        match expected {
            Ok(text) => {
                let step = world.run.step(world.key("wf[1].use")).unwrap();
                assert_eq!(step.outputs.as_ref().unwrap().result.as_deref(), Some(text));
            }
            Err(()) => assert_eq!(world.phase("wf[1].use"), Phase::Error),
        }
    }
}

#[test]
fn declared_outputs_are_passed_up_and_made_global() {
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[task("gen", "")]]}, "outputs": {"parameters": [
            {"name": "up", "from": {"Parameter": "{{steps.gen.outputs.parameters.out}}"}},
            {"name": "sum", "from": {"Expression": "int(steps.gen.outputs.parameters.out) + 1"}}]}},
        {"name": "leaf", "body": {"Process": {}}, "outputs": {"parameters": [
            {"name": "out", "from": {"Path": "/tmp/out"}, "global_name": "everybody"}]}}]});
    let world = World::of(graph, |_, _, _| writing("out", "41"));
    assert_eq!(world.output("wf", "up"), Some(json!("41")));
    assert_eq!(world.output("wf", "sum"), Some(json!(42)));
    assert_eq!(world.run.globals.get("everybody"), Some(&json!("41")));
}

#[test]
fn endless_recursion_ends_at_the_limit() {
    let graph = json!({"templates": [
        {"name": "main", "body": {"Steps": [[{"name": "again", "target": {"Template": 0}}]]}}]});
    let world = World::of(graph, |_, _, _| ok());
    assert_eq!(world.run.phase, RunPhase::Failed);
    let deepest = world.run.steps.iter().filter_map(|step| step.message.as_deref());
    let told = "[E0206] Maximum recursion depth exceeded";
    assert!(deepest.into_iter().any(|text| text.starts_with(told)));
}

/// Templates that call each other down to a process: so many levels with it. They take turns in
/// what they are, and the outermost is tried again.
fn nested(levels: usize) -> Value {
    let template = |at: usize| {
        let call = json!({"name": "in", "target": {"Template": at + 1}});
        let body = match at % 2 {
            0 => json!({"Steps": [[call]]}),
            _ => json!({"Dag": {"tasks": [call]}}),
        };
        let retry = if at == 0 { json!({"limit": "1"}) } else { Value::Null };
        json!({"name": format!("t{at}"), "body": body, "retry": retry})
    };
    let mut templates: Vec<Value> = (0..levels - 1).map(template).collect();
    templates.push(json!({"name": "leaf", "body": {"Process": {}}}));
    json!({"templates": templates})
}

#[test]
fn as_many_levels_as_the_limit_are_called_and_one_more_is_not() {
    let most = usize::try_from(limits::CALL_DEPTH.max).unwrap();
    let passed = World::of(nested(most), |_, _, _| ok());
    assert_eq!((passed.run.phase, passed.started.len()), (RunPhase::Succeeded, 1));
    let refused = World::of(nested(most + 1), |_, _, _| ok());
    assert_eq!((refused.run.phase, refused.started.len()), (RunPhase::Failed, 0));
    let messages = refused.run.steps.iter().filter_map(|step| step.message.as_deref());
    let said = messages.filter(|text| text.ends_with("the limit `call-depth` is 100")).count();
    assert_eq!(said, 2, "in each try of the outermost");
}

#[test]
fn a_run_that_is_lost_after_every_turn_ends_alike() {
    let mut each = say("each", "{{item}}");
    each["each"] = json!({"Items": ["x", "y", "z"]});
    let mut skipped = say("skipped", "s");
    skipped["when"] = json!("false");
    let graphs = [
        dag(&json!([
            task("A", ""),
            task("B", "A"),
            task("C", "A.Failed"),
            task("D", "B && !C.Succeeded")
        ])),
        dag(&json!([
            task("A", ""),
            task("A2", "A"),
            task("B", "any(A, A2)"),
            task("C", "atLeast(2, A, A2, B)")
        ])),
        json!({"parallelism": 1, "templates": [
            {"name": "main", "parallelism": 2, "body": {"Steps": [[each.clone(), skipped], [say("b", "{{steps.each.outputs.result}}")]]}},
            greeting()]}),
        json!({"templates": [
            {"name": "main", "body": {"Steps": [[{"name": "in", "target": {"Template": 2}}]]}},
            greeting(),
            {"name": "inner", "retry": {"limit": "2", "policy": "Always"}, "body": {"Steps": [[say("flaky", "f")]]}}]}),
    ];
    for graph in graphs {
        let answer = |name: &str, n: u32, p: &argosy_model::ProcessSpec| {
            if name.contains("in(0)") || name.ends_with("wf.A2") {
                code(1)
            } else {
                echo(name, n, p)
            }
        };
        let calm = World::of(graph.clone(), answer);
        let crashed = World::crashing(graph, answer);
        assert!(calm.run.phase.is_terminal());
        assert_eq!(calm.run.phase, crashed.run.phase);
        let ends = |world: &World| {
            let mut ends: Vec<_> = world
                .names()
                .into_iter()
                .map(|n| {
                    let p = world.phase(&n);
                    (n, p)
                })
                .collect();
            ends.sort_by(|a, b| a.0.cmp(&b.0));
            ends
        };
        assert_eq!(ends(&calm), ends(&crashed));
    }
}

#[test]
fn a_hook_about_an_item_sees_the_item() {
    let taker = json!({
        "name": "taker",
        "inputs": {"parameters": [{"name": "p"}]},
        "body": {"Process": {"main": {"args": ["{{inputs.parameters.p}}"]}}},
    });
    let arguments = json!({"parameters": [{"name": "p", "value": "{{item}}"}]});
    let hook = json!({"name": "exit", "call": {"target": {"Template": 1}, "arguments": arguments}});
    let mut a = task("a", "");
    a["arguments"] = arguments;
    a["each"] = json!({"Items": ["x", "w"]});
    a["hooks"] = json!([hook]);
    let main = json!({"name": "main", "body": {"Dag": {"tasks": [a]}}});
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let answers = std::rc::Rc::clone(&seen);
    let world = World::of(json!({"templates": [main, taker]}), move |name, _, process| {
        answers.borrow_mut().push(format!("{name} {}", process.main.args.join(" ")));
        ok()
    });
    assert_eq!(world.run.phase, RunPhase::Succeeded, "{:?}", world.run.main);
    let mut seen = seen.take();
    seen.sort();
    assert_eq!(seen, ["wf.a(0:x) x", "wf.a(0:x).onExit x", "wf.a(1:w) w", "wf.a(1:w).onExit w"]);
}

#[test]
fn a_complete_loop_ends_when_its_last_item_ends_right_after_a_loss() {
    let mut call = say("each", "{{item}}");
    call["each"] = json!({"Items": ["only"]});
    let graph = json!({"templates": [{"name": "main", "body": {"Steps": [[call]]}}, greeting()]});
    let mut world = World::of(graph, |_, _, _| None);
    world.lose();
    world.end("wf[0].each(0:only)", 0);
    assert_eq!(world.run.phase, RunPhase::Succeeded);
}

#[test]
fn what_awaits_some_of_many_starts_with_the_last_that_decides() {
    // t0 and t1 fail. Each task with the number of tasks that have ended, in their order, when it
    // can be told whether it runs, and whether it does.
    let all = (0..20).map(|at| format!("t{at}")).collect::<Vec<_>>().join(", ");
    let cases = [
        ("ten", format!("atLeast(10, {all})"), 12, true),
        ("failed", "atLeast(2, t0.Failed, t1.Failed, t2.Failed)".to_owned(), 2, true),
        ("both", format!("any({all}) && !any(t5.Failed, t6.Failed)"), 7, true),
        ("either", format!("any({all}) || t4"), 5, true),
        ("again", "atLeast(2, any(t0, t1, t3), t3, !t3)".to_owned(), 4, true),
        ("never", format!("atLeast(19, {all})"), 2, false),
    ];
    for lost in [None, Some(1), Some(4), Some(9)] {
        let mut tasks: Vec<Value> = (0..20).map(|at| task(&format!("t{at}"), "")).collect();
        tasks.extend(cases.iter().map(|(name, depends, ..)| task(name, depends)));
        let plan = Plan::Graph(Box::new(graph(dag(&json!(tasks)))));
        let mut world = World::start(plan, |_, _, _| None, false);
        world.pass(0);
        for ended in 1..20 {
            world.end(&format!("wf.t{}", ended - 1), i32::from(ended <= 2));
            if lost == Some(ended) {
                world.lose();
            }
            world.pass(0);
            for (name, _, decided, runs) in &cases {
                let name = format!("wf.{name}");
                let there = world.names().contains(&name);
                assert_eq!(there, ended >= *decided, "{name} after {ended}, lost {lost:?}");
                assert_eq!(world.started.contains(&name), there && *runs, "{name}");
            }
        }
    }
}

#[test]
fn the_list_of_failures_is_as_long_as_a_value_may_be() {
    // JSON in a text of Go: nothing in it but quotes needs an escape.
    let list = |message: &str| {
        let list = json!([{
            "displayName": "wf", "message": message, "templateName": "leaf", "phase": "Error",
            "podName": "wf", "finishedAt": "1970-01-01T00:00:01Z"}]);
        Value::from(list.to_string()).to_string()
    };
    let room = (1 << 20) - list("").len();
    for (length, fits) in [(0, true), (room, true), (room + 1, false)] {
        let message = "m".repeat(length);
        let expected = list(&message);
        let bye = json!({"name": "bye", "target": {"Template": 1},
            "arguments": {"parameters": [{"name": "p", "value": "{{workflow.failures}}"}]}});
        let graph = json!({"on_exit": bye, "templates": [leaf(),
            {"name": "told", "inputs": {"parameters": [{"name": "p"}]}, "body": {"Process": {}}}]});
        let world = World::of(graph, move |name, _, _| match name {
            "wf" => Some(End::with_message(Exit::Refused, message.clone())),
            _ => ok(),
        });
        let exit = world.run.step(world.key("wf.onExit")).unwrap();
        if fits {
            let inputs = &exit.inputs.as_deref().unwrap().parameters;
            assert_eq!(inputs[0].as_deref(), Some(&*expected), "{length}");
        } else {
            let told = "[E0107] {{workflow.failures}} has more than the 1048576 bytes that a value \
                        may have";
            assert_eq!(exit.message.as_deref(), Some(told));
        }
    }
}

#[test]
fn the_list_of_failures_has_those_that_came_after_somebody_looked() {
    // Of three that look at it in turn the second fails; then d fails, which was there before.
    let tell = |name: &str| {
        json!({"name": name, "target": {"Template": 1}, "continue_on_failed": true,
            "arguments": {"parameters": [{"name": "p", "value": "{{workflow.failures}}"}]}})
    };
    let group = |name: &str| json!([tell(name)]);
    let graph = json!({"templates": [
        {"name": "main", "body": {"Dag": {"fail_fast": false, "tasks": [
            task("d", ""), {"name": "looks", "target": {"Template": 2}}]}}},
        {"name": "leaf", "inputs": {"parameters": [{"name": "p", "default": ""}]}, "body": {"Process": {}}},
        {"name": "looks", "body": {"Steps": [group("a"), group("b"), group("c"), group("e")]}}]});
    let mut world = World::start(Plan::Graph(Box::new(self::graph(graph))), |_, _, _| None, false);
    world.pass(0);
    let mut told = Vec::new();
    for (step, exit) in [("[0].a", 0), ("[1].b", 1), ("[2].c", 0), ("[3].e", 0)] {
        let name = format!("wf.looks{step}");
        let inputs = world.run.step(world.key(&name)).unwrap().inputs.as_deref().unwrap();
        let text: String = serde_json::from_str(inputs.parameters[0].as_deref().unwrap()).unwrap();
        let list: Option<Vec<Value>> = serde_json::from_str(&text).unwrap();
        let names = list.unwrap_or_default().into_iter().map(|node| node["displayName"].clone());
        told.push(names.collect::<Vec<_>>());
        if step == "[2].c" {
            world.end("wf.d", 1);
        }
        world.end(&name, exit);
        world.pass(0);
    }
    let expected = [json!([]), json!([]), json!(["b"]), json!(["d", "b"])];
    assert_eq!(told.into_iter().map(Value::from).collect::<Vec<_>>(), expected);
}
