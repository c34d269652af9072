//! The client of the spawner, with real spawners that die.

use argosy_exec::local::{SpawnerClient, SpawnerEvent, SpawnerHandle};
use argosy_spawn::{Isolation, Limits, MAX_FRAME, Reason, Start, Status};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

const HELPER: &str = env!("CARGO_BIN_EXE_spawner-for-exec-tests");
const DEADLINE: Duration = Duration::from_secs(30);

struct Client {
    handle: SpawnerHandle,
    events: mpsc::Receiver<SpawnerEvent>,
    boot: String,
    known: Vec<SpawnerEvent>,
}

impl Client {
    async fn connect(data: &Path, exe: &Path) -> Self {
        let (handle, events) = SpawnerClient::connect(data.into(), exe.into()).await.unwrap();
        let mut client = Self { handle, events, boot: String::new(), known: vec![] };
        client.connected().await;
        client
    }

    async fn connected(&mut self) {
        match self.next().await {
            SpawnerEvent::Connected { boot, known } => (self.boot, self.known) = (boot, known),
            other => panic!("not connected: {other:?}"),
        }
    }

    async fn next(&mut self) -> SpawnerEvent {
        let event = timeout(DEADLINE, self.events.recv()).await;
        event.expect("an event in time").expect("a client that runs")
    }

    /// The next event, however much time must pass.
    async fn next_at_last(&mut self) -> SpawnerEvent {
        self.events.recv().await.expect("a client that runs")
    }

    async fn started(&mut self, job: Start) {
        self.handle.start(job);
        let event = self.next().await;
        assert!(matches!(event, SpawnerEvent::Started { .. }), "{event:?}");
    }
}

/// A data directory whose spawner is killed at the end.
struct House(TempDir);

impl House {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn client(&self) -> Client {
        Client::connect(self.0.path(), Path::new(HELPER)).await
    }

