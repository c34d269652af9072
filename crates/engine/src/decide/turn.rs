//! One turn: events are applied as they are made, so that what follows sees them.

use std::collections::VecDeque;
use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::graph::Graph;
use argosy_model::run::Plan;
use argosy_model::{
    Diagnostic, Effect, Event, Inputs, Kind, Outputs, Phase, Role, RunPhase, Shutdown, StepKey,
};

use super::{Decision, Input};
use crate::frame::Frame;
use crate::run::Run;

/// What an event costs of a turn's bound.
pub(super) const EVENT: u64 = 16;

/// How many bytes that a run comes to hold cost one of a turn's bound: a turn brings 32 MiB at
/// most, about, and one event more.
const BYTES: u64 = 1 << 10;

/// What one turn may do, about: 2,000 events, which is 1,000 steps that are added and opened. What
/// costs without making an event counts too. At some microseconds an event a turn stays under the
/// 10 ms that no run may keep the others waiting.
const TURN: u64 = 2_000 * EVENT;

/// Something that follows within the same turn. Kept in a queue, so that deep graphs need no
/// deep stack.
#[derive(Debug)]
pub(super) enum Work {
    /// A step may start, once the limits on its surroundings allow.
    Open(StepKey),
    /// A step and its hooks are over.
    Settled(StepKey),
}

pub(super) struct Turn<'a> {
    pub(super) run: &'a mut Run,
    pub(super) now_ms: i64,
    pub(super) events: Vec<Event>,
    pub(super) effects: Vec<Effect>,
    work: VecDeque<Work>,
    spent: u64,
    /// Whether the turn may do what is left over from earlier ones: not while there is such and the
    /// turn is about something else, as many of those may come at once.
    goes_on: bool,
}

impl<'a> Turn<'a> {
    pub(super) fn new(run: &'a mut Run, now_ms: i64, is_wake: bool) -> Turn<'a> {
        let goes_on = is_wake || !run.has_more();
        let (events, effects, work) = (Vec::new(), Vec::new(), VecDeque::new());
        Turn { run, now_ms, events, effects, work, spent: 0, goes_on }
    }

    /// Applies an event and keeps it.
    pub(super) fn emit(&mut self, event: Event) {
        let held = self.run.bytes();
        let applied = self.run.evolve(&event, self.now_ms);
        debug_assert!(applied.is_ok(), "{applied:?}: {event:?}");
        let more = self.run.bytes().saturating_sub(held);
        self.spend(EVENT + more / BYTES);
        if applied.is_ok() {
            self.events.push(event);
        }
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn then(&mut self, work: Work) {
        self.work.push_back(work);
    }

    /// Notes work that the turn has done.
    pub(super) fn spend(&mut self, work: u64) {
        self.spent = self.spent.saturating_add(work);
    }

    /// Whether the turn has done as much as one may, so that the rest is for a later one.
    pub(super) fn is_spent(&self) -> bool {
        self.spent >= TURN
    }

    /// Does what follows, and as much as fits into one turn of what is left over.
    pub(super) fn finish(mut self) -> Decision {
        self.drain();
        self.weigh();
        while self.goes_on && !self.is_spent() && self.go_on() {
            self.drain();
            self.weigh();
        }
        if !self.run.phase.is_terminal() {
            let wake =
                if self.run.has_more() { Some(self.now_ms) } else { self.run.next_wake_ms() };
            if let Some(at_ms) = wake {
                self.effect(Effect::WakeAt(self.run.id, at_ms));
            }
        }
        Decision { events: self.events, effects: self.effects }
    }

    /// Does what follows from what was done. Steps are opened as far as the turn allows; what ends
    /// is always seen to, so that nothing but unopened steps and calls is ever left over.
    fn drain(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Open(key) if self.is_spent() => {
                    self.run.ready.insert(key);
                }
                Work::Open(key) => self.open(key),
                Work::Settled(key) => self.on_settled(key),
            }
        }
    }

    /// Does one more thing that is left over; false when nothing is.
    fn go_on(&mut self) -> bool {
        if self.run.phase.is_terminal() {
            return false;
        }
        self.sweep() || self.desert() || self.open_ready() || self.make_more() || self.admit()
    }

