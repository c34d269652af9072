//! Events change a run; nothing else does.

use std::sync::Arc;

use argosy_model::{
    Attempt, AttemptPhase, End, Event, Exit, Holding, Item, Kind, Outputs, Phase, Role, Step,
    StepKey, StepSeed, Turn,
};

use crate::bytes;
use crate::run::Run;

/// An event that does not fit the run: the log is damaged, or a later version wrote it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("event {number} of {run} does not fit: {what}")]
pub struct Broken {
    /// The run.
    pub run: argosy_model::RunId,
    /// Its ordinal in the run, from 0.
    pub number: u64,
    /// Why.
    pub what: &'static str,
}

impl Run {
    /// The run that a first turn makes.
    ///
    /// # Errors
    /// When the turn does not begin with `Submitted`, or a later event of it does not fit.
    pub fn from_turn(turn: &Turn) -> Result<Run, Broken> {
        let Some(Event::Submitted(spec)) = turn.events.first() else {
            return Err(Broken {
                run: turn.run,
                number: 0,
                what: "the first event is not a submit",
            });
        };
        let mut run = Run::new(turn.run, Arc::clone(spec).into(), turn.at_ms);
        run.events = 1;
        for event in &turn.events[1..] {
            run.evolve(event, turn.at_ms)?;
        }
        Ok(run)
    }

    /// Applies a turn.
    ///
    /// # Errors
    /// When an event does not fit.
    pub fn apply(&mut self, turn: &Turn) -> Result<(), Broken> {
        turn.events.iter().try_for_each(|event| self.evolve(event, turn.at_ms))
    }

    /// Applies one event. Evaluates no expression and no policy.
    ///
    /// # Errors
    /// When it does not fit; the run is then unchanged.
    pub fn evolve(&mut self, event: &Event, at_ms: i64) -> Result<(), Broken> {
        let applied = match event {
            Event::Submitted(_) => Err("submitted twice"),
            Event::StepAdded(seed) => self.add_step(seed, at_ms),
            Event::ItemsListed { step, items } => self.list_items(*step, items),
            Event::TaskAdded(task) => {
                self.hold(0, bytes::task(task));
                self.tasks.push(Arc::new((**task).clone()));
                Ok(())
            }
            Event::StepStarted { step } => self.start_step(*step, at_ms),
            Event::DeadlineSet { step, deadline_ms } => self.set_deadline(*step, *deadline_ms),
            Event::StepMessage { step, message } => {
                self.change_step(*step, |step| step.message = Some(message.clone()))
            }
            Event::OutputsSupplied { step, parameters } => self.change_step(*step, |step| {
                let outputs = step.outputs.get_or_insert_default();
                outputs
                    .parameters
                    .retain(|(name, _)| parameters.iter().all(|(new, _)| new != name));
                outputs.parameters.extend(parameters.iter().cloned());
            }),
            Event::LocksAsked { .. } | Event::LocksAwaited { .. } | Event::LocksTaken { .. } => {
                self.evolve_locks(event)
            }
            Event::Recalled { step, recall } => {
                self.change_step(*step, |step| step.recall = Some(recall.clone()))
            }
            Event::StepEnded { step, phase, message, outputs } => {
                self.end_step(*step, *phase, message.as_deref(), outputs.as_deref(), at_ms)
            }
            Event::AttemptQueued { step, not_before_ms } => {
                self.queue_attempt(*step, at_ms, *not_before_ms)
            }
            Event::AttemptPlaced { step, machine } => self.with_attempt(*step, |attempt| {
                attempt.phase = AttemptPhase::Placed;
                attempt.machine = *machine;
                attempt.placed_ms = at_ms;
            }),
            Event::AttemptStarted { step, started_ms } => self.start_attempt(*step, *started_ms),
            Event::AttemptKillOrdered { step, why } => {
                self.with_attempt(*step, |attempt| attempt.kill = Some(*why))
            }
            Event::AttemptEnded { step, end } => self.end_attempt(*step, end),
            other => {
                self.evolve_run(other, at_ms);
                Ok(())
            }
        };
        applied.map_err(|what| Broken { run: self.id, number: self.events, what })?;
        self.events += 1;
        Ok(())
    }

