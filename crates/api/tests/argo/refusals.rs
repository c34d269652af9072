//! What is refused, where, and with which code. Places are read off the manifests.

use argosy_api::argo::{Shelf, lint, load};
use proptest::prelude::*;

use super::support::{HEAD, LEAF, lines, options, refusals, submit};

/// Templates after [`HEAD`] that are refused for one reason each.
fn check(cases: &[(&str, &str)]) {
    for (templates, refusal) in cases {
        let text = format!("{HEAD}{templates}");
        assert_eq!(refusals(&text), [*refusal], "{text}");
    }
}

/// The same, with the template `leaf` behind them.
fn check_calls(cases: &[(&str, &str)]) {
    for (templates, refusal) in cases {
        let text = format!("{HEAD}{templates}{LEAF}");
        assert_eq!(refusals(&text), [*refusal], "{text}");
    }
}

#[test]
fn fields_are_checked_against_the_table() {
    check(&[
        ("  - name: main\n    container: {image: a, comand: [b]}\n", "E0103 7:27"),
        ("  - name: main\n    containr: {image: a}\n    container: {image: a}\n", "E0103 7:5"),
        ("  - name: main\n    container: {image: a, args: [1]}\n", "E0104 7:34"),
        ("  - name: main\n    container: {image: a, args: x}\n", "E0104 7:33"),
        ("  - name: main\n    container: [a]\n", "E0104 7:16"),
        ("  - name: main\n    parallelism: two\n    steps: []\n", "E0104 7:18"),
        ("  - name: main\n    timeout: soon\n    container: {image: a}\n", "E0213 7:14"),
        (
            "  - name: main\n    retryStrategy: {limit: many}\n    container: {image: a}\n",
            "E0213 7:28",
        ),
        (
            "  - name: main\n    retryStrategy: {retryPolicy: Often}\n    container: {image: a}\n",
            "E0213 7:34",
        ),
        (
            "  - name: main\n    container:\n      image: a\n      resources: {limits: {memory: 1GB}}\n",
            "E0213 9:36",
        ),
        ("  - name: main\n    http: {url: x}\n", "E0211 7:5"),
        ("  - name: main\n    daemon: true\n    container: {image: a}\n", "E0211 7:5"),
        (
            "  - name: main\n    synchronization: {mutexes: [{name: a, namespace: b}]}\n    container: {image: a}\n",
            "E0211 7:43",
        ),
        ("  - name: main\n    container: {image: \"{{=1 +}}\"}\n", "E0203 7:24"),
    ]);
}

#[test]
fn documents_that_are_no_objects_of_ours_are_refused() {
    for (text, refusal) in [
        ("a: 1\n", "E0102 1:1"),
        ("kind: Wrkflow\n", "E0102 1:7"),
        ("kind: Workflow\nmetadata: {name: a}\n---\nkind: CronWorkflow\n", "E0211 4:7"),
        ("- 1\n", "E0102 1:1"),
    ] {
        assert_eq!(refusals(text), [refusal], "{text}");
    }
}

#[test]
fn a_template_does_one_thing() {
    check(&[
        ("  - name: main\n", "E0105 6:5"),
        ("  - name: main\n    container: {image: a}\n    suspend: {}\n", "E0210 8:5"),
        ("  - name: main\n    container: {command: [a]}\n", "E0105 7:16"),
        ("  - name: main\n    container: {image: a}\n    parallelism: 1\n", "E0210 8:18"),
        ("  - name: main\n    timeout: 1s\n    steps: []\n", "E0210 7:14"),
        ("  - name: main\n    parallelism: 0\n    steps: []\n", "E0213 7:18"),
    ]);
}

#[test]
fn names_follow_the_rules_and_are_unique() {
    check_calls(&[
        ("  - name: main\n    steps: [[{name: a b, template: leaf}]]\n", "E0109 7:21"),
        ("  - name: main\n    steps: [[{template: leaf}]]\n", "E0105 7:14"),
        ("  - name: main\n    steps: [[{name: ../a, template: leaf}]]\n", "E0109 7:21"),
        (
            "  - name: main\n    steps: [[{name: a, template: leaf}], [{name: a, template: leaf}]]\n",
            "E0110 7:50",
        ),
        (
            "  - name: main\n    dag: {tasks: [{name: a, template: leaf}, {name: a, template: leaf}]}\n",
            "E0110 7:53",
        ),
        ("  - name: main\n    dag: {tasks: [{name: 1a, template: leaf}]}\n", "E0109 7:26"),
        (
            "  - name: main\n    inputs: {parameters: [{name: a.b, value: x}]}\n    steps: []\n",
            "E0109 7:34",
        ),
    ]);
    let text = format!("{HEAD}  - name: main\n    steps: []\n  - name: main\n    steps: []\n");
    assert_eq!(refusals(&text), ["E0110 8:11"]);
    let text = format!("{HEAD}  - name: main\n    steps: []\n").replace("{name: wf}", "{name: A}");
    assert_eq!(refusals(&text), ["E0109 2:18"]);
}

