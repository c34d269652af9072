//! The state of a run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use argosy_model::graph::{Body, Call, Graph, Template};
use argosy_model::run::Plan;
use argosy_model::{
    Artifact, AttemptId, AttemptPhase, Holding, Item, Kind, Phase, Role, RunId, RunPhase, RunSpec,
    Shutdown, Step, StepKey, TaskSpec, limits,
};
use serde_json::Value;

use crate::compiled::Compiled;
use crate::failures::Listed;
use crate::frame::{Calls, Frames};
use crate::steps::Steps;

/// A run: the fold of its events, and indexes that are derived from that and never written.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// What was accepted.
    pub spec: Arc<RunSpec>,
    /// Its steps; a step's key is its position.
    pub steps: Steps,
    /// Tasks that running tasks asked for; `Kind::Task` steps name them by position (the run's own
    /// task is the first).
    pub tasks: Vec<Arc<TaskSpec>>,
    /// Items of fan-outs.
    pub items: BTreeMap<StepKey, Arc<Vec<Item>>>,
    /// Parameters that the whole run sees.
    pub globals: BTreeMap<Box<str>, Value>,
    /// Artifacts that the whole run sees.
    pub global_artifacts: BTreeMap<Box<str>, Artifact>,
    /// Labels as they are now.
    pub labels: Vec<(String, String)>,
    /// Locks that are held or waited for, by step; `StepKey::NONE` for the run's own.
    pub locks: BTreeMap<StepKey, Holding>,
    /// Its phase.
    pub phase: RunPhase,
    /// What a person should read about it.
    pub message: String,
    /// Unix ms of its acceptance.
    pub accepted_ms: i64,
    /// Unix ms of its end; 0 before.
    pub ended_ms: i64,
    /// Whether it was told to end early.
    pub shutdown: Option<Shutdown>,
    /// The text that came with it.
    pub shutdown_message: String,
    /// Whether nothing new may start until it is resumed.
    pub suspended: bool,
    /// Whether the main part's time was over before it was.
    pub deadline_passed: bool,
    /// The limit that it came to and could not pass, for a person: it ends without anything more
    /// being made.
    pub given_up: Option<String>,
    /// How the main part ended, once it has.
    pub main: Option<(RunPhase, String)>,
    /// How many events made it.
    pub events: u64,
    /// Keys of artifacts that were deleted by themselves. It is no fact of the run: whoever reads a
    /// finished run back says so.
    pub collected: BTreeSet<String>,
    /// The most bytes that it may hold: the limit `run-bytes`, or less where the caller says so.
    pub max_bytes: u64,

    pub(crate) compiled: Arc<Compiled>,
    pub(crate) frames: Frames,
    /// Steps of work that failed.
    pub(crate) failed: BTreeSet<StepKey>,
    /// The list of those, once somebody has asked for it; nothing where it is too long.
    pub(crate) failures: OnceLock<Option<Listed>>,
    /// Steps with a deadline, by time.
    pub(crate) timers: BTreeSet<(i64, StepKey)>,
    /// Attempts that are queued, placed or running.
    pub(crate) live_attempts: usize,
    /// Steps that may be opened, and could not be within the turn.
    pub(crate) ready: BTreeSet<StepKey>,
    /// What it holds, in bytes (`bytes.rs`).
    pub(crate) held: u64,
    /// Steps that wait for the run's parallelism, in order.
    pub(crate) throttled: VecDeque<StepKey>,
    /// Steps whose outputs are being looked up.
    pub(crate) recalling: BTreeSet<StepKey>,
    /// Steps with calls that could not be made within the turn, the deepest first: what has been
    /// begun is completed before more is begun.
    pub(crate) making: BTreeSet<(Reverse<u32>, StepKey)>,
    /// Steps that calls to be made come to at least.
    pub(crate) reserved: u64,
    /// While everything that is alive is being ended: the next step to look at.
    pub(crate) sweep: Option<StepKey>,
    /// Tasks that have ended before their children, with how many of those have been told.
    pub(crate) deserted: BTreeMap<StepKey, usize>,
    /// Keys of the root, the exit handler and the run's hooks.
    pub(crate) tops: Vec<StepKey>,
}

/// A run to be, with what is worked out from its graph once. That takes longer for a large graph
/// than a turn may, so it is for whoever hands the run in to do beforehand.
#[derive(Clone, Debug)]
pub struct Prepared {
    spec: Arc<RunSpec>,
    compiled: Arc<Compiled>,
}

impl Prepared {
    /// What is to be run.
    #[must_use]
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }
}

impl From<Arc<RunSpec>> for Prepared {
    fn from(spec: Arc<RunSpec>) -> Prepared {
        let compiled = Arc::new(Compiled::new(&spec));
        Prepared { spec, compiled }
    }
}

