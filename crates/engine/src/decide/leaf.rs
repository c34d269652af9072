//! Attempts: from the queue to their end, and whether another follows.

use argosy_model::attempt::{End, Kill};
use argosy_model::effect::Job;
use argosy_model::graph::Retry;
use argosy_model::{
    Attempt, AttemptId, AttemptPhase, Code, Diagnostic, Effect, Event, Exit, Kind, Outputs, Phase,
    StepKey, limits,
};

use super::retry::{Tries, Verdict, judge, milliseconds, retry_of};
use super::turn::Turn;
use crate::outcome::{Last, Outcome, exit_code, seconds};

impl Turn<'_> {
    /// Opens a step of processes: its first attempt is queued, or it waits for the run's
    /// parallelism.
    pub(super) fn open_leaf(&mut self, key: StepKey) {
        if self.run.has_place() {
            self.queue_attempt(key, 0);
        } else {
            self.run.throttled.push_back(key);
        }
    }

    pub(super) fn queue_attempt(&mut self, key: StepKey, not_before_ms: i64) {
        self.emit(Event::AttemptQueued { step: key, not_before_ms });
        if let Some(job) = job_of(self.run, key) {
            self.effect(Effect::Enqueue(Box::new(job)));
        }
    }

    pub(super) fn on_placed(&mut self, attempt: AttemptId, machine: u32) {
        let queued = self
            .run
            .current_attempt(attempt.step)
            .is_some_and(|(id, current)| id == attempt && current.phase == AttemptPhase::Queued);
        if !queued {
            return self.effect(Effect::Withdraw(attempt));
        }
        self.emit(Event::AttemptPlaced { step: attempt.step, machine });
        self.effect(Effect::Start(attempt));
    }

    pub(super) fn on_started(&mut self, attempt: AttemptId, at_ms: i64) {
        let placed = self
            .run
            .current_attempt(attempt.step)
            .is_some_and(|(id, current)| id == attempt && current.phase == AttemptPhase::Placed);
        if !placed {
            return;
        }
        self.emit(Event::AttemptStarted { step: attempt.step, started_ms: at_ms });
        self.set_process_deadline(attempt.step, at_ms);
        self.fire_hooks(attempt.step);
    }

    pub(super) fn on_note(&mut self, attempt: AttemptId, message: &str) {
        let step = self.run.step(attempt.step);
        let known = step.is_some_and(|step| step.message.as_deref() == Some(message));
        if self.run.is_current(attempt) && !known {
            self.emit(Event::StepMessage { step: attempt.step, message: message.into() });
        }
    }

    pub(super) fn on_ended(&mut self, attempt: AttemptId, end: Box<End>) {
        if !self.run.is_current(attempt) {
            return;
        }
        self.end_attempt(attempt.step, end);
    }

    /// Ends the current attempt of a step and judges what follows.
    pub(super) fn end_attempt(&mut self, key: StepKey, end: Box<End>) {
        if let Some((id, _)) = self.run.current_attempt(key) {
            self.effect(Effect::Withdraw(id));
        }
        let kill = self.run.at(key).attempts.last().and_then(|attempt| attempt.kill);
        self.emit(Event::AttemptEnded { step: key, end: end.clone() });
        self.reset_deadline(key);
        if end.exit.is_infrastructure() && kill.is_none() {
            return self.after_loss(key, &end);
        }
        let outcome = Outcome::of(&end, kill, self.run);
        if !outcome.phase.is_failure() {
            return self.end_leaf(key, outcome, end.outputs);
        }
        match self.verdict(key, &outcome, &end, kill) {
            Ok(Verdict::Again(at_ms)) => {
                let now = at_ms <= self.now_ms;
                self.queue_attempt(key, if now { 0 } else { at_ms });
            }
            Ok(Verdict::Enough(message)) => {
                self.end_leaf(key, Outcome { phase: outcome.phase, message }, end.outputs);
            }
            Err(why) => self.end_leaf(key, Outcome::refused(&why), end.outputs),
        }
    }

    /// The attempt was lost with what watched over it, or there was no room for it: another one, on
    /// its own budget.
    fn after_loss(&mut self, key: StepKey, end: &End) {
        let step = self.run.at(key);
        let lost = step.attempts.iter().filter(|attempt| attempt.was_infrastructure()).count();
        if lost as u64 <= limits::INFRASTRUCTURE_RETRIES.max {
            let wait = pause_ms(&step.attempts);
            return self.queue_attempt(key, if wait == 0 { 0 } else { self.now_ms + wait });
        }
        let mut what = format!("the attempt was lost {lost} times");
        if !end.message.is_empty() {
            what.push_str(&format!(", the last time so: {}", end.message));
        }
        let why = Diagnostic::new(Code::AttemptLost, what);
        self.end_leaf(key, Outcome::refused(&why), Outputs::default());
    }

    fn verdict(
        &self,
        key: StepKey,
        outcome: &Outcome,
        end: &End,
        kill: Option<Kill>,
    ) -> Result<Verdict, Diagnostic> {
        let step = self.run.at(key);
        let ended_by_us =
            matches!(kill, Some(Kill::Shutdown | Kill::RunDeadline | Kill::NotNeeded));
        let (Some(retry), false) = (self.retry(key), ended_by_us) else {
            return Ok(Verdict::Enough(outcome.message.clone()));
        };
        let refused = self.refusal(step.parent, step.role).is_some();
        if refused || self.life_ends_ms(key).is_some_and(|at| at <= self.now_ms) {
            return Ok(Verdict::Enough(outcome.message.clone()));
        }
        let user = step.attempts.iter().filter(|attempt| !attempt.was_infrastructure());
        let tries = Tries {
            count: u32::try_from(user.clone().count()).unwrap_or(u32::MAX),
            first_start_ms: user.clone().next().map_or(self.now_ms, start_ms),
            last: Last {
                phase: outcome.phase,
                message: outcome.message.clone(),
                exit_code: exit_code(&end.exit),
                seconds: seconds(end),
            },
            ended_ms: end.ended_ms.max(end.started_ms),
        };
        judge(self.view(key), retry, &tries)
    }

    /// How a step of processes is tried again.
    fn retry(&self, key: StepKey) -> Option<&Retry> {
        match self.run.at(key).kind {
            Kind::Task => self.run.task_of(key)?.retry.as_ref(),
            _ => retry_of(&self.run.spec, self.run.at(key).template),
        }
    }

    /// When the time for all tries of a step is over: it bounds every try but the first
    /// (argo-workflows `operator.go` `processNodeRetries`, `executionDeadline`).
    pub(super) fn retries_end_ms(&self, key: StepKey) -> Option<i64> {
        let text = self.retry(key)?.max_duration.as_deref()?;
        let mut tries =
            self.run.at(key).attempts.iter().filter(|attempt| !attempt.was_infrastructure());
        let (first, _second) = (tries.next()?, tries.next()?);
        // Text that is no duration ends the step when the try is judged.
        let ms = milliseconds(&self.view(key), "maxDuration", text).ok()?;
        Some(start_ms(first).saturating_add(ms))
    }

    /// Ends a step of processes, with the outputs that its template declares.
    fn end_leaf(&mut self, key: StepKey, outcome: Outcome, mut kept: Outputs) {
        let last = self.run.at(key).attempts.last().and_then(|attempt| attempt.end.as_deref());
        kept.exit_code = last.and_then(|end| exit_code(&end.exit));
        match self.leaf_outputs(key, kept, outcome.phase == Phase::Succeeded) {
            Ok(outputs) => {
                self.end_members(key, outcome.phase);
                self.end(key, outcome.phase, Some(outcome.message), Some(outputs));
            }
            Err(why) => self.refuse(key, &why),
        }
    }

    /// The members of a container set end with it.
    fn end_members(&mut self, key: StepKey, phase: Phase) {
        for child in self.run.children(key).to_vec() {
            let member = self.run.at(child).kind == Kind::Container;
            if member && !self.run.at(child).phase.is_terminal() {
                self.end(child, phase, None, None);
            }
        }
    }

    /// A placed or running attempt is ordered to end; one that was never placed ends at once.
    pub(super) fn kill_leaf(&mut self, key: StepKey, why: Kill) {
        let Some((id, attempt)) = self.run.current_attempt(key) else { return };
        match (attempt.phase, attempt.kill) {
            (AttemptPhase::Queued, _) => {
                self.emit(Event::AttemptKillOrdered { step: key, why });
                self.end_attempt(key, Box::new(End::bare(Exit::NotStarted)));
            }
            (AttemptPhase::Placed | AttemptPhase::Running, None) => {
                self.emit(Event::AttemptKillOrdered { step: key, why });
                self.effect(Effect::Kill(id, why));
            }
            _ => {}
        }
    }
}