#[test]
fn calls_name_templates_that_exist() {
    check_calls(&[
        ("  - name: main\n    steps: [[{name: a, template: laef}]]\n", "E0201 7:34"),
        ("  - name: main\n    steps: [[{name: a}]]\n", "E0105 7:14"),
        (
            "  - name: main\n    steps: [[{name: a, template: leaf, inline: {suspend: {}}}]]\n",
            "E0210 7:40",
        ),
        (
            "  - name: main\n    steps: [[{name: a, templateRef: {name: x, template: z}}]]\n",
            "E0201 7:44",
        ),
        ("  - name: main\n    steps: [[{name: a, templateRef: {name: x}}]]\n", "E0105 7:37"),
        ("  - name: main\n    steps: [[{name: a, template: leaf, onExit: lef}]]\n", "E0201 7:48"),
        (
            "  - name: main\n    steps: [[{name: a, template: leaf, hooks: {x: {template: leaf}}}]]\n",
            "E0105 7:51",
        ),
    ]);
    let text = format!("{HEAD}{LEAF}");
    assert_eq!(refusals(&text), ["E0201 4:15"], "the entrypoint is no template");
}

#[test]
fn loops_have_one_list() {
    check_calls(&[
        (
            "  - name: main\n    steps: [[{name: a, template: leaf, withItems: [1], withParam: '[]'}]]\n",
            "E0210 7:56",
        ),
        (
            "  - name: main\n    steps: [[{name: a, template: leaf, withParam: '{}'}]]\n",
            "E0207 7:51",
        ),
        (
            "  - name: main\n    steps: [[{name: a, template: leaf, withSequence: {}}]]\n",
            "E0105 7:54",
        ),
        (
            "  - name: main\n    steps: [[{name: a, template: leaf, withSequence: {count: 1, end: 2}}]]\n",
            "E0210 7:54",
        ),
        (
            "  - name: main\n    steps: [[{name: a, template: leaf, withItems: [~]}]]\n",
            "E0207 7:52",
        ),
    ]);
}

#[test]
fn tasks_wait_for_tasks_that_exist_and_not_for_themselves() {
    check_calls(&[
        (
            "  - name: main\n    dag:\n      tasks:\n      - {name: a, template: leaf, depends: b}\n",
            "E0205 9:44",
        ),
        (
            "  - name: main\n    dag:\n      tasks:\n      - {name: a, template: leaf, dependencies: [b]}\n",
            "E0205 9:50",
        ),
        (
            "  - name: main\n    dag:\n      tasks:\n      - {name: a, template: leaf, depends: a &&}\n",
            "E0205 9:44",
        ),
        (
            "  - name: main\n    dag:\n      tasks:\n      - {name: a, template: leaf, depends: a}\n",
            "E0202 9:44",
        ),
        (
            "  - name: main\n    dag:\n      tasks:\n      - {name: a, template: leaf}\n      - {name: b, template: leaf, depends: a}\n      - {name: c, template: leaf, dependencies: [a]}\n",
            "E0210 11:49",
        ),
        (
            "  - name: main\n    dag:\n      tasks:\n      - {name: a, template: leaf, continueOn: {failed: true}}\n      - {name: b, template: leaf, depends: a}\n",
            "E0210 9:47",
        ),
        (
            "  - name: main\n    dag:\n      target: b\n      tasks:\n      - {name: a, template: leaf}\n",
            "E0205 8:15",
        ),
        ("  - name: main\n    dag: {tasks: []}\n", "E0105 7:10"),
    ]);
}

