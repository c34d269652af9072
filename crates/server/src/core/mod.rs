//! The loop.

mod batch;
mod carry;
mod expiries;
mod garbage;
mod gathered;
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

/// Events of runs that were woken after which the loop looks at everything else again.
const WOKEN_EVENTS: usize = 8_000;

/// Events that may wait for a commit that is under way. Runs that could go on by themselves wait
/// then: what is decided ahead of the disk is bounded.
const WAITING_EVENTS: usize = 16_000;

/// Inputs of one kind that are taken in before the others have their turn.
const INPUTS: usize = 1_024;

/// How a core is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Jobs that one machine takes at once.
    pub slots: u64,
    /// Breaks the order of commit and effect, so that tests can see that their checks notice.
    #[cfg(feature = "test-hooks")]
    pub effects_first: bool,
    /// Snapshots that cannot be encoded, from the first on, so that tests can see what follows.
    #[cfg(feature = "test-hooks")]
    pub broken_snapshots: u64,
}

impl Default for Options {
    fn default() -> Self {
        // As many as a kubelet takes pods.
        Options {
            slots: 110,
            #[cfg(feature = "test-hooks")]
            effects_first: hooks::effects_first(),
            #[cfg(feature = "test-hooks")]
            broken_snapshots: 0,
        }
    }
}

/// What a finished commit brings back to the loop.
pub(crate) struct Committed {
    pub(crate) seq: u64,
    pub(crate) batch: Batch,
    /// Runs whose snapshot it has.
    pub(crate) snapshots: Vec<RunId>,
    /// Runs whose snapshot could not be encoded.
    pub(crate) broken: Vec<RunId>,
    /// Whether runs have ended in it whose artifacts are to be deleted.
    pub(crate) garbage: bool,
}

/// What was read beside the loop.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// An input for a run.
    Input(RunId, Input),
    /// What a configuration map holds: space, name, document.
    Map(String, String, Option<Vec<u8>>),
    /// Artifacts that were due are deleted.
    Collected(garbage::Collected),
    /// It is time to try again what could not be deleted.
    CollectAgain,
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
    pub(crate) expiries: expiries::Expiries,
    pub(crate) garbage: garbage::Collector,
    pub(crate) lazy_since: Option<Instant>,
    pub(crate) log_from: u64,
    pub(crate) last_seq: u64,
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
                count = reports.recv_many(&mut told, INPUTS) => {
                    if count == 0 { return; }
                }
                count = requests.recv_many(&mut inbox, INPUTS) => {
                    if count == 0 { return; }
                }
                () = tokio::time::sleep(sleep) => {}
            }
            // Whatever else has come meanwhile, so that none of them keeps another waiting.
            commits.try_recv().into_iter().for_each(|done| self.on_committed(done));
            (0..INPUTS).map_while(|_| fetched.try_recv().ok()).for_each(|f| self.on_fetched(f));
            told.extend((0..INPUTS).map_while(|_| reports.try_recv().ok()));
            told.drain(..).for_each(|report| self.on_report(report));
            inbox.extend((0..INPUTS).map_while(|_| requests.try_recv().ok()));
            inbox.drain(..).for_each(|request| self.on_request(request));
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
        let wakes = self.wakes.first().filter(|_| !self.holds_back());
        let wake = wakes.into_iter().map(|(at, _)| *at).chain(self.expiries.next_ms()).min();
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
            Fetched::Collected(collected) => self.on_collected(collected),
            Fetched::CollectAgain => self.collect(),
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

    /// Wakes the runs that are due, each once: one that wants to be woken again has its turn after
    /// the others. After much has happened the rest waits for the next round.
    fn wake_due(&mut self) {
        let later = self.wakes.split_off(&(self.clock.now_ms() + 1, RunId(0)));
        let mut due = std::mem::replace(&mut self.wakes, later);
        let until = self.batch.events + WOKEN_EVENTS;
        while self.batch.events < until
            && !self.holds_back()
            && let Some((_, run)) = due.pop_first()
        {
            if let Some(live) = self.runs.get_mut(&run) {
                live.wake_ms = None;
            }
            self.turn(run, Input::Wake, None, true);
        }
        self.wakes.append(&mut due);
    }

    /// Whether no more is decided without need: so much waits for the commit under way, or the
    /// loop is to be left.
    fn holds_back(&self) -> bool {
        self.stopping.is_some() || (self.committing && self.batch.events >= WAITING_EVENTS)
    }

    /// Deletes the finished runs whose time has come.
    fn expire_due(&mut self) {
        for run in self.expiries.take_due(self.clock.now_ms()) {
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
