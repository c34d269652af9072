//! Data directories that earlier builds wrote: each is read, and goes on.
//!
//! They are made by `cargo xtask fixture` from `xtask/fixture`, which says what must be found.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Place;
use serde_json::Value;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("data-v"))
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// A place with a copy of a data directory.
fn place(fixture: &Path) -> Place {
    let place = Place::new();
    let copied = Command::new("cp").arg("-r").arg(fixture).arg(place.data()).status().unwrap();
    assert!(copied.success());
    place
}

fn object(place: &Place, name: &str) -> Value {
    place.argosy(&["-o", "json", "get", name]).json()
}

#[test]
fn what_an_earlier_build_wrote_is_read() {
    for fixture in fixtures() {
        let place = place(&fixture);
        let list = place.argosy(&["-o", "name", "list"]).out;
        assert_eq!(list, "waiting\nfailed\nfinished\n", "{}", fixture.display());
        let finished = object(&place, "finished");
        assert_eq!(finished["status"]["phase"], "Succeeded");
        assert_eq!(finished["metadata"]["labels"]["team"], "vision");
        let logs = place.argosy(&["logs", "finished", "--no-prefix"]).out;
        assert!(logs.contains("making\n") && logs.contains("hello world and hello world\n"));
        let failed = object(&place, "failed");
        assert_eq!(failed["status"]["phase"], "Failed");
        assert_eq!(place.argosy(&["logs", "failed", "--no-prefix"]).out, "no\nno\n");
        assert_eq!(object(&place, "waiting")["status"]["phase"], "Running");
    }
}

#[test]
fn what_an_earlier_build_began_is_ended() {
    for fixture in fixtures() {
        let place = place(&fixture);
        let server = place.up(None).unwrap();
        let supplied = place.argosy(&[
            "resume",
            "waiting",
            "--node-field-selector",
            "displayName=approve",
            "--output-parameter",
            "by=Ada",
        ]);
        assert_eq!(supplied.code, Some(0), "{}", supplied.err);
        assert_eq!(place.argosy(&["wait", "waiting"]).code, Some(0));
        let logs = place.argosy(&["logs", "waiting", "--no-prefix"]).out;
        assert!(logs.contains(r#"["red","green"] by Ada"#), "{logs}");
        // The secret has 14 characters.
        assert!(logs.contains("good morning 14\n"), "{logs}");
        server.stop();
    }
}