#[test]
fn tags_that_can_never_have_a_value_are_refused() {
    let leaf =
        |arg: &str| format!("  - name: main\n    container: {{image: a, args: [\"{arg}\"]}}\n");
    for name in [
        "inputs.parameters.x",
        "inputs.artifacts.x.path",
        "outputs.parameters.x.path",
        "workflow.parameters.x",
        "workflow.labels.x",
        "workflow.scheduledTime",
        "workflow.nmae",
        "workflow.creationTimestamp.j",
        "workflow.creationTimestamp.YY",
        "=workflow.creationTimestamp.rfc3339",
        "workflow.outputs.parameters.x",
        "steps.a.outputs.result",
        "item",
        "retries",
        "lastRetry.exitCode",
        "x",
        ".Names",
        "=inputs.parameters.x",
    ] {
        let text = format!("{HEAD}{}", leaf(&format!("{{{{{name}}}}}")));
        assert_eq!(refusals(&text), ["E0204 7:34"], "{name}");
    }
    for name in [
        "workflow.name",
        "workflow.creationTimestamp",
        "workflow.creationTimestamp.Y",
        "workflow.creationTimestamp.L",
        "workflow.creationTimestamp.s",
        "=workflow.creationTimestamp.RFC3339",
        "workflow.parameters",
        "workflow.status",
        "pod.name",
        "node.name",
        "=inputs.parameters?.x ?? 'y'",
        "=sprig.trim(' a ')",
        "='{{.Names}}'",
    ] {
        let text = format!("{HEAD}{}", leaf(&format!("{{{{{name}}}}}")));
        assert_eq!(refusals(&text), [""; 0], "{name}");
    }
}

#[test]
fn calls_see_what_has_ended_before_them() {
    let step = |name: &str, when: &str| {
        format!("{{name: {name}, template: leaf, when: \"'{{{{{when}}}}}' == ''\"}}")
    };
    let steps = |group: &str, after: &str| {
        let a = "{name: a, template: leaf}";
        format!("{HEAD}  - name: main\n    steps: [[{a}{group}], [{after}]]\n{LEAF}")
    };
    for (when, fits) in [
        ("steps.a.status", true),
        ("steps.a.outputs.result", true),
        ("steps.a.outputs.parameters.x", false),
        ("steps.a.result", false),
        ("steps.b.status", false),
        ("steps.c.status", false),
        ("tasks.a.status", false),
    ] {
        let text = steps("", &step("b", when));
        assert_eq!(refusals(&text).is_empty(), fits, "{when}: {:?}", refusals(&text));
    }
    let text = steps(&format!(", {}", step("b", "steps.a.status")), "");
    assert_eq!(refusals(&text), ["E0204 7:73"], "a step of the same group");
    for (depends, fits) in [("b", true), ("a", false)] {
        let text = format!(
            "{HEAD}  - name: main\n    dag:\n      tasks:\n      - {{name: a, template: leaf}}\n      - {{name: b, template: leaf, depends: a}}\n      - {{name: c, template: leaf, depends: {depends}, when: \"{{{{tasks.b.exitCode}}}} == 0\"}}\n      - {{name: d, template: leaf, depends: c, when: \"{{{{tasks.a.exitCode}}}} == 0\"}}\n{LEAF}"
        );
        let refused = if fits { vec![] } else { vec!["E0204 11:53".to_owned()] };
        assert_eq!(refusals(&text), refused, "{depends}");
    }
}

