//! Locks of steps and of the whole run: asked for when their turn has come, all at once, and given
//! back at the end (argo-workflows `workflow/sync/sync_manager.go`). Who gets them is decided
//! where all runs are known; here is what that means for one.

use std::sync::Arc;

use argosy_model::graph::{Graph, Lock};
use argosy_model::run::Plan;
use argosy_model::{Diagnostic, Effect, Event, Role, StepKey};

use super::bind::render_text;
use super::recall::guarded;
use super::turn::{Turn, Work};
use crate::fault::evaluation;
use crate::scope::View;

impl Turn<'_> {
    /// Whether a step has the locks that its template names; asks for them once.
    pub(super) fn has_locks(&mut self, key: StepKey) -> bool {
        if let Some(holding) = self.run.locks.get(&key) {
            return holding.taken;
        }
        let spec = Arc::clone(&self.run.spec);
        let locks = guarded(self.run, &spec, key).map(|template| &template.locks[..]);
        match named(&self.step_view(key), locks.unwrap_or_default()) {
            Ok(locks) => self.needs_none(key, locks),
            Err(why) => {
                self.refuse(key, &why);
                false
            }
        }
    }

    /// The same for the run's own. One that is to end needs none.
    pub(super) fn has_run_locks(&mut self, graph: &Graph) -> bool {
        if self.run.shutdown.is_some() || self.run.deadline_passed {
            return true;
        }
        if let Some(holding) = self.run.locks.get(&StepKey::NONE) {
            return holding.taken;
        }
        match named(&self.view(StepKey::NONE), &graph.locks) {
            Ok(locks) => self.needs_none(StepKey::NONE, locks),
            Err(why) => {
                self.refuse_run(&why);
                false
            }
        }
    }

    /// Whether there are no locks to ask for; asks for them otherwise.
    fn needs_none(&mut self, key: StepKey, locks: Vec<Lock>) -> bool {
        if locks.is_empty() {
            return true;
        }
        self.emit(Event::LocksAsked { step: key, locks });
        self.effect(Effect::Acquire(self.run.id, key));
        false
    }

    fn waits(&self, key: StepKey) -> bool {
        self.run.locks.get(&key).is_some_and(|holding| !holding.taken)
    }

    pub(super) fn on_locks_given(&mut self, key: StepKey) {
        if !self.waits(key) {
            return;
        }
        self.emit(Event::LocksTaken { step: key });
        if !key.is_none() {
            return self.then(Work::Open(key));
        }
        let spec = Arc::clone(&self.run.spec);
        if let (Plan::Graph(graph), false) = (&spec.plan, self.run.suspended) {
            self.begin_main(graph);
        }
    }

    pub(super) fn on_locks_kept(&mut self, key: StepKey, lock: Lock, message: &str) {
        let shown = match self.run.step(key) {
            Some(step) => step.message.as_deref(),
            None => Some(&*self.run.message),
        };
        if self.waits(key) && shown != Some(message) {
            self.emit(Event::LocksAwaited { step: key, lock, message: message.into() });
        }
    }

    pub(super) fn on_locks_refused(&mut self, key: StepKey, why: &Diagnostic) {
        if !self.waits(key) {
            return;
        }
        if key.is_none() {
            return self.refuse_run(why);
        }
        self.refuse(key, why);
    }

    /// Ends a run that cannot begin.
    fn refuse_run(&mut self, why: &Diagnostic) {
        let entrypoint = self.run.graph().map_or(0, |graph| graph.entrypoint);
        self.add_refused(StepKey::NONE, Role::Root, entrypoint, why);
    }

    /// Gives back what a step or the run holds or waits for, as it is about to end.
    pub(super) fn release(&mut self, key: StepKey) {
        if self.run.locks.contains_key(&key) {
            self.effect(Effect::Release(self.run.id, key));
        }
    }
}

/// Locks with final names, each once.
fn named(view: &View<'_>, locks: &[Lock]) -> Result<Vec<Lock>, Diagnostic> {
    let text = |source: &str| render_text(view, source).map_err(evaluation);
    let named = locks.iter().map(|lock| {
        Ok(match lock {
            Lock::Mutex { name } => Lock::Mutex { name: text(name)? },
            Lock::Semaphore { config_map, key } => {
                Lock::Semaphore { config_map: text(config_map)?, key: text(key)? }
            }
        })
    });
    let mut named = named.collect::<Result<Vec<_>, Diagnostic>>()?;
    named.sort();
    named.dedup();
    Ok(named)
}
