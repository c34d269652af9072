//! What is refused at the doors, and how it is said.

mod common;

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use common::{Place, Server, signal};
use serde_json::Value;

const SAYS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: says}
spec:
  entrypoint: main
  templates:
    - name: main
      container: {image: busybox, command: [printf, '\\033[1mred\\033[0m 50%%\\r100%%\\n']}
";

const WAITS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: waits}
spec: {entrypoint: main, templates: [{name: main, suspend: {}}]}
";

/// One request, and its status and body.
fn ask(server: &Server, head: &str, body: &[u8]) -> (u16, String) {
    let address = server.address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "{head} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server may answer, and close, before it has all of a body that is too large.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[test]
fn a_file_without_an_end_is_refused_by_the_limit_wherever_it_is_named() {
    let place = Place::new();
    let good = place.file("waits.yaml", WAITS);
    let good = good.to_str().unwrap();
    for args in [
        &["run", "/dev/zero"][..],
        &["lint", "/dev/zero"],
        &["run", good, "--parameter-file", "/dev/zero"],
    ] {
        let refused = place.argosy(args);
        assert_eq!(refused.code, Some(2), "{args:?}: {}", refused.err);
        assert!(refused.err.contains("[E0107]"), "{args:?}: {}", refused.err);
        assert!(refused.err.contains("`manifest-bytes`"), "{args:?}: {}", refused.err);
    }
    std::os::unix::fs::symlink("/dev/zero", place.root.path().join("argosy.toml")).unwrap();
    let refused = place.argosy(&["list"]);
    assert!(refused.err.contains("argosy.toml: 20971521 bytes is over"), "{}", refused.err);
}

#[test]
fn a_manifest_goes_to_the_space_that_it_names_unless_the_command_names_another() {
    let place = Place::new();
    place.file("team.yaml", &WAITS.replace("{name: waits}", "{name: waits, namespace: team}"));
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "team.yaml"]).code, Some(0));
    assert_eq!(place.argosy(&["-n", "team", "-o", "name", "list"]).out, "waits\n");
    assert_eq!(place.argosy(&["-o", "name", "list"]).out, "");
    let other = place.argosy(&["-n", "other", "submit", "team.yaml"]);
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("team.yaml:4:36: [E0210]"), "{}", other.err);
    assert!(other.err.contains("--namespace team"), "{}", other.err);
    let lint = place.argosy(&["-n", "other", "lint", "team.yaml"]);
    assert!(lint.code == Some(2) && lint.out.contains("[E0210]"), "{}", lint.out);
    // A variable is what holds unless somebody says otherwise.
    let mut command = place.command(&["submit", "team.yaml", "--name", "second"]);
    assert!(command.env("ARGOSY_NAMESPACE", "other").status().unwrap().success());
    assert_eq!(place.argosy(&["-n", "team", "-o", "name", "list"]).out, "second\nwaits\n");
    // The path of a request names the space.
    let body = r#"{"workflow": {"metadata": {"name": "x", "namespace": "team"}, "spec":
        {"entrypoint": "main", "templates": [{"name": "main", "suspend": {}}]}}}"#;
    let (status, answer) = ask(&server, "POST /api/v1/workflows/other", body.as_bytes());
    assert_eq!(status, 400, "{answer}");
    assert!(answer.contains("E0210"), "{answer}");
    server.stop();
}

#[test]
fn names_that_kubernetes_refuses_are_refused_with_their_place() {
    let place = Place::new();
    let template = WAITS.replace("kind: Workflow", "kind: WorkflowTemplate");
    for (text, at, code) in [
        (WAITS.replace("{name: waits}", "{name: ../up}"), "4:18", "E0109"),
        (WAITS.replace("{name: waits}", "{name: w, namespace: a/b}"), "4:32", "E0109"),
        (WAITS.replace("name: main, s", "name: \"m\\e[31m\", s"), "5:45", "E0109"),
        (WAITS.replace("name: main, s", "name: a/../b, s"), "5:45", "E0109"),
        (WAITS.replace("name: main, s", "s"), "5:38", "E0105"),
        (template.replace("{name: waits}", "{name: 'a b'}"), "4:18", "E0109"),
        (template.replace("name: main, s", "name: .., s"), "5:45", "E0109"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  ../x: y\n".into(),
            "5:3",
            "E0109",
        ),
    ] {
        place.file("bad.yaml", &text);
        let lint = place.argosy(&["lint", "--offline", "bad.yaml"]);
        let wanted = format!("bad.yaml:{at}: [{code}]");
        assert!(lint.code == Some(2) && lint.out.contains(&wanted), "{wanted}: {}", lint.out);
    }
    let space = place.argosy(&["-n", "a/b", "list"]);
    assert!(space.code == Some(2) && space.err.contains("[E0109]"), "{}", space.err);
}

