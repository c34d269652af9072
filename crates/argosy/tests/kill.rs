//! The real server, killed at named points and at random, on workflows without any retry.
//!
//! Each item of a workflow writes a line when it starts and one when it ends. Whatever is killed,
//! in the end every acknowledged run has succeeded and every line stands there once.
//! `ARGOSY_KILLS` says how many kills there are in each window.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{Place, Server, processes_with, spawner_of};

const MANIFEST: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: kill-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: marks}]}
  volumes:
    - name: marks
      hostPath: {path: "{{workflow.parameters.marks}}"}
  templates:
    - name: main
      steps:
        - - {name: a, template: mark, arguments: {parameters: [{name: item, value: "a{{item}}"}]}, withSequence: {count: 5}}
        - - {name: b, template: mark, arguments: {parameters: [{name: item, value: "b"}]}}
    - name: mark
      inputs: {parameters: [{name: item}]}
      container:
        image: busybox
        command: [sh, -c]
        args: ["echo start {{workflow.name}} {{inputs.parameters.item}} >> /marks/log; sleep 0.02; echo end {{workflow.name}} {{inputs.parameters.item}} >> /marks/log"]
        env: [{name: KILL_TEST, value: "{{workflow.parameters.marks}}"}]
        volumeMounts: [{name: marks, mountPath: /marks}]
"#;

/// Marks of one run.
const MARKS: usize = 6;

fn kills() -> u64 {
    std::env::var("ARGOSY_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// A story of kills.
struct Story {
    place: Place,
    acknowledged: Vec<String>,
    number: u32,
    random: u64,
}

/// What a life of the server came to.
enum End {
    Died,
    Alive(Server),
}

impl Story {
    fn new(seed: u64) -> Story {
        let place = Place::new();
        place.file("kill.yaml", MANIFEST);
        Story { place, acknowledged: Vec::new(), number: 0, random: seed }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }

    /// Submits a run; `false` when the server is gone.
    fn submit(&mut self, server: &Server) -> bool {
        let name = format!("kill-{}", self.number);
        let marks = format!("marks={}", self.place.marks().display());
        let done = self.place.argosy(&[
            "--server",
            &server.address,
            "submit",
            "kill.yaml",
            "--name",
            &name,
            "-p",
            &marks,
        ]);
        match done.code {
            Some(0) => {}
            // Accepted by a life that did not live to say so.
            _ if done.err.contains("E0402") => {}
            Some(4) => return false,
            code => panic!("submit: {code:?}: {}", done.err),
        }
        self.acknowledged.push(name);
        self.number += 1;
        true
    }

    /// Waits for the last run; `false` when the server is gone.
    fn wait(&self, server: &Server) -> bool {
        let name = self.acknowledged.last().unwrap();
        let done = self.place.argosy(&["--server", &server.address, "wait", name]);
        match done.code {
            Some(0) => true,
            Some(4) => false,
            code => {
                let run = self.place.argosy(&["--server", &server.address, "get", name]);
                panic!("wait: {code:?}: {}{}{}", done.out, done.err, run.out)
            }
        }
    }

    /// Works until the server dies.
    fn live(&mut self, mut server: Server, runs: u32) -> End {
        for _ in 0..runs {
            if !self.submit(&server) || !self.wait(&server) {
                server.child.wait().unwrap();
                return End::Died;
            }
        }
        End::Alive(server)
    }

    /// Everything that was acknowledged has happened, once.
    fn check(self, strict: bool) {
        let faults = self.faults(strict);
        assert!(faults.is_empty(), "{faults:?}");
    }

    /// What happened otherwise than it should.
    fn faults(mut self, strict: bool) -> Vec<String> {
        let server = self.place.up(None).expect("a server without kills starts");
        self.submit(&server);
        let mut faults = Vec::new();
        for name in &self.acknowledged {
            let done = self.place.argosy(&["--server", &server.address, "wait", name]);
            if done.code != Some(0) {
                let run = self.place.argosy(&["--server", &server.address, "get", name]);
                faults.push(format!("{name}: {}{}{}", done.out, done.err, run.out));
            }
        }
        server.stop();
        let log = std::fs::read_to_string(self.place.marks().join("log")).unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for line in log.lines() {
            *counts.entry(line).or_default() += 1;
        }
        for name in &self.acknowledged {
            let needle = format!(" {name} ");
            let own: Vec<_> = counts.iter().filter(|(line, _)| line.contains(&needle)).collect();
            if own.len() != 2 * MARKS {
                faults.push(format!("{name}: {own:?}"));
            }
            let twice = own.into_iter().filter(|(_, count)| strict && **count > 1);
            faults
                .extend(twice.map(|(line, count)| format!("{line:?} stands there {count} times")));
        }
        let left = processes_with(&format!("KILL_TEST={}", self.place.marks().display()));
        faults.extend(left.iter().map(|orphan| format!("an orphan: {}", orphan.display())));
        faults
    }
}

fn killed_at(point: &str, seed: u64) {
    let mut story = Story::new(seed);
    let mut killed = 0;
    while killed < kills() {
        let number = 1 + story.below(12);
        let Some(server) = story.place.up(Some((point, number))) else {
            killed += 1;
            continue;
        };
        match story.live(server, 20) {
            End::Died => killed += 1,
            End::Alive(server) => server.kill(),
        }
    }
    story.check(true);
}

#[test]
fn killed_before_the_commit() {
    killed_at("before-commit", 1);
}

/// These tests can fail: a server that acts before it has written is found out.
#[test]
fn effects_before_their_commit_are_noticed() {
    let mut story = Story::new(6);
    story.place.broken = true;
    let server = story.place.up(Some(("before-commit", 1))).expect("nothing is committed yet");
    assert!(!story.submit(&server), "the submit is not acknowledged");
    server.kill();
    assert!(!story.faults(true).is_empty());
}

#[test]
fn killed_after_the_commit_and_before_its_effects() {
    killed_at("after-commit", 2);
}

#[test]
fn killed_after_the_effects_and_before_their_report() {
    killed_at("after-effect", 3);
}

#[test]
fn killed_at_any_moment() {
    let mut story = Story::new(4);
    for _ in 0..2 * kills() {
        let server = story.place.up(None).expect("a server starts");
        if story.submit(&server) {
            let moment = Duration::from_micros(story.below(60_000));
            // What is waited for is the passing of time itself.
            let (_hold, timer) = std::sync::mpsc::channel::<()>();
            let _ = timer.recv_timeout(moment);
        }
        server.kill();
    }
    story.check(true);
}

#[test]
fn a_killed_spawner_costs_infrastructure_retries_and_loses_nothing() {
    let mut story = Story::new(5);
    for _ in 0..kills() {
        let server = story.place.up(None).expect("a server starts");
        assert!(story.submit(&server));
        let spawner = spawner_of(&story.place.data()).expect("a spawner runs");
        let moment = Duration::from_micros(story.below(40_000));
        let (_hold, timer) = std::sync::mpsc::channel::<()>();
        let _ = timer.recv_timeout(moment);
        common::signal(spawner, "KILL");
        assert!(story.wait(&server), "the server outlives its spawner");
        server.stop();
    }
    story.check(false);
}
