//! Logs, as the command and the door give them.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Place, Server};
use serde_json::Value;

/// A run whose steps are shell commands, one after the other.
fn manifest(name: &str, spec: &str, commands: &[&str]) -> String {
    let steps: Vec<_> =
        (0..commands.len()).map(|at| format!("[{{name: s{at}, template: t{at}}}]")).collect();
    let templates: String = commands
        .iter()
        .enumerate()
        .map(|(at, command)| {
            let command = Value::from(*command);
            format!("    - {{name: t{at}, container: {{image: busybox, command: [sh, -c, {command}]}}}}\n")
        })
        .collect();
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: {name}}}\nspec:\n  \
         entrypoint: main\n{spec}  templates:\n    - {{name: main, steps: [{}]}}\n{templates}",
        steps.join(", ")
    )
}

/// Status and body of a request.
fn ask(server: &Server, path: &str) -> (u16, String) {
    let address = server.address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    // As HTTP 1.0 has it, the body ends with the connection.
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// The lines that the door gives.
fn lines(server: &Server, run: &str, query: &str) -> Vec<String> {
    let (status, body) = ask(server, &format!("/api/v1/workflows/default/{run}/log?{query}"));
    assert_eq!(status, 200, "{body}");
    let entries = body.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.map(|entry| entry["result"]["content"].as_str().unwrap().to_owned()).collect()
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let late = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < late, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn logs_of_a_run_that_is_deleted_meanwhile_end_with_an_error() {
    // More than sockets and pipes hold, so that the reader stands within the first log.
    const MANY: usize = 40_000;
    let place = Place::new();
    let long = format!("yes $(printf %01000d 7) | head -n {MANY}");
    place.file("big.yaml", &manifest("big", "", &[&long, "echo second"]));
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "--wait", "big.yaml"]).code, Some(0));
    let mut command = place.command(&["logs", "big", "--no-prefix"]);
    let mut reader = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    reader.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(place.argosy(&["delete", "big"]).code, Some(0));
    until("its logs are removed", || !place.data().join("logs/1").exists());
    let done = reader.wait_with_output().unwrap();
    // The log that was open is whole, the other one is missed.
    assert_eq!(1 + done.stdout.len(), MANY * 1001);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.starts_with("[E0401] the run \"big\" was deleted"), "{said}");
    assert_eq!(done.status.code(), Some(3));
    server.stop();
}

#[test]
fn a_run_that_is_gone_once_it_has_ended_is_seen_to_its_end_by_those_who_follow_it() {
    let ttl = "  ttlStrategy: {secondsAfterCompletion: 0}\n";
    let place = Place::new();
    let two =
        [manifest("one", ttl, &["echo first", "echo last"]), manifest("two", ttl, &["echo other"])];
    place.file("two.yaml", &two.join("---\n"));
    place.file("fails.yaml", &manifest("fails", ttl, &["echo bad; exit 3"]));
    let said = |out: &str| -> Vec<String> {
        let lines = out.lines().filter_map(|line| line.split_once(": "));
        lines.map(|(_, said)| said.to_owned()).collect()
    };
    let server = place.up(None).unwrap();
    let done = place.argosy(&["submit", "--log", "two.yaml"]);
    assert_eq!(
        (done.code, said(&done.out)),
        (Some(0), vec!["first".to_owned(), "last".to_owned(), "other".to_owned()]),
        "{}",
        done.err
    );
    let done = place.argosy(&["submit", "--log", "fails.yaml"]);
    assert_eq!((done.code, said(&done.out)), (Some(1), vec!["bad".to_owned()]), "{}", done.err);
    until("nobody follows them", || place.argosy(&["-o", "name", "list"]).out.is_empty());
    let done = place.argosy(&["run", "--log", "fails.yaml"]);
    assert!(done.code == Some(1) && done.out.contains(": bad\n"), "{} {}", done.out, done.err);
    server.stop();
    // And without a server.
    let place = Place::new();
    place.file("one.yaml", &two[0]);
    let done = place.argosy(&["run", "--log", "one.yaml"]);
    assert!(done.code == Some(0) && done.out.contains(": last\n"), "{} {}", done.out, done.err);
    assert!(done.out.contains("Succeeded"), "{}", done.out);
}