#[test]
fn inputs_and_outputs_fit_their_template() {
    check(&[
        (
            "  - name: main\n    inputs: {artifacts: [{name: a, optional: true}]}\n    container: {image: a}\n",
            "E0105 7:26",
        ),
        (
            "  - name: main\n    inputs: {artifacts: [{name: a, path: /a, optional: true}]}\n    steps: []\n",
            "E0210 7:42",
        ),
        (
            "  - name: main\n    inputs: {artifacts: [{name: a, path: a, optional: true}]}\n    container: {image: a}\n",
            "E0213 7:42",
        ),
        (
            "  - name: main\n    inputs: {artifacts: [{name: a, path: /x/../a, optional: true}]}\n    container: {image: a}\n",
            "E0213 7:42",
        ),
        (
            "  - name: main\n    volumes:\n    - {name: v, configMap: {name: m, items: [{key: a, path: ../b}]}}\n    container: {image: a, volumeMounts: [{name: v, mountPath: /tmp/v}]}\n",
            "E0213 8:61",
        ),
        (
            "  - name: main\n    steps: [[{name: a, template: a, withSequence: {count: '100001'}}]]\n  - name: a\n    container: {image: a}\n",
            "E0107 7:59",
        ),
        (
            "  - name: main\n    inputs: {artifacts: [{name: a, path: /a, mode: 010000, optional: true}]}\n    container: {image: a}\n",
            "E0213 7:52",
        ),
        (
            "  - name: main\n    inputs: {artifacts: [{name: a, path: /a, s3: {key: ../a}}]}\n    container: {image: a}\n",
            "E0213 7:56",
        ),
        (
            "  - name: main\n    inputs: {artifacts: [{name: a, path: /a, raw: {data: x}, s3: {key: a}}]}\n    container: {image: a}\n",
            "E0210 7:62",
        ),
        (
            "  - name: main\n    inputs: {parameters: [{name: a, value: b, enum: [c]}]}\n    container: {image: a}\n",
            "E0209 7:44",
        ),
        (
            "  - name: main\n    outputs: {parameters: [{name: a}]}\n    container: {image: a}\n",
            "E0105 7:28",
        ),
        (
            "  - name: main\n    outputs: {parameters: [{name: a, valueFrom: {path: /a}}]}\n    steps: []\n",
            "E0210 7:56",
        ),
        (
            "  - name: main\n    outputs: {parameters: [{name: a, valueFrom: {supplied: {}}}]}\n    container: {image: a}\n",
            "E0210 7:60",
        ),
        (
            "  - name: main\n    outputs: {parameters: [{name: a, valueFrom: {path: /a, expression: '1'}}]}\n    container: {image: a}\n",
            "E0210 7:60",
        ),
        (
            "  - name: main\n    container: {image: a, volumeMounts: [{name: v, mountPath: /v}]}\n",
            "E0204 6:5",
        ),
        (
            "  - name: main\n    containerSet: {containers: [{name: a, image: a, dependencies: [b]}]}\n",
            "E0205 7:68",
        ),
        (
            "  - name: main\n    containerSet: {containers: [{name: a, image: a, dependencies: [a]}]}\n",
            "E0202 7:33",
        ),
    ]);
}

#[test]
fn inputs_without_a_value_are_refused_where_they_are_called() {
    let taker = "  - name: taker\n    inputs: {parameters: [{name: p}, {name: q, default: x}]}\n    container: {image: a}\n";
    let call = |arguments: &str| {
        format!(
            "{HEAD}  - name: main\n    steps: [[{{name: a, template: taker{arguments}}}]]\n{taker}"
        )
    };
    assert_eq!(refusals(&call("")), ["E0208 7:14"]);
    assert_eq!(refusals(&call(", arguments: {parameters: [{name: p, value: x}]}")), [""; 0]);
    assert_eq!(refusals(&call(", arguments: {parameters: [{name: p}]}")), ["E0208 7:66"]);
    let text = format!("{HEAD}{taker}").replace("entrypoint: main", "entrypoint: taker");
    assert_eq!(refusals(&text), ["E0208 7:34"]);
}

#[test]
fn all_errors_of_a_file_are_told_at_once() {
    let text = format!("{HEAD}  - name: main\n    x: 1\n    container: {{imag: a, command: 1}}\n");
    assert_eq!(refusals(&text), ["E0103 7:5", "E0103 8:17", "E0104 8:35"]);
}

#[test]
fn suggestions_name_what_was_meant() {
    let text = format!("{HEAD}  - name: main\n    steps: [[{{name: a, template: laef}}]]\n{LEAF}");
    let errors = submit(&text, &options()).expect_err("the template does not exist");
    assert!(lines(&errors).contains("did you mean `leaf`?"), "{}", lines(&errors));
}

#[test]
fn older_spellings_work_with_a_warning() {
    let text = format!(
        "{HEAD}  - name: main\n    steps: [[{{name: a, template: leaf, onExit: leaf}}]]\n{LEAF}"
    );
    let loaded = load("a.yaml", &text).expect("the older spelling works");
    assert!(
        lines(&loaded.warnings).contains("a.yaml:7:40: [E0103]"),
        "{}",
        lines(&loaded.warnings)
    );
    let warnings = lint(&loaded.objects[0], "default", &Shelf::default()).expect("it is right");
    assert!(
        lines(&warnings).contains("a.yaml:9:24: [E0211] the image `busybox`"),
        "{}",
        lines(&warnings)
    );
}

