//! The local backend: attempts as processes of this machine.

use super::attempt::{self, Job};
use super::cleaner::{Cleaner, Remains};
use super::jobs::Jobs;
use super::layout::{self, Layout};
use super::plan::{Ceiling, Level};
use super::spares::Spares;
use super::spawner::SpawnerClient;
use crate::Values;
use crate::images::{self, ImageTable};
use argosy_blob::Store;
use argosy_blob::s3;
use argosy_model::{AttemptId, End, ProcessSpec};
use argosy_spawn::{Abilities, Ability};
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

/// How the backend is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data directory, which is made if it is not there.
    pub data_dir: PathBuf,
    /// The product's own binary, which is started as the spawner and as the tools of some images.
    pub exe: PathBuf,
    /// Folders of the machine that volumes may show.
    pub allow_host_paths: Vec<PathBuf>,
    /// What images are.
    pub images: ImageTable,
    /// The highest isolation to use.
    pub max_isolation: Level,
    /// Where processes find objects of their space by S3, if they do.
    pub objects: Option<ObjectDoor>,
}

/// An S3 endpoint for which each attempt gets a key pair of its own, for as long as it lives.
#[derive(Clone, Debug)]
pub struct ObjectDoor {
    /// `http://HOST:PORT`.
    pub endpoint: String,
    /// What key pairs are made with.
    pub keys: s3::Keys,
}

/// What an attempt's backend tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// Its main process runs.
    Started {
        /// Whose.
        attempt: AttemptId,
        /// Since this Unix ms.
        at_ms: i64,
    },
    /// It is over, and its outputs are kept. Told once.
    Ended {
        /// Whose.
        attempt: AttemptId,
        /// How.
        end: Box<End>,
    },
    /// Something that a person should know of it.
    Note {
        /// Whose.
        attempt: AttemptId,
        /// What.
        message: String,
    },
}

/// What all attempts share.
pub(super) struct House {
    pub data_dir: PathBuf,
    pub exe: PathBuf,
    pub allowed: Vec<PathBuf>,
    pub images: ImageTable,
    pub store: Arc<dyn Store>,
    pub values: Arc<dyn Values>,
    pub objects: Option<ObjectDoor>,
    pub jobs: Jobs,
    pub spares: Spares,
    /// What an attempt holds while its files are open here.
    pub hands: Semaphore,
    /// The home of the user that runs this.
    pub home: String,
    max: Level,
    reports: mpsc::UnboundedSender<Report>,
}

impl House {
    /// The highest isolation to be had.
    pub async fn ceiling(&self) -> Ceiling {
        match self.jobs.abilities().await {
            Some(abilities) => Ceiling::new(&abilities, self.max),
            None => {
                let why = "the spawner has not said what works".to_owned();
                Ceiling { level: Level::None, why, by_machine: true }
            }
        }
    }

    /// Why the memory of processes cannot be limited together with that of their children; `None`
    /// if it can.
    pub async fn no_memory_limits(&self) -> Option<String> {
        match self.jobs.abilities().await?.memory {
            Ability::Works => None,
            Ability::Refused { message, remedy, .. } => Some(format!("{message}. {remedy}")),
        }
    }

    pub fn report(&self, report: Report) {
        // Fails only when nobody wants to know.
        let _ = self.reports.send(report);
    }
}

/// The local backend. Cheap to clone; when the last clone is dropped, nothing is told any more,
/// and processes go on for the next one.
#[derive(Clone)]
pub struct Local {
    house: Arc<House>,
    attempts: Arc<Mutex<Attempts>>,
    cleaner: Cleaner,
}

/// The attempts under way. Dropping it ends their tasks, though not their processes.
#[derive(Default)]
struct Attempts {
    tasks: JoinSet<()>,
    under_way: HashMap<AttemptId, UnderWay>,
    /// Those of an earlier server that have not been ordered again yet. Their processes may run
    /// already.
    expected: BTreeSet<AttemptId>,
}

impl Attempts {
    fn is_live(&self, attempt: AttemptId) -> bool {
        let under_way = self.under_way.get(&attempt);
        let runs = under_way.is_some_and(|under_way| !under_way.task.is_finished());
        runs || self.expected.contains(&attempt)
    }
}

struct UnderWay {
    stop: watch::Sender<Option<u64>>,
    task: AbortHandle,
}

