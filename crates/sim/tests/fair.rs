//! A run that grows without end beside others.

mod common;

use std::time::Duration;

use argosy_api::ports::Service as _;
use argosy_engine::Input;
use argosy_model::{Cause, RunPhase, Shutdown};
use common::{House, end, simulated, submit};
use serde_json::{Value, json};

/// A template that calls itself twice.
fn exploding() -> Value {
    let again = |name: &str| json!({"name": name, "target": {"Template": 0}});
    json!({"templates": [{"name": "main", "body": {"Steps": [[again("a"), again("b")]]}}]})
}

fn small() -> Value {
    let call = |name: &str| json!({"name": name, "target": {"Template": 1}});
    json!({"templates": [
        {"name": "main", "body": {"Steps": [[call("a")], [call("b")]]}},
        {"name": "leaf", "body": {"Process": {}}}]})
}

fn terminate() -> Input {
    Input::Shutdown { how: Shutdown::Terminate, message: String::new() }
}

#[test]
fn others_run_beside_a_run_that_explodes_and_it_can_be_ended() {
    simulated(async {
        let house = House::new();
        let service = house.serve().await;
        let mut exploding = submit(&service, "exploding", 0, &exploding()).await;
        let mut other = submit(&service, "other", 0, &small()).await;
        assert_eq!(end(&mut other).await, RunPhase::Succeeded);
        let (phase, steps) = exploding.read(|run| (run.phase, run.steps.len()));
        assert!(phase == RunPhase::Running && steps > 1_000, "{phase:?}, {steps} steps");
        // A server that is started on it goes on with it, and serves as well.
        service.stop().await;
        let service = house.serve().await;
        let mut other = submit(&service, "another", 0, &small()).await;
        assert_eq!(end(&mut other).await, RunPhase::Succeeded);
        let id = exploding.read(|run| run.id);
        exploding = service.run(id).await.unwrap();
        assert!(service.input(id, terminate(), Cause::default()).await.unwrap());
        assert_eq!(end(&mut exploding).await, RunPhase::Failed);
        service.stop().await;
    });
}

#[test]
fn a_run_does_not_grow_ahead_of_the_disk() {
    simulated(async {
        let house = House::new();
        let service = house.serve().await;
        let mut exploding = submit(&service, "exploding", 0, &exploding()).await;
        house.disk.keep_busy(true);
        let steps = |view: &argosy_api::ports::RunView| view.read(|run| run.steps.len());
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = steps(&exploding);
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(steps(&exploding), before, "nothing is decided that the disk cannot take");
        // What is asked for is heard all the same, and answered once it can be kept.
        let id = exploding.read(|run| run.id);
        let ended = service.input(id, terminate(), Cause::default());
        let release = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            house.disk.keep_busy(false);
        };
        assert!(tokio::join!(ended, release).0.unwrap());
        assert_eq!(end(&mut exploding).await, RunPhase::Failed);
        service.stop().await;
    });
}
