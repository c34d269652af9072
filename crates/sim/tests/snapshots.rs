//! A snapshot that could not be encoded, through the whole server.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use argosy_model::RunPhase;
use argosy_server::Options;
use argosy_sim::Fate;
use common::{House, end, simulated, submit};
use serde_json::{Value, json};

/// Items of the loop. A page of the run has 1,000 steps.
const ITEMS: usize = 2_500;

fn wide() -> Value {
    let items: Vec<Value> = (0..ITEMS).map(|item| json!(item.to_string())).collect();
    json!({"templates": [
        {"name": "main", "body": {"Steps": [[
            {"name": "each", "target": {"Template": 1}, "each": {"Items": items}}]]}},
        {"name": "leaf", "body": {"Process": {}}}]})
}

#[test]
fn pages_whose_encoding_failed_are_written_again_later() {
    simulated(async {
        let house = House::new();
        let broken = Options { effects_first: false, broken_snapshots: 2, ..Options::default() };
        let service = house.serve_with(broken).await;
        let view = submit(&service, "wide", 0, &wide()).await;
        let run = view.read(|run| run.id);
        while house.disk.pieces(run).is_empty() {
            assert!(!view.read(|run| run.phase.is_terminal()), "no snapshot was written");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // All of it, also what has not changed since it could not be written.
        let pieces = house.disk.pieces(run);
        let wanted = ["spec", "head", "items/2", "page/0", "page/1", "page/2"];
        assert!(BTreeSet::from(wanted.map(str::to_owned)).is_subset(&pieces), "{pieces:?}");
        // The run is whole when it is read back from it.
        house.disk.crash_after(Some((1, Fate::Dropped)));
        house.disk.power_loss().await;
        house.world.detach();
        house.disk.crash_after(None);
        let service = house.serve().await;
        let mut view = argosy_api::ports::Service::run(&service, run).await.unwrap();
        assert_eq!(end(&mut view).await, RunPhase::Succeeded);
        assert_eq!((house.world.faults(), house.world.started()), (Vec::new(), ITEMS));
        service.stop().await;
    });
}
