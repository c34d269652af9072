//! Limits of memory. What is said of a process over its limit depends on what this machine has.

use crate::house::{House, container, shell};
use argosy_exec::local::Ability;
use argosy_model::{Exit, ProcessSpec};

/// Uses about 200 MiB.
const LARGE: &str = "exec python3 -c 'print(len(b\"x\" * (200 << 20)))'";

fn limited(mib: u64) -> ProcessSpec {
    let mut spec = shell(LARGE);
    spec.main.claim.limits.memory_bytes = mib << 20;
    spec
}

async fn works(house: &House) -> bool {
    house.local().abilities().await.unwrap().memory == Ability::Works
}

#[tokio::test]
async fn a_process_over_its_limit_of_memory_ends_for_want_of_it() {
    let mut house = House::new().await;
    let end = house.end_of(&limited(64)).await;
    if works(&house).await {
        assert_eq!(end.exit, Exit::OutOfMemory);
        assert_eq!(house.notes(), [""; 0]);
    } else {
        // Refused by the system, of which the program tells itself.
        assert_eq!(end.exit, Exit::Code(1));
        let notes = house.notes();
        assert!(notes.len() == 1 && notes[0].contains("each process by itself"), "{notes:?}");
    }
}

#[tokio::test]
async fn a_process_within_its_limit_of_memory_does_not_notice_it() {
    let mut house = House::new().await;
    let end = house.success(&limited(512)).await;
    assert_eq!(end.outputs.result.as_deref(), Some("209715200"));
}

#[tokio::test]
async fn of_several_processes_each_has_its_own_limit_and_the_message_says_whose_it_was() {
    let mut house = House::new().await;
    if !works(&house).await {
        return;
    }
    let mut spec = limited(512);
    let mut first = container("first", LARGE);
    first.claim.limits.memory_bytes = 64 << 20;
    spec.init = vec![first];
    let end = house.end_of(&spec).await;
    assert_eq!(
        (end.exit, &*end.message),
        (Exit::OutOfMemory, "init container first: out of memory")
    );
}
