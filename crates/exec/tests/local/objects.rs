//! Key pairs with which processes reach the objects of their space.

use crate::house::{House, SPACE, attempt, shell};
use argosy_blob::Space;
use argosy_blob::s3::{Attempts, Keys};
use argosy_exec::local::ObjectDoor;
use argosy_model::process::{EnvFrom, EnvValue, EnvVar};
use std::collections::BTreeSet;
use std::path::Path;

const ENDPOINT: &str = "http://127.0.0.1:9000";

/// Prints all variables that S3 clients read, one a line and in order.
const SHOW: &str = "env | grep ^AWS_ | sort";

async fn house(keys: &Path) -> (House, Keys) {
    let keys = Keys::open(keys).unwrap();
    let door = ObjectDoor { endpoint: ENDPOINT.into(), keys: keys.clone() };
    (House::with(|options| options.objects = Some(door)).await, keys)
}

#[tokio::test]
async fn a_process_finds_the_endpoint_and_a_key_pair_of_its_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let (mut house, keys) = house(folder.path()).await;
    let end = house.success(&shell(SHOW)).await;
    let own = keys.mint(&Space::new(SPACE).unwrap(), &[""], attempt(0));
    let expected = [
        format!("AWS_ACCESS_KEY_ID={}", own.access_key),
        "AWS_DEFAULT_REGION=us-east-1".to_owned(),
        format!("AWS_ENDPOINT_URL={ENDPOINT}"),
        format!("AWS_ENDPOINT_URL_S3={ENDPOINT}"),
        "AWS_REGION=us-east-1".to_owned(),
        format!("AWS_SECRET_ACCESS_KEY={}", own.secret.expose()),
    ];
    assert_eq!(end.outputs.result.unwrap().lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_manifest_that_sends_clients_elsewhere_gets_nothing_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let (mut house, _) = house(folder.path()).await;
    let mut spec = shell(SHOW);
    let elsewhere = EnvValue::Text("eu-west-1".into());
    spec.main.env = vec![EnvVar { name: "AWS_REGION".into(), value: elsewhere }];
    house.run(0, &spec);
    let own = house.end().await.outputs.result;
    assert_eq!(own.as_deref(), Some("AWS_REGION=eu-west-1"));
    // Other settings of the same clients are no reason.
    let patience = EnvValue::Text("5".into());
    spec.main.env = vec![EnvVar { name: "AWS_MAX_ATTEMPTS".into(), value: patience }];
    house.run(1, &spec);
    let both = house.end().await.outputs.result.unwrap();
    assert!(both.contains("AWS_MAX_ATTEMPTS=5") && both.contains("AWS_ENDPOINT_URL="), "{both}");
    // A whole store counts as well; its key is called `colour`.
    let from = EnvFrom { name: "settings".into(), prefix: "AWS_".into(), ..EnvFrom::default() };
    (spec.main.env, spec.main.env_from) = (vec![], vec![from]);
    house.run(2, &spec);
    let both = house.end().await.outputs.result.unwrap();
    assert!(both.contains("AWS_colour=blue") && both.contains("AWS_ENDPOINT_URL="), "{both}");
}

#[tokio::test]
async fn without_an_endpoint_no_variable_is_set() {
    let mut house = House::new().await;
    let end = house.success(&shell(&format!("{SHOW} | wc -l"))).await;
    assert_eq!(end.outputs.result.as_deref(), Some("0"));
}

#[tokio::test]
async fn an_attempt_lives_from_its_order_to_its_end_also_under_another_server() {
    let mut house = House::new().await;
    assert!(!house.local().is_live(attempt(0)), "never ordered");
    house.run(0, &shell("until test -e /tmp/go; do sleep 0.02; done"));
    house.started().await;
    assert!(house.local().is_live(attempt(0)));
    house.restart().await;
    house.local().forget_all_but(&BTreeSet::from([attempt(0)]));
    assert!(house.local().is_live(attempt(0)), "its processes run, though it is not ordered yet");
    house.run(0, &shell("unused"));
    assert!(house.local().is_live(attempt(0)));
    std::fs::write(house.folder(0).join("tmp/go"), "").unwrap();
    house.end().await;
    assert!(!house.local().is_live(attempt(0)), "its end is told");
}