impl From<RunSpec> for Prepared {
    fn from(spec: RunSpec) -> Prepared {
        Arc::new(spec).into()
    }
}

impl Run {
    /// A run that has been accepted and has no steps yet.
    #[must_use]
    pub fn new(id: RunId, prepared: Prepared, accepted_ms: i64) -> Run {
        let Prepared { spec, compiled } = prepared;
        let tasks = match &spec.plan {
            Plan::Task(task) => vec![Arc::new((**task).clone())],
            Plan::Graph(_) => Vec::new(),
        };
        let labels = spec.labels.clone();
        Run {
            id,
            spec,
            steps: Steps::default(),
            tasks,
            items: BTreeMap::new(),
            globals: BTreeMap::new(),
            global_artifacts: BTreeMap::new(),
            labels,
            locks: BTreeMap::new(),
            phase: RunPhase::Running,
            message: String::new(),
            accepted_ms,
            ended_ms: 0,
            shutdown: None,
            shutdown_message: String::new(),
            suspended: false,
            deadline_passed: false,
            given_up: None,
            main: None,
            events: 0,
            collected: BTreeSet::new(),
            max_bytes: limits::RUN_BYTES.max,
            compiled,
            frames: Frames::default(),
            failed: BTreeSet::new(),
            failures: OnceLock::new(),
            timers: BTreeSet::new(),
            live_attempts: 0,
            ready: BTreeSet::new(),
            held: 0,
            throttled: VecDeque::new(),
            recalling: BTreeSet::new(),
            making: BTreeSet::new(),
            reserved: 0,
            sweep: None,
            deserted: BTreeMap::new(),
            tops: Vec::new(),
        }
    }