#[test]
fn a_closed_output_ends_quietly_and_a_full_one_with_a_message() {
    let place = Place::new();
    place.file("says.yaml", SAYS);
    assert_eq!(place.argosy(&["run", "says.yaml"]).code, Some(0));
    for args in [
        &["list"][..],
        &["get", "says"],
        &["logs", "says"],
        &["-o", "json", "get", "says"],
        &["lint", "says.yaml"],
        &["completion", "bash"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = place.command(args).stdout(writer).output().unwrap();
        assert_eq!(closed.status.code(), Some(141), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&closed.stderr), "", "{args:?}");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let full = place.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&full.stderr).into_owned();
        assert!(full.status.code() == Some(2) && said.starts_with("[E0410]"), "{args:?}: {said}");
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let refused = place.command(&["get", "nobody"]).stderr(full).status().unwrap();
    assert_eq!(refused.code(), Some(3), "what cannot be said has no part in it");
}

#[test]
fn logs_in_a_file_are_what_the_program_wrote() {
    let place = Place::new();
    place.file("says.yaml", SAYS);
    place.argosy(&["run", "says.yaml"]);
    let logs = place.argosy(&["logs", "says", "--no-prefix"]);
    assert_eq!(logs.out, "\x1b[1mred\x1b[0m 50%\r100%\n");
}

#[test]
fn every_refusal_of_a_request_has_the_same_shape() {
    let place = Place::new();
    let server = place.up(None).unwrap();
    let large = vec![b' '; (20 << 20) + 1];
    for (head, body, status, code) in [
        ("GET /nowhere", &b""[..], 404, "E0401"),
        ("PATCH /api/v1/workflows/default", b"", 405, "E0409"),
        ("GET /api/v1/workflows/default/%ff", b"", 400, "E0409"),
        ("GET /api/v1/workflows/default?a=%ff&listOptions.limit=x", b"", 400, "E0409"),
        ("GET /api/v1/workflows/default?listOptions.labelSelector=a%20in%20b", b"", 400, "E0409"),
        ("POST /api/v1/workflows/default", b"\xff", 400, "E0108"),
        ("POST /api/v1/workflows/default", b"{", 400, "E0409"),
        ("POST /api/v1/workflows/a%2Fb", b"{}", 400, "E0109"),
        ("POST /api/v1/workflows/default", &large, 413, "E0107"),
        ("GET /api/v1/workflows/default/x", b"", 404, "E0401"),
    ] {
        let (got, answer) = ask(&server, head, body);
        assert_eq!(got, status, "{head}: {answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{head}: {e}"));
        assert_eq!(answer["diagnostics"][0]["code"], code, "{head}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(code), "{head}: {answer}");
        assert!(answer["code"].is_u64(), "{head}: {answer}");
    }
    assert_eq!(ask(&server, "GET /healthz", b""), (200, "ok\n".to_owned()));
    server.stop();
}

#[test]
fn lists_refuse_what_selects_nothing_and_look_behind_the_first_page() {
    let place = Place::new();
    for args in [
        &["list", "--status", "Nonsense"][..],
        &["list", "--limit", "0"],
        &["list", "-l", "a in b"],
        &["get", ""],
        &["stop", "x", ""],
    ] {
        place.file("says.yaml", SAYS);
        place.argosy(&["run", "says.yaml"]);
        assert_eq!(place.argosy(args).code, Some(2), "{args:?}");
    }
    assert!(place.argosy(&["get", ""]).err.contains("argosy list"));
    place.file("fails.yaml", &SAYS.replace("printf", "'false'"));
    place.argosy(&["run", "fails.yaml", "--name", "fails"]);
    place.argosy(&["run", "says.yaml", "--name", "newest"]);
    let failed = place.argosy(&["-o", "name", "list", "--status", "failed,error", "--limit", "1"]);
    assert_eq!(failed.out, "fails\n", "{}", failed.err);
}

/// Sets the largest size of files that a process may write; `None` takes the limit away.
fn limit_files(server: &Server, bytes: Option<u64>) {
    let bytes = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
    let pid = server.child.id().to_string();
    let mut prlimit = std::process::Command::new("prlimit");
    let done = prlimit.args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")]).status();
    assert!(done.unwrap().success());
}

