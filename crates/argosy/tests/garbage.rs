//! Artifacts that a workflow has deleted (`artifactGC`), by the real server, also when it is killed.

mod common;

use std::path::Path;

use common::{Place, Server};
use serde_json::{Value, json};

/// Leaves an artifact that another workflow uses.
const MAKES: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: makes}
spec:
  entrypoint: main
  templates:
    - name: main
      container: {image: busybox, command: [sh, -c, 'echo theirs > /tmp/theirs']}
      outputs: {artifacts: [{name: theirs, path: /tmp/theirs, s3: {key: theirs.tgz}}]}
";

/// Leaves artifacts, each with its own idea of how long, under keys that say so.
const LEAVES: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: leaves}
spec:
  entrypoint: main
  artifactGC: {strategy: STRATEGY, forceFinalizerRemoval: true, serviceAccountName: nobody}
  templates:
    - name: main
      inputs: {artifacts: [{name: theirs, path: /tmp/theirs, s3: {key: theirs.tgz}}]}
      container:
        image: busybox
        command: [sh, -c]
        args: ['mkdir -p /tmp/f/g; for n in a b c d f/1 f/g/2; do cp /tmp/theirs /tmp/$n; done']
      outputs:
        artifacts:
          - {name: a, path: /tmp/a, s3: {key: at/end.tgz}, artifactGC: {strategy: OnWorkflowCompletion}}
          - {name: f, path: /tmp/f, s3: {key: at/end/}, archive: {none: {}}, artifactGC: {strategy: OnWorkflowCompletion}}
          - {name: b, path: /tmp/b, s3: {key: at/deletion.tgz}, artifactGC: {strategy: OnWorkflowDeletion}}
          - {name: c, path: /tmp/c, s3: {key: at/no.tgz}, artifactGC: {strategy: Never}}
          - {name: d, path: /tmp/d, s3: {key: as/run.tgz}, artifactGC: {podMetadata: {}}}
";

/// Keys of the objects in the space `default`, sorted.
fn keys(place: &Place) -> Vec<String> {
    fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let key = format!("{prefix}{}", name.trim_end_matches('='));
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), &format!("{key}/"), found),
                false => found.push(key),
            }
        }
    }
    let mut found = Vec::new();
    walk(&place.data().join("blobs/spaces/default="), "", &mut found);
    found.sort();
    found
}

fn place(strategy: &str) -> Place {
    let place = Place::new();
    place.file("makes.yaml", MAKES);
    place.file("leaves.yaml", &LEAVES.replace("STRATEGY", strategy));
    place
}

/// Names of the artifacts of a node that are said to be deleted.
fn deleted(place: &Place) -> Vec<Value> {
    let run = place.argosy(&["-o", "json", "get", "leaves"]).json();
    let artifacts = run["status"]["nodes"]["leaves"]["outputs"]["artifacts"].clone();
    let artifacts = artifacts.as_array().unwrap().iter();
    artifacts.filter(|it| it["deleted"] == true).map(|it| it["name"].clone()).collect()
}

