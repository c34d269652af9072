//! A world for one run: it places every job at once, answers every start as it is told, and lets
//! time pass when nothing else is left to do. After every turn it checks that the events alone
//! make the same run; on request it also loses the run and loads it again.

#![allow(dead_code, reason = "each test binary uses a part of the harness")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use argosy_engine::{Decision, Input, Run, decide, names, pending, render, submit};
use argosy_model::attempt::{End, Exit};
use argosy_model::process::ProcessSpec;
use argosy_model::run::Plan;
use argosy_model::{
    AttemptId, Effect, Graph, Item, Outputs, Phase, RunId, RunSpec, StepKey, TaskSpec, Turn,
};
use serde_json::Value;

pub type Answer = Box<dyn FnMut(&str, u32, &ProcessSpec) -> Option<End>>;

pub struct World {
    pub run: Run,
    pub now_ms: i64,
    /// Full names of the steps whose processes were started, in order.
    pub started: Vec<String>,
    /// Most attempts alive at once.
    pub most_alive: usize,
    pub turns: Vec<Turn>,
    /// Every order, in order.
    pub told: Vec<Effect>,
    /// Whether all locks are somebody else's.
    pub locked: bool,
    /// What is found under every key of every cache.
    kept: Option<(i64, Box<Outputs>)>,
    alive: Vec<AttemptId>,
    answer: Answer,
    crash: bool,
    inputs: VecDeque<Input>,
    later: Vec<(i64, Input)>,
}

/// Ms that every process takes.
pub const RUN_MS: i64 = 100;

pub fn graph(value: Value) -> Graph {
    serde_json::from_value(value).expect("the test's graph is one")
}

pub fn spec(plan: Plan) -> RunSpec {
    RunSpec {
        space: "default".into(),
        name: "wf".into(),
        uid: "u-1".into(),
        door: "test".into(),
        labels: Vec::new(),
        priority: 0,
        plan,
        source: Value::Null,
    }
}

pub fn ok() -> Option<End> {
    Some(End::bare(Exit::Code(0)))
}

pub fn code(code: i32) -> Option<End> {
    Some(End::bare(Exit::Code(code)))
}

pub fn printing(result: &str) -> Option<End> {
    let outputs = Outputs { result: Some(result.into()), ..Outputs::default() };
    Some(End { outputs, ..End::bare(Exit::Code(0)) })
}

pub fn writing(name: &str, value: &str) -> Option<End> {
    let parameters = vec![(name.into(), Value::from(value))];
    Some(End { outputs: Outputs { parameters, ..Outputs::default() }, ..End::bare(Exit::Code(0)) })
}

impl World {
    /// Runs a graph to its end, or until only something outside can move it.
    pub fn of(
        value: Value,
        answer: impl FnMut(&str, u32, &ProcessSpec) -> Option<End> + 'static,
    ) -> World {
        let mut world = World::start(Plan::Graph(Box::new(graph(value))), answer, false);
        world.settle();
        world
    }

    /// The same, with something in every cache.
    pub fn with_cache(
        value: Value,
        kept: Option<(i64, Box<Outputs>)>,
        answer: impl FnMut(&str, u32, &ProcessSpec) -> Option<End> + 'static,
    ) -> World {
        let mut world = World::begin(Plan::Graph(Box::new(graph(value))), answer, false, kept);
        world.settle();
        world
    }

    pub fn of_task(
        task: TaskSpec,
        answer: impl FnMut(&str, u32, &ProcessSpec) -> Option<End> + 'static,
    ) -> World {
        let mut world = World::start(Plan::Task(Box::new(task)), answer, false);
        world.settle();
        world
    }

    /// The same, with the run lost and loaded again after every turn.
    pub fn crashing(
        value: Value,
        answer: impl FnMut(&str, u32, &ProcessSpec) -> Option<End> + 'static,
    ) -> World {
        let mut world = World::start(Plan::Graph(Box::new(graph(value))), answer, true);
        world.settle();
        world
    }

    pub fn start(
        plan: Plan,
        answer: impl FnMut(&str, u32, &ProcessSpec) -> Option<End> + 'static,
        crash: bool,
    ) -> World {
        World::begin(plan, answer, crash, None)
    }

