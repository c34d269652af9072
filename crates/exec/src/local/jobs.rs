//! Who waits for which job of the spawner.

use super::spawner::{SpawnerEvent, SpawnerHandle};
use argosy_model::AttemptId;
use argosy_spawn::{Abilities, Exit, Reason, Start};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, watch};

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended.
    Exited(Exit),
    /// Its program was not run.
    Refused(String),
    /// The same, for want of room: there may be some later.
    NoRoom(String),
    /// It died with its spawner.
    Lost,
}

/// What happens to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is not over.
    News(News),
    /// It is over.
    Ended(Outcome),
}

/// What happens to a job before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// It runs since this Unix ms.
    Started(i64),
    /// Nothing can be heard of it for the time being, for this reason.
    Unheard(String),
}

/// The jobs of one spawner after the other. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Jobs {
    handle: SpawnerHandle,
    table: Arc<Mutex<Table>>,
    boot: watch::Receiver<String>,
    abilities: watch::Receiver<Option<Abilities>>,
}

#[derive(Debug, Default)]
struct Table {
    known: BTreeMap<String, Known>,
    /// The attempts of an earlier server that are gone on with, once that is known.
    wanted: Option<BTreeSet<AttemptId>>,
    /// Why the spawner cannot be reached, while that is so.
    unreachable: Option<String>,
}

#[derive(Debug, Default)]
struct Known {
    waiting: Option<mpsc::UnboundedSender<Change>>,
    ended: bool,
    /// Nobody wants to hear of its end.
    forgotten: bool,
}

impl Jobs {
    /// The jobs, and the task that keeps them up to date.
    pub fn new(handle: SpawnerHandle) -> (Self, Listener) {
        let (told_boot, boot) = watch::channel(String::new());
        let (told_abilities, abilities) = watch::channel(None);
        handle.probe();
        let jobs = Self { handle, table: Arc::default(), boot, abilities };
        let listener = Listener { jobs: jobs.clone(), told_boot, told_abilities };
        (jobs, listener)
    }

    /// The instance of the spawner that is connected.
    pub async fn boot(&self) -> String {
        let mut boot = self.boot.clone();
        let connected = boot.wait_for(|boot| !boot.is_empty()).await;
        connected.map(|boot| boot.clone()).unwrap_or_default()
    }

    /// What isolation works here; `None` if that will never be known.
    pub async fn abilities(&self) -> Option<Abilities> {
        let mut abilities = self.abilities.clone();
        abilities.wait_for(Option::is_some).await.ok().and_then(|found| found.clone())
    }

    /// Orders a job, or what is known of it to be repeated.
    pub fn start(&self, start: Start) -> mpsc::UnboundedReceiver<Change> {
        let (waiting, changes) = mpsc::unbounded_channel();
        let mut table = lock(&self.table);
        if let Some(why) = &table.unreachable {
            // Its receiver is here.
            let _ = waiting.send(Change::News(News::Unheard(why.clone())));
        }
        let known = Known { waiting: Some(waiting), ..Known::default() };
        table.known.insert(start.id.clone(), known);
        drop(table);
        self.handle.start(start);
        changes
    }

    /// Sends a signal to a job's tree.
    pub fn kill(&self, id: &str, signal: i32) {
        self.handle.kill(id.to_owned(), signal);
    }

    /// Has all jobs of earlier servers forgotten but those of these attempts: a server that was
    /// killed may have forgotten an attempt and not said so.
    pub fn forget_all_but(&self, wanted: &BTreeSet<AttemptId>) {
        let mut table = lock(&self.table);
        table.wanted = Some(wanted.clone());
        let ids: Vec<_> = table.known.keys().cloned().collect();
        ids.iter().for_each(|id| self.drop_unwanted(&mut table, id));
    }

    /// Has a job forgotten that nobody here has ordered or wants.
    fn drop_unwanted(&self, table: &mut Table, id: &str) {
        let Some(known) = table.known.get_mut(id).filter(|known| known.waiting.is_none()) else {
            return;
        };
        let attempt = id.split('/').next().and_then(|attempt| attempt.parse().ok());
        let is_wanted = |wanted: &BTreeSet<_>| attempt.is_some_and(|it| wanted.contains(&it));
        if known.forgotten || table.wanted.as_ref().is_none_or(is_wanted) {
            return;
        }
        if known.ended {
            table.known.remove(id);
            self.handle.forget(id.to_owned());
        } else {
            known.forgotten = true;
            self.handle.kill(id.to_owned(), KILL);
        }
    }