#[test]
fn stored_templates_are_checked_for_whoever_calls_them() {
    let template = |arg: &str| {
        let text =
            format!("{HEAD}  - name: main\n    container: {{image: a, args: [\"{arg}\"]}}\n");
        let text = text
            .replace("kind: Workflow", "kind: WorkflowTemplate")
            .replace("  entrypoint: main\n", "");
        let loaded = load("a.yaml", &text).expect("it can be read");
        lint(&loaded.objects[0], "default", &Shelf::default()).map_err(|errors| lines(&errors))
    };
    assert!(template("{{workflow.parameters.anything}}").is_ok());
    assert!(template("{{inputs.parameters.x}}").is_err());
}

#[test]
fn what_a_spec_adds_to_every_template_is_bounded() {
    let labels: String = (0..2_000).map(|at| format!("l{at}: x, ")).collect();
    let templates: String =
        (0..2_000).map(|at| format!("  - {{name: t{at}, suspend: {{}}}}\n")).collect();
    let head = HEAD.replace("main", "t0");
    let head = head.replace(
        "  templates:\n",
        &format!("  podMetadata: {{labels: {{{labels}}}}}\n  templates:\n"),
    );
    // 2,000 labels for each of 2,000 templates are twice the limit of 2,000,000 nodes.
    let refused = refusals(&format!("{head}{templates}"));
    assert!(refused.first().is_some_and(|first| first.starts_with("E0107")), "{refused:?}");
}

#[test]
fn a_long_chain_of_tasks_is_checked_whole() {
    let mut text = format!(
        "{HEAD}  - name: main\n    dag:\n      tasks:\n      - {{name: t0, template: leaf}}\n"
    );
    for at in 1..1_000 {
        let before = at - 1;
        text.push_str(&format!(
            "      - {{name: t{at}, template: leaf, depends: t{before}, when: \"{{{{tasks.t0.exitCode}}}} == 0\"}}\n"
        ));
    }
    text.push_str(LEAF);
    assert_eq!(refusals(&text), [""; 0]);
    let text =
        text.replace("{name: t0, template: leaf}", "{name: t0, template: leaf, depends: t999}");
    assert!(refusals(&text)[0].starts_with("E0202 9:"), "{:?}", refusals(&text));
}

proptest! {
    #[test]
    fn arbitrary_manifests_never_panic(
        fields in proptest::collection::vec(("[a-zA-Z]{1,12}", "[\\[\\]{}a-z0-9:,'\" &*|>-]{0,24}"), 0..6),
        known in proptest::sample::subsequence(
            vec!["steps", "dag", "inputs", "outputs", "retryStrategy", "script", "suspend", "containerSet", "hooks", "memoize"],
            0..5,
        ),
        value in "[\\[\\]{}a-z0-9:, '\"&*=|>-]{0,40}",
    ) {
        let mut text = format!("{HEAD}  - name: main\n");
        for name in known {
            text.push_str(&format!("    {name}: {value}\n"));
        }
        for (name, value) in fields {
            text.push_str(&format!("    {name}: {value}\n"));
        }
        if let Err(errors) = load("a.yaml", &text).map(|_| submit(&text, &options())) {
            prop_assert!(errors.iter().all(|error| error.place.is_some()));
        }
    }
}