#[test]
fn a_run_without_a_server_says_that_its_disk_is_full() {
    let place = Place::new();
    place.file("waits.yaml", WAITS);
    // Room for a database, and for no run.
    let other = Place::new();
    let server = other.up(None).unwrap();
    let room = other.data().join("argosy.db-wal").metadata().unwrap().len();
    server.stop();
    let run = place.command(&["run", "waits.yaml"]);
    let mut limited = std::process::Command::new("prlimit");
    limited.arg(format!("--fsize={room}:unlimited")).arg(run.get_program()).args(run.get_args());
    limited.current_dir(place.root.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = limited.spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let said = lines.map(Result::unwrap).find(|line| line.contains("a commit failed"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.is_some());
}

#[test]
fn outputs_are_kept_however_few_files_may_be_open() {
    let place = Place::new();
    place.file(
        "many.yaml",
        r#"
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: many}
spec:
  entrypoint: main
  templates:
    - name: main
      steps: [[{name: one, template: one, withSequence: {count: "150"}}]]
    - name: one
      script:
        image: busybox
        command: [sh]
        source: mkdir /tmp/d; echo 1 > /tmp/d/1; echo 2 > /tmp/d/2
      outputs: {artifacts: [{name: a, path: /tmp/d}]}
"#,
    );
    let run = place.command(&["run", "many.yaml"]);
    let mut limited = std::process::Command::new("prlimit");
    // Those of the spawner are limited by the second number, which is enough for it.
    limited.arg("--nofile=80:1024").arg(run.get_program()).args(run.get_args());
    let output = limited.current_dir(place.root.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_second_server_says_whose_the_data_is_and_not_that_a_port_is_taken() {
    let place = Place::new();
    let server = place.up(None).unwrap();
    let address = server.address.strip_prefix("http://").unwrap();
    let second = place.argosy(&["up", "--listen", address]);
    assert!(second.err.starts_with("[E0406]"), "{}", second.err);
    // An address that others reach is refused before any is taken.
    let open = ["up", "--listen", address, "--s3-listen", "0.0.0.0:0"];
    let open = place.argosy(&open);
    assert!(open.err.starts_with("[E0407]"), "{}", open.err);
    server.stop();
}

#[test]
fn who_follows_a_run_follows_it_over_a_restart_of_the_server() {
    let place = Place::new();
    place.file("waits.yaml", WAITS);
    let mut server = place.up(None).unwrap();
    place.argosy(&["submit", "waits.yaml"]);
    let mut watch = place.command(&["watch", "waits"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Both stay open: nobody may find that nobody reads any more.
    let out = std::io::BufReader::new(watch.stdout.take().unwrap());
    let err = std::io::BufReader::new(watch.stderr.take().unwrap());
    let (mut out, mut err) = (std::io::BufRead::lines(out), std::io::BufRead::lines(err));
    assert!(out.any(|line| line.unwrap().contains("waits Running")));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert!(err.any(|line| line.unwrap().contains("the server is away")));
    // At another address.
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["resume", "waits"]).code, Some(0));
    assert!(out.all(|line| line.is_ok()), "it is read to its end");
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    server.stop();
}

#[test]
fn a_server_is_stopped_in_order_as_soon_as_it_has_greeted() {
    let place = Place::new();
    for _ in 0..5 {
        // It must not end by the signal itself, however soon that comes.
        place.up(None).unwrap().stop();
    }
}

#[test]
fn a_server_whose_disk_is_full_says_so_recovers_and_ends_when_it_is_told_to() {
    let place = Place::new();
    place.file("waits.yaml", WAITS);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "waits.yaml"]).code, Some(0));
    // Full: nothing can be appended to any file.
    limit_files(&server, Some(0));
    let mut second = place.command(&["submit", "waits.yaml", "--name", "second"]);
    let mut second = second.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let refusing = || ask(&server, "GET /healthz", b"");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let (mut status, mut why) = refusing();
    while status == 200 && std::time::Instant::now() < until {
        (status, why) = refusing();
    }
    assert_eq!(status, 503, "{why}");
    assert!(why.contains("E0408") && why.contains("nothing can be accepted"), "{why}");
    let refused = place.argosy(&["submit", "waits.yaml", "--name", "third"]);
    assert!(refused.code == Some(2) && refused.err.contains("[E0408]"), "{}", refused.err);
    // Room again: what waited is through, and is answered.
    limit_files(&server, None);
    assert!(second.wait().unwrap().success());
    assert_eq!(refusing().0, 200);
    // Full again, and somebody ends it.
    limit_files(&server, Some(0));
    let mut fourth = place.command(&["submit", "waits.yaml", "--name", "fourth"]);
    let mut fourth = fourth.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while refusing().0 == 200 && std::time::Instant::now() < until {}
    let mut server = server;
    signal(server.child.id(), "INT");
    assert!(server.child.wait().unwrap().success());
    assert!(!fourth.wait().unwrap().success(), "nobody was promised that");
    assert_eq!(place.argosy(&["-o", "name", "list"]).out, "second\nwaits\n");
}

