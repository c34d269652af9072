//! Removes what attempts leave behind, or passes it on, beside the way of those that run.

use super::layout::Layout;
use super::spares::Spares;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// How long things may lie, so that many go at once.
const PAUSE: Duration = Duration::from_millis(100);

/// What is left of an attempt that is forgotten.
#[derive(Debug)]
pub struct Remains {
    pub layout: Layout,
    /// Whether none of its processes can still be alive.
    pub over: bool,
}

/// Removes remains soon. Those that it does not come to are found by the next start.
#[derive(Clone, Debug)]
pub struct Cleaner {
    spares: Spares,
    waiting: Arc<Mutex<Vec<Remains>>>,
    /// Held while something is removed.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Cleaner {
    pub fn new(spares: Spares) -> Self {
        Self { spares, waiting: Arc::default(), turn: Arc::default() }
    }

    /// Has these remains removed. To be called within a runtime.
    pub fn leave(&self, remains: Remains) {
        let mut waiting = self.waiting();
        waiting.push(remains);
        if waiting.len() == 1 {
            let cleaner = self.clone();
            tokio::spawn(async move {
                sleep(PAUSE).await;
                cleaner.finish().await;
            });
        }
    }

    /// Removes all that waits, or is being removed.
    pub async fn finish(&self) {
        let _turn = self.turn.lock().await;
        let all = std::mem::take(&mut *self.waiting());
        let spares = self.spares.clone();
        let removed = tokio::task::spawn_blocking(move || {
            all.into_iter().for_each(|remains| remove(remains, &spares));
        });
        // It does not panic, and has no result.
        let _ = removed.await;
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Remains>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What cannot be removed is in the way of nothing but the disk's size.
fn remove(Remains { layout, over }: Remains, spares: &Spares) {
    let _ = if over { layout.leave(spares) } else { layout.remove() };
}
