//! The engine alone: runs at the documented limits, driven by inputs without a server, with every
//! attempt answered at once. What one task costs, and the longest that one turn keeps all other
//! runs waiting.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use argosy_engine::{Decision, Input, Prepared, Run, decide, submit};
use argosy_model::attempt::{End, Exit};
use argosy_model::graph::Body;
use argosy_model::run::Plan;
use argosy_model::{AttemptId, Effect, RunId, RunPhase, RunSpec, Shutdown};
use serde_json::{Value, json};

use super::{Bench, Row};
use crate::run::{cargo, output};

/// Items, tasks, calls and dependents that one node may have.
const MANY: usize = 100_000;

/// What else the machine does makes single turns longer. A run goes the same way each time, so the
/// least that each turn has taken in this many runs is what it takes.
const REPEATS: usize = 6;

const TURN: &str = "10 ms";

/// Has a build with optimisation measure, which this one need not be.
pub(super) fn measure(_: &Bench) -> Result<Vec<Row>, String> {
    let mut command = cargo(&["run", "--release", "--quiet", "--package", "xtask", "--"]);
    let lines = output(command.arg("bench-engine"))?;
    let row = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        let (what, ours, goal) = (cells.next()?, cells.next()?, cells.next()?);
        Some(Row::plain(&what, ours, &goal))
    };
    Ok(lines.lines().filter_map(row).collect())
}

/// Measures in this build.
pub(super) fn here() -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (what, graph, end) in [
        ("loop of 100,000", looped(MANY), RunPhase::Succeeded),
        ("DAG of 100,000 tasks", tasks(|_| None), RunPhase::Succeeded),
        ("100,000 tasks after one", tasks(|at| (at > 0).then(|| "t0".into())), RunPhase::Succeeded),
        ("chain of 100,000 tasks", tasks(after_the_last), RunPhase::Succeeded),
        ("join of 100,000 tasks", tasks(joined), RunPhase::Succeeded),
        ("half of 100,000 tasks awaited", tasks(half), RunPhase::Succeeded),
        ("100,000 failures that 1,000 calls look at", failures(), RunPhase::Failed),
        ("group of 100,000 calls", group(), RunPhase::Succeeded),
        ("100,000 groups", groups(), RunPhase::Succeeded),
        ("template that calls itself twice", doubling(), RunPhase::Error),
        ("loops in loops, 100 three deep", nested(3), RunPhase::Error),
        ("loops in loops, 20 four deep", nested_of(20, 4), RunPhase::Succeeded),
    ] {
        let best = best(|| driven(&graph, end))?;
        let each = best.turns.iter().sum::<Duration>().as_secs_f64() * 1e6 / best.steps as f64;
        let ours = format!("{each:.1} us");
        rows.push(Row::plain(&format!("engine, {what}: a step"), ours, "100 us"));
        rows.push(turn(what, best.longest(), "the longest turn"));
        if best.prepare > Duration::from_millis(10) {
            let ours = format!("{:.1} ms", best.prepare.as_secs_f64() * 1e3);
            let what = format!("engine, {what}: to read its graph");
            rows.push(Row::plain(&what, ours, "none, as it is done beside the loop"));
        }
    }
    let ended = best(|| terminated(false))?;
    rows.push(turn("terminate with 100,000 queued", ended.longest(), "the longest turn"));
    let ended = best(|| terminated(true))?;
    rows.push(turn("terminate with 100,000 running", ended.longest(), "the longest turn"));
    Ok(rows)
}

fn turn(what: &str, time: Duration, which: &str) -> Row {
    let ours = format!("{:.2} ms", time.as_secs_f64() * 1e3);
    Row::plain(&format!("engine, {what}: {which}"), ours, TURN)
}

fn best(mut once: impl FnMut() -> Result<Figures, String>) -> Result<Figures, String> {
    let mut best = once()?;
    for _ in 1..REPEATS {
        let next = once()?;
        best.prepare = best.prepare.min(next.prepare);
        for (least, took) in best.turns.iter_mut().zip(next.turns) {
            *least = took.min(*least);
        }
    }
    Ok(best)
}

