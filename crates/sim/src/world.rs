//! Processes that outlive the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use argosy_engine::Rendered;
use argosy_model::attempt::{End, Exit, Kill};
use argosy_model::process::{EnvValue, OutputArtifact};
use argosy_model::{Artifact, AttemptId, Location, Resources, RunId, StepKey};
use argosy_server::{Backend, BackendReport};
use tokio::sync::mpsc;

/// A process, or what is known of its end.
#[derive(Debug)]
enum Process {
    Running,
    Ended(Box<End>),
}

/// Says in a process's environment that all processes of its run share a lock against other runs.
pub(crate) const RUN_LOCK: &str = "RUN_LOCK";

/// Says in a process's environment that no other process may run beside it with the same lock.
pub(crate) const STEP_LOCK: &str = "STEP_LOCK";

/// A lock by its variable and name.
type Exclusive = (String, String);

#[derive(Debug, Default)]
struct Inside {
    processes: BTreeMap<AttemptId, Process>,
    /// How often each attempt was really started.
    starts: BTreeMap<AttemptId, u32>,
    /// Steps of which a process ended well, and was reported.
    done: BTreeSet<(RunId, StepKey)>,
    /// Keys of artifacts that are there.
    kept: BTreeSet<String>,
    /// Those of them that cannot be deleted.
    stuck: BTreeSet<String>,
    /// What running processes must have for themselves.
    exclusive: BTreeMap<AttemptId, Exclusive>,
    /// Faults that were seen while they happened.
    faults: Vec<String>,
    reports: Option<mpsc::UnboundedSender<BackendReport>>,
    seed: u64,
}

/// All processes there are. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct World {
    inside: Arc<Mutex<Inside>>,
}

impl World {
    /// A world whose processes take as long as the seed says.
    #[must_use]
    pub fn new(seed: u64) -> World {
        let world = World::default();
        world.with(|inside| inside.seed = seed);
        world
    }

    fn with<T>(&self, look: impl FnOnce(&mut Inside) -> T) -> T {
        look(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports go to this server from now on.
    pub fn attach(&self) -> mpsc::UnboundedReceiver<BackendReport> {
        let (reports, told) = mpsc::unbounded_channel();
        self.with(|inside| inside.reports = Some(reports));
        told
    }

    /// The server is gone; nobody hears what happens.
    pub fn detach(&self) {
        self.with(|inside| inside.reports = None);
    }

    /// What went wrong.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.with(|inside| {
            let mut faults = inside.faults.clone();
            let twice = inside.starts.iter().filter(|(_, count)| **count > 1);
            faults.extend(twice.map(|(id, count)| format!("{id} was started {count} times")));
            faults
        })
    }

    /// Keys of the artifacts that are there.
    #[must_use]
    pub fn kept(&self) -> BTreeSet<String> {
        self.with(|inside| inside.kept.clone())
    }

    /// Lets these artifacts not be deleted, and all others.
    pub fn stick(&self, keys: BTreeSet<String>) {
        self.with(|inside| inside.stuck = keys);
    }

    /// How many processes were started.
    #[must_use]
    pub fn started(&self) -> usize {
        self.with(|inside| inside.starts.len())
    }

    fn begin(&self, attempt: AttemptId, exclusive: Option<Exclusive>) -> Option<u64> {
        self.with(|inside| {
            match inside.processes.get(&attempt) {
                Some(Process::Running) => return None,
                Some(Process::Ended(end)) => {
                    let report = BackendReport::Ended { attempt, end: end.clone() };
                    send(inside, report);
                    return None;
                }
                None => {}
            }
            *inside.starts.entry(attempt).or_default() += 1;
            if inside.done.contains(&(attempt.run, attempt.step)) {
                inside.faults.push(format!("{attempt} was started after its step had ended well"));
            }
            let others = inside.processes.iter().filter(|(id, process)| {
                id.run == attempt.run
                    && id.step == attempt.step
                    && matches!(process, Process::Running)
            });
            if others.count() > 0 {
                inside.faults.push(format!("{attempt} was started beside another attempt"));
            }
            inside.processes.insert(attempt, Process::Running);
            if let Some(lock) = exclusive {
                inside.take(attempt, lock);
            }
            let mixed = inside.seed ^ (attempt.run.0 << 20) ^ u64::from(attempt.step.0);
            Some(crate::Random::new(mixed).below(50))
        })
    }

    fn end(&self, attempt: AttemptId, exit: Exit, artifacts: &[OutputArtifact]) {
        self.with(|inside| {
            if !matches!(inside.processes.get(&attempt), Some(Process::Running)) {
                return;
            }
            if exit == Exit::Code(0) {
                inside.done.insert((attempt.run, attempt.step));
            }
            let mut end = Box::new(End { started_ms: 1, ended_ms: 2, ..End::bare(exit) });
            for OutputArtifact { name, key, archive, .. } in artifacts {
                let key = key.clone().unwrap_or_else(|| format!("{attempt}/{name}"));
                inside.kept.insert(key.clone());
                let sub_path = String::new();
                let artifact = Artifact { at: Location::Blob { key }, archive: *archive, sub_path };
                end.outputs.artifacts.push((name.as_str().into(), artifact));
            }
            inside.processes.insert(attempt, Process::Ended(end.clone()));
            send(inside, BackendReport::Ended { attempt, end });
        });
    }
}