    /// Adds a step and tells its key.
    pub(super) fn add(
        &mut self,
        parent: StepKey,
        role: Role,
        kind: Kind,
        template: u32,
        inputs: Option<Inputs>,
    ) -> StepKey {
        let key = StepKey(u32::try_from(self.run.steps.len()).unwrap_or(u32::MAX));
        let inputs = inputs
            .filter(|inputs| !inputs.parameters.is_empty() || !inputs.artifacts.is_empty())
            .map(Box::new);
        self.emit(Event::StepAdded(StepSeed { parent, role, kind, template, inputs }));
        key
    }

    /// Adds a step that is over at once.
    pub(super) fn add_ended(
        &mut self,
        parent: StepKey,
        role: Role,
        template: u32,
        phase: Phase,
        message: String,
    ) {
        let key = self.add(parent, role, Kind::Nothing, template, None);
        self.end(key, phase, Some(message), None);
    }

    /// Adds a step that cannot be carried out.
    pub(super) fn add_refused(
        &mut self,
        parent: StepKey,
        role: Role,
        template: u32,
        why: &Diagnostic,
    ) {
        self.add_ended(parent, role, template, Phase::Error, why.line());
    }

    /// Ends a step that cannot be carried out, or whose end cannot be judged.
    pub(super) fn refuse(&mut self, key: StepKey, why: &Diagnostic) {
        self.end(key, Phase::Error, Some(why.line()), None);
    }

    /// Ends a step, makes its hooks, and sees to it that its parent hears of it.
    pub(super) fn end(
        &mut self,
        key: StepKey,
        phase: Phase,
        message: Option<String>,
        outputs: Option<Outputs>,
    ) {
        if self.run.at(key).phase.is_terminal() {
            return;
        }
        self.release(key);
        self.emit(Event::StepEnded {
            step: key,
            phase,
            message: message.filter(|text| !text.is_empty()).map(String::into_boxed_str),
            outputs: outputs.filter(|outputs| !outputs.is_empty()).map(Box::new),
        });
        self.run.note_failure(key);
        self.drop_calls(key);
        self.remember(key);
        self.end_children(key);
        self.fire_hooks(key);
        if self.is_settled(key) {
            self.then(Work::Settled(key));
        }
    }

    /// Whether a step and all that must end with it is over: its hooks, and the children that a
    /// task asked for.
    fn is_settled(&self, key: StepKey) -> bool {
        let step = self.run.at(key);
        let waits =
            |frame: &Frame| frame.open_hooks > 0 || (step.kind == Kind::Task && frame.open > 0);
        step.phase.is_terminal() && !self.run.frames.get(key).is_some_and(waits)
    }

    /// Begins the run, or goes on with it after a suspension that began with it.
    pub(super) fn begin(&mut self) {
        let spec = Arc::clone(&self.run.spec);
        match &spec.plan {
            Plan::Task(_) => {
                let root = self.add(StepKey::NONE, Role::Root, Kind::Task, 0, None);
                self.then(Work::Open(root));
            }
            Plan::Graph(graph) => {
                self.set_labels(graph);
                if graph.suspend && !self.events.contains(&Event::RunResumed) {
                    self.emit(Event::RunSuspended);
                    return;
                }
                if self.has_run_locks(graph) {
                    self.begin_main(graph);
                }
            }
        }
    }

    pub(super) fn begin_main(&mut self, graph: &Graph) {
        self.fire_run_hooks();
        self.make_root(graph);
    }

    /// A step is over, hooks and all: its parent goes on, and then whoever waited for its place
    /// (the parent may have decided that nobody starts any more).
    fn on_settled(&mut self, key: StepKey) {
        let (parent, role) = {
            let step = self.run.at(key);
            (step.parent, step.role)
        };
        match role {
            Role::Root | Role::Exit | Role::RunHook(_) => self.advance_run(key),
            Role::Hook(_) => self.hook_settled(parent),
            _ => {
                if let Some(frame) = self.run.frames.get_mut(parent) {
                    frame.open = frame.open.saturating_sub(1);
                }
                self.advance(parent, key);
            }
        }
        self.release_gate(key);
    }

