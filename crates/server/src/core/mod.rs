//! The loop.

mod batch;
mod carry;
mod load;
mod locks;
mod recall;
mod requests;
mod runs;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use argosy_engine::Input;
use argosy_model::{Cause, RunId};
use argosy_scheduler::Scheduler;
use argosy_store::Storage;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

pub(crate) use batch::Batch;
pub(crate) use requests::{Mutation, Request, refusing};
pub(crate) use runs::{Live, SharedRun};

use crate::backend::{Backend, BackendReport};
use crate::clock::Clock;
use crate::hooks;

/// How long facts that nothing waits for may stay out of the log.
const LAZY: Duration = Duration::from_millis(100);

/// How a core is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Jobs that one machine takes at once.
    pub slots: u64,
    /// Breaks the order of commit and effect, so that tests can see that their checks notice.
    #[cfg(feature = "test-hooks")]
    pub effects_first: bool,
}

impl Default for Options {
    fn default() -> Self {
        // As many as a kubelet takes pods.
        Options {
            slots: 110,
            #[cfg(feature = "test-hooks")]
            effects_first: hooks::effects_first(),
        }
    }
}

/// What a finished commit brings back to the loop.
pub(crate) struct Committed {
    pub(crate) seq: u64,
    pub(crate) batch: Batch,
}

/// What was read beside the loop.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// An input for a run.
    Input(RunId, Input),
    /// What a configuration map holds: space, name, document.
    Map(String, String, Option<Vec<u8>>),
}

/// The state of the loop.
pub(crate) struct Core {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) scheduler: Scheduler,
    pub(crate) runs: HashMap<RunId, Live>,
    pub(crate) names: HashMap<(String, String), RunId>,
    pub(crate) shared: Arc<RwLock<HashMap<RunId, SharedRun>>>,
    pub(crate) last_run: u64,
    #[cfg(feature = "test-hooks")]
    pub(crate) options: Options,
    pub(crate) batch: Batch,
    pub(crate) committing: bool,
    pub(crate) committed: mpsc::UnboundedSender<Committed>,
    pub(crate) locks: locks::Locks,
    pub(crate) fetched: mpsc::UnboundedSender<Fetched>,
    pub(crate) wakes: BTreeSet<(i64, RunId)>,
    /// Finished runs that are deleted by themselves, by time.
    pub(crate) expiries: BTreeSet<(i64, RunId)>,
    pub(crate) lazy_since: Option<Instant>,
    pub(crate) log_from: u64,
    pub(crate) last_seq: u64,
    pub(crate) snapshotting: Vec<RunId>,
    pub(crate) stopping: Option<tokio::sync::oneshot::Sender<()>>,
    /// What the disk says, while it refuses.
    pub(crate) trouble: watch::Sender<Option<String>>,
}

impl Core {
    /// Runs until told to stop, or until nothing can be made durable any more.
    pub(crate) async fn run(
        mut self,
        mut requests: mpsc::Receiver<Request>,
        mut reports: mpsc::UnboundedReceiver<BackendReport>,
        mut commits: mpsc::UnboundedReceiver<Committed>,
        mut fetched: mpsc::UnboundedReceiver<Fetched>,
    ) {
        let mut inbox = Vec::new();
        let mut told = Vec::new();
        loop {
            let sleep = self.sleep();
            tokio::select! {
                biased;
                Some(done) = commits.recv() => self.on_committed(done),
                Some(found) = fetched.recv() => self.on_fetched(found),
                count = reports.recv_many(&mut told, 4_096) => {
                    if count == 0 { return; }
                    told.drain(..).for_each(|report| self.on_report(report));
                }
                count = requests.recv_many(&mut inbox, 1_024) => {
                    if count == 0 { return; }
                    inbox.drain(..).for_each(|request| self.on_request(request));
                }
                () = tokio::time::sleep(sleep) => {}
            }
            self.wake_due();
            self.expire_due();
            self.tell_of_locks();
            self.place();
            self.commit_when_free();
            if self.is_stopped() {
                return;
            }
        }
    }