    /// What it holds in values and texts that came to it while it went on, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.held
    }

    /// The graph, when the run has one.
    #[must_use]
    pub fn graph(&self) -> Option<&Graph> {
        match &self.spec.plan {
            Plan::Graph(graph) => Some(graph),
            Plan::Task(_) => None,
        }
    }

    /// The step of that key.
    #[must_use]
    pub fn step(&self, key: StepKey) -> Option<&Step> {
        self.steps.get(key.index())
    }

    /// A step that is known to exist: keys in the state are only ever made by `evolve`.
    pub(crate) fn at(&self, key: StepKey) -> &Step {
        &self.steps[key.index()]
    }

    /// The children of a step, in the order in which they came to be. Hooks are among them.
    #[must_use]
    pub fn children(&self, key: StepKey) -> &[StepKey] {
        if key.is_none() {
            return &self.tops;
        }
        self.frames.get(key).map_or(&[], |frame| &frame.children)
    }

    /// The template that a step carries out, for steps of a graph.
    #[must_use]
    pub fn template_of(&self, key: StepKey) -> Option<&Template> {
        let step = self.step(key)?;
        if step.kind == Kind::Task {
            return None;
        }
        self.graph()?.templates.get(step.template as usize)
    }

    /// The task that a step carries out, for `Kind::Task`.
    #[must_use]
    pub fn task_of(&self, key: StepKey) -> Option<&TaskSpec> {
        let step = self.step(key)?;
        (step.kind == Kind::Task).then(|| self.tasks.get(step.template as usize).map(|t| &**t))?
    }

    /// The call that made a step. The root and containers have none.
    #[must_use]
    pub fn call_of(&self, key: StepKey) -> Option<&Call> {
        self.call_in(self.graph()?, key)
    }

    /// The same, looked up in the run's graph as the caller holds it.
    pub(crate) fn call_in<'g>(&self, graph: &'g Graph, key: StepKey) -> Option<&'g Call> {
        let mut at = key;
        loop {
            let step = self.step(at)?;
            match step.role {
                Role::Root | Role::Group(_) | Role::Container(_) | Role::Child(_) => return None,
                Role::Exit => return graph.on_exit.as_deref(),
                Role::RunHook(index) => {
                    return graph.hooks.get(index as usize).map(|hook| &hook.call);
                }
                Role::Item(_) | Role::Try(_) => at = step.parent,
                Role::Hook(index) => {
                    let about = self.call_in(graph, step.parent)?;
                    return about.hooks.get(index as usize).map(|hook| &hook.call);
                }
                Role::Call(index) => return self.sibling_call(graph, step.parent, index),
            }
        }
    }

    fn sibling_call<'g>(&self, graph: &'g Graph, parent: StepKey, index: u32) -> Option<&'g Call> {
        let group = match self.step(parent)? {
            step if step.kind == Kind::Group => match step.role {
                Role::Group(group) => Some(group),
                _ => None,
            },
            _ => None,
        };
        let owner = self.step(self.boundary_of_parent(parent))?;
        match (group, &graph.templates.get(owner.template as usize)?.body) {
            (Some(group), Body::Steps(groups)) => groups.get(group as usize)?.get(index as usize),
            (None, Body::Dag(dag)) => dag.tasks.get(index as usize),
            _ => None,
        }
    }

    fn boundary_of_parent(&self, parent: StepKey) -> StepKey {
        match self.step(parent) {
            Some(step) if step.kind == Kind::Group => step.parent,
            _ => parent,
        }
    }

    /// The steps or DAG step in whose template the call of `key` is written: what its arguments
    /// can see. `StepKey::NONE` for the root and the run's own handlers.
    #[must_use]
    pub fn boundary(&self, key: StepKey) -> StepKey {
        let mut at = key;
        loop {
            let Some(step) = self.step(at) else { return StepKey::NONE };
            match step.role {
                Role::Item(_) | Role::Try(_) | Role::Hook(_) => at = step.parent,
                Role::Call(_) => return self.boundary_of_parent(step.parent),
                _ => return step.parent,
            }
        }
    }

    /// Whether the standard output of a step is kept as its result, as somebody reads it. Nobody can
    /// read that of the root, of a handler or of a hook.
    pub(crate) fn keeps_result(&self, key: StepKey) -> bool {
        let mut at = key;
        while let Some(step) = self.step(at) {
            match step.role {
                Role::Item(_) | Role::Try(_) => at = step.parent,
                Role::Call(_) => break,
                _ => return false,
            }
        }
        let (Some(call), Some(owner)) = (self.call_of(at), self.step(self.boundary(at))) else {
            return false;
        };
        self.compiled.reads_result(owner.template, &call.name)
    }

    /// The item that a step was made for, its own or that of the fan-out that it is a part of.
    #[must_use]
    pub fn item_of(&self, key: StepKey) -> Option<&Item> {
        let mut at = key;
        loop {
            let step = self.step(at)?;
            match step.role {
                Role::Item(index) => return self.items.get(&step.parent)?.get(index as usize),
                Role::Try(_) | Role::Hook(_) => at = step.parent,
                _ => return None,
            }
        }
    }

    /// Whether a step belongs to an exit handler, which a stopped run still carries out.
    #[must_use]
    pub fn is_exit_work(&self, key: StepKey) -> bool {
        let mut at = key;
        while let Some(step) = self.step(at) {
            match step.role {
                Role::Exit => return true,
                Role::Hook(index) => {
                    let hook = self.call_of(step.parent).and_then(|c| c.hooks.get(index as usize));
                    if hook.is_some_and(|hook| hook.expression.is_empty()) {
                        return true;
                    }
                }
                _ => {}
            }
            at = step.parent;
        }
        false
    }

    /// The last attempt of a step, with its id.
    #[must_use]
    pub fn current_attempt(&self, key: StepKey) -> Option<(AttemptId, &argosy_model::Attempt)> {
        let step = self.step(key)?;
        let number = u32::try_from(step.attempts.len()).ok()?.checked_sub(1)?;
        let attempt = step.attempts.last()?;
        Some((AttemptId { run: self.id, step: key, number }, attempt))
    }

    /// Whether `id` is the last attempt of its step and not over.
    #[must_use]
    pub fn is_current(&self, id: AttemptId) -> bool {
        self.current_attempt(id.step)
            .is_some_and(|(current, at)| current == id && at.phase != AttemptPhase::Ended)
    }

    /// The template whose own parallelism bounds a step, with the step that carries it out.
    pub(crate) fn gate_of(&self, key: StepKey) -> Option<(StepKey, usize)> {
        let step = self.step(key)?;
        let counted = match step.role {
            Role::Call(_) => step.kind != Kind::FanOut,
            Role::Item(_) => true,
            _ => false,
        };
        let owner = counted.then(|| self.boundary(key))?;
        let limit = self.template_of(owner)?.parallelism?;
        Some((owner, usize::try_from(limit).unwrap_or(usize::MAX)))
    }

    /// Counts a step that was opened before among those that its gate's template bounds.
    pub(crate) fn note_alive(&mut self, key: StepKey) {
        if let Some((owner, _)) = self.gate_of(key) {
            self.frames.of(owner).gate.get_or_insert_default().alive.insert(key);
        }
    }

    /// Whether the run was told to end before its time.
    pub(crate) fn is_ending(&self) -> bool {
        self.shutdown.is_some() || self.deadline_passed || self.given_up.is_some()
    }

    /// Nothing more is made, and what is alive is ended.
    pub(crate) fn give_up(&mut self) {
        self.making.clear();
        self.sweep = Some(StepKey::ROOT);
    }

    /// Whether a turn could do something without anything happening.
    pub(crate) fn has_more(&self) -> bool {
        self.sweep.is_some()
            || !self.deserted.is_empty()
            || (!self.making.is_empty() && (!self.suspended || self.is_ending()))
            || (!self.suspended && !self.ready.is_empty())
            || (!self.suspended && !self.throttled.is_empty() && self.has_place())
    }

    /// Whether the run's parallelism leaves room for one more attempt.
    pub(crate) fn has_place(&self) -> bool {
        let limit = self.graph().and_then(|graph| graph.parallelism);
        limit.is_none_or(|limit| (self.live_attempts as u64) < limit)
    }

    /// How many steps are above a step.
    fn level(&self, key: StepKey) -> u32 {
        let mut level = 0;
        let mut at = key;
        while let Some(step) = self.step(at) {
            level += 1;
            at = step.parent;
        }
        level
    }

    /// Enters a step among those that have calls to make, or takes it out.
    pub(crate) fn set_making(&mut self, key: StepKey, has_calls: bool) {
        let place = (Reverse(self.level(key)), key);
        if has_calls {
            self.making.insert(place);
        } else {
            self.making.remove(&place);
        }
    }

    /// Says how many calls a step makes, and how many steps each comes to.
    pub(crate) fn set_calls(&mut self, key: StepKey, calls: Calls) {
        let frame = self.frames.of(key);
        let before = std::mem::replace(&mut frame.calls, calls).reserved();
        self.reserved = self.reserved.saturating_sub(before).saturating_add(calls.reserved());
    }

    /// Whether a step has calls that could be made now.
    pub(crate) fn has_calls(&self, key: StepKey) -> bool {
        self.frames.get(key).is_some_and(|frame| match &frame.dag {
            Some(dag) => !dag.ready.is_empty(),
            None => frame.calls.made < frame.calls.total,
        })
    }

    /// Notes the failure of a call or an item where its parent and its template look for it.
    pub(crate) fn note_failure(&mut self, key: StepKey) {
        let step = self.at(key);
        if !step.phase.is_failure() || !matches!(step.role, Role::Call(_) | Role::Item(_)) {
            return;
        }
        let parent = step.parent;
        let continues = self.continues_on(key);
        let frame = self.frames.of(parent);
        frame.last_failed = frame.last_failed.max(Some(key));
        if continues {
            return;
        }
        frame.first_failed = Some(frame.first_failed.map_or(key, |first| first.min(key)));
        let owner = self.boundary(key);
        let fast = matches!(self.at(parent).kind, Kind::Group | Kind::FanOut)
            && self.template_of(owner).is_some_and(|template| template.fail_fast == Some(true));
        if fast {
            self.frames.of(owner).failed_fast = true;
        }
    }

    /// Whether the call that made a step says that its parent goes on after such an end.
    pub(crate) fn continues_on(&self, key: StepKey) -> bool {
        let Some(call) = self.call_of(key) else { return false };
        match self.at(key).phase {
            Phase::Failed => call.continue_on_failed,
            Phase::Error => call.continue_on_error,
            _ => false,
        }
    }

    /// The time at which the run wants to be woken; `None` when nothing is timed.
    #[must_use]
    pub fn next_wake_ms(&self) -> Option<i64> {
        if self.phase.is_terminal() {
            return None;
        }
        let step = self.timers.first().map(|(at, _)| *at);
        [step, self.run_deadline_ms()].into_iter().flatten().min()
    }

    /// When the main part must be over.
    pub(crate) fn run_deadline_ms(&self) -> Option<i64> {
        if self.main.is_some() || self.deadline_passed || self.given_up.is_some() {
            return None;
        }
        let seconds = self.graph()?.active_deadline_s?;
        Some(self.accepted_ms.saturating_add_unsigned(seconds.saturating_mul(1000)))
    }

    /// When the run is to be deleted by itself, Unix ms; 0 for never, and before its end
    /// (argo-workflows `ttlStrategy`: the bound for this end goes before that for any end).
    #[must_use]
    pub fn expires_ms(&self) -> i64 {
        let Some(graph) = self.graph().filter(|_| self.phase.is_terminal()) else { return 0 };
        let [any, success, failure] = graph.ttl_s;
        let own = if self.phase == RunPhase::Succeeded { success } else { failure };
        match own.or(any) {
            Some(seconds) => {
                self.ended_ms.saturating_add_unsigned(seconds.saturating_mul(1000)).max(1)
            }
            None => 0,
        }
    }

    /// Counts of steps that carry out work: (ended, all), as progress shows them.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let work = self.steps.iter().filter(|step| step.kind.has_attempts());
        work.fold((0, 0), |(done, all), step| {
            (done + usize::from(step.phase == Phase::Succeeded), all + 1)
        })
    }
}