    /// Waits until every order given so far is on its way to the spawner.
    pub async fn flush(&self) {
        self.handle.flush().await;
    }

    /// Has all jobs of an attempt forgotten; one that still runs is killed first.
    pub fn forget(&self, attempt: AttemptId) {
        let first = id(attempt, 0);
        let prefix = first.trim_end_matches('0').to_owned();
        let mut table = lock(&self.table);
        if let Some(wanted) = &mut table.wanted {
            wanted.remove(&attempt);
        }
        let ids: Vec<_> = table
            .known
            .range(prefix.clone()..)
            .take_while(|(id, _)| id.starts_with(&prefix))
            .map(|(id, known)| (id.clone(), known.ended))
            .collect();
        for (id, ended) in ids {
            if ended {
                table.known.remove(&id);
                self.handle.forget(id);
            } else if let Some(known) = table.known.get_mut(&id) {
                *known = Known { forgotten: true, ..Known::default() };
                self.handle.kill(id, KILL);
            }
        }
    }
}

/// Number of the signal that ends a process in any case.
pub const KILL: i32 = 9;

/// Number of the signal that asks a process to end.
pub const TERM: i32 = 15;

/// The id of an attempt's job.
pub fn id(attempt: AttemptId, process: usize) -> String {
    format!("{attempt}/{process}")
}

/// Hears the spawner's events and passes them on.
pub struct Listener {
    jobs: Jobs,
    told_boot: watch::Sender<String>,
    told_abilities: watch::Sender<Option<Abilities>>,
}

impl Listener {
    /// Listens until nothing more can come.
    pub async fn run(self, mut events: mpsc::Receiver<SpawnerEvent>) {
        let mut batch = Vec::new();
        while events.recv_many(&mut batch, 256).await > 0 {
            batch.drain(..).for_each(|event| self.hear(event));
        }
    }

    fn hear(&self, event: SpawnerEvent) {
        match event {
            SpawnerEvent::Connected { boot, known } => {
                lock(&self.jobs.table).unreachable = None;
                self.told_boot.send_replace(boot);
                known.into_iter().for_each(|event| self.hear(event));
            }
            SpawnerEvent::Started { id, at_ms, .. } => {
                self.tell(id, Change::News(News::Started(at_ms.cast_signed())));
            }
            SpawnerEvent::Refused { id, reason: Reason::Process, message } => {
                self.tell(id, Change::Ended(Outcome::NoRoom(message)));
            }
            SpawnerEvent::Refused { id, message, .. } => {
                self.tell(id, Change::Ended(Outcome::Refused(message)));
            }
            SpawnerEvent::Exited { id, exit } => {
                self.tell(id, Change::Ended(Outcome::Exited(exit)));
            }
            SpawnerEvent::Lost { ids } => {
                ids.into_iter().for_each(|id| self.tell(id, Change::Ended(Outcome::Lost)));
            }
            SpawnerEvent::Probed(abilities) => {
                self.told_abilities.send_replace(Some(abilities));
            }
            SpawnerEvent::Unreachable { message } => self.unreachable(message),
        }
    }

    /// It is tried again, and the jobs are lost or not once it succeeds. Until then all of them are
    /// told once.
    fn unreachable(&self, message: String) {
        let mut table = lock(&self.jobs.table);
        if table.unreachable.is_some() {
            return;
        }
        for waiting in table.known.values().filter_map(|known| known.waiting.as_ref()) {
            // Whoever waited may have given up.
            let _ = waiting.send(Change::News(News::Unheard(message.clone())));
        }
        table.unreachable = Some(message);
    }

    fn tell(&self, id: String, change: Change) {
        let mut table = lock(&self.jobs.table);
        let known = table.known.entry(id.clone()).or_default();
        known.ended |= matches!(change, Change::Ended(_));
        if let Some(waiting) = &known.waiting {
            // Whoever waited may have given up.
            let _ = waiting.send(change);
        }
        if known.ended && known.forgotten {
            table.known.remove(&id);
            self.jobs.handle.forget(id);
        } else {
            self.jobs.drop_unwanted(&mut table, &id);
        }
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    // The table is whole between any two statements that could panic.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
