//! Starting the loop on what a data directory holds.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, RwLock};

use argosy_engine::{needs, pending};
use argosy_model::{AttemptId, AttemptPhase, StepKey};
use argosy_scheduler::{MachineSpec, Scheduler};
use argosy_store::Storage;
use tokio::sync::{mpsc, watch};

use super::locks::Locks;
use super::runs::{Live, SharedRun};
use super::{Batch, Committed, Core, Fetched, Options};
use crate::backend::Backend;
use crate::clock::Clock;

/// A loop that is ready to run, with the receiving ends of its commits and of what is
/// read beside it.
pub(crate) struct Loaded {
    pub(crate) core: Core,
    pub(crate) commits: mpsc::UnboundedReceiver<Committed>,
    pub(crate) found: mpsc::UnboundedReceiver<Fetched>,
}

impl Core {
    /// Loads every live run and brings the world in line with it.
    pub(crate) async fn load(
        options: &Options,
        store: Arc<dyn Storage>,
        backend: Arc<dyn Backend>,
        clock: Arc<dyn Clock>,
        trouble: watch::Sender<Option<String>>,
        shared: Arc<RwLock<HashMap<argosy_model::RunId, SharedRun>>>,
    ) -> argosy_store::Result<Loaded> {
        let stored = store.load(clock.now_ms()).await?;
        let expiries = super::expiries::Expiries::of(store.expiring().await?);
        let (committed, commits) = mpsc::unbounded_channel();
        let (fetched, found) = mpsc::unbounded_channel();
        let machines = backend.machines().into_iter().map(|(name, capacity)| MachineSpec {
            name,
            capacity,
            slots: options.slots,
            compressible_cpu: true,
        });
        let mut core = Core {
            scheduler: Scheduler::new(machines.collect()),
            clock,
            store,
            backend,
            #[cfg(feature = "test-hooks")]
            options: options.clone(),
            runs: HashMap::new(),
            names: HashMap::new(),
            shared,
            last_run: stored.last_run,
            batch: Batch::default(),
            committing: false,
            committed,
            locks: Locks::default(),
            fetched,
            wakes: BTreeSet::new(),
            expiries,
            garbage: super::garbage::Collector::default(),
            lazy_since: None,
            log_from: stored.seq,
            last_seq: stored.seq,
            stopping: None,
            trouble,
        };
        let mut ids = Vec::new();
        for found in stored.runs {
            let id = found.run.id;
            ids.push(id);
            core.adopt_run(Live::new(found.run, found.snapshot_seq, found.events_since));
        }
        ids.iter().for_each(|id| core.adopt_locks(*id));
        core.give_free_locks();
        core.backend.keep_only(&core.wanted());
        let now_ms = core.clock.now_ms();
        for id in ids {
            let effects = core.runs.get(&id).map(|live| live.read(|run| pending(run, now_ms)));
            core.resume(effects.unwrap_or_default());
        }
        core.collect();
        Ok(Loaded { core, commits, found })
    }

    /// Attempts that the backend may have to do with.
    fn wanted(&self) -> BTreeSet<AttemptId> {
        let mut wanted = BTreeSet::new();
        for live in self.runs.values() {
            live.read(|run| {
                let keys = (0u32..).map(StepKey).take(run.steps.len());
                let current = keys.filter_map(|key| run.current_attempt(key));
                let live = current.filter(|(_, attempt)| attempt.phase != AttemptPhase::Ended);
                wanted.extend(live.map(|(id, _)| id));
            });
        }
        wanted
    }

    fn adopt_run(&mut self, live: Live) {
        let (id, name) = live.read(|run| (run.id, (run.spec.space.clone(), run.spec.name.clone())));
        let placed: Vec<_> = live.read(|run| {
            let keys = (0u32..).map(StepKey).take(run.steps.len());
            keys.filter_map(|key| run.current_attempt(key).map(|(id, at)| (id, at.clone())))
                .filter(|(_, at)| matches!(at.phase, AttemptPhase::Placed | AttemptPhase::Running))
                .map(|(id, at)| (id, at.machine, needs(run, id).unwrap_or_default()))
                .collect()
        });
        for (attempt, machine, asked) in placed {
            self.scheduler.adopt(attempt, machine, asked);
        }
        let mut shared = self.shared.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.insert(id, live.shared());
        drop(shared);
        self.names.insert(name, id);
        self.runs.insert(id, live);
    }
}