#[test]
fn options_of_upstreams_clients_are_honoured_or_refused() {
    let place = Place::new();
    place.file("says.yaml", &manifest("says", "", &["printf 'o1\\no2\\n'; printf 'e1\\n' >&2"]));
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "--wait", "says.yaml"]).code, Some(0));
    for (query, wanted) in [
        ("", &["o1", "o2", "e1"][..]),
        ("logOptions.tailLines=0", &[]),
        ("logOptions.tailLines=1", &["e1"]),
        ("logOptions.tailLines=2", &["o2", "e1"]),
        ("logOptions.tailLines=2&logOptions.follow=True", &["o2", "e1"]),
        ("logOptions.tailLines=9", &["o1", "o2", "e1"]),
        ("logOptions.tailLines=2&logOptions.stream=Stdout", &["o1", "o2"]),
        // Of the last two lines, as upstream has it.
        ("logOptions.tailLines=2&grep=1", &["e1"]),
        ("logOptions.limitBytes=1", &["o"]),
        ("logOptions.limitBytes=4", &["o1", "o"]),
        ("logOptions.limitBytes=6", &["o1", "o2"]),
        ("logOptions.limitBytes=8&logOptions.follow=1", &["o1", "o2", "e1"]),
        ("logOptions.limitBytes=2&logOptions.tailLines=2", &["o2"]),
        ("logOptions.container=other", &[]),
    ] {
        assert_eq!(lines(&server, "says", query), wanted, "{query}");
    }
    for (query, status, code) in [
        ("logOptions.sinceSeconds=1", 501, "E0211"),
        ("logOptions.sinceTime=2026-01-01T00:00:00Z", 501, "E0211"),
        ("logOptions.timestamps=true", 501, "E0211"),
        ("logOptions.previous=true", 501, "E0211"),
        ("selector=a%3Db", 501, "E0211"),
        ("logOptions.follow=maybe", 400, "E0409"),
        ("logOptions.tailLines=-1", 400, "E0409"),
    ] {
        let (got, body) = ask(&server, &format!("/api/v1/workflows/default/says/log?{query}"));
        let body: Value = serde_json::from_str(&body).unwrap();
        let name = query.split('=').next().unwrap();
        assert_eq!((got, &body["diagnostics"][0]["code"]), (status, &code.into()), "{query}");
        assert!(body["message"].as_str().unwrap().contains(name), "{body}");
    }
    server.stop();
}

#[test]
fn a_run_or_pod_that_is_not_there_has_no_logs() {
    let place = Place::new();
    place.file("says.yaml", &manifest("says", "", &["echo said"]));
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "--wait", "says.yaml"]).code, Some(0));
    for (path, status, code) in [
        ("default/none/log", 404, "E0401"),
        ("default/none/log?logOptions.follow=true", 404, "E0401"),
        ("other/says/log", 404, "E0401"),
        ("default/a%2Fb/log", 404, "E0401"),
        ("default/..%2F..%2Fetc/log", 404, "E0401"),
        ("default/%C3%A4%20%22%0A/log", 404, "E0401"),
        ("default/%FF/log", 400, "E0409"),
        ("default/says/none/log", 404, "E0401"),
        ("default/says/none/log?logOptions.follow=true", 404, "E0401"),
        ("default/says/..%2Fx/log", 404, "E0401"),
        ("default/says/log?podName=none", 404, "E0401"),
        ("default/says/log?podName=%22%0A", 404, "E0401"),
        ("default/says/log?argosy.step=none", 404, "E0401"),
    ] {
        let (got, body) = ask(&server, &format!("/api/v1/workflows/{path}"));
        let body: Value = serde_json::from_str(&body).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(
            (got, &body["diagnostics"][0]["code"]),
            (status, &code.into()),
            "{path}: {body}"
        );
    }
    assert_eq!(lines(&server, "says", "podName=s0"), ["said"]);
    server.stop();
}