    /// How long nothing has to be done if nothing happens.
    fn sleep(&self) -> Duration {
        if self.locks.has_news() {
            return Duration::ZERO;
        }
        let now = self.clock.now_ms();
        let wake = [&self.wakes, &self.expiries].into_iter().filter_map(|set| set.first());
        let wake = wake.map(|(at, _)| *at).min();
        let next = [wake, self.scheduler.next_wake_ms()].into_iter().flatten().min();
        let timed = next.map(|at| Duration::from_millis((at - now).max(0).cast_unsigned()));
        let lazy = self.lazy_since.filter(|_| !self.committing);
        let lazy = lazy.map(|since| (since + LAZY).saturating_duration_since(Instant::now()));
        [timed, lazy].into_iter().flatten().min().unwrap_or(Duration::from_secs(3_600))
    }

    fn on_fetched(&mut self, found: Fetched) {
        match found {
            Fetched::Input(run, input) => {
                self.turn(run, input, None, true);
            }
            Fetched::Map(space, name, data) => self.on_map_read(space, name, data.as_deref()),
        }
    }

    fn on_report(&mut self, report: BackendReport) {
        match report {
            BackendReport::Started { attempt, at_ms } => {
                self.turn(attempt.run, Input::Started { attempt, at_ms }, None, false);
            }
            BackendReport::Note { attempt, message } => {
                self.turn(attempt.run, Input::Note { attempt, message }, None, false);
            }
            BackendReport::Ended { attempt, mut end } => {
                hooks::swap_outputs(&mut end);
                let known = self.runs.contains_key(&attempt.run);
                self.turn(attempt.run, Input::Ended { attempt, end }, None, true);
                if !known {
                    self.backend.forget(attempt);
                }
            }
        }
    }

    /// Wakes every run that is due, once: one that wants to be woken again has its turn after the
    /// others.
    fn wake_due(&mut self) {
        let now = self.clock.now_ms();
        let later = self.wakes.split_off(&(now + 1, RunId(0)));
        for (_, run) in std::mem::replace(&mut self.wakes, later) {
            if let Some(live) = self.runs.get_mut(&run) {
                live.wake_ms = None;
            }
            self.turn(run, Input::Wake, None, true);
        }
    }

    /// Deletes the finished runs whose time has come.
    fn expire_due(&mut self) {
        let later = self.expiries.split_off(&(self.clock.now_ms() + 1, RunId(0)));
        for (_, run) in std::mem::replace(&mut self.expiries, later) {
            self.delete(run);
        }
    }

    /// Deletes a finished run with the next commit.
    pub(crate) fn delete(&mut self, run: RunId) {
        self.batch.deleted.push(run);
        self.batch.urgent = true;
    }

    /// Lets the scheduler place what it can, in the same commit.
    fn place(&mut self) {
        loop {
            let placements = self.scheduler.round(self.clock.now_ms());
            if placements.is_empty() {
                return;
            }
            for placed in placements {
                let input = Input::Placed { attempt: placed.attempt, machine: placed.machine };
                if !self.runs.contains_key(&placed.attempt.run) {
                    self.scheduler.withdraw(placed.attempt);
                    continue;
                }
                self.turn(placed.attempt.run, input, None, true);
            }
        }
    }

    /// Takes one run one turn further, within the batch that is being gathered.
    pub(crate) fn turn(
        &mut self,
        id: RunId,
        input: Input,
        cause: Option<Box<Cause>>,
        urgent: bool,
    ) -> bool {
        let now_ms = self.clock.now_ms();
        let Some(live) = self.runs.get_mut(&id) else { return false };
        let decision = live.decide(input, now_ms);
        let moved = !decision.events.is_empty();
        if moved {
            self.note(id, now_ms, cause, decision.events, urgent);
        }
        self.take_effects(decision.effects);
        moved
    }
}
