//! Kept outputs, through the whole server.

mod common;

use argosy_model::RunPhase;
use common::{House, end, simulated, submit};
use serde_json::json;

#[test]
fn a_step_that_another_run_has_done_is_not_done_again() {
    let graph = |key: &str| {
        json!({"templates": [
            {"name": "main", "memo": {"key": key, "cache": "c"}, "body": {"Process": {}}}]})
    };
    simulated(async {
        let house = House::new();
        let service = house.serve().await;
        for (name, key, started) in [("a", "k", 1), ("b", "k", 1), ("c", "other", 2)] {
            let mut view = submit(&service, name, 0, &graph(key)).await;
            assert_eq!(end(&mut view).await, RunPhase::Succeeded, "{name}");
            assert_eq!(house.world.started(), started, "{name}");
        }
        service.stop().await;
        // What is kept outlives the server.
        let service = house.serve().await;
        let mut view = submit(&service, "d", 0, &graph("k")).await;
        assert_eq!(end(&mut view).await, RunPhase::Succeeded);
        assert_eq!(house.world.started(), 2);
        let hit = view.read(|run| run.steps[0].recall.as_deref().cloned());
        assert!(hit.expect("it was looked up").hit);
    });
}