/// The job of a step's current attempt.
pub(crate) fn job_of(run: &crate::Run, key: StepKey) -> Option<Job> {
    let (attempt, current) = run.current_attempt(key)?;
    let resources = crate::render::needs(run, attempt)?;
    let (priority, gang) = match run.task_of(key) {
        Some(task) => (None, task.gang.clone()),
        None => (run.template_of(key)?.priority, None),
    };
    let priority = priority.unwrap_or(run.spec.priority);
    Some(Job { attempt, resources, not_before_ms: current.not_before_ms, priority, gang })
}

/// Unix ms from which the time of a step's tries counts.
fn start_ms(first: &Attempt) -> i64 {
    if first.started_ms == 0 { first.queued_ms } else { first.started_ms }
}

/// How long the machine is left alone, in ms, before the next attempt after some of which the last
/// was lost: not at all after one that ran, as what watched over it is there again; else a second,
/// twice as long after every further loss in a row, and a minute at most.
fn pause_ms(attempts: &[Attempt]) -> i64 {
    let lost = attempts.iter().rev().take_while(|attempt| attempt.was_infrastructure()).count();
    let ran = attempts.last().is_some_and(|last| last.started_ms != 0);
    match lost {
        0 | 1 if ran => 0,
        _ => (1000_i64 << lost.saturating_sub(1).min(10)).min(60_000),
    }
}
