//! What others ask of the loop.

use argosy_engine::{Input, Prepared, refused, submit};
use argosy_model::{Cause, Code, Diagnostic, Effect, RunId};
use argosy_store::ObjectChange;
use tokio::sync::oneshot;

use super::Core;
use super::runs::Live;

type Answer<T> = oneshot::Sender<Result<T, Diagnostic>>;

/// A request. Its answer is sent once what it caused is durable.
pub(crate) enum Request {
    /// Accept a run.
    Submit { prepared: Box<Prepared>, cause: Box<Cause>, answer: Answer<RunId> },
    /// Give a live run an input.
    Input { run: RunId, input: Input, cause: Box<Cause>, answer: Answer<bool> },
    /// Change what is stored beside runs.
    Mutate { mutation: Mutation, answer: Answer<()> },
    /// Why an attempt waits.
    Explain {
        attempt: argosy_model::AttemptId,
        answer: oneshot::Sender<Option<argosy_scheduler::Reason>>,
    },
    /// Make everything durable, then leave the loop.
    Stop { done: oneshot::Sender<()> },
}

/// A change beside runs.
pub(crate) enum Mutation {
    /// Objects.
    Objects(Vec<ObjectChange>),
    /// A finished run is deleted.
    Delete(RunId),
}

/// Why nothing is accepted while the disk refuses.
pub(crate) fn refusing(text: &str) -> Diagnostic {
    Diagnostic::new(Code::StoreFailed, format!("nothing can be accepted: {text}"))
        .help("make room on the disk; what runs goes on")
}

impl Core {
    pub(crate) fn on_request(&mut self, request: Request) {
        match request {
            Request::Submit { prepared, cause, answer } => {
                self.on_submit(*prepared, cause, answer);
            }
            Request::Input { run, input, cause, answer } => {
                if let Some(refusal) = self.refusal(run, &input) {
                    // Whoever asked may have gone away.
                    let _ = answer.send(Err(refusal));
                    return;
                }
                let moved = self.turn(run, input, Some(cause), true);
                self.batch.answer(answer, moved);
            }
            Request::Mutate { mutation, answer } => {
                match mutation {
                    Mutation::Objects(changes) => {
                        changes.iter().for_each(|change| self.on_object_change(change));
                        self.batch.objects.extend(changes);
                    }
                    Mutation::Delete(run) => self.delete(run),
                }
                self.batch.answer(answer, ());
            }
            Request::Explain { attempt, answer } => {
                // Whoever asked may have gone away.
                let _ = answer.send(self.scheduler.explain(attempt));
            }
            Request::Stop { done } => {
                self.stopping = Some(done);
                self.collect_no_longer();
            }
        }
    }

    /// Why a live run does not do what is asked of it.
    fn refusal(&self, run: RunId, input: &Input) -> Option<Diagnostic> {
        let what = self.runs.get(&run)?.read(|run| refused(run, input))?;
        let help = "`argosy get` shows the step; `argosy resume RUN -p NAME=VALUE` gives a value";
        Some(Diagnostic::new(Code::NotInState, what).help(help))
    }

    fn on_submit(&mut self, prepared: Prepared, cause: Box<Cause>, answer: Answer<RunId>) {
        let name = (prepared.spec().space.clone(), prepared.spec().name.clone());
        let refusal = if self.names.contains_key(&name) {
            let what = format!("a run named {:?} exists in {:?}", name.1, name.0);
            Some(Diagnostic::new(Code::AlreadyExists, what).help("choose another name"))
        } else {
            self.trouble.borrow().as_deref().map(refusing)
        };
        if let Some(refusal) = refusal {
            let _ = answer.send(Err(refusal));
            return;
        }
        self.last_run += 1;
        let id = RunId(self.last_run);
        let now_ms = self.clock.now_ms();
        let (run, decision) = submit(id, prepared, now_ms);
        let events = decision.events.len() as u64;
        let live = Live::new(run, 0, events);
        let mut shared = self.shared.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.insert(id, live.shared());
        drop(shared);
        self.runs.insert(id, live);
        self.names.insert(name, id);
        self.note(id, now_ms, Some(cause), decision.events, true);
        self.take_effects(decision.effects);
        self.batch.answer(answer, id);
    }

    /// Whether everything is durable and the loop was told to leave.
    pub(crate) fn is_stopped(&mut self) -> bool {
        if self.committing || self.garbage.busy || self.stopping.is_none() {
            return false;
        }
        if let Some(done) = self.stopping.take() {
            let _ = done.send(());
        }
        true
    }

    /// What a run that was just loaded needs from the world.
    pub(crate) fn resume(&mut self, effects: Vec<Effect>) {
        let (outside, inside): (Vec<_>, Vec<_>) = effects
            .into_iter()
            .partition(|effect| matches!(effect, Effect::Start(_) | Effect::Kill(..)));
        self.take_effects(inside);
        self.carry_out(outside);
    }
}
