//! A run in pieces that can be written one by one: a head, pages of steps, and lists of items.
//!
//! A large run changes in few places between two snapshots; only the pages that changed are
//! written again.

use std::collections::BTreeMap;
use std::sync::Arc;

use argosy_model::{
    Artifact, Event, Holding, Item, Kind, Role, RunId, RunPhase, RunSpec, Shutdown, Step, StepKey,
    TaskSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bytes;
use crate::decide::{group_calls, resettle};
use crate::frame::Calls;
use crate::run::Run;

/// Steps in one page.
pub const PAGE_STEPS: usize = 1_000;

/// All of a run but its spec, its steps and its items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// How many steps there are.
    pub steps: usize,
    /// Tasks that were asked for.
    #[serde(default)]
    pub tasks: Vec<Arc<TaskSpec>>,
    /// Global parameters.
    #[serde(default)]
    pub globals: BTreeMap<Box<str>, Value>,
    /// Global artifacts.
    #[serde(default)]
    pub global_artifacts: BTreeMap<Box<str>, Artifact>,
    /// Labels.
    #[serde(default)]
    pub labels: Vec<(String, String)>,
    /// Locks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub locks: BTreeMap<StepKey, Holding>,
    /// Phase.
    pub phase: RunPhase,
    /// Message.
    #[serde(default)]
    pub message: String,
    /// Unix ms.
    pub accepted_ms: i64,
    /// Unix ms.
    #[serde(default)]
    pub ended_ms: i64,
    /// Shutdown.
    #[serde(default)]
    pub shutdown: Option<Shutdown>,
    /// Its message.
    #[serde(default)]
    pub shutdown_message: String,
    /// Suspended.
    #[serde(default)]
    pub suspended: bool,
    /// Deadline passed.
    #[serde(default)]
    pub deadline_passed: bool,
    /// The limit that it came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<String>,
    /// Main part.
    #[serde(default)]
    pub main: Option<(RunPhase, String)>,
    /// Events so far.
    pub events: u64,
}

/// One page of steps.
pub type Page = Vec<Step>;

/// The page that a step is on.
#[must_use]
pub fn page_of(key: StepKey) -> usize {
    key.index() / PAGE_STEPS
}

impl Run {
    /// The run's head.
    #[must_use]
    pub fn head(&self) -> Head {
        Head {
            steps: self.steps.len(),
            tasks: self.tasks.clone(),
            globals: self.globals.clone(),
            global_artifacts: self.global_artifacts.clone(),
            labels: self.labels.clone(),
            locks: self.locks.clone(),
            phase: self.phase,
            message: self.message.clone(),
            accepted_ms: self.accepted_ms,
            ended_ms: self.ended_ms,
            shutdown: self.shutdown,
            shutdown_message: self.shutdown_message.clone(),
            suspended: self.suspended,
            deadline_passed: self.deadline_passed,
            given_up: self.given_up.clone(),
            main: self.main.clone(),
            events: self.events,
        }
    }

    /// One page of its steps, as it is now.
    #[must_use]
    pub fn page(&self, number: usize) -> Arc<Page> {
        self.steps.page(number)
    }

    /// A run from its pieces. Call [`Run::rebuild`] once later turns are applied.
    #[must_use]
    pub fn restore(
        id: RunId,
        spec: Arc<RunSpec>,
        head: Head,
        pages: Vec<Page>,
        items: BTreeMap<StepKey, Arc<Vec<Item>>>,
    ) -> Run {
        let mut run = Run::new(id, spec.into(), head.accepted_ms);
        run.tasks = head.tasks;
        run.globals = head.globals;
        run.global_artifacts = head.global_artifacts;
        run.labels = head.labels;
        run.locks = head.locks;
        run.phase = head.phase;
        run.message = head.message;
        run.ended_ms = head.ended_ms;
        run.shutdown = head.shutdown;
        run.shutdown_message = head.shutdown_message;
        run.suspended = head.suspended;
        run.deadline_passed = head.deadline_passed;
        run.given_up = head.given_up;
        run.main = head.main;
        run.events = head.events;
        run.items = items;
        run.steps = pages.into_iter().flatten().collect();
        run.reindex();
        run
    }

    /// Derives every index again from what is written. Needed once after turns were applied
    /// without having been decided here.
    pub fn rebuild(&mut self, now_ms: i64) {
        self.reindex();
        let keys = || (0u32..).map(StepKey);
        let count = self.steps.len();
        keys().take(count).for_each(|key| self.note_failure(key));
        keys().take(count).for_each(|key| self.rebuild_counts(key));
        keys().take(count).for_each(|key| self.rebuild_calls(key, now_ms));
        if self.is_ending() {
            self.sweep = Some(StepKey::ROOT);
        }
    }