#[derive(Default)]
struct Figures {
    prepare: Duration,
    /// What each turn has taken.
    turns: Vec<Duration>,
    steps: usize,
}

impl Figures {
    fn longest(&self) -> Duration {
        self.turns.iter().copied().max().unwrap_or_default()
    }
}

/// A run with what comes to it next.
struct Drive {
    run: Run,
    inputs: VecDeque<Input>,
    figures: Figures,
    answers: bool,
}

impl Drive {
    fn begin(graph: &Value, answers: bool) -> Result<Drive, String> {
        let began = Instant::now();
        let prepared = Prepared::from(spec(graph)?);
        let prepare = began.elapsed();
        let began = Instant::now();
        let (run, decision) = submit(RunId(1), prepared, 0);
        let took = began.elapsed();
        let figures = Figures { prepare, turns: vec![took], steps: 0 };
        let mut drive = Drive { run, inputs: VecDeque::new(), figures, answers };
        drive.carry_out(decision);
        Ok(drive)
    }

    fn input(&mut self, input: Input) {
        let began = Instant::now();
        let decision = decide(&mut self.run, input, 1);
        let took = began.elapsed();
        self.figures.turns.push(took);
        self.carry_out(decision);
    }

    fn carry_out(&mut self, decision: Decision) {
        for effect in decision.effects {
            match effect {
                Effect::Enqueue(job) => {
                    self.inputs.push_back(Input::Placed { attempt: job.attempt, machine: 0 });
                }
                Effect::Start(attempt) if self.answers => {
                    let code = i32::from(self.fails(attempt));
                    self.end(attempt, Exit::Code(code));
                }
                Effect::Kill(attempt, _) => self.end(attempt, Exit::Killed),
                Effect::WakeAt(_, at) if at <= 1 && !self.inputs.contains(&Input::Wake) => {
                    self.inputs.push_back(Input::Wake);
                }
                _ => {}
            }
        }
    }

    fn fails(&self, attempt: AttemptId) -> bool {
        match self.run.template_of(attempt.step).map(|template| &template.body) {
            Some(Body::Process(process)) => process.main.image == FAILS,
            _ => false,
        }
    }

    fn end(&mut self, attempt: AttemptId, exit: Exit) {
        let end = Box::new(End { started_ms: 1, ended_ms: 1, ..End::bare(exit) });
        self.inputs.push_back(Input::Ended { attempt, end });
    }

    fn settle(&mut self) {
        while let Some(input) = self.inputs.pop_front() {
            self.input(input);
        }
    }

    fn finish(mut self, end: RunPhase) -> Result<Figures, String> {
        self.figures.steps = self.run.steps.len();
        if self.run.phase == end {
            return Ok(self.figures);
        }
        Err(format!("the run is {:?} and not {end:?}: {}", self.run.phase, self.run.message))
    }
}

fn driven(graph: &Value, end: RunPhase) -> Result<Figures, String> {
    let mut drive = Drive::begin(graph, true)?;
    drive.settle();
    drive.finish(end)
}

fn terminated(running: bool) -> Result<Figures, String> {
    let mut drive = Drive::begin(&looped(MANY), false)?;
    while drive.run.steps.len() < MANY {
        drive.input(Input::Wake);
    }
    if running {
        drive.settle();
    }
    drive.inputs.clear();
    drive.figures.turns.clear();
    drive.input(Input::Shutdown { how: Shutdown::Terminate, message: String::new() });
    drive.settle();
    drive.finish(RunPhase::Failed)
}

fn spec(graph: &Value) -> Result<RunSpec, String> {
    let graph = serde_json::from_value(graph.clone()).map_err(|error| error.to_string())?;
    Ok(RunSpec {
        space: "default".into(),
        name: "bench".into(),
        uid: "u".into(),
        door: "bench".into(),
        labels: Vec::new(),
        priority: 0,
        plan: Plan::Graph(Box::new(graph)),
        source: Value::Null,
    })
}

