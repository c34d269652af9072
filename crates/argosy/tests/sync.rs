//! What is acknowledged has been synced: seen from outside, by the system calls of the server.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::{Place, signal};

const WAITS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: waits}
spec: {entrypoint: main, suspend: true, templates: [{name: main, suspend: {}}]}
";

const CALLS: &str = "trace=fsync,fdatasync,read,recvfrom,write,pwrite64,writev,sendto";

/// Position of the first line from `from` on that `is`.
fn find(lines: &[String], from: usize, is: impl Fn(&str) -> bool) -> usize {
    let found = lines.iter().skip(from).position(|line| is(line));
    from + found.unwrap_or_else(|| panic!("not in the trace: {lines:#?}"))
}

/// Where the call that begins at a line has returned.
fn returned(lines: &[String], at: usize) -> usize {
    if !lines[at].ends_with("<unfinished ...>") {
        return at;
    }
    let process = lines[at].split_whitespace().next().unwrap();
    find(lines, at + 1, |line| line.starts_with(process) && line.contains("resumed>"))
}

#[test]
fn the_log_is_synced_before_a_submit_is_answered() {
    let place = Place::new();
    let file = place.file("waits.yaml", WAITS);
    let server = place.up(None).unwrap();
    let trace = place.root.path().join("trace");
    let mut strace = Command::new("strace")
        .args(["-f", "-y", "-s", "64", "-e", CALLS, "-p", &server.child.id().to_string(), "-o"])
        .arg(&trace)
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace, which the gate installs");
    let mut told = BufReader::new(strace.stderr.take().unwrap()).lines();
    let attached = told.next().unwrap().unwrap();
    assert!(attached.contains("attached"), "{attached}");
    assert_eq!(place.argosy(&["submit", file.to_str().unwrap()]).code, Some(0));
    signal(strace.id(), "INT");
    strace.wait().unwrap();
    server.stop();

    let text = std::fs::read_to_string(&trace).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let asked = find(&lines, 0, |line| line.contains("POST /argosy/v1/spaces"));
    let sync = find(&lines, asked, |line| line.contains("sync(") && line.contains("argosy.db-wal"));
    let synced = returned(&lines, sync);
    assert!(lines[synced].ends_with("= 0"), "{}", lines[synced]);
    let answered = find(&lines, asked, |line| line.contains("HTTP/1.1 200 OK"));
    assert!(synced < answered, "{lines:#?}");
    let write =
        find(&lines, asked, |line| line.contains("argosy.db-wal") && line.contains("write"));
    assert!(write < sync, "something was written first: {lines:#?}");
}
