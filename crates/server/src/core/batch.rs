//! What is gathered while the previous commit is being synced.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use argosy_engine::Run;
use argosy_model::{Cause, Diagnostic, Effect, Event, Record, RunId, Turn};
use argosy_store::{Commit, Garbage, Memo, ObjectChange, Piece, RunRow, Storage};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::gathered::{Encoded, Gathered};
use super::{Committed, Core};
use crate::hooks::{self, Point};

/// Events of a run after which its changed pieces are written.
const SNAPSHOT_EVENTS: u64 = 1_000;

/// Commits after which runs that hold the log back are snapshotted, so that it can be cut.
const LOG_COMMITS: u64 = 4_096;

/// How long after a refused commit it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// One commit in the making, with what waits for it.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) turns: Vec<Turn>,
    /// How many events those have.
    pub(crate) events: usize,
    changed: BTreeSet<RunId>,
    rows: Vec<RunId>,
    pub(crate) ended: Vec<(RunId, Arc<RwLock<Run>>)>,
    pub(crate) deleted: Vec<RunId>,
    pub(crate) objects: Vec<ObjectChange>,
    pub(crate) memos: Vec<Memo>,
    pub(crate) collected: Vec<Garbage>,
    /// Orders to the backend.
    pub(crate) effects: Vec<Effect>,
    /// Answers to those who wait.
    pub(crate) replies: Vec<Reply>,
    pub(crate) urgent: bool,
}

/// An answer that is given once its cause is durable.
pub(crate) struct Reply(pub(crate) Box<dyn FnOnce(Result<(), Diagnostic>) + Send>);

impl Batch {
    pub(crate) fn answer<T: Send + 'static>(
        &mut self,
        to: oneshot::Sender<Result<T, Diagnostic>>,
        value: T,
    ) {
        self.urgent = true;
        self.replies.push(Reply(Box::new(move |durable| {
            // Whoever asked may have gone away.
            let _ = to.send(durable.map(|()| value));
        })));
    }

    fn is_empty(&self) -> bool {
        self.turns.is_empty()
            && self.deleted.is_empty()
            && self.objects.is_empty()
            && self.memos.is_empty()
            && self.collected.is_empty()
            && self.effects.is_empty()
            && self.replies.is_empty()
    }
}

impl Core {
    /// Adds a turn to the batch.
    pub(crate) fn note(
        &mut self,
        run: RunId,
        at_ms: i64,
        cause: Option<Box<Cause>>,
        events: Vec<Event>,
        urgent: bool,
    ) {
        self.batch.urgent |= urgent;
        if self.lazy_since.is_none() {
            self.lazy_since = Some(Instant::now());
        }
        self.batch.changed.insert(run);
        let row = events.iter().any(|event| {
            matches!(
                event,
                Event::Submitted(_)
                    | Event::RunEnded { .. }
                    | Event::RunSuspended
                    | Event::RunResumed
                    | Event::LabelsSet(_)
            )
        });
        if row && !self.batch.rows.contains(&run) {
            self.batch.rows.push(run);
        }
        self.batch.events += events.len();
        self.batch.turns.push(Turn { run, at_ms, cause, events });
    }

    /// Starts a commit when none is under way and something wants one.
    pub(crate) fn commit_when_free(&mut self) {
        let lazy_due = self.lazy_since.is_some_and(|since| since.elapsed() >= super::LAZY);
        let wanted = self.batch.urgent || lazy_due || self.stopping.is_some();
        if self.batch.is_empty() {
            self.lazy_since = None;
            return;
        }
        if self.committing || !wanted {
            return;
        }
        self.lazy_since = None;
        let mut batch = std::mem::take(&mut self.batch);
        if self.effects_first() {
            let effects = std::mem::take(&mut batch.effects);
            self.carry_out(effects);
        }
        let gathered = self.gather(&mut batch);
        self.committing = true;
        let (store, done) = (Arc::clone(&self.store), self.committed.clone());
        let trouble = self.trouble.clone();
        let broken = self.effects_first();
        tokio::spawn(async move {
            if broken {
                // Time for the effects to be seen before the server dies.
                tokio::time::sleep(RETRY).await;
            }
            hooks::pass(Point::BeforeCommit);
            let Encoded { commit, snapshots, broken } = gathered.encode().await;
            let garbage = commit.archived.iter().any(|archived| !archived.garbage.is_empty());
            let seq = insist(&commit, &*store, &trouble).await;
            // The loop is gone only when the process is stopping.
            let _ = done.send(Committed { seq, batch, snapshots, broken, garbage });
        });
    }

