//! A data directory with a backend, and specs to give it.

use crate::stuck::Stuck;
use argosy_blob::{Address, Folder, Meta, Source, Space, Store};
use argosy_exec::Values;
use argosy_exec::images::ImageTable;
use argosy_exec::local::{Level, Local, Options, Report};
use argosy_exec::logs::{Log, Stream};
use argosy_model::process::{Container, OutputArtifact, OutputFile, OutputsSpec, StagedInput};
use argosy_model::{
    Archive, Artifact, AttemptId, End, Exit, Location, ProcessSpec, RunId, StepKey,
};
use async_trait::async_trait;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

const HELPER: &str = env!("CARGO_BIN_EXE_spawner-for-exec-tests");
const DEADLINE: Duration = Duration::from_secs(30);
pub const SPACE: &str = "team";

/// Secrets and maps for tests.
pub struct Fixed;

#[async_trait]
impl Values for Fixed {
    async fn config_map(&self, space: &str, name: &str) -> Option<BTreeMap<String, String>> {
        let map = BTreeMap::from([("colour".into(), "blue".into()), ("size".into(), "7".into())]);
        (space == SPACE && name == "settings").then_some(map)
    }

    async fn secret(&self, space: &str, name: &str) -> Option<BTreeMap<String, Vec<u8>>> {
        let map = BTreeMap::from([
            ("password".into(), b"hunter2".to_vec()),
            ("binary".into(), vec![0xff, 0]),
        ]);
        (space == SPACE && name == "login").then_some(map)
    }
}

/// A data directory whose spawner is killed at the end.
pub struct House {
    pub root: TempDir,
    pub store: Folder,
    pub local: Option<Local>,
    /// Told when something is put under the key `stuck`, which never ends.
    pub stuck: Arc<Notify>,
    reports: mpsc::UnboundedReceiver<Report>,
    notes: Vec<String>,
}

impl House {
    pub async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = Folder::open(&root.path().join("blobs")).unwrap();
        let stuck = Arc::new(Notify::new());
        let (local, reports) = start(root.path(), &store, &stuck, change).await;
        Self { root, store, local: Some(local), stuck, reports, notes: vec![] }
    }

    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub fn local(&self) -> &Local {
        self.local.as_ref().unwrap()
    }

    /// Ends the backend as a crash would, as far as one process can, and starts another.
    pub async fn restart(&mut self) {
        self.local = None;
        let (local, reports) = start(self.root.path(), &self.store, &self.stuck, |_| ()).await;
        (self.local, self.reports) = (Some(local), reports);
    }

    pub fn run(&self, number: u32, spec: &ProcessSpec) -> AttemptId {
        let attempt = attempt(number);
        self.local().run(attempt, spec.clone(), "wf.step".into(), SPACE.into());
        attempt
    }

    /// The next report that is no note.
    pub async fn report(&mut self) -> Report {
        loop {
            let report = timeout(DEADLINE, self.reports.recv()).await;
            match report.expect("a report in time").expect("a backend that runs") {
                Report::Note { message, .. } => self.notes.push(message),
                report => return report,
            }
        }
    }

    /// The next note, however much time must pass.
    pub async fn note(&mut self) -> String {
        loop {
            if let Report::Note { message, .. } = self.reports.recv().await.expect("a backend") {
                return message;
            }
        }
    }

    pub async fn started(&mut self) {
        let report = self.report().await;
        assert!(matches!(report, Report::Started { .. }), "{report:?}");
    }

    pub async fn end(&mut self) -> End {
        loop {
            if let Report::Ended { end, .. } = self.report().await {
                return *end;
            }
        }
    }

    /// Carries out a spec to its end.
    pub async fn end_of(&mut self, spec: &ProcessSpec) -> End {
        self.run(0, spec);
        self.end().await
    }

    pub async fn success(&mut self, spec: &ProcessSpec) -> End {
        let end = self.end_of(spec).await;
        let log = self.log(0, "main", Stream::Err);
        assert_eq!(end.exit, Exit::Code(0), "{} {log}", end.message);
        end
    }

    pub fn notes(&mut self) -> Vec<String> {
        while let Ok(report) = self.reports.try_recv() {
            if let Report::Note { message, .. } = report {
                self.notes.push(message);
            }
        }
        self.notes.clone()
    }

    pub fn log(&self, number: u32, container: &str, stream: Stream) -> String {
        let container = container.to_owned();
        let log = Log { attempt: attempt(number), container, stream };
        std::fs::read_to_string(log.path(&self.data())).unwrap_or_default()
    }

    pub fn folder(&self, number: u32) -> PathBuf {
        self.data().join(format!("attempts/1/2.{number}"))
    }

    pub async fn put(&self, key: &str, bytes: &[u8]) {
        let source = Source::Bytes(bytes.to_vec().into());
        self.store.put(&at(key), source, Meta::default()).await.unwrap();
    }

    pub async fn get(&self, key: &str) -> Option<Vec<u8>> {
        let part = self.store.fetch(&at(key)).await.unwrap();
        part.map(|mut part| {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut part, &mut bytes).unwrap();
            bytes
        })
    }

    pub async fn keys(&self) -> Vec<String> {
        let space = Space::new(SPACE).unwrap();
        let listing = self.store.list(&space, "", "", 1_000).await.unwrap();
        listing.objects.into_iter().map(|object| object.key).collect()
    }

    pub fn kill_spawner(&self) {
        self.signal_spawner(Signal::KILL);
    }

    pub fn signal_spawner(&self, signal: Signal) {
        kill_process(self.spawner().expect("a spawner"), signal).unwrap();
    }

    /// Lets the spawner open no more files than that, or as many as the test may.
    pub fn limit_descriptors(&self, most: Option<u64>) {
        let own = getrlimit(Resource::Nofile);
        let limit = Rlimit { current: most.or(own.maximum), maximum: own.maximum };
        prlimit(self.spawner(), Resource::Nofile, limit).unwrap();
    }

    /// The spawner is the one that has this house as its working directory.
    fn spawner(&self) -> Option<Pid> {
        let home = fs::canonicalize(self.data()).unwrap();
        let mut pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            entry.unwrap().file_name().to_str()?.parse().ok().and_then(Pid::from_raw)
        });
        pids.find(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == home))
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(pid) = self.spawner() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

