//! Live runs, as the loop keeps them.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use argosy_engine::{Decision, Input, Run, decide};
use argosy_model::{Event, StepKey};
use argosy_store::Piece;
use tokio::sync::watch;

/// A run that readers may look at while the loop works on it.
#[derive(Clone, Debug)]
pub(crate) struct SharedRun {
    pub(crate) run: Arc<RwLock<Run>>,
    /// Rises with every commit that changed the run.
    pub(crate) version: watch::Receiver<u64>,
}

/// A live run.
pub(crate) struct Live {
    pub(crate) run: Arc<RwLock<Run>>,
    pub(crate) version: watch::Sender<u64>,
    pub(crate) wake_ms: Option<i64>,
    /// The commit up to which its parts are written; 0 for none.
    pub(crate) snapshot_seq: u64,
    pub(crate) events_since: u64,
    dirty_pages: BTreeSet<usize>,
    new_items: Vec<StepKey>,
    has_spec: bool,
}

impl Live {
    /// A run that was just accepted or loaded.
    pub(crate) fn new(run: Run, snapshot_seq: u64, events_since: u64) -> Live {
        let pages = run.steps.len().div_ceil(argosy_engine::PAGE_STEPS);
        let new_items = run.items.keys().copied().collect();
        Live {
            run: Arc::new(RwLock::new(run)),
            version: watch::Sender::new(0),
            wake_ms: None,
            snapshot_seq,
            events_since,
            dirty_pages: (0..pages).collect(),
            new_items,
            has_spec: snapshot_seq != 0,
        }
    }

    pub(crate) fn shared(&self) -> SharedRun {
        SharedRun { run: Arc::clone(&self.run), version: self.version.subscribe() }
    }

    /// Looks at the run.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        look(&self.run.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the run one turn further, and notes what a snapshot would have to write.
    pub(crate) fn decide(&mut self, input: Input, now_ms: i64) -> Decision {
        let mut run = self.run.write().unwrap_or_else(PoisonError::into_inner);
        let before = run.steps.len();
        let decision = decide(&mut run, input, now_ms);
        drop(run);
        self.note(&decision.events, before);
        decision
    }

    fn note(&mut self, events: &[Event], steps_before: usize) {
        self.events_since += events.len() as u64;
        self.dirty_pages.extend(Run::changed_pages(events, steps_before));
        for event in events {
            if let Event::ItemsListed { step, .. } = event {
                self.new_items.push(*step);
            }
        }
    }

    /// The pieces that changed since the last snapshot. They are clean afterwards.
    pub(crate) fn take_pieces(&mut self) -> Vec<Piece> {
        let run = self.run.read().unwrap_or_else(PoisonError::into_inner);
        let mut pieces = vec![Piece::Head(Box::new(run.head()))];
        if !self.has_spec {
            pieces.push(Piece::Spec(Arc::clone(&run.spec)));
        }
        for page in std::mem::take(&mut self.dirty_pages) {
            pieces.push(Piece::Page(page, run.page(page)));
        }
        for step in std::mem::take(&mut self.new_items) {
            let items = run.items.get(&step).map(Arc::clone);
            pieces.extend(items.map(|items| Piece::Items(step, items)));
        }
        drop(run);
        self.has_spec = true;
        self.events_since = 0;
        pieces
    }

    /// The pieces that were taken could not be written: the next snapshot has all of them.
    pub(crate) fn forget_snapshots(&mut self) {
        let (pages, items) = self.read(|run| {
            (
                run.steps.len().div_ceil(argosy_engine::PAGE_STEPS),
                run.items.keys().copied().collect(),
            )
        });
        (self.dirty_pages, self.new_items) = ((0..pages).collect(), items);
        self.has_spec = false;
    }
}