fn with_leaf(body: &Value) -> Value {
    json!({"templates": [{"name": "main", "body": body}, {"name": "leaf", "body": {"Process": {}}}]})
}

fn call(name: &str) -> Value {
    json!({"name": name, "target": {"Template": 1}})
}

fn looped(count: usize) -> Value {
    let mut each = call("each");
    each["each"] = json!({"Sequence": {"count": count.to_string()}});
    with_leaf(&json!({"Steps": [[each]]}))
}

fn tasks(depends: impl Fn(usize) -> Option<String>) -> Value {
    let tasks = (0..MANY).map(|at| {
        let mut task = call(&format!("t{at}"));
        task["depends"] = json!(depends(at));
        task
    });
    with_leaf(&json!({"Dag": {"tasks": tasks.collect::<Vec<_>>()}}))
}

fn after_the_last(at: usize) -> Option<String> {
    Some(format!("t{}", at.checked_sub(1)?))
}

fn joined(at: usize) -> Option<String> {
    let all = || (0..at).map(|at| format!("t{at}")).collect::<Vec<_>>().join(" && ");
    (at == MANY - 1).then(all)
}

/// The last task starts once half of the others have succeeded.
fn half(at: usize) -> Option<String> {
    let all = || (0..at).map(|at| format!("t{at}")).collect::<Vec<_>>().join(", ");
    (at == MANY - 1).then(|| format!("atLeast({}, {})", MANY / 2, all()))
}

/// The image of processes that fail.
const FAILS: &str = "fails";

/// A loop of which all fails, and an exit handler in which every item names the failures.
fn failures() -> Value {
    let mut graph = looped(MANY);
    graph["templates"][1]["body"]["Process"] = json!({"main": {"image": FAILS}});
    let each = json!({"Sequence": {"count": "1000"}});
    let arguments = json!({"parameters": [{"name": "p", "value": "{{workflow.failures}}"}]});
    let call =
        json!({"name": "tell", "target": {"Template": 3}, "each": each, "arguments": arguments});
    let templates = [
        json!({"name": "bye", "body": {"Steps": [[call]]}}),
        json!({"name": "told", "inputs": {"parameters": [{"name": "p"}]}, "body": {"Process": {}}}),
    ];
    graph["templates"].as_array_mut().into_iter().for_each(|list| list.extend(templates.clone()));
    graph["on_exit"] = json!({"name": "bye", "target": {"Template": 2}});
    graph
}

fn group() -> Value {
    let calls: Vec<Value> = (0..MANY).map(|at| call(&format!("s{at}"))).collect();
    with_leaf(&json!({"Steps": [calls]}))
}

fn groups() -> Value {
    let groups: Vec<Value> = (0..MANY).map(|at| json!([call(&format!("s{at}"))])).collect();
    with_leaf(&json!({"Steps": groups}))
}

fn doubling() -> Value {
    let again = |name: &str| json!({"name": name, "target": {"Template": 0}});
    json!({"templates": [{"name": "main", "body": {"Steps": [[again("a"), again("b")]]}}]})
}

fn nested(depth: usize) -> Value {
    nested_of(100, depth)
}

/// Loops over lists that are known only while the run goes on, so that nothing is refused
/// beforehand.
fn nested_of(count: usize, depth: usize) -> Value {
    let list = json!(vec![0; count]).to_string();
    let mut templates: Vec<Value> = (0..depth)
        .map(|at| {
            let call =
                json!({"name": "each", "target": {"Template": at + 1}, "each": {"Param": list}});
            json!({"name": format!("l{at}"), "body": {"Steps": [[call]]}})
        })
        .collect();
    templates.push(json!({"name": "leaf", "body": {"Process": {}}}));
    json!({"templates": templates})
}
