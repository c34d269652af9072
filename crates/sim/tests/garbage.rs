//! Artifacts that are deleted by themselves, with the power going at every commit there is.

mod common;

use std::collections::BTreeSet;

use argosy_api::ports::Service as _;
use argosy_server::Service;
use argosy_sim::Fate;
use argosy_store::Storage;
use common::{House, simulated, spec};
use serde_json::{Value, json};

/// One artifact of each kind.
fn graph() -> Value {
    json!({"keep": "UntilDeletion", "templates": [
        {"name": "main", "body": {"Process": {}}, "outputs": {"artifacts": [
            {"name": "a", "path": "/a", "source": {"Key": "at-end"}, "keep": "UntilEnd"},
            {"name": "b", "path": "/b", "source": {"Key": "at-deletion"}},
            {"name": "c", "path": "/c", "source": {"Key": "always"}, "keep": "Always"}]}}]})
}

fn keys<const N: usize>(keys: [&str; N]) -> BTreeSet<String> {
    keys.map(str::to_owned).into()
}

/// Waits until nothing is left that is due.
async fn collected(house: &House) {
    for _ in 0..1_000 {
        if house.disk.garbage(None, 1).await.unwrap().is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("something due is not deleted");
}

#[test]
fn what_cannot_be_deleted_keeps_nothing_else_and_is_tried_again() {
    simulated(async {
        let house = House::new();
        house.world.stick(keys(["at-end"]));
        let service = house.serve().await;
        let mut graph = graph();
        graph["keep"] = json!("UntilEnd");
        graph["templates"][0]["outputs"]["artifacts"][1]["source"]["Key"] = json!("later-in-order");
        let mut view = common::submit(&service, "gc", 0, &graph).await;
        common::end(&mut view).await;
        while house.world.kept().contains("later-in-order") {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        assert_eq!(house.world.kept(), keys(["always", "at-end"]));
        house.world.stick(keys([]));
        tokio::time::sleep(std::time::Duration::from_secs(61)).await;
        assert_eq!(house.world.kept(), keys(["always"]));
        collected(&house).await;
        service.stop().await;
    });
}

/// What has been asked for so far, over all lives of the server.
#[derive(Default)]
struct Asked {
    deletion: bool,
}

/// Submits the run, waits for its end and deletes it, as far as that has not happened.
async fn live(house: &House, asked: &mut Asked) -> Service {
    let service = house.serve().await;
    if !asked.deletion {
        // Refused where an earlier life has taken it.
        let _ = service.submit(spec("gc", 0, graph()), argosy_model::Cause::default()).await;
    }
    if let Some(row) = house.disk.find("default", "gc").await.unwrap() {
        if let Ok(mut view) = service.run(row.id).await {
            common::end(&mut view).await;
        }
        while service.run(row.id).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        if !asked.deletion {
            collected(house).await;
            assert_eq!(house.world.kept(), keys(["always", "at-deletion"]));
        }
        asked.deletion = true;
        service.delete(row.id).await.unwrap();
    }
    collected(house).await;
    service
}

/// Nothing is gone whose time has not come, as the disk has it.
async fn check(house: &House, asked: &Asked) {
    let row = house.disk.find("default", "gc").await.unwrap();
    let ended = row.as_ref().is_some_and(|row| row.phase.is_terminal());
    let kept = house.world.kept();
    if let (Some(_), false) = (&row, ended) {
        // All three are there, or none yet.
        assert!([0, 3].contains(&kept.len()), "{kept:?}");
    }
    if row.is_some() && !kept.is_empty() {
        assert!(kept.contains("at-deletion"), "{kept:?}");
    }
    assert!(kept.is_empty() || kept.contains("always"), "{kept:?}");
    assert!(row.is_some() || asked.deletion || kept.is_empty());
}

/// The power goes at commit `at`; whether it went.
async fn story(at: u64, fate: Fate) -> bool {
    let house = House::new();
    house.disk.crash_after(Some((at, fate)));
    let mut asked = Asked::default();
    let disk = house.disk.clone();
    let went = tokio::select! {
        biased;
        () = disk.power_loss() => true,
        service = live(&house, &mut asked) => {
            service.stop().await;
            false
        }
    };
    if went {
        house.world.detach();
        check(&house, &asked).await;
        house.disk.crash_after(None);
        live(&house, &mut asked).await.stop().await;
    }
    assert_eq!(house.world.kept(), keys(["always"]), "{at} {fate:?}");
    went
}

#[test]
fn what_is_due_is_deleted_and_nothing_else_whenever_the_power_goes() {
    for fate in [Fate::Dropped, Fate::Kept] {
        let crashes = (1..).take_while(|at| simulated(story(*at, fate))).count();
        // Submit, placement and end, what was collected, deletion, what was collected then.
        assert!(crashes >= 5, "{crashes} commits");
    }
}