    fn evolve_run(&mut self, event: &Event, at_ms: i64) {
        match event {
            Event::GlobalSet { name, value } => {
                let old = self.globals.insert(name.clone(), value.clone());
                let named = |value| name.len() as u64 + bytes::value(value);
                self.hold(old.as_ref().map_or(0, named), named(value));
            }
            Event::GlobalArtifactSet { name, artifact } => {
                let old = self.global_artifacts.insert(name.clone(), (**artifact).clone());
                let named = |artifact| name.len() as u64 + bytes::artifact(artifact);
                self.hold(old.as_ref().map_or(0, named), named(artifact));
            }
            Event::LabelsSet(labels) => {
                for (key, value) in labels {
                    self.labels.retain(|(name, _)| name != key);
                    if !value.is_empty() {
                        self.labels.push((key.clone(), value.clone()));
                    }
                }
            }
            Event::RunSuspended => self.suspended = true,
            Event::RunResumed => self.suspended = false,
            Event::ShutdownOrdered { how, message } => {
                self.shutdown = Some(*how);
                self.shutdown_message.clone_from(message);
            }
            Event::GivenUp { message } => self.given_up = Some(message.clone()),
            Event::DeadlinePassed => self.deadline_passed = true,
            Event::MainEnded { phase, message } => self.main = Some((*phase, message.clone())),
            Event::RunEnded { phase, message } => {
                self.phase = *phase;
                self.message.clone_from(message);
                self.ended_ms = at_ms;
                let locks = std::mem::take(&mut self.locks);
                self.hold(locks.values().map(bytes::holding).sum(), 0);
            }
            _ => {}
        }
    }

