//! A disk that keeps what was synced and forgets what was not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use argosy_engine::Run;
use argosy_model::{Keep, Outputs, Record, RunId};
use argosy_store::{
    Assembly, Commit, Garbage, ListFilter, Loaded, Object, ObjectChange, Result, RunRow, Storage,
};
use async_trait::async_trait;
use tokio::sync::{Notify, watch};

/// What becomes of the commit during which the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was not synced: nothing of it is there afterwards.
    Dropped,
    /// It was synced, and nobody was told.
    Kept,
}

#[derive(Debug, Default)]
struct Kept {
    seq: u64,
    log: Vec<(u64, Record)>,
    rows: BTreeMap<RunId, RunRow>,
    snapshots: BTreeMap<RunId, u64>,
    parts: BTreeMap<(RunId, String), Vec<u8>>,
    archived: BTreeSet<RunId>,
    /// The largest number of a run that was deleted.
    last_deleted: u64,
    /// Artifacts that are to be deleted, and whether they are due.
    garbage: BTreeMap<Garbage, bool>,
    commits: u64,
    memos: BTreeMap<[String; 3], (i64, Outputs)>,
    objects: BTreeMap<[String; 3], Object>,
}

/// What is on the disk. Survives every crash.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    kept: Arc<Mutex<Kept>>,
    crash: Arc<Mutex<Option<(u64, Fate)>>>,
    /// Told when the power goes.
    pub(crate) power: Arc<Notify>,
    /// Whether commits take as long as this is true.
    busy: watch::Sender<bool>,
}