    /// The spawner is the one that has this house as its working directory.
    fn spawner(&self) -> Option<Pid> {
        let home = fs::canonicalize(self.0.path()).unwrap();
        let mut pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            entry.unwrap().file_name().to_str()?.parse().ok().and_then(Pid::from_raw)
        });
        pids.find(|pid| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd: PathBuf| cwd == home)
        })
    }

    fn kill_spawner(&self) {
        kill_process(self.spawner().expect("a spawner"), Signal::KILL).unwrap();
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(pid) = self.spawner() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn job(id: &str, script: &str) -> Start {
    Start {
        id: id.into(),
        argv: ["/bin/sh", "-c", script].map(String::from).to_vec(),
        env: vec![],
        cwd: "/".into(),
        stdout: None,
        stderr: None,
        isolation: Isolation::None,
        binds: vec![],
        limits: Limits::default(),
    }
}

fn exit_of(event: &SpawnerEvent) -> (&str, Status) {
    match event {
        SpawnerEvent::Exited { id, exit } => (id, exit.status),
        other => panic!("not an exit: {other:?}"),
    }
}

#[tokio::test]
async fn jobs_start_end_and_are_forgotten() {
    let house = House::new();
    let mut client = house.client().await;
    client.started(job("a", "exit 7")).await;
    assert_eq!(exit_of(&client.next().await), ("a", Status::Code(7)));
    client.started(job("b", "sleep 600")).await;
    client.handle.kill("b".into(), 15);
    assert_eq!(exit_of(&client.next().await), ("b", Status::Signal(15)));

    client.handle.forget("a".into());
    client.handle.probe();
    assert!(matches!(client.next().await, SpawnerEvent::Probed(_)), "the orders are carried out");
    let next = house.client().await;
    assert_eq!(next.known.iter().map(exit_of).collect::<Vec<_>>(), [("b", Status::Signal(15))]);
}

#[tokio::test]
async fn a_later_client_takes_over_what_runs() {
    let house = House::new();
    let mut client = house.client().await;
    client.started(job("a", "sleep 600")).await;
    let boot = client.boot.clone();
    drop(client);
    let mut next = house.client().await;
    assert_eq!(next.boot, boot);
    let known = &next.known[..];
    assert!(matches!(known, [SpawnerEvent::Started { id, .. }] if id == "a"), "{known:?}");
    next.handle.kill("a".into(), 9);
    assert_eq!(exit_of(&next.next().await), ("a", Status::Signal(9)));
}

#[tokio::test]
async fn jobs_of_a_spawner_that_died_are_lost_and_the_next_one_serves() {
    let house = House::new();
    let mut client = house.client().await;
    for id in ["b", "a"] {
        client.started(job(id, "sleep 600")).await;
    }
    client.started(job("ended", "exit 0")).await;
    assert_eq!(exit_of(&client.next().await).0, "ended");
    let boot = client.boot.clone();
    house.kill_spawner();
    client.connected().await;
    assert_ne!(client.boot, boot);
    assert_eq!(client.known, []);
    let ids = ["a", "b"].map(String::from).to_vec();
    assert_eq!(client.next().await, SpawnerEvent::Lost { ids });
    client.started(job("a", "exit 3")).await;
    assert_eq!(exit_of(&client.next().await), ("a", Status::Code(3)));
}

#[tokio::test]
async fn a_lost_connection_alone_loses_no_job() {
    let house = House::new();
    let mut client = house.client().await;
    client.started(job("a", "sleep 600")).await;
    let boot = client.boot.clone();
    // The spawner drops the client for this one.
    drop(argosy_spawn::connect(house.0.path()).unwrap());
    client.connected().await;
    assert_eq!(client.boot, boot);
    assert!(matches!(&client.known[..], [SpawnerEvent::Started { .. }]), "{:?}", client.known);
    client.handle.kill("a".into(), 9);
    assert_eq!(exit_of(&client.next().await), ("a", Status::Signal(9)));
}

#[tokio::test]
async fn a_spawner_that_cannot_be_started_is_told_until_it_can() {
    let house = House::new();
    let exe = house.0.path().join("argosy");
    let error = SpawnerClient::connect(house.0.path().into(), exe.clone()).await.unwrap_err();
    assert!(error.to_string().contains("No such file"), "{error}");

    fs::copy(HELPER, &exe).unwrap();
    let mut client = Client::connect(house.0.path(), &exe).await;
    client.started(job("a", "sleep 600")).await;
    fs::rename(&exe, exe.with_extension("away")).unwrap();
    house.kill_spawner();
    assert!(matches!(client.next().await, SpawnerEvent::Unreachable { .. }));
    client.handle.start(job("b", "exit 0"));
    fs::rename(exe.with_extension("away"), &exe).unwrap();
    let mut event = client.next().await;
    while matches!(event, SpawnerEvent::Unreachable { .. }) {
        event = client.next().await;
    }
    assert!(matches!(event, SpawnerEvent::Connected { .. }), "{event:?}");
    assert_eq!(client.next().await, SpawnerEvent::Lost { ids: vec!["a".into()] });
    // What was ordered meanwhile is not lost.
    assert!(matches!(client.next().await, SpawnerEvent::Started { id, .. } if id == "b"));
}

#[tokio::test]
async fn a_spawner_that_is_stopped_is_told_and_goes_on_when_it_is_let() {
    let house = House::new();
    let mut client = house.client().await;
    client.started(job("a", "sleep 600")).await;
    kill_process(house.spawner().unwrap(), Signal::STOP).unwrap();
    // From here on time passes as soon as nothing else happens.
    tokio::time::pause();
    let told = client.next_at_last().await;
    let SpawnerEvent::Unreachable { message } = told else { panic!("{told:?}") };
    assert!(message.contains("kill -CONT"), "{message}");
    tokio::time::resume();
    kill_process(house.spawner().unwrap(), Signal::CONT).unwrap();
    let mut event = client.next().await;
    while matches!(event, SpawnerEvent::Unreachable { .. }) {
        event = client.next().await;
    }
    let SpawnerEvent::Connected { boot, known } = event else { panic!("{event:?}") };
    assert_eq!(boot, client.boot, "it is the same");
    assert!(matches!(&known[..], [SpawnerEvent::Started { id, .. }] if id == "a"), "{known:?}");
}

#[tokio::test]
async fn hundreds_of_orders_at_once_are_all_carried_out() {
    let house = House::new();
    let mut client = house.client().await;
    let ids: HashSet<String> = (0..500).map(|number| number.to_string()).collect();
    for id in &ids {
        client.handle.start(job(id, "exit 1"));
    }
    let mut ended = HashSet::new();
    while ended.len() < ids.len() {
        let event = client.next().await;
        if !matches!(event, SpawnerEvent::Started { .. }) {
            let (id, status) = exit_of(&event);
            assert_eq!(status, Status::Code(1));
            assert!(ended.insert(id.to_owned()), "{id} ended twice");
        }
    }
    assert_eq!(ended, ids);
}

#[tokio::test]
async fn an_order_too_large_to_send_is_refused_and_the_next_one_is_not() {
    let house = House::new();
    let mut client = house.client().await;
    client.handle.start(job("large", &"x".repeat(MAX_FRAME)));
    client.handle.start(job("small", "exit 0"));
    let event = client.next().await;
    let SpawnerEvent::Refused { id, reason, .. } = event else { panic!("{event:?}") };
    assert_eq!((&*id, reason), ("large", Reason::Invalid));
    assert!(matches!(client.next().await, SpawnerEvent::Started { id, .. } if id == "small"));
}
