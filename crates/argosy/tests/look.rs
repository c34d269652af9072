//! How a run's steps are named, and what is shown of them.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use common::{Done, Place, Server};

/// Two pauses of the same last name, and one with a value that it waits for.
const PAUSES: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: pauses}
spec:
  entrypoint: main
  templates:
    - name: main
      dag:
        tasks:
          - {name: a, template: nested}
          - {name: b, template: nested}
          - {name: who, template: asks}
    - {name: nested, steps: [[{name: pause, template: pause}]]}
    - {name: pause, suspend: {}}
    - name: asks
      suspend: {}
      outputs: {parameters: [{name: by, valueFrom: {supplied: {}}}]}
";

/// A task that fails twice, and two of the same last name.
const TRIES: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: tries}
spec:
  entrypoint: main
  templates:
    - name: main
      dag:
        tasks:
          - {name: flaky, template: flaky}
          - {name: a, template: nested}
          - {name: b, template: nested}
    - name: flaky
      retryStrategy: {limit: 1}
      container: {image: busybox, command: [sh, -c, 'echo try {{retries}}; exit {{=1 - asInt(retries)}}']}
    - {name: nested, steps: [[{name: says, template: says}]]}
    - {name: says, container: {image: busybox, command: [echo, said]}}
";

fn place(name: &str, manifest: &str) -> Place {
    let place = Place::new();
    place.file(name, manifest);
    place
}

/// The id of a node, by its name.
fn id(place: &Place, run: &str, node: &str) -> String {
    let object = place.argosy(&["-o", "json", "get", run]).json();
    let nodes = object["status"]["nodes"].as_object().unwrap();
    let found = nodes.values().find(|found| found["name"] == node);
    found.unwrap_or_else(|| panic!("{node}: {nodes:?}"))["id"].as_str().unwrap().to_owned()
}

#[test]
fn values_go_to_the_one_pause_that_takes_them_and_more_than_one_is_asked_about() {
    let place = place("pauses.yaml", PAUSES);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "pauses.yaml"]).code, Some(0));
    let of = |node: &str| format!("{node} (id={})", id(&place, "pauses", node));
    let (a, b, who) = (of("pauses.a[0].pause"), of("pauses.b[0].pause"), of("pauses.who"));
    let refused = |args: &[&str], named: &[&String], text: &str| {
        let refused = place.argosy(&[&["resume", "pauses"], args].concat());
        assert_eq!(refused.code, Some(2), "{args:?}: {}", refused.err);
        assert!(refused.err.contains(text), "{args:?}: {}", refused.err);
        for one in [&a, &b, &who] {
            assert_eq!(
                refused.err.contains(one),
                named.contains(&one),
                "{args:?}: {}",
                refused.err
            );
        }
    };
    refused(&["-m", "fine"], &[&a, &b, &who], "--node-field-selector id=ID");
    refused(&["-p", "nosuch=1"], &[&a, &b, &who], "3 suspended steps may be meant");
    let pauses = ["--node-field-selector", "displayName=pause", "-m", "fine"];
    refused(&pauses, &[&a, &b], "2 suspended steps may be meant");
    // Of three that wait, one takes this value.
    let resumed = place.argosy(&["resume", "pauses", "-p", "by=Ada", "--message", "by hand"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let step = place.argosy(&["-o", "json", "get", "pauses", "who"]).json();
    assert_eq!(
        (step["phase"].as_str(), step["message"].as_str()),
        (Some("Succeeded"), Some("by hand"))
    );
    refused(&["-p", "by=Ada"], &[&a, &b], "2 suspended steps may be meant");
    let one = format!("id={}", id(&place, "pauses", "pauses.a[0].pause"));
    let resumed = place.argosy(&["resume", "pauses", "--node-field-selector", &one]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    // The last one needs no name.
    assert_eq!(place.argosy(&["resume", "pauses", "-m", "done"]).code, Some(0));
    assert_eq!(place.argosy(&["wait", "pauses"]).code, Some(0));
    server.stop();
}

#[test]
fn a_step_is_found_by_its_name_its_last_part_its_id_its_pod_and_its_try() {
    let place = place("tries.yaml", TRIES);
    assert_eq!(place.argosy(&["run", "tries.yaml"]).code, Some(0));
    let flaky = id(&place, "tries", "tries.flaky");
    let second = id(&place, "tries", "tries.flaky(1)");
    let pod = second.replace("tries-", "tries-flaky-");
    for (name, said) in [
        ("flaky", "try 0\ntry 1\n"),
        ("tries.flaky", "try 0\ntry 1\n"),
        (&flaky, "try 0\ntry 1\n"),
        ("flaky(0)", "try 0\n"),
        ("tries.flaky(1)", "try 1\n"),
        (&second, "try 1\n"),
        (&pod, "try 1\n"),
        ("tries.b[0].says", "said\n"),
    ] {
        let logs = place.argosy(&["logs", "@latest", name, "--no-prefix"]);
        assert_eq!((&*logs.out, logs.code), (said, Some(0)), "{name}: {}", logs.err);
        let step = place.argosy(&["-o", "json", "get", "@latest", name]).json();
        let whole = if said == "said\n" { "tries.b[0].says" } else { "tries.flaky" };
        assert_eq!(step["name"], whole, "{name}");
    }
    for verb in ["get", "logs"] {
        let absent = place.argosy(&[verb, "tries", "nosuch"]);
        assert!(
            absent.code == Some(3) && absent.err.contains("no step \"nosuch\""),
            "{}",
            absent.err
        );
        let several = place.argosy(&[verb, "tries", "says"]);
        assert_eq!(several.code, Some(2), "{}", several.err);
        assert!(several.err.contains("2 steps are named \"says\""), "{}", several.err);
        for node in ["tries.a[0].says", "tries.b[0].says"] {
            let named = format!("{node} (id={})", id(&place, "tries", node));
            assert!(several.err.contains(&named), "{named}: {}", several.err);
        }
    }
}

/// What a command asks a server for, with its answers handed on.
fn asked(place: &Place, server: &Server, args: &[&str]) -> (Done, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let (seen, address) = (Arc::clone(&lines), server.address.replace("http://", ""));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let mut reader = BufReader::new(client.try_clone().unwrap());
            let mut head = String::new();
            reader.read_line(&mut head).unwrap();
            seen.lock().unwrap().push(head.split(' ').nth(1).unwrap().to_owned());
            let mut to = std::net::TcpStream::connect(&address).unwrap();
            to.write_all(head.as_bytes()).unwrap();
            let (mut from, mut back) = (to.try_clone().unwrap(), client);
            std::thread::spawn(move || std::io::copy(&mut reader, &mut to));
            std::thread::spawn(move || std::io::copy(&mut from, &mut back));
        }
    });
    let done = place.argosy(&[&["--server", &url], args].concat());
    let lines = lines.lock().unwrap().clone();
    (done, lines)
}