/// What a command says while the data directory cannot be written.
fn read_only(place: &Place, args: &[&str]) -> (Option<i32>, String, String) {
    let data = place.data();
    let mut command = place.command(args);
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        // Permissions do not hold root back: a mount of its own, which cannot be written, does.
        let script = r#"mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@""#;
        let mut inner = std::process::Command::new("unshare");
        inner.args(["--mount", "sh", "-c", script]).arg(&data).arg(command.get_program());
        inner.args(command.get_args()).current_dir(place.root.path());
        command = inner;
    }
    let mode = |mode| std::fs::set_permissions(&data, Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let done = command.output().unwrap();
    mode(0o755);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn a_data_directory_that_cannot_be_written_is_read() {
    let place = Place::new();
    place.file("says.yaml", SAYS);
    place.file("waits.yaml", WAITS);
    assert_eq!(place.argosy(&["run", "says.yaml"]).code, Some(0));
    let (code, out, err) = read_only(&place, &["-o", "name", "list"]);
    assert_eq!((code, &*out), (Some(0), "says\n"), "{err}");
    let (code, out, err) = read_only(&place, &["logs", "says", "--no-prefix"]);
    assert_eq!((code, &*out), (Some(0), "\x1b[1mred\x1b[0m 50%\r100%\n"), "{err}");
    assert_eq!(read_only(&place, &["get", "says"]).0, Some(0));
    let (code, _, err) = read_only(&place, &["run", "waits.yaml"]);
    assert!(code == Some(2) && err.contains("[E0408]"), "{err}");
    // One that was not closed has its newest facts beside the database.
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "waits.yaml"]).code, Some(0));
    server.kill();
    std::fs::remove_file(place.data().join("argosy.db-shm")).unwrap();
    let (code, _, err) = read_only(&place, &["list"]);
    assert!(code == Some(2) && err.contains("[E0412]"), "{err}");
    assert_eq!(place.argosy(&["-o", "name", "list"]).out, "waits\nsays\n");
}

#[test]
fn a_damaged_data_directory_is_told_from_a_full_disk() {
    let place = Place::new();
    place.file("says.yaml", SAYS);
    assert_eq!(place.argosy(&["run", "says.yaml"]).code, Some(0));
    std::fs::write(place.data().join("argosy.db"), "nonsense".repeat(1_000)).unwrap();
    for args in [&["list"][..], &["up", "--listen", "127.0.0.1:0"], &["run", "says.yaml"]] {
        let refused = place.argosy(args);
        assert_eq!(refused.code, Some(2), "{args:?}: {}", refused.err);
        assert!(refused.err.contains("[E0411]"), "{args:?}: {}", refused.err);
        assert!(!refused.err.contains("disk is not full"), "{args:?}: {}", refused.err);
    }
}