impl Disk {
    /// Lets the power go during the commit that is `after` commits away, or never.
    pub fn crash_after(&self, plan: Option<(u64, Fate)>) {
        let now = self.with(|kept| kept.commits);
        let plan = plan.map(|(after, fate)| (now + after, fate));
        *self.crash.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    fn with<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> T {
        look(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the power goes during this commit, and what becomes of the commit.
    fn fate(&self) -> Option<Fate> {
        let plan = *self.crash.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.with(|kept| {
            kept.commits += 1;
            kept.commits
        });
        plan.filter(|(at, _)| *at <= number).map(|(_, fate)| fate)
    }

    /// Lets no commit come to its end, or lets them again.
    pub fn keep_busy(&self, busy: bool) {
        self.busy.send_replace(busy);
    }

    /// Waits until the power goes.
    pub async fn power_loss(&self) {
        self.power.notified().await;
    }

    /// Names of the pieces of a run that are there.
    #[must_use]
    pub fn pieces(&self, run: RunId) -> BTreeSet<String> {
        let own = |kept: &mut Kept| {
            let names = kept.parts.keys().filter(|(owner, _)| *owner == run);
            names.map(|(_, name)| name.clone()).collect()
        };
        self.with(own)
    }

    /// How many commits there were.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.with(|kept| kept.commits)
    }
}

impl Kept {
    fn write(&mut self, commit: &Commit) -> u64 {
        self.seq += 1;
        let seq = self.seq;
        if !commit.record.turns.is_empty() {
            self.log.push((seq, commit.record.clone()));
        }
        for row in &commit.rows {
            self.rows.insert(row.id, row.clone());
        }
        for snapshot in &commit.snapshots {
            self.snapshots.insert(snapshot.run, seq);
            for part in &snapshot.parts {
                self.parts.insert((snapshot.run, part.name().to_owned()), part.data().to_vec());
            }
        }
        for archived in &commit.archived {
            self.archived.insert(archived.run);
            let garbage = archived.garbage.iter();
            self.garbage.extend(garbage.map(|(it, keep)| (it.clone(), *keep == Keep::UntilEnd)));
            self.parts.retain(|(run, _), _| *run != archived.run);
        }
        for memo in &commit.memos {
            let at = [memo.space.clone(), memo.cache.clone(), memo.name.clone()];
            self.memos.insert(at, (commit.at_ms, memo.outputs.clone()));
        }
        commit.objects.iter().for_each(|change| self.change(change));
        for run in &commit.deleted {
            self.rows.remove(run);
            self.last_deleted = self.last_deleted.max(run.0);
            self.archived.remove(run);
            let own = self.garbage.iter_mut().filter(|(garbage, _)| garbage.run == *run);
            own.for_each(|(_, due)| *due = true);
        }
        self.garbage.retain(|garbage, _| !commit.collected.contains(garbage));
        if let Some(cut) = commit.cut {
            self.log.retain(|(seq, _)| *seq > cut);
        }
        seq
    }

    fn change(&mut self, change: &ObjectChange) {
        let ObjectChange { space, kind, name, data } = change.clone();
        let at = [space.clone(), kind.clone(), name.clone()];
        match data {
            Some(data) => {
                let object = Object { space, kind, name, version: 1, created_ms: 0, data };
                self.objects.insert(at, object);
            }
            None => {
                self.objects.remove(&at);
            }
        }
    }

    fn load(&self, now_ms: i64) -> Result<Loaded> {
        let mut assembly = Assembly::default();
        for id in self.rows.keys().filter(|id| !self.archived.contains(id)) {
            let parts = self.parts.iter().filter(|((run, _), _)| run == id);
            let parts = parts.map(|((_, name), data)| (name.as_str(), data.as_slice()));
            let snapshot_seq = self.snapshots.get(id).copied().unwrap_or(0);
            assembly.add(*id, snapshot_seq, parts.collect::<Vec<_>>())?;
        }
        for (seq, record) in &self.log {
            assembly.apply(*seq, record)?;
        }
        let in_rows = self.rows.keys().next_back().map_or(0, |id| id.0);
        let last_run = in_rows.max(self.last_deleted).max(assembly.last_run());
        Ok(Loaded { runs: assembly.finish(now_ms), last_run, seq: self.seq })
    }
}

#[async_trait]
impl Storage for Disk {
    async fn commit(&self, commit: &Commit) -> Result<u64> {
        // A disk takes its time: others get a turn.
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        // The sender lives as long as the disk.
        let _ = self.busy.subscribe().wait_for(|busy| !busy).await;
        match self.fate() {
            None => Ok(self.with(|kept| kept.write(commit))),
            Some(fate) => {
                if fate == Fate::Kept {
                    self.with(|kept| kept.write(commit));
                }
                self.power.notify_one();
                std::future::pending().await
            }
        }
    }

    async fn load(&self, now_ms: i64) -> Result<Loaded> {
        self.with(|kept| kept.load(now_ms))
    }

    async fn run(&self, _: RunId, _: i64) -> Result<Option<Run>> {
        Ok(None)
    }

    async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>> {
        let is = |row: &&RunRow| row.space == space && row.name == name;
        Ok(self.with(|kept| kept.rows.values().find(is).cloned()))
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>> {
        let is = |row: &&RunRow| filter.before.is_none_or(|before| row.id < before);
        let limit = filter.limit as usize;
        Ok(self.with(|kept| kept.rows.values().rev().filter(is).take(limit).cloned().collect()))
    }

    async fn objects(&self, space: &str, kind: &str) -> Result<Vec<Object>> {
        let is = |object: &&Object| object.space == space && object.kind == kind;
        Ok(self.with(|kept| kept.objects.values().filter(is).cloned().collect()))
    }

    async fn object(&self, space: &str, kind: &str, name: &str) -> Result<Option<Object>> {
        let at = [space, kind, name].map(str::to_owned);
        Ok(self.with(|kept| kept.objects.get(&at).cloned()))
    }

    async fn expiring(&self) -> Result<Vec<(i64, RunId)>> {
        Ok(Vec::new())
    }

    async fn garbage(&self, after: Option<&Garbage>, limit: u32) -> Result<Vec<Garbage>> {
        Ok(self.with(|kept| {
            let due = kept.garbage.iter().filter(|(_, due)| **due).map(|(garbage, _)| garbage);
            let later = due.filter(|garbage| after.is_none_or(|after| *garbage > after));
            later.take(limit as usize).cloned().collect()
        }))
    }

    async fn memo(&self, space: &str, cache: &str, name: &str) -> Result<Option<(i64, Outputs)>> {
        let at = [space, cache, name].map(str::to_owned);
        Ok(self.with(|kept| kept.memos.get(&at).cloned()))
    }
}