impl Local {
    /// Starts it, and a spawner if none serves the data directory.
    ///
    /// # Errors
    /// The system's, or that the spawner cannot be reached.
    pub async fn start(
        options: Options,
        store: Arc<dyn Store>,
        values: Arc<dyn Values>,
    ) -> io::Result<(Self, mpsc::UnboundedReceiver<Report>)> {
        let Options { data_dir, exe, allow_host_paths, images, max_isolation, objects } = options;
        let (handle, events) = SpawnerClient::connect(data_dir.clone(), exe.clone()).await?;
        let (data_dir, exe) = (data_dir.canonicalize()?, exe.canonicalize()?);
        images::make_bin(&data_dir, &exe)?;
        Layout::remove_shared_markers(&data_dir);
        let mut attempts = Attempts::default();
        let (jobs, listener) = Jobs::new(handle);
        attempts.tasks.spawn(listener.run(events));
        let (reports, reported) = mpsc::unbounded_channel();
        let home = std::env::var("HOME").unwrap_or_else(|_| "/".to_owned());
        let spares = Spares::new(&data_dir);
        let house = House {
            spares: spares.clone(),
            hands: Semaphore::new(hands()),
            data_dir,
            exe,
            allowed: allow_host_paths,
            images,
            store,
            values,
            objects,
            jobs,
            home,
            max: max_isolation,
            reports,
        };
        let local = Self {
            house: Arc::new(house),
            attempts: Arc::new(Mutex::new(attempts)),
            cleaner: Cleaner::new(spares),
        };
        Ok((local, reported))
    }

    /// Carries an attempt out; after a restart, goes on with one. One that is under way, or whose
    /// end has been told and not forgotten, is left as it is. The processes find `name`, by which
    /// people call the step, in `ARGOSY_STEP`; keys and values are those of `space`.
    pub fn run(&self, attempt: AttemptId, spec: ProcessSpec, name: String, space: String) {
        let mut attempts = self.attempts();
        if attempts.under_way.contains_key(&attempt) {
            return;
        }
        attempts.expected.remove(&attempt);
        // The finished ones, so that they do not pile up.
        while attempts.tasks.try_join_next().is_some() {}
        let (stop, stopped) = watch::channel(None);
        let house = self.house.clone();
        let task = attempts.tasks.spawn(async move {
            let job = Job { attempt, spec, name, space };
            let end = Box::new(attempt::carry_out(house.clone(), job, stopped).await);
            house.report(Report::Ended { attempt, end });
        });
        attempts.under_way.insert(attempt, UnderWay { stop, task });
    }

    /// Ends an attempt: asks its processes to, and makes them after `grace_ms`. Its end is told as
    /// any other.
    pub fn kill(&self, attempt: AttemptId, grace_ms: u64) {
        if let Some(under_way) = self.attempts().under_way.get(&attempt) {
            under_way.stop.send_replace(Some(grace_ms));
        }
    }

    /// The end of an attempt is durable, or nobody wants it: its folders go, its logs stay. If
    /// it still runs, it is killed and nothing more is told.
    pub fn forget(&self, attempt: AttemptId) {
        let mut over = false;
        let mut attempts = self.attempts();
        attempts.expected.remove(&attempt);
        if let Some(under_way) = attempts.under_way.remove(&attempt) {
            over = under_way.task.is_finished();
            under_way.task.abort();
        }
        drop(attempts);
        self.house.jobs.forget(attempt);
        let layout = Layout::new(&self.house.data_dir, attempt);
        self.cleaner.leave(Remains { layout, over });
    }

    /// After a restart: forgets all attempts of earlier servers but these. To be called before
    /// the first [`Local::run`].
    pub fn forget_all_but(&self, wanted: &BTreeSet<AttemptId>) {
        self.attempts().expected = wanted.clone();
        self.house.jobs.forget_all_but(wanted);
        for attempt in layout::found(&self.house.data_dir) {
            if !wanted.contains(&attempt) {
                self.forget(attempt);
            }
        }
    }

    /// Waits until everything that was ordered so far is on its way to the spawner, and what was
    /// forgotten is removed. To be called before the process ends.
    pub async fn flush(&self) {
        self.house.jobs.flush().await;
        self.cleaner.finish().await;
    }

    /// Which isolation works on this machine; `None` when the spawner cannot be asked.
    pub async fn abilities(&self) -> Option<Abilities> {
        self.house.jobs.abilities().await
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        // It is whole between any two statements that could panic.
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files that the server itself, its log and its doors may have open.
const FILES_OF_THE_HOUSE: u64 = 64;

/// Files that an attempt has open at once while its inputs are put in place or its outputs are
/// kept: those of the store included.
const FILES_OF_AN_ATTEMPT: u64 = 8;

/// Attempts whose files may be open at once, so that this process stays below its limit of open
/// files; at least one.
fn hands() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let hands = files.saturating_sub(FILES_OF_THE_HOUSE) / FILES_OF_AN_ATTEMPT;
    usize::try_from(hands).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS)
}

impl s3::Attempts for Local {
    fn is_live(&self, attempt: AttemptId) -> bool {
        self.attempts().is_live(attempt)
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Local")
    }
}
