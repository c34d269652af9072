//! Stop, terminate, and suspend.

use argosy_model::attempt::Kill;
use argosy_model::{Event, Kind, Phase, Shutdown, StepKey};

use super::call::shutdown_text;
use super::limit::WITH_THE_RUN;
use super::turn::Turn;
use crate::Run;

/// How what is alive is ended.
struct Ending {
    kill: Kill,
    message: String,
    spares_exit: bool,
}

/// Why a run is to end, if it is.
fn ending(run: &Run) -> Option<Ending> {
    let of = |kill, message: &str, spares_exit| {
        Some(Ending { kill, message: message.to_owned(), spares_exit })
    };
    match (&run.given_up, run.shutdown) {
        (Some(_), _) => of(Kill::Shutdown, WITH_THE_RUN, false),
        (None, Some(how)) => of(Kill::Shutdown, &shutdown_text(how), how == Shutdown::Stop),
        (None, None) if run.deadline_passed => {
            of(Kill::RunDeadline, "Step exceeded its deadline", true)
        }
        (None, None) => None,
    }
}

impl Turn<'_> {
    pub(super) fn on_shutdown(&mut self, how: Shutdown, message: String) {
        if self.run.shutdown == Some(Shutdown::Terminate) || self.run.shutdown == Some(how) {
            return;
        }
        self.emit(Event::ShutdownOrdered { how, message });
        if self.run.steps.is_empty() {
            return self.end_unstarted();
        }
        self.run.sweep = Some(StepKey::ROOT);
    }

    /// Ends a run that never began, as it was accepted suspended or waits for its locks: its root
    /// is refused.
    pub(super) fn end_unstarted(&mut self) {
        self.emit(Event::RunResumed);
        self.begin();
    }

    /// Ends the next part of a run that is to end, but for exit handlers where they are spared.
    /// Whatever is not reached yet can do no more than end by itself: nothing new is let start.
    pub(super) fn sweep(&mut self) -> bool {
        let Some(StepKey(from)) = self.run.sweep else { return false };
        let why = ending(self.run);
        let count = u32::try_from(self.run.steps.len()).unwrap_or(u32::MAX);
        let mut at = from;
        while let (Some(why), false) = (&why, at >= count || self.is_spent()) {
            let key = StepKey(at);
            at += 1;
            self.spend(1);
            let open = !self.run.at(key).phase.is_terminal();
            if open && !(why.spares_exit && self.run.is_exit_work(key)) {
                self.end_early(key, why);
                break;
            }
        }
        self.run.sweep = Some(StepKey(at)).filter(|_| why.is_some() && at < count);
        true
    }

    fn end_early(&mut self, key: StepKey, why: &Ending) {
        let step = self.run.at(key);
        let (kind, unopened) =
            (step.kind, step.phase == Phase::Waiting && step.attempts.is_empty());
        if kind == Kind::Suspend || unopened {
            self.end(key, Phase::Failed, Some(why.message.clone()), None);
        } else if kind.has_attempts() {
            self.kill_leaf(key, why.kill);
        } else if self.run.given_up.is_some() {
            self.end_given_up(key);
        } else if kind == Kind::Retry && self.waits_for_try(key) {
            self.end(key, Phase::Failed, Some(why.message.clone()), None);
        }
    }

    fn waits_for_try(&self, key: StepKey) -> bool {
        let children = self.run.children(key).iter();
        children.into_iter().all(|child| self.run.at(*child).phase.is_terminal())
    }

    pub(super) fn on_suspend(&mut self) {
        if !self.run.suspended && self.run.shutdown.is_none() {
            self.emit(Event::RunSuspended);
        }
    }
}