async fn start(
    root: &Path,
    store: &Folder,
    stuck: &Arc<Notify>,
    change: impl FnOnce(&mut Options),
) -> (Local, mpsc::UnboundedReceiver<Report>) {
    let mut options = Options {
        data_dir: root.join("data"),
        exe: HELPER.into(),
        allow_host_paths: vec![],
        images: ImageTable::default(),
        max_isolation: Level::PrivateRoot,
        objects: None,
    };
    change(&mut options);
    let store = Stuck { folder: store.clone(), waits: stuck.clone() };
    Local::start(options, Arc::new(store), Arc::new(Fixed)).await.unwrap()
}

pub fn attempt(number: u32) -> AttemptId {
    AttemptId { run: RunId(1), step: StepKey(2), number }
}

fn at(key: &str) -> Address {
    Address::new(&Space::new(SPACE).unwrap(), key).unwrap()
}

pub fn container(name: &str, script: &str) -> Container {
    Container {
        name: name.into(),
        image: "busybox".into(),
        command: ["sh", "-ec"].map(String::from).to_vec(),
        args: vec![script.into()],
        ..Container::default()
    }
}

pub fn shell(script: &str) -> ProcessSpec {
    ProcessSpec {
        main: container("main", script),
        grace_ms: 10_000,
        outputs: OutputsSpec { result: true, ..OutputsSpec::default() },
        key_prefix: "run/pod".into(),
        ..ProcessSpec::default()
    }
}

pub fn raw(data: &str) -> Artifact {
    let at = Location::Raw { data: data.into() };
    Artifact { at, archive: Archive::Default, sub_path: String::new() }
}

pub fn blob(key: &str) -> Artifact {
    Artifact { at: Location::Blob { key: key.into() }, ..raw("") }
}

pub fn input(path: &str, artifact: Artifact) -> StagedInput {
    StagedInput {
        name: "in".into(),
        path: path.into(),
        artifact,
        mode: None,
        recurse_mode: false,
        optional: false,
    }
}

pub fn output(path: &str, archive: Archive) -> OutputArtifact {
    OutputArtifact { name: "out".into(), path: path.into(), archive, key: None, optional: false }
}

pub fn parameter(path: &str, default: Option<&str>) -> OutputFile {
    OutputFile { name: "p".into(), path: path.into(), default: default.map(str::to_owned) }
}