    fn evolve_locks(&mut self, event: &Event) -> Result<(), &'static str> {
        let (step, message) = match event {
            Event::LocksAsked { step, locks } => {
                let holding = Holding { locks: locks.clone(), taken: false, awaited: None };
                let old = self.locks.insert(*step, holding);
                self.hold(old.as_ref().map_or(0, bytes::holding), bytes::locks(locks));
                return Ok(());
            }
            Event::LocksAwaited { step, lock, message } => {
                self.holding(*step)?.awaited = Some(lock.clone());
                (*step, Some(message))
            }
            Event::LocksTaken { step } => {
                let holding = self.holding(*step)?;
                (holding.taken, holding.awaited) = (true, None);
                (*step, None)
            }
            _ => return Ok(()),
        };
        if step.is_none() {
            self.message = message.map(|text| text.to_string()).unwrap_or_default();
            return Ok(());
        }
        self.change_step(step, |step| step.message = message.cloned())
    }

    /// Something that took so many bytes is taken away, and other is there instead.
    fn hold(&mut self, before: u64, after: u64) {
        self.held = self.held.saturating_sub(before).saturating_add(after);
    }

    fn holding(&mut self, key: StepKey) -> Result<&mut Holding, &'static str> {
        self.locks.get_mut(&key).ok_or("no locks were asked for")
    }

    fn with_step(
        &mut self,
        key: StepKey,
        change: impl FnOnce(&mut Step),
    ) -> Result<(), &'static str> {
        change(self.steps.get_mut(key.index()).ok_or("no such step")?);
        Ok(())
    }

    /// The same, where what the step holds becomes other.
    fn change_step(
        &mut self,
        key: StepKey,
        change: impl FnOnce(&mut Step),
    ) -> Result<(), &'static str> {
        let step = self.steps.get_mut(key.index()).ok_or("no such step")?;
        let before = bytes::changing(step);
        change(step);
        let after = bytes::changing(step);
        self.hold(before, after);
        Ok(())
    }

    fn with_attempt(
        &mut self,
        key: StepKey,
        change: impl FnOnce(&mut Attempt),
    ) -> Result<(), &'static str> {
        let step = self.steps.get_mut(key.index()).ok_or("no such step")?;
        let attempt = step.attempts.last_mut().ok_or("the step has no attempt")?;
        if attempt.phase == AttemptPhase::Ended {
            return Err("the attempt is over");
        }
        change(attempt);
        Ok(())
    }

    fn add_step(&mut self, seed: &StepSeed, at_ms: i64) -> Result<(), &'static str> {
        let key = StepKey(u32::try_from(self.steps.len()).map_err(|_| "too many steps")?);
        if !seed.parent.is_none() && seed.parent >= key {
            return Err("the parent does not exist");
        }
        self.hold(0, seed.inputs.as_deref().map_or(0, bytes::inputs));
        self.steps.push(Step {
            parent: seed.parent,
            role: seed.role,
            kind: seed.kind,
            phase: Phase::Waiting,
            template: seed.template,
            created_ms: at_ms,
            started_ms: 0,
            ended_ms: 0,
            deadline_ms: 0,
            inputs: seed.inputs.clone(),
            outputs: None,
            attempts: Vec::new(),
            message: None,
            recall: None,
        });
        self.index_step(key);
        Ok(())
    }

    /// Enters a step that was just pushed into the derived indexes.
    pub(crate) fn index_step(&mut self, key: StepKey) {
        let (parent, role) = {
            let step = self.at(key);
            (step.parent, step.role)
        };
        if parent.is_none() {
            self.tops.push(key);
            return;
        }
        let above = self.at(parent);
        let dag = (above.kind == Kind::Dag).then(|| self.compiled.dag_size(above.template));
        let name = match role {
            Role::Child(_) => self.task_of(key).map(|task| task.name.as_str().into()),
            _ => None,
        };
        let frame = self.frames.of(parent);
        if let Some(name) = name {
            frame.names.insert(name, key);
        }
        frame.children.push(key);
        match role {
            Role::Hook(_) => {
                frame.hooks.push(key);
                frame.open_hooks += 1;
            }
            Role::Call(index) => {
                frame.open += 1;
                let Some(tasks) = dag else { return };
                let by_call = &mut frame.dag.get_or_insert_default().by_call;
                by_call.resize(tasks, None);
                if let Some(slot) = by_call.get_mut(index as usize) {
                    *slot = Some(key);
                }
            }
            _ => frame.open += 1,
        }
    }

    fn list_items(&mut self, key: StepKey, items: &Arc<Vec<Item>>) -> Result<(), &'static str> {
        if self.step(key).is_none_or(|step| step.kind != Kind::FanOut) {
            return Err("items of a step that is no fan-out");
        }
        let old = self.items.insert(key, Arc::clone(items));
        self.hold(old.map_or(0, |old| bytes::items(&old)), bytes::items(items));
        Ok(())
    }

    fn start_step(&mut self, key: StepKey, at_ms: i64) -> Result<(), &'static str> {
        self.with_step(key, |step| {
            step.phase = Phase::Running;
            step.started_ms = at_ms;
        })
    }

    fn set_deadline(&mut self, key: StepKey, deadline_ms: i64) -> Result<(), &'static str> {
        let old = self.step(key).ok_or("no such step")?.deadline_ms;
        self.timers.remove(&(old, key));
        if deadline_ms != 0 {
            self.timers.insert((deadline_ms, key));
        }
        self.with_step(key, |step| step.deadline_ms = deadline_ms)
    }

    fn end_step(
        &mut self,
        key: StepKey,
        phase: Phase,
        message: Option<&str>,
        outputs: Option<&Outputs>,
        at_ms: i64,
    ) -> Result<(), &'static str> {
        let step = self.steps.get_mut(key.index()).ok_or("no such step")?;
        if !step.phase.may_become(phase) || !phase.is_terminal() {
            return Err("a step cannot end so from where it is");
        }
        let before = bytes::changing(step);
        step.phase = phase;
        step.ended_ms = at_ms;
        if step.started_ms == 0 {
            step.started_ms = at_ms;
        }
        if let Some(message) = message {
            step.message = Some(message.into());
        }
        if let Some(outputs) = outputs {
            step.outputs = Some(Box::new(outputs.clone()));
        }
        let last = step.attempts.last_mut().and_then(|attempt| attempt.end.as_deref_mut());
        let twice = last.filter(|_| outputs.is_some()).and_then(|end| end.outputs.result.take());
        let before = before + bytes::result(twice.as_deref());
        let after = bytes::changing(step);
        let deadline = std::mem::take(&mut step.deadline_ms);
        self.timers.remove(&(deadline, key));
        let locks = self.locks.remove(&key);
        self.hold(before + locks.as_ref().map_or(0, bytes::holding), after);
        self.note_failed(key);
        Ok(())
    }

    fn queue_attempt(
        &mut self,
        key: StepKey,
        at_ms: i64,
        not_before_ms: i64,
    ) -> Result<(), &'static str> {
        let step = self.steps.get_mut(key.index()).ok_or("no such step")?;
        if step.attempts.last().is_some_and(|last| last.phase != AttemptPhase::Ended) {
            return Err("two attempts at once");
        }
        step.attempts.reserve_exact(1);
        step.attempts.push(Attempt::queued(at_ms, not_before_ms));
        self.live_attempts += 1;
        Ok(())
    }

    fn start_attempt(&mut self, key: StepKey, started_ms: i64) -> Result<(), &'static str> {
        self.with_attempt(key, |attempt| {
            attempt.phase = AttemptPhase::Running;
            attempt.started_ms = started_ms;
        })?;
        self.with_step(key, |step| {
            if step.phase == Phase::Waiting {
                step.phase = Phase::Running;
                step.started_ms = started_ms;
            }
        })
    }

    fn end_attempt(&mut self, key: StepKey, end: &End) -> Result<(), &'static str> {
        self.with_attempt(key, |attempt| {
            attempt.phase = AttemptPhase::Ended;
            if attempt.started_ms == 0 {
                attempt.started_ms = end.started_ms;
            }
            attempt.end = Some(Box::new(end.clone()));
        })?;
        self.hold(0, bytes::end(end));
        self.live_attempts = self.live_attempts.saturating_sub(1);
        let ran = end.started_ms != 0 && end.exit != Exit::NotStarted;
        self.with_step(key, |step| {
            if ran && step.started_ms == 0 {
                step.started_ms = end.started_ms;
                if step.phase == Phase::Waiting {
                    step.phase = Phase::Running;
                }
            }
        })?;
        self.note_failed(key);
        Ok(())
    }
}