impl Inside {
    /// Notes a lock of a process that starts; a second holder is a fault.
    fn take(&mut self, attempt: AttemptId, lock: Exclusive) {
        let runs = |id: &AttemptId| matches!(self.processes.get(id), Some(Process::Running));
        let beside = |id: &AttemptId| lock.0 == STEP_LOCK || id.run != attempt.run;
        let mut held = self.exclusive.iter().filter(|(id, held)| **held == lock && runs(id));
        if let Some((other, _)) = held.find(|(id, _)| beside(id)) {
            self.faults.push(format!("{attempt} was started while {other} held {lock:?}"));
        }
        self.exclusive.insert(attempt, lock);
    }
}

fn exclusive(rendered: &Rendered) -> Option<Exclusive> {
    rendered.process.main.env.iter().find_map(|variable| match &variable.value {
        EnvValue::Text(lock) if [RUN_LOCK, STEP_LOCK].contains(&&*variable.name) => {
            Some((variable.name.clone(), lock.clone()))
        }
        _ => None,
    })
}

fn send(inside: &Inside, report: BackendReport) {
    if let Some(reports) = &inside.reports {
        // A server that is gone hears nothing.
        let _ = reports.send(report);
    }
}

#[async_trait::async_trait]
impl Backend for World {
    fn run(&self, attempt: AttemptId, rendered: Rendered) {
        let Some(takes_ms) = self.begin(attempt, exclusive(&rendered)) else { return };
        let world = self.clone();
        // The process is no part of the server: it goes on when the server's tasks are gone.
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(takes_ms)).await;
            world.end(attempt, Exit::Code(0), &rendered.process.outputs.artifacts);
        });
    }

    fn kill(&self, attempt: AttemptId, _: Kill, _: u64) {
        self.with(|inside| {
            inside.processes.entry(attempt).or_insert(Process::Running);
        });
        self.end(attempt, Exit::Killed, &[]);
    }

    fn forget(&self, attempt: AttemptId) {
        self.with(|inside| inside.processes.remove(&attempt));
    }

    async fn delete(&self, _: &str, key: &str) -> std::io::Result<()> {
        self.with(|inside| {
            if inside.stuck.contains(key) {
                return Err(std::io::Error::other("it is stuck"));
            }
            inside.kept.remove(key);
            Ok(())
        })
    }

    fn machines(&self) -> Vec<(String, Resources)> {
        let capacity = Resources { cpu_milli: 4_000, memory_bytes: 8 << 30, gpus: 0 };
        vec![("local".to_owned(), capacity)]
    }
}
