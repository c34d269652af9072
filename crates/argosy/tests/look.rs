//! How a run's steps are named, and what is shown of them.

mod common;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use common::{Done, Place, Server};
use serde_json::{Value, json};

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

/// A command of somebody who may read only what the modes of files allow.
fn without_rights(place: &Place, args: &[&str]) -> (Option<i32>, String, String) {
    let inner = place.command(args);
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut command = if is_root { Command::new("setpriv") } else { Command::new("env") };
    if is_root {
        command.arg("--bounding-set=-dac_override,-dac_read_search");
    }
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(place.root.path());
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn a_data_directory_of_somebody_else_is_not_taken_for_none() {
    let place = place("tries.yaml", TRIES);
    assert_eq!(place.argosy(&["run", "tries.yaml"]).code, Some(0));
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let database = place.data().join("argosy.db");
    for path in [place.data(), database.clone()] {
        mode(&path, 0o000);
        let (code, _, err) = without_rights(&place, &["list"]);
        let (doctor, out, _) = without_rights(&place, &["-o", "json", "doctor"]);
        mode(&path, 0o700);
        assert_eq!(code, Some(2), "{err}");
        let what = format!("[E0413] {} cannot be read: Permission denied", database.display());
        assert!(err.starts_with(&what), "{err}");
        assert_eq!(doctor, Some(0));
        assert!(out.contains(&what), "{out}");
    }
    std::fs::remove_dir_all(place.data()).unwrap();
    let nothing = place.argosy(&["list"]);
    assert!(nothing.code == Some(4) && nothing.err.contains("nothing is there"), "{}", nothing.err);
}

#[test]
fn a_database_that_has_become_empty_is_damage_and_one_that_never_was_is_none() {
    let place = place("tries.yaml", TRIES);
    assert_eq!(place.argosy(&["run", "tries.yaml"]).code, Some(0));
    let database = place.data().join("argosy.db");
    std::fs::write(&database, "").unwrap();
    for args in [
        &["list"][..],
        &["get", "tries"],
        &["run", "tries.yaml"],
        &["up", "--listen", "127.0.0.1:0"],
    ] {
        let refused = place.argosy(args);
        assert_eq!(refused.code, Some(2), "{args:?}: {}", refused.err);
        let what = format!("[E0411] damaged: the database {} is empty", database.display());
        assert!(refused.err.starts_with(&what), "{args:?}: {}", refused.err);
    }
    assert_eq!(std::fs::metadata(&database).unwrap().len(), 0, "nobody has begun anew in it");
    // As a process leaves it that is killed while it begins.
    std::fs::remove_dir_all(place.data()).unwrap();
    std::fs::create_dir(place.data()).unwrap();
    for name in ["argosy.db", "server.lock"] {
        std::fs::write(place.data().join(name), "").unwrap();
    }
    let nothing = place.argosy(&["list"]);
    assert!(nothing.code == Some(4) && nothing.err.contains("nothing is there"), "{}", nothing.err);
    assert_eq!(place.argosy(&["run", "tries.yaml"]).code, Some(0));
}

#[test]
fn the_doctor_leaves_no_trace_where_there_is_no_data_directory() {
    let place = Place::new();
    std::fs::create_dir(place.root.path().join("tmp")).unwrap();
    let others = place.root.path().join("others");
    std::fs::create_dir(&others).unwrap();
    std::fs::set_permissions(&others, Permissions::from_mode(0o755)).unwrap();
    for data in [place.data(), others.clone()] {
        let mut doctor = place.command(&["doctor"]);
        doctor.arg("--data").arg(&data).env("TMPDIR", place.root.path().join("tmp"));
        let doctor = doctor.output().unwrap();
        let out = String::from_utf8(doctor.stdout).unwrap();
        assert!(doctor.status.success(), "{out}");
        assert!(
            out.starts_with(&format!("data directory  {} (not made yet)\n", data.display())),
            "{out}"
        );
        assert!(out.contains("private /tmp"), "{out}");
    }
    assert!(!place.data().exists());
    for folder in ["tmp", "others"] {
        assert_eq!(
            std::fs::read_dir(place.root.path().join(folder)).unwrap().count(),
            0,
            "{folder}"
        );
    }
    assert_eq!(std::fs::metadata(others).unwrap().mode() & 0o777, 0o755);
}

#[test]
fn the_configuration_says_where_each_value_comes_from() {
    let place = Place::new();
    place.file(
        "argosy.toml",
        "data = 'a'\nserver = 'http://a:1'\nnamespace = 'a'\nlisten = ['127.0.0.1:1']\n[blob]\nurl = 's3://a/b'\nendpoint = 'http://a:2'\n",
    );
    let show = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_argosy"));
        command.current_dir(place.root.path()).env_clear().envs(variables.iter().copied());
        command.args(["config", "show"]).args(args);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let at = |name: &str| place.root.path().join(name).display().to_string();
    let shown = show(
        &["--data", "f", "-n", "f"],
        &[("ARGOSY_DATA", "v"), ("ARGOSY_SERVER", "http://v:1"), ("ARGOSY_NAMESPACE", "")],
    );
    let wanted = format!(
        "data = \"{}\"  # flag --data
server = \"http://v:1\"  # variable ARGOSY_SERVER
namespace = \"f\"  # flag --namespace
listen = [\"127.0.0.1:1\"]  # file argosy.toml
allow_host_path = []  # default
blob.url = \"s3://a/b\"  # file argosy.toml
blob.endpoint = \"http://a:2\"  # file argosy.toml
",
        at("f")
    );
    assert_eq!(shown, wanted);
    // It is a file that says the same.
    place.file("argosy.toml", &shown);
    let again = show(&["-o", "json"], &[("ARGOSY_DATA", "v"), ("ARGOSY_BLOB_URL", "s3://v/v")]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["data"], at("v"));
    let sources = json!({
        "data": "variable ARGOSY_DATA", "server": "file argosy.toml", "namespace": "file argosy.toml",
        "listen": "file argosy.toml", "allow_host_path": "default",
        "blob.url": "variable ARGOSY_BLOB_URL", "blob.endpoint": "file argosy.toml"});
    assert_eq!(again["sources"], sources);
}

#[test]
fn a_second_run_in_a_folder_is_told_what_to_do() {
    let place = place("pauses.yaml", PAUSES);
    place.file("tries.yaml", TRIES);
    let mut first = place.command(&["run", "pauses.yaml"]);
    let mut first = first.stdout(Stdio::piped()).spawn().unwrap();
    // Its first line is that of a step, so it has the folder.
    let mut line = String::new();
    let mut lines = BufReader::new(first.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    let second = place.argosy(&["run", "tries.yaml"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.code, Some(2), "{line}");
    let wanted = format!(
        "[E0406] another `argosy run` or `argosy up` owns the data directory {}\n  wait until it ends, or use another --data; to run several at once, start `argosy up`: `argosy run` then hands its files to that\n",
        place.data().display()
    );
    assert_eq!(second.err, wanted);
}

#[test]
fn what_was_watched_ends_with_its_tree() {
    let place = place("tries.yaml", TRIES);
    let server = place.up(None).unwrap();
    let tree = |out: &str| {
        let lines = out.lines().skip_while(|line| !line.starts_with("STEP"));
        let steps = lines.skip(1).map(|line| {
            let name = line.trim_start();
            let indent = " ".repeat(line.len() - name.len());
            format!("{indent}{}", name.split("  ").next().unwrap())
        });
        steps.collect::<Vec<_>>().join("\n")
    };
    let wanted = " ✔ tries\n ├─✔ flaky\n │ ├─✖ flaky(0)\n │ └─✔ flaky(1)\n ├─✔ a\n │ └───✔ says\n └─✔ b\n   └───✔ says";
    let submitted = place.argosy(&["submit", "--watch", "tries.yaml"]);
    assert_eq!(submitted.code, Some(0), "{}", submitted.err);
    for out in [submitted.out, place.argosy(&["watch", "tries"]).out] {
        assert_eq!(tree(&out), wanted, "{out}");
    }
    server.stop();
}

/// A run whose object is longer than one piece of an answer.
const MANY: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: many}
spec:
  entrypoint: main
  templates:
    - name: main
      steps: [[{name: each, template: leaf, withSequence: {count: 1500}}]]
    - {name: leaf, suspend: {duration: '0'}}
";

/// The body of an answer that ends with its connection.
fn body(server: &Server, path: &str, accept: &str) -> String {
    let address = server.address.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\naccept: {accept}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn a_large_run_is_the_same_object_whole_watched_and_printed() {
    let place = place("many.yaml", MANY);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "--wait", "many.yaml"]).code, Some(0));
    let text = body(&server, "/api/v1/workflows/default/many", "*/*");
    assert!(text.len() > 300_000, "{} bytes are several pieces", text.len());
    let whole: Value = serde_json::from_str(&text).unwrap();
    // The root and its one group are beside the items (a loop of a DAG has a node of its own).
    assert_eq!(whole["status"]["nodes"].as_object().unwrap().len(), 1_502);
    let events = "/api/v1/workflow-events/default?listOptions.fieldSelector=metadata.name=many";
    let line = body(&server, events, "*/*");
    assert_eq!(line.matches('\n').count(), 1, "one change, as the run has ended");
    let change: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(change, json!({"result": {"type": "ADDED", "object": whole}}));
    let sent = body(&server, events, "text/event-stream");
    assert_eq!(sent, format!("data: {line}\n"));
    let printed = place.argosy(&["get", "many", "-o", "json"]).out;
    assert_eq!(printed, serde_json::to_string_pretty(&whole).unwrap() + "\n");
    let mut outline = whole;
    outline["status"].as_object_mut().unwrap().remove("nodes");
    for path in [
        &format!("{events}&argosy.nodes=false"),
        "/api/v1/workflows/default/many?argosy.nodes=false",
    ] {
        let told: Value = serde_json::from_str(&body(&server, path, "*/*")).unwrap();
        let object = told.pointer("/result/object").unwrap_or(&told);
        assert_eq!(*object, outline, "{path}");
    }
    assert_eq!(place.argosy(&["get", "many", "-o", "name"]).out, "many\n");
    server.stop();
}
