//! The bounds on the steps of a run and on what it holds. A run that would pass one is ended as a
//! whole: what it has is ended as by a termination, and nothing more is made of it, not even its
//! exit handler.

use argosy_model::{Diagnostic, Event, Phase, Role, StepKey, limits};

use super::turn::Turn;

/// What the parts of a run that is given up are told. The run itself names the limit.
pub(crate) const WITH_THE_RUN: &str = "ended with its run, which came to a limit";

impl Turn<'_> {
    /// Whether the run may have that many steps more; gives the run up otherwise.
    pub(super) fn may_add(&mut self, more: u64) -> bool {
        if self.run.given_up.is_some() {
            return false;
        }
        let there = (self.run.steps.len() as u64).saturating_add(self.run.reserved);
        match limits::STEPS.check(there.saturating_add(more), "the run needs too many steps") {
            Ok(()) => true,
            Err(refused) => {
                self.give_up(&refused);
                false
            }
        }
    }

    /// Gives the run up once it holds more than one may. What is over that is as much as one turn
    /// can bring (`turn.rs`), and what came from outside with the last input.
    pub(super) fn weigh(&mut self) {
        if self.run.given_up.is_some() || self.run.steps.is_empty() || self.run.phase.is_terminal()
        {
            return;
        }
        let limit = limits::Limit { max: self.run.max_bytes, ..limits::RUN_BYTES };
        if let Err(refused) = limit.check(self.run.bytes(), "the run holds too much") {
            self.give_up(&refused);
        }
    }

    fn give_up(&mut self, why: &Diagnostic) {
        self.emit(Event::GivenUp { message: why.line() });
        self.run.give_up();
    }

    /// Ends a step that has others below it once none of them is open.
    pub(super) fn end_given_up(&mut self, key: StepKey) {
        if self.run.frames.get(key).is_some_and(|frame| frame.open > 0) {
            return;
        }
        let whole = matches!(self.run.at(key).role, Role::Root | Role::Exit);
        let text = self.run.given_up.as_deref().filter(|_| whole).unwrap_or(WITH_THE_RUN);
        let text = text.to_owned();
        self.end(key, Phase::Error, Some(text), None);
    }
}