#[test]
fn locks_and_caches_see_what_is_there_before_a_template_begins() {
    let with = |run: &str, template: &str| {
        let text = format!(
            "kind: Workflow\nmetadata: {{name: wf}}\nspec:\n  entrypoint: main\n{run}  templates:\n  \
             - name: main\n    inputs: {{parameters: [{{name: p, default: d}}]}}\n    \
             outputs: {{parameters: [{{name: o, valueFrom: {{path: /tmp/o}}}}]}}\n{template}    \
             container: {{image: busybox, command: [echo]}}\n"
        );
        refusals(&text)
    };
    let lock = |name: &str| format!("    synchronization: {{mutexes: [{{name: \"{name}\"}}]}}\n");
    let memo =
        |key: &str| format!("    memoize: {{key: \"{key}\", cache: {{configMap: {{name: c}}}}}}\n");
    let run = |name: &str| format!("  synchronization: {{mutexes: [{{name: \"{name}\"}}]}}\n");
    for known in ["x", "{{inputs.parameters.p}}", "{{workflow.name}}", "{{pod.name}}"] {
        assert_eq!(with("", &lock(known)), [""; 0], "{known}");
        assert_eq!(with("", &memo(known)), [""; 0], "{known}");
    }
    for unknown in
        ["{{inputs.parameters.q}}", "{{outputs.parameters.o}}", "{{retries}}", "{{item}}"]
    {
        assert_eq!(with("", &lock(unknown)), ["E0204 9:40"], "{unknown}");
        assert_eq!(with("", &memo(unknown)), ["E0204 9:20"], "{unknown}");
    }
    assert_eq!(with(&run("{{workflow.name}}"), ""), [""; 0]);
    assert_eq!(with(&run("{{inputs.parameters.p}}"), ""), ["E0204 5:38"]);
    assert_eq!(with(&run("a\\u0007"), ""), ["E0109 5:38"]);
    for bad in ["a b", "-a", "ä"] {
        assert_eq!(with("", &memo(bad)), ["E0109 9:20"], "{bad}");
    }
    assert_eq!(with("", &memo(&"k".repeat(254))), ["E0107 9:20"]);
}

#[test]
fn patches_without_tags_are_judged_when_they_are_read() {
    let own = |patch: &str| {
        format!("{HEAD}  - name: main\n    podSpecPatch: '{patch}'\n    container: {{image: a}}\n")
    };
    let of_run = |patch: &str| {
        let head = HEAD.replace("  templates:\n", "");
        format!(
            "{head}  podSpecPatch: '{patch}'\n  templates:\n  - name: main\n    container: {{image: a}}\n  - name: more\n    container: {{image: a}}\n"
        )
    };
    for (patch, code) in [
        (
            "{\"containers\": [{\"name\": \"main\", \"resources\": {\"limits\": {\"cpu\": 1}}}]}",
            None,
        ),
        ("{\"volumes\": []}", Some("E0211")),
        ("{\"containers\": [{\"name\": \"main\", \"volumeMounts\": []}]}", Some("E0211")),
        ("{\"containers\": {}}", Some("E0213")),
        ("containers: [{name: main, resources: {limits: {memory: 1GB}}}]", Some("E0213")),
        ("[]", Some("E0213")),
        // What a tag comes to is not known yet.
        ("{\"volumes\": [\"{{workflow.name}}\"]}", None),
        ("{{workflow.name}}", None),
    ] {
        let told = |place: &str| code.map(|code| format!("{code} {place}")).into_iter();
        assert_eq!(refusals(&own(patch)), told("7:19").collect::<Vec<_>>(), "{patch}");
        assert_eq!(
            refusals(&of_run(patch)),
            told("5:17").collect::<Vec<_>>(),
            "of the run: {patch}"
        );
    }
    // A container that a template does not have: known of the template's own patch alone.
    let other = "{\"containers\": [{\"name\": \"other\", \"image\": \"b\"}]}";
    assert_eq!(refusals(&own(other)), ["E0213 7:19"]);
    assert_eq!(refusals(&of_run(other)), Vec::<String>::new());
}

#[test]
fn what_a_template_calls_its_steps_is_judged_where_it_holds_no_tags() {
    check(&[(
        "  - name: main\n    annotations: {workflows.argoproj.io/display-name: a b}\n    container: {image: a}\n",
        "E0109 7:55",
    )]);
    for name in ["os-9.1", "'{{workflow.name}}'"] {
        let text = format!(
            "{HEAD}  - name: main\n    annotations: {{workflows.argoproj.io/display-name: {name}}}\n    container: {{image: a}}\n"
        );
        assert_eq!(refusals(&text), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_task_that_would_count_twice_is_refused() {
    let tasks = "  - name: main\n    dag:\n      tasks:\n      - {name: a, template: leaf}\n      - {name: b, template: leaf}\n";
    for (depends, refusal) in [
        ("atLeast(2, a, b)", None),
        ("atLeast(2, a, a)", Some("E0205 11:44")),
        ("atLeast(2, a.Failed, a.Errored, b)", Some("E0205 11:44")),
        ("any(a, a)", None),
    ] {
        let text = format!(
            "{HEAD}{tasks}      - {{name: c, template: leaf, depends: '{depends}'}}\n{LEAF}"
        );
        assert_eq!(refusals(&text), refusal.into_iter().collect::<Vec<_>>(), "{depends}");
    }
}
