//! The command line, on the real binary: what it prints, and its exit codes.

mod common;

use std::time::{Duration, Instant};

use common::Place;
use serde_json::Value;

const HELLO: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: hello-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: who, value: world}]}
  templates:
    - name: main
      steps:
        - - {name: say, template: say, arguments: {parameters: [{name: text, value: \"hello {{workflow.parameters.who}}\"}]}}
        - - {name: again, template: say, arguments: {parameters: [{name: text, value: \"{{steps.say.outputs.result}} again\"}]}}
    - name: say
      inputs: {parameters: [{name: text}]}
      container: {image: busybox, command: [echo, \"{{inputs.parameters.text}}\"]}
";

const FAILS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: fails}
spec:
  entrypoint: main
  templates: [{name: main, container: {image: busybox, command: [sh, -c, 'echo no >&2; exit 3']}}]
";

const WAITS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: waits}
spec:
  entrypoint: main
  templates:
    - name: main
      steps:
        - - {name: approve, template: approve}
        - - {name: after, template: after, arguments: {parameters: [{name: by, value: '{{steps.approve.outputs.parameters.by}}'}]}}
    - name: approve
      suspend: {}
      outputs: {parameters: [{name: by, valueFrom: {supplied: {}}}]}
    - name: after
      inputs: {parameters: [{name: by}]}
      container: {image: busybox, command: [echo, 'approved by {{inputs.parameters.by}}']}
";

const SLEEPS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: sleeps}
spec:
  entrypoint: main
  onExit: bye
  templates:
    - {name: main, container: {image: busybox, command: [sleep, '600']}}
    - {name: bye, container: {image: busybox, command: [echo, bye]}}
";

fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (name, text) in files {
        place.file(name, text);
    }
    place
}

#[test]
fn a_manifest_runs_without_a_server_and_everything_is_found_again() {
    let place = place(&[("hello.yaml", HELLO)]);
    let run = place.argosy(&["run", "hello.yaml", "-p", "who=you", "--name", "first"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("✔ first"), "{}", run.out);
    let logs = place.argosy(&["logs", "first", "--no-prefix"]);
    assert_eq!(logs.out, "hello you\nhello you again\n");
    let object = place.argosy(&["-o", "json", "get", "@latest"]).json();
    assert_eq!(object["status"]["phase"], "Succeeded");
    assert_eq!(object["metadata"]["name"], "first");
    assert_eq!(object["status"]["progress"], "2/2");
    assert_eq!(place.argosy(&["-o", "name", "list"]).out, "first\n");
    let step = place.argosy(&["get", "first", "again"]).out;
    for word in ["attempt 0: exit code 0", "queued", "placed", "started", "ended", "saved"] {
        assert!(step.contains(word), "{word}: {step}");
    }
}

#[test]
fn exit_codes_tell_how_a_command_ended() {
    let place = place(&[("fails.yaml", FAILS), ("bad.yaml", "kind: Nonsense\n")]);
    assert_eq!(place.argosy(&["get", "nobody"]).code, Some(4), "no data directory yet");
    assert_eq!(place.argosy(&["run", "fails.yaml"]).code, Some(1));
    assert_eq!(place.argosy(&["get", "nobody"]).code, Some(3));
    for command in [["get", "fails", "nostep"], ["logs", "fails", "nostep"]] {
        let said = place.argosy(&command);
        assert_eq!(said.code, Some(3), "{command:?}");
        assert!(said.err.contains("has no step \"nostep\""), "{}", said.err);
    }
    assert_eq!(place.argosy(&["lint", "bad.yaml"]).code, Some(2));
    assert_eq!(place.argosy(&["run", "bad.yaml"]).code, Some(2));
    assert_eq!(place.argosy(&["stop", "fails"]).code, Some(2), "it has ended");
    assert_eq!(place.argosy(&["--server", "http://127.0.0.1:1", "list"]).code, Some(4));
    assert_eq!(place.argosy(&["submit", "fails.yaml"]).code, Some(4), "nobody to submit to");
    let taken = place.argosy(&["run", "fails.yaml"]);
    assert!(taken.code == Some(2) && taken.err.contains("[E0402]"), "{}", taken.err);
}

#[test]
fn a_failed_step_says_its_exit_code_and_keeps_its_log() {
    let place = place(&[("fails.yaml", FAILS)]);
    let object = place.argosy(&["-o", "json", "run", "fails.yaml"]).json();
    assert_eq!(object["status"]["phase"], "Failed");
    assert_eq!(object["status"]["message"], "main: Error (exit code 3)");
    assert_eq!(place.argosy(&["logs", "fails", "--no-prefix"]).out, "no\n");
}

#[test]
fn lint_names_the_place_and_what_to_write() {
    let place = place(&[(
        "typo.yaml",
        &HELLO.replace("entrypoint: main", "entrypoint: main\n  templtes: []"),
    )]);
    let lint = place.argosy(&["lint", "typo.yaml"]);
    assert_eq!(lint.code, Some(2));
    assert!(lint.out.contains("typo.yaml:7:3: [E0103]"), "{}", lint.out);
    assert!(lint.out.contains("`templates`"), "{}", lint.out);
}

#[test]
fn lint_says_which_images_are_the_programs_of_this_machine() {
    let foreign = HELLO.replace("busybox", "somebody/something:1");
    let place = place(&[("known.yaml", HELLO), ("foreign.yaml", &foreign)]);
    assert_eq!(place.argosy(&["lint", "known.yaml"]).out, "✔ no linting errors found\n");
    let lint = place.argosy(&["lint", "foreign.yaml"]);
    assert_eq!(lint.code, Some(0));
    assert!(lint.out.contains("image somebody/something:1 is not known here"), "{}", lint.out);
}

#[test]
fn a_server_outlives_a_graceful_stop_and_a_suspended_run_goes_on() {
    let place = place(&[("waits.yaml", WAITS)]);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "waits.yaml"]).out, "waits\n");
    let twice = place.argosy(&["up", "--listen", "127.0.0.1:0"]);
    assert!(twice.code == Some(2) && twice.err.contains("[E0406]"), "{}", twice.err);
    server.stop();
    let server = place.up(None).unwrap();
    let why = place.argosy(&["explain", "waits"]).out;
    assert!(why.contains("waits[0].approve") && why.contains("argosy resume"), "{why}");
    let approve = ["resume", "waits", "--node-field-selector", "displayName=approve"];
    for (more, text) in [
        (&[][..], "'by' has not been set"),
        (&["-p", "by=Ada", "-p", "nosuch=x"], "not expecting output parameter 'nosuch'"),
    ] {
        let refused = place.argosy(&[&approve, more].concat());
        assert!(refused.code == Some(2) && refused.err.contains(text), "{}", refused.err);
    }
    let why = place.argosy(&["explain", "waits"]).out;
    assert!(why.contains("waits[0].approve"), "nothing has changed: {why}");
    let resumed = place.argosy(&["resume", "waits", "-p", "by=Ada"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert_eq!(place.argosy(&["wait", "waits"]).code, Some(0));
    assert_eq!(place.argosy(&["logs", "waits", "--no-prefix"]).out, "approved by Ada\n");
    server.stop();
}

#[test]
fn stop_runs_the_exit_handler_and_terminate_does_not() {
    for (verb, nodes, status) in [("stop", 2, "Stopped"), ("terminate", 1, "Terminated")] {
        let place = place(&[("sleeps.yaml", SLEEPS)]);
        let server = place.up(None).unwrap();
        place.argosy(&["submit", "sleeps.yaml"]);
        assert_eq!(place.argosy(&[verb, "sleeps"]).code, Some(0));
        assert_eq!(place.argosy(&["wait", "sleeps"]).code, Some(1));
        let object = place.argosy(&["-o", "json", "get", "sleeps"]).json();
        assert_eq!(object["status"]["nodes"].as_object().unwrap().len(), nodes, "{verb}");
        assert_eq!(object["status"]["phase"], "Failed");
        let list = place.argosy(&["list"]).out;
        assert!(list.contains("Failed"), "{list}");
        let get = place.argosy(&["get", "sleeps"]).out;
        assert!(get.contains(&format!("Failed ({status})")), "{get}");
        assert_eq!(place.argosy(&["delete", "sleeps"]).code, Some(0));
        assert_eq!(place.argosy(&["get", "sleeps"]).code, Some(3));
        server.stop();
    }
}

#[test]
fn numbers_of_a_parameter_file_are_those_of_a_manifest() {
    // argo-workflows `ReadParametersFile`: YAML becomes JSON, and its text the value.
    let manifest = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: numbers}
spec:
  entrypoint: main
  arguments: {parameters: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e, value: 1e3}]}
  templates:
    - name: main
      container:
        image: busybox
        command: [echo, '{{workflow.parameters.a}} {{workflow.parameters.b}}
          {{workflow.parameters.c}} {{workflow.parameters.d}} {{workflow.parameters.e}}']
";
    let place = place(&[
        ("numbers.yaml", manifest),
        ("values.yaml", "a: 1.0\nb: 1e3\nc: '1.0'\nd: {z: 1.50, b: 18446744073709551615}\n"),
    ]);
    let run = place.argosy(&["run", "numbers.yaml", "--parameter-file", "values.yaml"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let logs = place.argosy(&["logs", "numbers", "--no-prefix"]).out;
    assert_eq!(logs, "1 1000 1.0 {\"b\":18446744073709551615,\"z\":1.5} 1000\n");
}

#[test]
fn a_parameter_may_be_as_long_as_the_limit_says_and_no_longer() {
    let most = usize::try_from(argosy_model::limits::PARAMETER_BYTES.max).unwrap();
    for (name, length, code) in [("fits", most, 0), ("too-long", most + 1, 2)] {
        let manifest = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: long-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: text}]}
  templates: [{name: main, suspend: {duration: '0'}}]
";
        let values = format!("{{\"text\": \"{}\"}}", "x".repeat(length));
        let place = place(&[("long.yaml", manifest), ("values.json", &values)]);
        let run = place.argosy(&["run", "long.yaml", "--parameter-file", "values.json"]);
        assert_eq!(run.code, Some(code), "{name}: {}", run.err);
        assert_eq!(run.err.contains("parameter-bytes"), code == 2, "{name}: {}", run.err);
    }
}

#[test]
fn what_a_run_has_come_to_is_shown_with_it() {
    let manifest = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: gives}
spec:
  entrypoint: main
  templates:
    - name: main
      container: {image: busybox, command: [sh, -c, 'echo 42 > /tmp/a; echo data > /tmp/b']}
      outputs:
        parameters: [{name: answer, valueFrom: {path: /tmp/a}}]
        artifacts: [{name: book, path: /tmp/b, s3: {key: shelf/book}, archive: {none: {}}}]
";
    let place = place(&[("gives.yaml", manifest)]);
    assert_eq!(place.argosy(&["run", "gives.yaml"]).code, Some(0));
    let step = place.argosy(&["get", "gives", "gives"]).out;
    assert!(step.contains("\n  outputs   answer: 42\n  artifacts book: shelf/book\n"), "{step}");
    let shown = place.argosy(&["get", "gives"]).out;
    let shown: Vec<_> =
        shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    for line in [["answer:", "42"], ["book:", "shelf/book"]] {
        assert!(shown.iter().any(|found| *found == line), "{line:?}: {shown:?}");
    }
}

#[test]
fn paths_of_the_machine_are_refused_with_the_flag_that_allows_them() {
    let manifest = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: host}
spec:
  entrypoint: main
  volumes: [{name: v, hostPath: {path: MARKS}}]
  templates:
    - name: main
      container: {image: busybox, command: [ls, /v], volumeMounts: [{name: v, mountPath: /v}]}
";
    let place = Place::new();
    place.file("host.yaml", &manifest.replace("MARKS", place.marks().to_str().unwrap()));
    std::fs::write(place.marks().join("here"), "").unwrap();
    let refused = place.argosy(&["-o", "json", "run", "host.yaml"]).json();
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(message.contains("--allow-host-path"), "{message}");
    let marks = place.marks();
    let args =
        ["run", "host.yaml", "--name", "allowed", "--allow-host-path", marks.to_str().unwrap()];
    assert_eq!(place.argosy(&args).code, Some(0));
    assert_eq!(place.argosy(&["logs", "allowed", "--no-prefix"]).out, "here\n");
}

#[test]
fn nothing_listens_beyond_loopback_without_authentication() {
    let refused = Place::new().argosy(&["up", "--listen", "0.0.0.0:0"]);
    assert!(refused.code == Some(2) && refused.err.contains("[E0407]"), "{}", refused.err);
}

#[test]
fn stored_templates_are_submitted_by_name() {
    let template = HELLO
        .replace("kind: Workflow", "kind: WorkflowTemplate")
        .replace("generateName: hello-", "name: stored");
    let place = place(&[("template.yaml", &template)]);
    let server = place.up(None).unwrap();
    let stored = place.argosy(&["submit", "template.yaml"]);
    assert!(stored.err.contains("stored WorkflowTemplate/stored"), "{}", stored.err);
    let args = [
        "submit",
        "--from",
        "workflowtemplate/stored",
        "--wait",
        "--name",
        "from",
        "-p",
        "who=all",
    ];
    assert_eq!(place.argosy(&args).code, Some(0));
    assert!(place.argosy(&["logs", "from", "--no-prefix"]).out.starts_with("hello all\n"));
    server.stop();
}

#[test]
fn the_machine_and_the_configuration_are_told() {
    let place = Place::new();
    place.file("argosy.toml", "namespace = \"team\"\n");
    let shown = place.argosy(&["-o", "json", "config", "show"]).json();
    assert_eq!(shown["namespace"], "team");
    let doctor: Value = place.argosy(&["-o", "json", "doctor"]).json();
    assert!(doctor["cpus"].as_u64().unwrap() > 0);
    let checks = doctor["checks"].as_array().unwrap().iter().map(|check| &check["name"]);
    let expected = ["private /tmp", "private root", "memory limits"];
    assert_eq!(checks.collect::<Vec<_>>(), expected);
    assert!(place.argosy(&["completion", "bash"]).out.contains("argosy"));
    place.file("argosy.toml", "nonsense = 1\n");
    assert_eq!(place.argosy(&["list"]).code, Some(2));
}

#[test]
fn a_finished_run_is_deleted_when_its_time_to_live_is_over() {
    let brief = FAILS.replace("spec:", "spec:\n  ttlStrategy: {secondsAfterCompletion: 0}");
    let place = place(&[
        ("brief.yaml", &brief),
        ("other.yaml", &FAILS.replace("name: fails", "name: other")),
    ]);
    let server = place.up(None).unwrap();
    assert_eq!(place.argosy(&["submit", "--wait", "brief.yaml"]).code, Some(1));
    assert_eq!(place.argosy(&["submit", "--wait", "other.yaml"]).code, Some(1));
    // A moment after the last one who followed it has left.
    let late = Instant::now() + Duration::from_secs(60);
    while place.argosy(&["-o", "name", "list"]).out != "other\n" {
        assert!(Instant::now() < late, "it is still there");
    }
    server.stop();
}

#[test]
fn every_shipped_example_passes_its_check() {
    let place = Place::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let lint = place.argosy(&["lint", "--offline", path.to_str().unwrap()]);
        assert_eq!(lint.code, Some(0), "{}: {}", path.display(), lint.out);
    }
}

