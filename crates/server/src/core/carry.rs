//! Carrying effects out: what stays within the loop at once, the rest after the commit.

use argosy_engine::{Input, render};
use argosy_model::attempt::End;
use argosy_model::{AttemptId, Effect, Exit, RunId};

use super::Core;

impl Core {
    /// The scheduler and the timers are the loop's own: what they come to stands in the same
    /// commit. Everything else waits for it.
    pub(crate) fn take_effects(&mut self, effects: Vec<Effect>) {
        let now_ms = self.clock.now_ms();
        if !effects.is_empty() {
            self.lazy_since.get_or_insert_with(tokio::time::Instant::now);
        }
        for effect in effects {
            match effect {
                Effect::Enqueue(job) => self.scheduler.enqueue(*job, now_ms),
                Effect::Withdraw(attempt) => {
                    self.scheduler.withdraw(attempt);
                    self.batch.effects.push(Effect::Withdraw(attempt));
                }
                Effect::WakeAt(run, at_ms) => self.wake_at(run, at_ms),
                Effect::Archive(run) => {
                    if let Some(live) = self.runs.get(&run) {
                        self.batch.ended.push((run, std::sync::Arc::clone(&live.run)));
                    }
                }
                Effect::Acquire(run, step) => self.acquire(run, step),
                Effect::Release(run, step) => self.release(run, step),
                Effect::Remember(run, step) => self.remember(run, step),
                // A cache shows what is durable.
                Effect::Recall { .. } | Effect::Start(_) | Effect::Kill(..) => {
                    self.batch.effects.push(effect);
                }
            }
        }
    }

    fn wake_at(&mut self, run: RunId, at_ms: i64) {
        let Some(live) = self.runs.get_mut(&run) else { return };
        if let Some(old) = live.wake_ms.replace(at_ms) {
            self.wakes.remove(&(old, run));
        }
        self.wakes.insert((at_ms, run));
    }

    /// Orders to the backend, after their events are durable.
    pub(crate) fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start(attempt) => self.start(attempt),
                Effect::Kill(attempt, why) => {
                    let grace_ms = self.grace_ms(attempt);
                    self.backend.kill(attempt, why, grace_ms);
                }
                Effect::Withdraw(attempt) => self.backend.forget(attempt),
                Effect::Recall { run, step, cache, key } => self.recall(run, step, cache, key),
                Effect::Enqueue(_)
                | Effect::WakeAt(..)
                | Effect::Acquire(..)
                | Effect::Release(..)
                | Effect::Remember(..)
                | Effect::Archive(_) => {}
            }
        }
    }

    fn start(&mut self, attempt: AttemptId) {
        let Some(live) = self.runs.get(&attempt.run) else { return };
        let rendered = live.read(|run| run.is_current(attempt).then(|| render(run, attempt)));
        match rendered {
            None => {}
            Some(Ok(rendered)) => self.backend.run(attempt, rendered),
            Some(Err(why)) => {
                let end = Box::new(End::with_error(Exit::Refused, &why));
                self.turn(attempt.run, Input::Ended { attempt, end }, None, true);
            }
        }
    }

    fn grace_ms(&self, attempt: AttemptId) -> u64 {
        let rendered =
            self.runs.get(&attempt.run).map(|live| live.read(|run| render(run, attempt)));
        rendered.and_then(Result::ok).map_or(30_000, |rendered| rendered.process.grace_ms)
    }

    /// Takes a run that has ended and is archived out of memory.
    pub(crate) fn drop_run(&mut self, id: RunId) {
        let Some(live) = self.runs.remove(&id) else { return };
        if let Some(at) = live.wake_ms {
            self.wakes.remove(&(at, id));
        }
        let name = live.read(|run| (run.spec.space.clone(), run.spec.name.clone()));
        self.names.remove(&name);
        let mut shared = self.shared.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.remove(&id);
    }
}