    /// A hook about a step is over: with the last one, the step is.
    fn hook_settled(&mut self, about: StepKey) {
        let Some(frame) = self.run.frames.get_mut(about) else { return };
        frame.open_hooks = frame.open_hooks.saturating_sub(1);
        if self.is_settled(about) {
            self.then(Work::Settled(about));
        }
    }

    /// A child of `parent` has settled.
    fn advance(&mut self, parent: StepKey, child: StepKey) {
        if self.is_settled(parent) && self.run.at(parent).kind == Kind::Task {
            self.then(Work::Settled(parent));
        }
        if self.run.at(parent).phase.is_terminal() {
            return;
        }
        if self.run.given_up.is_some() {
            return self.end_given_up(parent);
        }
        match self.run.at(parent).kind {
            Kind::Steps => self.advance_steps(parent, child),
            Kind::Group => self.advance_group(parent),
            Kind::Dag => self.advance_dag(parent, child),
            Kind::FanOut => self.advance_fan_out(parent),
            Kind::Retry => self.advance_retry(parent, child),
            _ => {}
        }
    }

    /// The root, the exit handler or a hook of the run has settled.
    fn advance_run(&mut self, key: StepKey) {
        if self.run.at(key).role == Role::Root && self.run.main.is_none() {
            self.end_main(key);
        }
        if self.run.main.is_some() && self.run.tops.iter().all(|key| self.is_settled(*key)) {
            self.end_run();
        }
    }

    fn end_main(&mut self, root: StepKey) {
        let step = self.run.at(root);
        let message = step.message.as_deref().unwrap_or_default().to_owned();
        let (phase, message) = match (&self.run.given_up, self.run.shutdown, step.phase) {
            (Some(text), ..) => (RunPhase::Error, text.clone()),
            (None, Some(how), _) => (RunPhase::Failed, self.shutdown_text(how)),
            (None, None, Phase::Failed) => (RunPhase::Failed, message),
            (None, None, Phase::Error) => (RunPhase::Error, message),
            (None, None, _) => (RunPhase::Succeeded, message),
        };
        self.emit(Event::MainEnded { phase, message });
        if self.run.given_up.is_some() {
            return;
        }
        self.fire_run_hooks();
        let spec = Arc::clone(&self.run.spec);
        let Plan::Graph(graph) = &spec.plan else { return };
        if let Some(call) = graph.on_exit.as_deref()
            && self.run.shutdown != Some(Shutdown::Terminate)
        {
            self.make_call(StepKey::NONE, Role::Exit, call, None);
        }
    }

    fn shutdown_text(&self, how: Shutdown) -> String {
        if self.run.shutdown_message.is_empty() {
            return format!("Stopped with strategy '{how:?}'");
        }
        self.run.shutdown_message.clone()
    }

    /// Everything is over. A failed exit handler spoils a success
    /// (argo-workflows `workflow/controller/operator.go`, `operate`).
    fn end_run(&mut self) {
        let (mut phase, mut message) =
            self.run.main.clone().unwrap_or((RunPhase::Succeeded, String::new()));
        let exit = self.run.tops.iter().map(|key| self.run.at(*key));
        let exit = exit.into_iter().find(|step| step.role == Role::Exit && step.phase.is_failure());
        if let (RunPhase::Succeeded, Some(exit)) = (phase, exit) {
            phase = if exit.phase == Phase::Failed { RunPhase::Failed } else { RunPhase::Error };
            message = exit.message.as_deref().unwrap_or_default().to_owned();
        }
        let locks: Vec<StepKey> = self.run.locks.keys().copied().collect();
        locks.into_iter().for_each(|key| self.release(key));
        self.emit(Event::RunEnded { phase, message });
        self.effect(Effect::Archive(self.run.id));
    }

    /// Inputs that arrive after the end: places are given back, nothing else happens.
    pub(super) fn on_ended_run(mut self, input: &Input) -> Decision {
        if let Input::Placed { attempt, .. } = input {
            self.effect(Effect::Withdraw(*attempt));
        }
        Decision { events: self.events, effects: self.effects }
    }
}