/// Names of the runs that a list shows, page after page.
fn pages(server: &Server, query: &str) -> Vec<Vec<String>> {
    let (mut pages, mut from) = (Vec::new(), String::new());
    loop {
        let head = format!("GET /api/v1/workflows/{query}&listOptions.continue={from}");
        let (status, body) = ask(server, &head, b"");
        assert_eq!(status, 200, "{query}: {body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        let items = answer["items"].as_array().unwrap().iter();
        let names = items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
        pages.push(names.collect());
        from = answer["metadata"]["continue"].as_str().unwrap().to_owned();
        if from.is_empty() {
            return pages;
        }
    }
}

#[test]
fn a_page_of_a_list_is_filled_with_what_was_selected() {
    let place = Place::new();
    place.file("waits.yaml", WAITS);
    let server = place.up(None).unwrap();
    for n in 0..7 {
        let (name, labels) = (format!("r{n}"), format!("n={n},odd={}", n % 2));
        let submitted = place.argosy(&["submit", "waits.yaml", "--name", &name, "-l", &labels]);
        assert_eq!(submitted.code, Some(0), "{}", submitted.err);
    }
    let other = place.argosy(&["-n", "other", "submit", "waits.yaml", "--name", "r1"]);
    assert_eq!(other.code, Some(0), "{}", other.err);
    let labels = "default?listOptions.labelSelector=";
    let fields = "listOptions.fieldSelector=metadata.";
    for (query, expected) in [
        (format!("{labels}odd%3D1&listOptions.limit=2"), &[&["r5", "r3"][..], &["r1"]][..]),
        (format!("{labels}n%20in%20(0,1)&listOptions.limit=3"), &[&["r1", "r0"]]),
        (format!("{labels}n%3C2&listOptions.limit=10000"), &[&["r1", "r0"]]),
        (format!("{labels}n%3E4,odd%3D0&listOptions.limit=10"), &[&["r6"]]),
        (format!("default?{fields}name=r3&listOptions.limit=1"), &[&["r3"], &[]]),
        (
            format!("default?{fields}name!=r5&listOptions.limit=3"),
            &[&["r6", "r4", "r3"], &["r2", "r1", "r0"], &[]],
        ),
        (format!("-?{fields}name=r1"), &[&["r1", "r1"]]),
        (format!("-?{fields}name=r1,metadata.namespace=other"), &[&["r1"]]),
        (format!("default?{fields}namespace=other"), &[&[]]),
        (format!("default?{fields}name=r1&listOptions.labelSelector=odd%3D0"), &[&[]]),
    ] {
        assert_eq!(pages(&server, &query), expected, "{query}");
    }
    let selected = place.argosy(&["list", "-o", "name", "--selector", "odd=0", "--limit", "2"]);
    assert_eq!(selected.out, "r6\nr4\n");
    for unknown in ["status.phase=Running", "nosuch=1", "metadata.name%3Er5"] {
        for path in ["workflows", "workflow-events"] {
            let query = "listOptions.fieldSelector=metadata.name=r1";
            let head = format!("GET /api/v1/{path}/default?{query},{unknown}");
            let (status, body) = ask(&server, &head, b"");
            assert_eq!(status, 400, "{head}: {body}");
            assert!(body.contains(&unknown.replace("%3E", ">")), "{body}");
        }
    }
    server.stop();
}

#[test]
fn what_is_asked_of_a_run_is_judged_before_its_state() {
    let place = Place::new();
    place.file("says.yaml", SAYS);
    place.file("waits.yaml", WAITS);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "waits.yaml"]).code, Some(0));
    assert_eq!(place.argosy(&["submit", "--wait", "says.yaml"]).code, Some(0));
    for run in ["waits", "says"] {
        for (verb, expected, code, word) in [
            ("retry", 501, "E0211", "`retry` is not built yet"),
            ("resubmit", 501, "E0211", "`resubmit` is not built yet"),
            ("nosuch", 404, "E0401", "nosuch"),
        ] {
            let head = format!("PUT /api/v1/workflows/default/{run}/{verb}");
            let (status, body) = ask(&server, &head, b"{}");
            assert_eq!(status, expected, "{run} {verb}: {body}");
            assert!(body.contains(code) && body.contains(word), "{run} {verb}: {body}");
        }
    }
    let (status, body) = ask(&server, "PUT /api/v1/workflows/default/says/stop", b"{}");
    assert!(status == 400 && body.contains("E0403"), "{body}");
    server.stop();
}

#[test]
fn labels_are_those_that_kubernetes_allows() {
    let place = Place::new();
    place.file("waits.yaml", WAITS);
    place.file("bad.yaml", &WAITS.replace("{name: waits}", "{name: w, labels: {a: 'b c'}}"));
    let server = place.up(None).unwrap();
    let long = format!("a={}", "b".repeat(64));
    for bad in ["=b", "a b=c", "a=é", "a/b/c=d", &long] {
        let refused = place.argosy(&["submit", "waits.yaml", "-l", bad]);
        assert!(
            refused.code == Some(2) && refused.err.contains("[E0109]"),
            "{bad}: {}",
            refused.err
        );
    }
    let refused = place.argosy(&["submit", "bad.yaml"]);
    assert!(refused.err.contains("bad.yaml:4:33: [E0109]"), "{}", refused.err);
    let long = format!("a.io/b={}", "b".repeat(63));
    let submitted = place.argosy(&["submit", "waits.yaml", "-l", &format!("{long},c=")]);
    assert_eq!(submitted.code, Some(0), "{}", submitted.err);
    server.stop();
}
