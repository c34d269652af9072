//! Artifacts that are deleted by themselves. What is due stands in the store, written with the fact
//! that made it due: the run's archive record, or its deletion. It is read from there after each
//! such commit and at the start, deleted beside the loop, and then taken out of the store. So nothing
//! is deleted before its time, and a crash in between has it deleted again, which is the same.

use std::sync::Arc;
use std::time::Duration;

use argosy_store::{Garbage, Storage};
use tokio::time::Instant;

use super::{Core, Fetched};
use crate::backend::Backend;

/// Artifacts that are deleted before the loop hears of it.
const PAGE: u32 = 256;

/// How long one deletion may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long after a refused deletion it is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// How long a server that is to end goes on deleting. The rest is left to the next start.
const LAST: Duration = Duration::from_secs(5);

/// What the loop knows of the deleting.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// Whether it is under way.
    pub(super) busy: bool,
    /// Whether more may have become due since it began.
    more: bool,
    /// Whether something could not be deleted.
    refused: bool,
    /// When it has to end, once the server is to.
    until: Option<Instant>,
}

/// What came of a page.
#[derive(Debug)]
pub(crate) struct Collected {
    /// What is deleted.
    gone: Vec<Garbage>,
    /// The last one that was looked at, where others may follow.
    last: Option<Garbage>,
    /// Whether something could not be deleted.
    refused: bool,
}

impl Core {
    /// Deletes what is due, now or once the deleting under way is through.
    pub(super) fn collect(&mut self) {
        self.garbage.more = true;
        if !self.garbage.busy {
            self.collect_after(None);
        }
    }

    fn collect_after(&mut self, last: Option<Garbage>) {
        self.garbage.busy = true;
        self.garbage.more &= last.is_some();
        let (store, backend) = (Arc::clone(&self.store), Arc::clone(&self.backend));
        let fetched = self.fetched.clone();
        tokio::spawn(async move {
            let collected = page(&*store, &*backend, last.as_ref()).await;
            // The loop is gone only when the process is stopping.
            let _ = fetched.send(Fetched::Collected(collected));
        });
    }

    pub(super) fn on_collected(&mut self, collected: Collected) {
        let Collected { gone, last, refused } = collected;
        self.garbage.busy = false;
        self.garbage.refused |= refused;
        self.batch.urgent |= !gone.is_empty();
        self.batch.collected.extend(gone);
        if self.garbage.until.is_some_and(|until| refused || Instant::now() >= until) {
            return;
        }
        if last.is_some() {
            return self.collect_after(last);
        }
        if std::mem::take(&mut self.garbage.refused) {
            let fetched = self.fetched.clone();
            tokio::spawn(async move {
                tokio::time::sleep(RETRY).await;
                // The loop is gone only when the process is stopping.
                let _ = fetched.send(Fetched::CollectAgain);
            });
        }
        if self.garbage.more {
            self.collect_after(None);
        }
    }

    /// The server is to end.
    pub(super) fn collect_no_longer(&mut self) {
        self.garbage.until = Some(Instant::now() + LAST);
    }
}

/// Deletes the artifacts of one page.
async fn page(store: &dyn Storage, backend: &dyn Backend, after: Option<&Garbage>) -> Collected {
    let due = store.garbage(after, PAGE).await.unwrap_or_else(|error| {
        tracing::error!(%error, "what is to be deleted cannot be read");
        Vec::new()
    });
    let last = due.last().filter(|_| due.len() == PAGE as usize).cloned();
    let mut collected = Collected { gone: Vec::new(), last, refused: false };
    for garbage in due {
        let deleted = tokio::time::timeout(PATIENCE, backend.delete(&garbage.space, &garbage.key));
        match deleted.await {
            Ok(Ok(())) => collected.gone.push(garbage),
            Ok(Err(error)) => {
                collected.refused = true;
                tracing::warn!(run = %garbage.run, key = garbage.key, %error, "an artifact stays");
            }
            Err(_) => {
                tracing::warn!(run = %garbage.run, key = garbage.key, "an artifact stays: no answer");
                return Collected { last: None, refused: true, ..collected };
            }
        }
    }
    collected
}