    #[cfg(feature = "test-hooks")]
    fn effects_first(&self) -> bool {
        self.options.effects_first
    }

    #[cfg(not(feature = "test-hooks"))]
    fn effects_first(&self) -> bool {
        false
    }

    #[cfg(feature = "test-hooks")]
    fn breaks_snapshots(&mut self) -> bool {
        let left = self.options.broken_snapshots;
        self.options.broken_snapshots = left.saturating_sub(1);
        left > 0
    }

    #[cfg(not(feature = "test-hooks"))]
    fn breaks_snapshots(&mut self) -> bool {
        false
    }

    fn gather(&mut self, batch: &mut Batch) -> Gathered {
        let mut commit = Commit {
            at_ms: self.clock.now_ms(),
            record: Record { turns: std::mem::take(&mut batch.turns) },
            deleted: batch.deleted.clone(),
            objects: std::mem::take(&mut batch.objects),
            memos: std::mem::take(&mut batch.memos),
            collected: std::mem::take(&mut batch.collected),
            ..Commit::default()
        };
        for id in &batch.rows {
            if let Some(live) = self.runs.get(id) {
                commit.rows.push(live.read(RunRow::of));
            }
        }
        let mut snapshots = Vec::new();
        for id in &batch.changed {
            let Some(live) = self.runs.get_mut(id) else { continue };
            let ended = live.read(|run| run.phase.is_terminal());
            if !ended && live.events_since >= SNAPSHOT_EVENTS {
                snapshots.push((*id, live.take_pieces()));
            }
        }
        commit.cut = self.cut_log(&mut snapshots);
        let broken = !snapshots.is_empty() && self.breaks_snapshots();
        Gathered { commit, snapshots, broken, ended: batch.ended.clone() }
    }

    /// Now and then: snapshots of the runs that hold the log back, or a cut of the log.
    fn cut_log(&mut self, snapshots: &mut Vec<(RunId, Vec<Piece>)>) -> Option<u64> {
        if self.last_seq.saturating_sub(self.log_from) < LOG_COMMITS {
            return None;
        }
        let oldest = self.runs.values().map(|live| live.snapshot_seq).min();
        let behind = self.last_seq.saturating_sub(LOG_COMMITS / 2);
        match oldest {
            Some(oldest) if oldest < behind => {
                for (id, live) in &mut self.runs {
                    let known = snapshots.iter().any(|(run, _)| run == id);
                    if live.snapshot_seq < behind && !known && snapshots.len() < 64 {
                        snapshots.push((*id, live.take_pieces()));
                    }
                }
                None
            }
            oldest => {
                let cut = oldest.unwrap_or(self.last_seq).min(self.last_seq);
                self.log_from = cut;
                Some(cut)
            }
        }
    }

    /// A commit is through: its effects may happen and its answers go out.
    pub(crate) fn on_committed(&mut self, done: Committed) {
        self.committing = false;
        let Committed { seq, batch, snapshots, broken, garbage } = done;
        hooks::pass(Point::AfterCommit);
        self.last_seq = seq;
        for id in snapshots {
            if let Some(live) = self.runs.get_mut(&id) {
                live.snapshot_seq = seq;
            }
        }
        for id in broken {
            if let Some(live) = self.runs.get_mut(&id) {
                live.forget_snapshots();
            }
        }
        self.carry_out(batch.effects);
        hooks::pass(Point::AfterEffect);
        for id in &batch.changed {
            if let Some(live) = self.runs.get(id) {
                live.version.send_modify(|version| *version += 1);
            }
        }
        for (id, run) in &batch.ended {
            let expires_ms = run.read().unwrap_or_else(PoisonError::into_inner).expires_ms();
            if expires_ms != 0 {
                self.expiries.add(*id, expires_ms, run, self.clock.now_ms());
            }
            self.drop_run(*id);
        }
        for id in &batch.deleted {
            self.backend.discard(*id);
        }
        if garbage || !batch.deleted.is_empty() {
            self.collect();
        }
        batch.replies.into_iter().for_each(|reply| (reply.0)(Ok(())));
    }
}

/// Commits, again and again where the disk refuses, since nothing that was decided may be lost while
/// the process lives.
async fn insist(
    commit: &Commit,
    store: &dyn Storage,
    trouble: &watch::Sender<Option<String>>,
) -> u64 {
    loop {
        match store.commit(commit).await {
            Ok(seq) => {
                trouble.send_if_modified(|text| text.take().is_some());
                return seq;
            }
            Err(error) => {
                tracing::error!(%error, "a commit failed and is tried again");
                trouble.send_replace(Some(error.to_string()));
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