#[test]
fn artifacts_go_at_the_end_with_their_run_or_never() {
    // (strategy of the workflow, artifacts that go at the end, keys then, keys after the deletion)
    let cases: [(_, &[&str], &[&str], &[&str]); 4] = [
        (
            "OnWorkflowCompletion",
            &["a", "f", "d"],
            &["at/deletion.tgz", "at/no.tgz", "theirs.tgz"],
            &["at/no.tgz", "theirs.tgz"],
        ),
        (
            "OnWorkflowDeletion",
            &["a", "f"],
            &["as/run.tgz", "at/deletion.tgz", "at/no.tgz", "theirs.tgz"],
            &["at/no.tgz", "theirs.tgz"],
        ),
        (
            "Never",
            &["a", "f"],
            &["as/run.tgz", "at/deletion.tgz", "at/no.tgz", "theirs.tgz"],
            &["as/run.tgz", "at/no.tgz", "theirs.tgz"],
        ),
        (
            "''",
            &["a", "f"],
            &["as/run.tgz", "at/deletion.tgz", "at/no.tgz", "theirs.tgz"],
            &["as/run.tgz", "at/no.tgz", "theirs.tgz"],
        ),
    ];
    for (strategy, gone, after_end, after_deletion) in cases {
        let place = place(strategy);
        // A server that stops has deleted what was due.
        for file in ["makes.yaml", "leaves.yaml"] {
            let run = place.argosy(&["run", file]);
            assert_eq!(run.code, Some(0), "{strategy}: {}{}", run.out, run.err);
        }
        assert_eq!(keys(&place), after_end, "{strategy}");
        let mut said = deleted(&place);
        said.sort_by_key(|name| gone.iter().position(|gone| name == gone));
        assert_eq!(json!(said), json!(gone), "{strategy}");
        let server = place.up(None).unwrap();
        assert_eq!(place.argosy(&["delete", "leaves"]).code, Some(0));
        server.stop();
        assert_eq!(keys(&place), after_deletion, "{strategy}");
    }
}

#[test]
fn a_strategy_that_does_not_exist_is_refused_at_its_place() {
    let place = place("OnWorkflowSuccess");
    let refused = place.argosy(&["lint", "--offline", "leaves.yaml"]);
    assert!(refused.out.contains("leaves.yaml:7:26: [E0213]"), "{}{}", refused.out, refused.err);
}

/// Does what is not done yet; `false` when the server is gone.
fn live(place: &Place, server: &Server) -> bool {
    let ask = |args: &[&str]| {
        let done = place.argosy(&[&["--server", &*server.address], args].concat());
        match done.code {
            Some(4) => None,
            code => Some((code, done.err)),
        }
    };
    let Some((found, _)) = ask(&["get", "leaves"]) else { return false };
    let asked_before = place.marks().join("asked");
    if found == Some(3) && !asked_before.exists() {
        let submitted = ask(&["submit", "leaves.yaml"]);
        let Some((code, err)) = submitted else { return false };
        assert!(code == Some(0) || err.contains("E0402"), "{err}");
    }
    if found != Some(3) || !asked_before.exists() {
        let Some((code, err)) = ask(&["wait", "leaves"]) else { return false };
        assert_eq!(code, Some(0), "{err}");
        std::fs::write(asked_before, "").unwrap();
        // The run may be on its way to the archive.
        loop {
            match ask(&["delete", "leaves"]) {
                None => return false,
                Some((Some(0), _)) => break,
                Some((code, err)) => assert!(err.contains("E0403"), "{code:?} {err}"),
            }
        }
    }
    true
}

#[test]
fn nothing_that_is_due_is_left_wherever_the_server_is_killed() {
    let kept = place("OnWorkflowDeletion");
    assert_eq!(kept.argosy(&["run", "makes.yaml"]).code, Some(0));
    for point in ["before-commit", "after-commit", "after-effect"] {
        for number in 1.. {
            let place = place("OnWorkflowDeletion");
            copy(&kept.data(), &place.data());
            let survived = match place.up(Some((point, number))) {
                Some(mut server) if !live(&place, &server) => {
                    server.child.wait().unwrap();
                    false
                }
                Some(server) => {
                    common::signal(server.child.id(), "TERM");
                    let mut server = server;
                    server.child.wait().unwrap().success()
                }
                None => false,
            };
            let server = place.up(None).unwrap();
            assert!(live(&place, &server));
            server.stop();
            assert_eq!(keys(&place), ["at/no.tgz", "theirs.tgz"], "{point} {number}");
            if survived {
                assert!(number > 4, "a run, its end, its deletion and what was deleted: {number}");
                break;
            }
        }
    }
}

/// Copies a data directory.
fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-r").args([from, to]).status().unwrap();
    assert!(copied.success());
}
