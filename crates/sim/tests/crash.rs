//! The power goes at commits that a seed picks, with the commit kept or dropped.

use argosy_sim::{Plan, simulate};

fn plan(seed: u64) -> Plan {
    Plan { seed, crashes: 1 + seed % 6, runs: 4, effects_first: false }
}

#[test]
#[expect(clippy::print_stdout, reason = "says how much ground was covered")]
fn nothing_acknowledged_is_lost_and_nothing_is_done_twice() {
    let (mut crashes, mut started, mut commits) = (0, 0, 0);
    for seed in 0..200 {
        let found = simulate(plan(seed));
        assert_eq!(found.faults, Vec::<String>::new(), "seed {seed}");
        crashes += found.crashes;
        started += found.started;
        commits += found.commits;
    }
    assert!(crashes >= 400, "{crashes} crashes in 200 seeds");
    println!("200 seeds: {crashes} crashes, {started} processes, {commits} commits");
}

#[test]
fn the_same_seed_is_the_same_story() {
    for seed in [7, 77, 777] {
        assert_eq!(simulate(plan(seed)), simulate(plan(seed)));
    }
}

#[test]
fn effects_before_their_commit_are_noticed() {
    let noticed = (0..60).any(|seed| {
        let found = simulate(Plan { effects_first: true, ..plan(seed) });
        !found.faults.is_empty()
    });
    assert!(noticed, "a server that acts before it has written passes the checks");
}