#[test]
fn a_step_costs_one_request() {
    let place = place("tries.yaml", TRIES);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "--wait", "tries.yaml"]).code, Some(0));
    for args in
        [&["get", "tries", "flaky"][..], &["logs", "tries", "flaky"], &["explain", "@latest"]]
    {
        let (done, requests) = asked(&place, &server, args);
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.err);
        assert_eq!(requests.len(), 1, "{args:?}: {requests:?}");
    }
    server.stop();
}

/// A line that is no text, one that is longer than a piece, and one without an end.
const BYTES: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: bytes}
spec:
  entrypoint: main
  templates:
    - name: main
      container: {image: busybox, command: [sh, -c, 'printf \"\\\\377\\\\200 x\\\\n\"; printf %0300000d 7; printf \"\\\\nend\"']}
";

#[test]
fn logs_that_nobody_looks_at_are_the_bytes_that_were_written() {
    let place = place("bytes.yaml", BYTES);
    let run = place.argosy(&["run", "bytes.yaml"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let long = [&[b'0'; 299_999][..], b"7"].concat();
    let wanted = [b"\xff\x80 x\n", &long[..], b"\nend\n"].concat();
    let logs = place.command(&["logs", "bytes", "--no-prefix"]).output().unwrap();
    assert!(logs.status.success() && logs.stdout == wanted, "{} bytes", logs.stdout.len());
    let logs = place.command(&["logs", "bytes", "--tail", "9", "--grep", "x"]).output().unwrap();
    assert_eq!(logs.stdout, b"bytes: \xff\x80 x\n");
}

#[test]
fn logs_that_cannot_be_read_are_said_to_be_so() {
    let place = place("tries.yaml", TRIES);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "--wait", "tries.yaml"]).code, Some(0));
    // A folder in the place of one file: the others are shown.
    let folder = place.data().join("logs/1");
    let mut files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let lost = files.find(|file| std::fs::read(file).unwrap() == b"try 0\n").unwrap();
    std::fs::remove_file(&lost).unwrap();
    std::fs::create_dir(&lost).unwrap();
    let logs = place.argosy(&["logs", "tries", "--no-prefix"]);
    assert_eq!(logs.code, Some(2), "{}", logs.err);
    let mut lines: Vec<_> = logs.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["said", "said", "try 1"]);
    assert!(logs.err.starts_with("[E0413]"), "{}", logs.err);
    assert!(logs.err.contains(lost.to_str().unwrap()), "{}", logs.err);
    // And a file in the place of the folder.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    let logs = place.argosy(&["logs", "tries"]);
    assert!(logs.code == Some(2) && logs.out.is_empty(), "{}", logs.err);
    assert!(logs.err.contains("[E0413] the logs of the run cannot be read"), "{}", logs.err);
    server.stop();
    // A run that printed nothing has none, and nothing is wrong with it.
    std::fs::remove_file(&folder).unwrap();
    let logs = place.argosy(&["logs", "tries"]);
    assert_eq!((logs.code, &*logs.out, &*logs.err), (Some(0), "", ""));
}