    fn begin(
        plan: Plan,
        answer: impl FnMut(&str, u32, &ProcessSpec) -> Option<End> + 'static,
        crash: bool,
        kept: Option<(i64, Box<Outputs>)>,
    ) -> World {
        let (run, decision) = submit(RunId(1), spec(plan), 1_000);
        let mut world = World {
            run,
            now_ms: 1_000,
            started: Vec::new(),
            most_alive: 0,
            turns: Vec::new(),
            told: Vec::new(),
            locked: false,
            kept,
            alive: Vec::new(),
            answer: Box::new(answer),
            crash,
            inputs: VecDeque::new(),
            later: Vec::new(),
        };
        world.take(decision);
        world
    }

    pub fn input(&mut self, input: Input) {
        let decision = decide(&mut self.run, input, self.now_ms);
        self.take(decision);
    }

    /// Loses the run and loads it again; nothing is carried out yet.
    pub fn lose(&mut self) {
        self.run = self.reload();
    }

    /// Ends a running step's process.
    pub fn end(&mut self, name: &str, exit: i32) {
        let attempt = self.run.current_attempt(self.key(name)).unwrap().0;
        self.input(Input::Ended { attempt, end: Box::new(End::bare(Exit::Code(exit))) });
    }

    /// Everything that can happen without a word from outside.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            if let Some(input) = self.next() {
                self.input(input);
                continue;
            }
            self.later.sort_by_key(|(at, _)| *at);
            if self.later.is_empty() || self.run.phase.is_terminal() {
                return;
            }
            let (at, input) = self.later.remove(0);
            self.now_ms = self.now_ms.max(at);
            self.input(input);
        }
        panic!("the run does not come to rest");
    }

    /// What happens next; nobody is given locks that are somebody else's.
    fn next(&mut self) -> Option<Input> {
        let locked = self.locked;
        self.inputs.retain(|input| !locked || !matches!(input, Input::LocksGiven { .. }));
        self.inputs.pop_front()
    }

    /// Lets what is due until `ms` after now happen.
    pub fn pass(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        loop {
            if let Some(input) = self.next() {
                self.input(input);
                continue;
            }
            self.later.sort_by_key(|(at, _)| *at);
            match self.later.first() {
                Some((at, _)) if *at <= until => {
                    let (at, input) = self.later.remove(0);
                    self.now_ms = self.now_ms.max(at);
                    self.input(input);
                }
                _ => break,
            }
        }
        self.now_ms = until;
    }

    fn take(&mut self, decision: Decision) {
        let Decision { events, mut effects } = decision;
        let something = !events.is_empty();
        self.told.extend(effects.iter().cloned());
        if something {
            self.turns.push(Turn { run: self.run.id, at_ms: self.now_ms, cause: None, events });
            self.check_replay();
        }
        if self.crash && something {
            let snapshot = self.reload();
            self.run = snapshot;
            effects = pending(&self.run, self.now_ms);
            self.inputs.clear();
            // Whoever knows of all locks learns of them from the runs.
            let waiting = self.run.locks.iter().filter(|(_, holding)| !holding.taken);
            self.inputs.extend(waiting.map(|(step, _)| Input::LocksGiven { step: *step }));
            self.later.retain(|(_, input)| matches!(input, Input::Ended { .. }));
        }
        effects.into_iter().for_each(|effect| self.carry_out(effect));
    }

    /// The run made of its events is the run that was decided on.
    fn check_replay(&self) {
        // Replaying everything after every turn is quadratic: large runs are checked at their end.
        if self.turns.len() > 100 && !self.run.phase.is_terminal() {
            return;
        }
        let mut turns = self.turns.iter();
        let mut replayed = Run::from_turn(turns.next().unwrap()).unwrap();
        turns.for_each(|turn| replayed.apply(turn).unwrap());
        assert_eq!(replayed.head(), self.run.head());
        assert_eq!(replayed.steps, self.run.steps);
        assert_eq!(replayed.bytes(), self.run.bytes());
    }

    /// The run from a snapshot of itself.
    fn reload(&self) -> Run {
        let pages = (0..=self.run.steps.len() / argosy_engine::PAGE_STEPS)
            .map(|number| {
                let text = serde_json::to_string(&self.run.page(number)).unwrap();
                serde_json::from_str(&text).unwrap()
            })
            .collect();
        let head = serde_json::from_str(&serde_json::to_string(&self.run.head()).unwrap()).unwrap();
        let items: BTreeMap<StepKey, Arc<Vec<Item>>> = self.run.items.clone();
        let mut run = Run::restore(self.run.id, Arc::clone(&self.run.spec), head, pages, items);
        run.rebuild(self.now_ms);
        assert_eq!(run.bytes(), self.run.bytes());
        run.max_bytes = self.run.max_bytes;
        run
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Recall { step, cache, key, .. } => {
                let found = self.kept.clone();
                self.inputs.push_back(Input::Recalled { step, at: (cache, key), found });
            }
            Effect::Enqueue(job) => {
                let input = Input::Placed { attempt: job.attempt, machine: 0 };
                if job.not_before_ms > self.now_ms {
                    self.later.push((job.not_before_ms, input));
                } else {
                    self.inputs.push_back(input);
                }
            }
            Effect::Withdraw(id) => {
                self.alive.retain(|alive| *alive != id);
                self.later.retain(
                    |(_, input)| !matches!(input, Input::Placed { attempt, .. } if *attempt == id),
                );
            }
            Effect::Start(id) => self.start_attempt(id),
            Effect::Kill(id, _) => {
                self.later.retain(
                    |(_, input)| !matches!(input, Input::Ended { attempt, .. } if *attempt == id),
                );
                self.inputs.push_back(Input::Ended {
                    attempt: id,
                    end: Box::new(End { ended_ms: self.now_ms, ..End::bare(Exit::Killed) }),
                });
            }
            Effect::WakeAt(_, at) if at <= self.now_ms => self.inputs.push_back(Input::Wake),
            Effect::WakeAt(_, at) => self.later.push((at, Input::Wake)),
            Effect::Acquire(_, step) if !self.locked => {
                self.inputs.push_back(Input::LocksGiven { step });
            }
            Effect::Acquire(..)
            | Effect::Release(..)
            | Effect::Remember(..)
            | Effect::Archive(_) => {}
        }
    }

    fn start_attempt(&mut self, id: AttemptId) {
        if self.alive.contains(&id) {
            return;
        }
        self.alive.push(id);
        self.most_alive = self.most_alive.max(self.alive.len());
        let name = names::full_name(&self.run, id.step);
        self.started.push(name.clone());
        let end = match render(&self.run, id) {
            Ok(rendered) => (self.answer)(&name, id.number, &rendered.process),
            Err(why) => Some(End::with_error(Exit::Refused, &why)),
        };
        self.inputs.push_back(Input::Started { attempt: id, at_ms: self.now_ms });
        let Some(mut end) = end else { return };
        end.started_ms = self.now_ms;
        end.ended_ms = self.now_ms + RUN_MS;
        self.later.push((end.ended_ms, Input::Ended { attempt: id, end: Box::new(end) }));
    }

    /// The step of that full name.
    pub fn key(&self, name: &str) -> StepKey {
        let keys = (0u32..).map(StepKey).take(self.run.steps.len());
        keys.into_iter()
            .find(|key| names::full_name(&self.run, *key) == name)
            .unwrap_or_else(|| panic!("no step {name}; there are {:?}", self.names()))
    }

    pub fn names(&self) -> Vec<String> {
        let keys = (0u32..).map(StepKey).take(self.run.steps.len());
        keys.map(|key| names::full_name(&self.run, key)).collect()
    }

    pub fn phase(&self, name: &str) -> Phase {
        self.run.step(self.key(name)).unwrap().phase
    }

    pub fn message(&self, name: &str) -> String {
        self.run.step(self.key(name)).unwrap().message.as_deref().unwrap_or_default().to_owned()
    }

    pub fn output(&self, name: &str, parameter: &str) -> Option<Value> {
        let step = self.run.step(self.key(name)).unwrap();
        step.outputs.as_deref()?.parameter(parameter).cloned()
    }
}
