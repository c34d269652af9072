//! Locks between runs, through the whole server. That no two processes hold a lock at once, and
//! that none is lost by a crash, is also looked for by every simulation (`crash.rs`).

mod common;

use std::time::Duration;

use argosy_api::ports::{RunView, Service as _};
use argosy_engine::Input;
use argosy_model::{Cause, RunPhase, Shutdown};
use argosy_server::Service;
use argosy_sim::Fate;
use argosy_store::ObjectChange;
use common::{House, end, simulated, submit};
use serde_json::{Value, json};

fn mutex() -> Value {
    json!({
        "locks": [{"Mutex": {"name": "m"}}],
        "templates": [{"name": "main", "body": {"Process": {
            "main": {"env": [{"name": "RUN_LOCK", "value": {"Text": "m"}}]}}}}]})
}

/// A step that holds a semaphore for a minute.
fn semaphore() -> Value {
    json!({"templates": [{"name": "main",
        "locks": [{"Semaphore": {"config_map": "sizes", "key": "k"}}],
        "body": {"Suspend": {"duration": "1m"}}}]})
}

async fn put_size(service: &Service, size: &str) {
    let data = json!({"kind": "ConfigMap", "data": {"k": size}}).to_string().into_bytes();
    let (space, kind, name) = ("default".into(), "ConfigMap".into(), "sizes".into());
    let change = ObjectChange { space, kind, name, data: Some(data) };
    service.put_objects(vec![change]).await.unwrap();
}

fn message(view: &RunView) -> String {
    view.read(|run| match run.steps.first() {
        Some(step) => step.message.as_deref().unwrap_or_default().to_owned(),
        None => run.message.clone(),
    })
}

fn holds(view: &RunView) -> bool {
    view.read(|run| run.locks.values().any(|holding| holding.taken))
}

/// Everything that takes no time.
async fn settled() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

#[test]
fn two_runs_never_hold_a_mutex_at_once_wherever_the_power_goes() {
    for after in 1..=12 {
        for fate in [Fate::Dropped, Fate::Kept] {
            simulated(async {
                let house = House::new();
                house.disk.crash_after(Some((after, fate)));
                let service = house.serve().await;
                let lost = async {
                    let mut views = Vec::new();
                    for name in ["a", "b"] {
                        views.push(submit(&service, name, 0, &mutex()).await);
                    }
                    for view in &mut views {
                        end(view).await;
                    }
                    house.disk.crash_after(None);
                };
                tokio::select! { () = lost => {}, () = house.disk.power_loss() => {} }
                house.disk.crash_after(None);
                house.world.detach();
                drop(service);
                let service = house.serve().await;
                for name in ["a", "b", "c"] {
                    let id = match service.find("default", name).await.unwrap() {
                        Some(row) if row.phase.is_terminal() => continue,
                        Some(row) => row.id,
                        None => {
                            let spec = common::spec(name, 0, mutex());
                            service.submit(spec, Cause::default()).await.unwrap()
                        }
                    };
                    let mut view = service.run(id).await.unwrap();
                    assert_eq!(
                        end(&mut view).await,
                        RunPhase::Succeeded,
                        "{after} {fate:?} {name}"
                    );
                }
                assert_eq!(house.world.faults(), Vec::<String>::new(), "{after} {fate:?}");
            });
        }
    }
}

#[test]
fn a_waiting_run_says_so_goes_by_priority_and_can_be_stopped() {
    simulated(async {
        let house = House::new();
        let service = house.serve().await;
        let mut held = mutex();
        held["templates"][0]["body"] = json!({"Suspend": {}});
        let first = submit(&service, "first", 0, &held).await;
        let stopped = submit(&service, "stopped", 9, &held).await;
        let low = submit(&service, "low", 0, &held).await;
        let high = submit(&service, "high", 5, &held).await;
        settled().await;
        for view in [&stopped, &low, &high] {
            assert_eq!(message(view), "Waiting for default/Mutex/m lock. Lock status: 0/1");
        }
        let stop = Input::Shutdown { how: Shutdown::Stop, message: String::new() };
        let id = stopped.read(|run| run.id);
        assert!(service.input(id, stop, Cause::default()).await.unwrap());
        assert_eq!(stopped.read(|run| run.phase), RunPhase::Failed);
        let resume = || Input::Resume { steps: Vec::new() };
        let id = first.read(|run| run.id);
        assert!(service.input(id, resume(), Cause::default()).await.unwrap());
        settled().await;
        assert_eq!((holds(&high), holds(&low)), (true, false));
    });
}

#[test]
fn a_semaphore_is_as_large_as_its_config_map_says_at_that_moment() {
    simulated(async {
        let house = House::new();
        let service = house.serve().await;
        put_size(&service, "2").await;
        let mut views = Vec::new();
        for name in ["a", "b", "c", "d"] {
            views.push(submit(&service, name, 0, &semaphore()).await);
        }
        settled().await;
        let held = |views: &[RunView]| views.iter().map(holds).collect::<Vec<_>>();
        assert_eq!(held(&views), [true, true, false, false]);
        let waiting = "Waiting for default/ConfigMap/sizes/k lock. Lock status: 0/2";
        assert_eq!(message(&views[2]), waiting);
        // What is read after a restart is what was written before it.
        service.stop().await;
        let service = house.serve().await;
        put_size(&service, "3").await;
        settled().await;
        let mut views = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let id = service.find("default", name).await.unwrap().unwrap().id;
            views.push(service.run(id).await.unwrap());
        }
        assert_eq!(held(&views), [true, true, true, false]);
        put_size(&service, "many").await;
        settled().await;
        assert_eq!(views[3].read(|run| run.phase), RunPhase::Error);
        let why = message(&views[3]);
        assert!(why.contains("its key is no number in the ConfigMap"), "{why}");
        assert_eq!(held(&views), [true, true, true, false], "holders keep what they have");
    });
}

#[test]
fn a_semaphore_without_a_size_is_refused() {
    simulated(async {
        let house = House::new();
        let service = house.serve().await;
        let mut view = submit(&service, "a", 0, &semaphore()).await;
        assert_eq!(end(&mut view).await, RunPhase::Error);
        assert!(message(&view).contains("there is no such ConfigMap"), "{}", message(&view));
    });
}