#[test]
fn whoever_follows_a_pod_that_may_come_is_told_when_it_does_not() {
    let place = Place::new();
    let waits = "    - {name: wait, suspend: {}}\n";
    let text = manifest("later", "", &["echo said"]);
    let text = text.replace("[{name: s0", "[{name: s, template: wait}], [{name: s0");
    place.file("later.yaml", &format!("{text}{waits}"));
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "later.yaml"]).code, Some(0));
    assert_eq!(ask(&server, "/api/v1/workflows/default/later/s0/log").0, 404);
    let (came, never) = std::thread::scope(|scope| {
        let follow = |pod: &str| {
            let server = &server;
            let path = format!("/api/v1/workflows/default/later/{pod}/log?logOptions.follow=true");
            scope.spawn(move || ask(server, &path))
        };
        let (came, never) = (follow("s0"), follow("none"));
        assert_eq!(place.argosy(&["resume", "later"]).code, Some(0));
        (came.join().unwrap(), never.join().unwrap())
    });
    assert!(came.0 == 200 && came.1.contains("\"said\""), "{came:?}");
    // It was asked for while the run went on, or after it had ended.
    assert!(never.1.contains("E0401"), "{never:?}");
    server.stop();
}

#[test]
fn a_line_is_whole_however_long_it_is() {
    let place = Place::new();
    let long = [&[b'0'; 699_999][..], b"7"].concat();
    // The first log has no end of its line.
    place.file("long.yaml", &manifest("long", "", &["printf %0700000d 7", "echo a; echo end"]));
    assert_eq!(place.argosy(&["run", "long.yaml"]).code, Some(0));
    let logs = |args: &[&str]| {
        let done = place.command(&[&["logs", "long"], args].concat()).output().unwrap();
        assert!(done.status.success());
        done.stdout
    };
    let shown = |wanted: &[u8], got: &[u8]| assert!(got == wanted, "{} bytes", got.len());
    shown(&[&long[..], b"\na\nend\n"].concat(), &logs(&["--no-prefix"]));
    shown(&[&long[..], b"\nend\n"].concat(), &logs(&["--no-prefix", "--tail", "1"]));
    shown(&[&long[..], b"\n"].concat(), &logs(&["--no-prefix", "--grep", "^0.*7$"]));
    shown(b"a\n", &logs(&["--no-prefix", "--grep", "^a"]));
    let prefixed = logs(&["s0"]);
    let (pod, said) = prefixed.split_at(prefixed.iter().position(|byte| *byte == b' ').unwrap());
    assert!(pod.starts_with(b"long-t0-") && pod.ends_with(b":"));
    shown(&[b" ", &long[..], b"\n"].concat(), said);
}

#[test]
fn a_data_directory_with_a_colon_is_refused_where_steps_would_run() {
    let place = Place::new();
    place.file("says.yaml", &manifest("says", "", &["echo said"]));
    std::os::unix::fs::symlink("x:y", place.root.path().join("link")).unwrap();
    std::fs::create_dir(place.root.path().join("x:y")).unwrap();
    for (data, named) in [("a:b", "a:b"), ("a:b/c", "a:b/c"), ("link/data", "x:y")] {
        for args in [&["run", "says.yaml"][..], &["up", "--listen", "127.0.0.1:0"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_argosy"));
            command.current_dir(place.root.path()).args(["--data", data]).args(args);
            let refused = command.output().unwrap();
            let said = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(2), "{data}: {said}");
            assert!(said.starts_with("[E0213] the data directory"), "{said}");
            assert!(said.contains(named), "{said}");
        }
    }
    assert!(!place.root.path().join("a:b").exists(), "nothing is made");
    assert_eq!(std::fs::read_dir(place.root.path().join("x:y")).unwrap().count(), 0);
}