#[test]
fn a_long_log_comes_whole_and_in_order_and_its_end_alone() {
    const LONG: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: long}
spec:
  entrypoint: main
  templates: [{name: main, container: {image: busybox, command: [seq, '1', '200000']}}]
";
    let place = place(&[("long.yaml", LONG)]);
    assert_eq!(place.argosy(&["run", "long.yaml"]).code, Some(0));
    let logs = place.argosy(&["logs", "long", "--no-prefix"]).out;
    assert!(logs.lines().map(|line| line.parse::<u32>().unwrap()).eq(1..=200_000));
    let end = place.argosy(&["logs", "long", "--no-prefix", "--tail", "2"]).out;
    assert_eq!(end, "199999\n200000\n");
}

#[test]
fn what_a_template_declares_sees_its_own_inputs() {
    const SCOPE: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: scope}
spec:
  entrypoint: main
  arguments: {parameters: [{name: v, value: outer}]}
  templates:
    - name: main
      inputs: {parameters: [{name: v}]}
      steps: [[{name: a, template: leaf, arguments: {parameters: [{name: v, value: inner}]}}]]
    - name: leaf
      inputs:
        parameters: [{name: v}, {name: w, default: 'default of {{inputs.parameters.v}}'}]
        artifacts: [{name: x, path: '/tmp/{{inputs.parameters.v}}', raw: {data: '{{inputs.parameters.v}}'}}]
      outputs:
        parameters: [{name: said, valueFrom: {path: '/tmp/{{inputs.parameters.v}}-out'}}]
      container:
        image: busybox
        command: [sh, -c]
        args: ['echo {{inputs.artifacts.x.path}} $(cat /tmp/inner) {{outputs.parameters.said.path}} {{inputs.parameters.w}} | tee {{outputs.parameters.said.path}}']
";
    let place = place(&[("scope.yaml", SCOPE)]);
    let run = place.argosy(&["run", "scope.yaml"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let logs = place.argosy(&["logs", "scope", "--no-prefix"]).out;
    assert_eq!(logs, "/tmp/inner inner /tmp/inner-out default of inner\n");
}