    fn reindex(&mut self) {
        self.frames.clear();
        self.failed.clear();
        self.failures.take();
        self.timers.clear();
        self.tops.clear();
        self.ready.clear();
        self.throttled.clear();
        self.recalling.clear();
        self.making.clear();
        self.reserved = 0;
        self.sweep = None;
        self.deserted.clear();
        self.held = bytes::of(self);
        for key in (0u32..).map(StepKey).take(self.steps.len()) {
            self.index_step(key);
            let step = self.at(key);
            let (terminal, deadline) = (step.phase.is_terminal(), step.deadline_ms);
            self.note_failed(key);
            if deadline != 0 && !terminal {
                self.timers.insert((deadline, key));
            }
        }
        let live = |step: &&Step| {
            step.attempts.last().is_some_and(|a| a.phase != argosy_model::AttemptPhase::Ended)
        };
        self.live_attempts = self.steps.iter().filter(live).count();
    }

    /// Whether a step is over with all that ends with it, as far as the steps alone tell.
    pub(crate) fn has_settled(&self, key: StepKey) -> bool {
        let step = self.at(key);
        let must_end = |child: &StepKey| match self.at(*child).role {
            Role::Hook(_) => true,
            Role::Child(_) => step.kind == Kind::Task,
            _ => false,
        };
        step.phase.is_terminal()
            && self
                .children(key)
                .iter()
                .filter(|child| must_end(child))
                .all(|c| self.has_settled(*c))
    }

    /// Open counts, gates and lines of one step.
    fn rebuild_counts(&mut self, key: StepKey) {
        let children = self.children(key).to_vec();
        let unsettled: Vec<_> =
            children.into_iter().filter(|child| !self.has_settled(*child)).collect();
        let (hooks, others): (Vec<_>, Vec<_>) =
            unsettled.into_iter().partition(|c| matches!(self.at(*c).role, Role::Hook(_)));
        if let Some(frame) = self.frames.get_mut(key) {
            frame.open = others.len();
            frame.open_hooks = hooks.len();
        }
        let step = self.at(key);
        let unopened = !step.phase.is_terminal()
            && step.attempts.is_empty()
            && step.started_ms == 0
            && step.kind != Kind::Container;
        if unopened {
            self.ready.insert(key);
        } else if !step.phase.is_terminal() {
            self.note_alive(key);
        } else if step.kind == Kind::Task && self.frames.get(key).is_some_and(|f| f.open > 0) {
            self.deserted.insert(key, 0);
        }
    }

    /// Calls that a step is still to make.
    fn rebuild_calls(&mut self, key: StepKey, now_ms: i64) {
        let step = self.at(key);
        if step.phase.is_terminal() || step.started_ms == 0 || self.given_up.is_some() {
            return;
        }
        let (total, weight) = match step.kind {
            Kind::Dag => return resettle(self, key, now_ms),
            Kind::Group => (group_calls(self, &self.spec, key).map_or(0, <[_]>::len), 1),
            Kind::FanOut => {
                let weight = self.call_of(key).map_or(1, |call| self.compiled.item_weight(call));
                (self.items.get(&key).map_or(0, |items| items.len()), weight)
            }
            _ => return,
        };
        let is_call = |key: &&StepKey| matches!(self.at(**key).role, Role::Item(_) | Role::Call(_));
        let made = self.children(key).iter().filter(is_call).count();
        self.set_calls(key, Calls { total, made, weight });
        self.set_making(key, made < total || total == 0);
    }

    /// The pages that a turn changed. One may be named more than once.
    #[must_use]
    pub fn changed_pages(events: &[Event], steps_before: usize) -> Vec<usize> {
        let mut pages: Vec<usize> = Vec::new();
        let mut added = steps_before;
        for event in events {
            let key = match event {
                Event::StepAdded(_) => {
                    added += 1;
                    StepKey(u32::try_from(added - 1).unwrap_or(u32::MAX))
                }
                Event::StepStarted { step }
                | Event::DeadlineSet { step, .. }
                | Event::StepMessage { step, .. }
                | Event::OutputsSupplied { step, .. }
                | Event::Recalled { step, .. }
                | Event::LocksAwaited { step, .. }
                | Event::LocksTaken { step, .. }
                | Event::StepEnded { step, .. }
                | Event::AttemptQueued { step, .. }
                | Event::AttemptPlaced { step, .. }
                | Event::AttemptStarted { step, .. }
                | Event::AttemptKillOrdered { step, .. }
                | Event::AttemptEnded { step, .. } => *step,
                _ => continue,
            };
            if key.is_none() {
                continue;
            }
            let page = page_of(key);
            if pages.last() != Some(&page) {
                pages.push(page);
            }
        }
        pages
    }
}
