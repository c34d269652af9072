//! What manifests become. Expected graphs are worked out from upstream's rules.

use argosy_model::artifact::Archive;
use argosy_model::graph::{
    ArtifactSource, Body, Each, Graph, Lock, OutputFrom, RetryPolicy, Target,
};
use argosy_model::process::{EnvValue, VolumeSource};

use super::support::{HEAD, LEAF, graph, graph_of, options, run, submit};

fn template<'g>(graph: &'g Graph, name: &str) -> &'g argosy_model::graph::Template {
    graph.templates.iter().find(|template| template.name == name).expect("the template is there")
}

fn call<'g>(graph: &'g Graph, name: &str) -> &'g argosy_model::graph::Call {
    let calls = graph.templates.iter().flat_map(|template| match &template.body {
        Body::Steps(groups) => groups.iter().flatten().collect::<Vec<_>>(),
        Body::Dag(dag) => dag.tasks.iter().collect(),
        _ => Vec::new(),
    });
    calls.into_iter().find(|call| call.name == name).expect("the call is there")
}

fn target<'g>(graph: &'g Graph, target: &'g Target) -> &'g str {
    match target {
        Target::Template(at) => &graph.templates[*at as usize].name,
        Target::Named { name, .. } => name,
    }
}

#[test]
fn a_container_becomes_a_process() {
    let text = format!(
        "{HEAD}  - name: main\n    container:\n      image: busybox\n      command: [sh, -c]\n      args: [echo hi]\n      workingDir: /w\n      env:\n      - {{name: A, value: '1'}}\n      - {{name: B, valueFrom: {{secretKeyRef: {{name: s, key: k}}}}}}\n      resources: {{requests: {{cpu: 250m}}, limits: {{cpu: 1, memory: 1Gi, nvidia.com/gpu: 2}}}}\n      volumeMounts: [{{name: v, mountPath: /v, readOnly: true}}]\n    initContainers: [{{name: i, image: a, mirrorVolumeMounts: true, resources: {{requests: {{cpu: 2}}}}}}]\n    sidecars: [{{name: s, image: b, resources: {{requests: {{cpu: 250m}}}}}}]\n    volumes: [{{name: v, emptyDir: {{}}}}, {{name: unused, emptyDir: {{}}}}]\n"
    );
    let graph = graph(&text);
    let Body::Process(process) = &template(&graph, "main").body else { panic!("a process") };
    assert_eq!(process.main.command, ["sh", "-c"]);
    assert_eq!(process.main.args, ["echo hi"]);
    assert_eq!(process.main.working_dir, "/w");
    assert_eq!(process.main.env[0].value, EnvValue::Text("1".into()));
    assert!(matches!(&process.main.env[1].value, EnvValue::Secret(key) if key.key == "k"));
    // main 250m + sidecar 250m run together; the init container's 2 are more.
    assert_eq!(process.resources.cpu_milli, 2_000);
    assert_eq!(
        process.resources.memory_bytes,
        1 << 30,
        "a limit counts where nothing is requested"
    );
    assert_eq!(process.resources.gpus, 2);
    assert_eq!(process.init[0].mounts, process.main.mounts);
    assert_eq!(process.volumes.len(), 1, "volumes that nobody mounts are left out");
    assert_eq!(process.volumes[0].source, VolumeSource::EmptyDir);
}

#[test]
fn a_list_of_items_is_judged_as_json() {
    // Go's reader takes the last of two equal keys, and any size of number.
    for list in [r#"[{"a": 1, "a": 2}]"#, "[1E400, 1]", " [] "] {
        let text = format!(
            "{HEAD}  - name: main\n    steps: [[{{name: a, template: leaf, withParam: '{list}'}}]]\n{LEAF}"
        );
        assert_eq!(call(&graph(&text), "a").each, Some(Each::Param(list.to_owned())));
    }
}

#[test]
fn steps_tasks_and_dependencies_become_calls() {
    let text = format!(
        "{HEAD}  - name: main\n    steps:\n    - - {{name: a, template: leaf}}\n      - {{name: b, template: leaf, withItems: [1, {{k: v}}]}}\n    - - {{name: c, template: dag, continueOn: {{failed: true}}, when: 'true'}}\n  - name: dag\n    failFast: true\n    dag:\n      failFast: false\n      target: d e\n      tasks:\n      - {{name: d, template: leaf, withSequence: {{count: '3', format: x%d}}}}\n      - {{name: e, template: leaf, dependencies: [d]}}\n      - {{name: f, template: leaf, dependencies: [d, e]}}\n{LEAF}"
    );
    let graph = graph(&text);
    let Body::Steps(groups) = &template(&graph, "main").body else { panic!("steps") };
    let names: Vec<Vec<&str>> =
        groups.iter().map(|group| group.iter().map(|call| &*call.name).collect()).collect();
    assert_eq!(names, [vec!["a", "b"], vec!["c"]]);
    let items = vec![serde_json::json!(1), serde_json::json!({"k": "v"})];
    assert_eq!(call(&graph, "b").each, Some(Each::Items(items)));
    assert!(call(&graph, "c").continue_on_failed && !call(&graph, "c").continue_on_error);
    assert_eq!(call(&graph, "c").when.as_deref(), Some("true"));
    let Body::Dag(dag) = &template(&graph, "dag").body else { panic!("a DAG") };
    assert_eq!((dag.fail_fast, dag.target.as_deref()), (Some(false), Some("d e")));
    assert_eq!(call(&graph, "e").depends.as_deref(), Some("d"));
    assert_eq!(call(&graph, "f").depends.as_deref(), Some("d && e"));
    assert!(
        matches!(&call(&graph, "d").each, Some(Each::Sequence(s)) if s.count.as_deref() == Some("3"))
    );
}

#[test]
fn parameters_are_kept_as_upstream_reads_them() {
    let text = format!(
        "{}  arguments:\n    parameters:\n    - {{name: a, value: 1.10}}\n    - {{name: b, value: 0644}}\n    - {{name: c, value: yes}}\n    - {{name: d, value: '1.10'}}\n    - {{name: e, default: x}}\n  templates:\n  - name: main\n    suspend: {{}}\n",
        HEAD.replace("  templates:\n", "")
    );
    let graph = graph(&text);
    let values: Vec<_> =
        graph.arguments.parameters.iter().filter_map(|p| p.value.as_deref()).collect();
    assert_eq!(values, ["1.1", "420", "true", "1.10", "x"]);
}

#[test]
fn what_is_given_at_submit_comes_first() {
    let text = format!(
        "{}  arguments: {{parameters: [{{name: a, value: x, enum: [x, w]}}]}}\n  templates:\n{LEAF}  - name: other\n    suspend: {{}}\n",
        HEAD.replace("  templates:\n", "")
            .replace("main", "leaf")
            .replace("name: wf", "generateName: g-, labels: {l: 1s}")
    );
    let mut given = options();
    given.parameters = vec![("a".into(), "w".into()), ("b".into(), "new".into())];
    given.entrypoint = "other".into();
    given.labels = vec![("l".into(), "2".into())];
    given.namespace = "team".into();
    given.priority = Some(7);
    let run = submit(&text, &given).expect("it is right");
    assert_eq!((&*run.name, &*run.space, run.priority), ("g-x7", "team", 7));
    assert_eq!(run.labels, [("l".to_owned(), "2".to_owned())]);
    let parameters = run.source.pointer("/spec/arguments/parameters").cloned();
    let shown = serde_json::json!([
        {"name": "a", "value": "w", "enum": ["x", "w"]},
        {"name": "b", "value": "new"},
    ]);
    assert_eq!(parameters, Some(shown));
    let graph = graph_of(run);
    assert_eq!(graph.globals.main_entrypoint, "other");
    assert_eq!(graph.templates[graph.entrypoint as usize].name, "other");
    given.parameters = vec![("a".into(), "z".into())];
    let errors = submit(&text, &given).expect_err("z is not allowed");
    assert_eq!(errors[0].code.as_str(), "E0209");
}

#[test]
fn exit_handlers_and_hooks_have_one_form() {
    let text = format!(
        "{}  onExit: leaf\n  hooks: {{running: {{template: leaf, expression: workflow.status == 'Running'}}}}\n  templates:\n  - name: main\n    steps:\n    - - {{name: a, template: leaf, onExit: leaf, arguments: {{parameters: [{{name: p, value: v}}]}}}}\n    - - {{name: b, template: leaf, hooks: {{exit: {{template: leaf, expression: steps.b.status == 'Failed'}}}}}}\n{LEAF}",
        HEAD.replace("  templates:\n", "")
    );
    let graph = graph(&text);
    assert_eq!(graph.on_exit.as_deref().map(|call| target(&graph, &call.target)), Some("leaf"));
    assert_eq!(graph.hooks[0].expression, "workflow.status == 'Running'");
    let hook = &call(&graph, "a").hooks[0];
    assert_eq!((&*hook.name, &*hook.expression), ("exit", ""));
    assert_eq!(hook.call.arguments, call(&graph, "a").arguments, "it is given what its step is");
    let hook = &call(&graph, "b").hooks[0];
    assert_eq!((&*hook.name, &*hook.expression), ("exit", ""));
    assert_eq!(hook.call.when.as_deref(), Some("{{=steps.b.status == 'Failed'}}"));
}

#[test]
fn retries_have_upstreams_policy() {
    let with = |retry: &str| {
        let text = format!(
            "{HEAD}  - name: main\n    retryStrategy: {retry}\n    container: {{image: a}}\n"
        );
        graph(&text).templates[0].retry.clone().expect("it is tried again")
    };
    for (retry, policy) in [
        ("{limit: 2}", RetryPolicy::OnFailure),
        ("{expression: 'true'}", RetryPolicy::Always),
        ("{expression: 'true', retryPolicy: OnError}", RetryPolicy::OnError),
        ("{retryPolicy: OnTransientError}", RetryPolicy::OnTransientError),
    ] {
        assert_eq!(with(retry).policy, policy, "{retry}");
    }
    let retry =
        with("{limit: '{{=1 + 1}}', backoff: {duration: 1s, factor: 2, cap: 1m, maxDuration: 1h}}");
    assert_eq!(retry.limit.as_deref(), Some("{{=1 + 1}}"));
    let backoff = (retry.backoff.as_deref(), retry.factor.as_deref(), retry.cap.as_deref());
    assert_eq!(backoff, (Some("1s"), Some("2"), Some("1m")));
    assert_eq!(retry.max_duration.as_deref(), Some("1h"));
}

#[test]
fn defaults_of_the_spec_reach_the_templates() {
    let text = format!(
        "{}  retryStrategy: {{limit: 9}}\n  templateDefaults:\n    timeout: 30s\n    container: {{image: fallback, env: [{{name: A, value: a}}]}}\n  templates:\n  - name: main\n    steps: [[{{name: a, template: leaf}}]]\n  - name: leaf\n    container: {{command: [x], env: [{{name: B, value: b}}]}}\n",
        HEAD.replace("  templates:\n", "")
    );
    let graph = graph(&text);
    let leaf = template(&graph, "leaf");
    assert_eq!(leaf.timeout.as_deref(), Some("30s"));
    assert_eq!(leaf.retry.as_ref().and_then(|retry| retry.limit.as_deref()), Some("9"));
    let Body::Process(process) = &leaf.body else { panic!("a process") };
    assert_eq!(process.main.image, "fallback");
    let names: Vec<_> = process.main.env.iter().map(|var| &*var.name).collect();
    assert_eq!(names, ["A", "B"]);
    let main = template(&graph, "main");
    assert!(main.timeout.is_none() && main.retry.is_none());
    assert!(matches!(main.body, Body::Steps(_)));
}

#[test]
fn inputs_and_outputs_keep_their_sources() {
    let text = format!(
        "{HEAD}  - name: main\n    inputs:\n      artifacts:\n      - {{name: r, path: /r, raw: {{data: x}}, mode: 0755, archive: {{none: {{}}}}}}\n      - {{name: o, path: /o, optional: true}}\n    container: {{image: a}}\n    outputs:\n      parameters:\n      - {{name: p, valueFrom: {{path: /p, default: 7}}, globalName: g}}\n      - {{name: e, valueFrom: {{expression: '1 + 1'}}}}\n      artifacts:\n      - {{name: k, path: /k, s3: {{key: 'a/{{{{workflow.name}}}}'}}, archive: {{tar: {{compressionLevel: 0}}}}}}\n"
    );
    let graph = graph(&text);
    let main = template(&graph, "main");
    let raw = &main.inputs.artifacts[0];
    assert_eq!(raw.argument.source, ArtifactSource::Raw("x".into()));
    assert_eq!((raw.mode, raw.argument.archive), (Some(0o755), Archive::None));
    assert!(main.inputs.artifacts[1].argument.optional);
    let output = &main.outputs.parameters[0];
    assert_eq!(
        (&output.from, output.default.as_deref()),
        (&OutputFrom::Path("/p".into()), Some("7"))
    );
    assert_eq!(output.global_name, "g");
    assert_eq!(main.outputs.parameters[1].from, OutputFrom::Expression("1 + 1".into()));
    let key = &main.outputs.artifacts[0];
    assert_eq!(key.source, ArtifactSource::Key("a/{{workflow.name}}".into()));
    assert_eq!(key.archive, Archive::Tar(0));
}

#[test]
fn stored_templates_are_resolved_in_their_own_scope() {
    let stored = "---\nkind: WorkflowTemplate\nmetadata: {name: lib}\nspec:\n  templates:\n  - name: outer\n    steps: [[{name: in, template: inner}]]\n  - name: inner\n    container: {image: a}\n  - name: unused\n    container: {image: a}\n---\nkind: ClusterWorkflowTemplate\nmetadata: {name: lib}\nspec:\n  templates:\n  - name: outer\n    suspend: {}\n";
    let text = format!(
        "{HEAD}  - name: main\n    steps:\n    - - {{name: a, templateRef: {{name: lib, template: outer}}}}\n      - {{name: b, templateRef: {{name: lib, template: outer, clusterScope: true}}}}\n      - {{name: c, inline: {{suspend: {{}}}}}}\n  - name: inner\n    suspend: {{}}\n{stored}"
    );
    let graph = graph(&text);
    let shown: Vec<(&str, &str)> = graph.templates.iter().map(|t| (&*t.scope, &*t.name)).collect();
    assert_eq!(
        shown,
        [
            ("", "main"),
            ("", "inner"),
            ("WorkflowTemplate/lib", "outer"),
            ("ClusterWorkflowTemplate/lib", "outer"),
            ("", ""),
            ("WorkflowTemplate/lib", "inner"),
        ]
    );
    let Target::Template(at) = call(&graph, "in").target else { panic!("it is resolved") };
    assert_eq!(graph.templates[at as usize].scope, "WorkflowTemplate/lib");
    assert!(matches!(graph.templates[3].body, Body::Suspend { .. }));
}

#[test]
fn a_template_named_by_a_tag_is_found_later_in_its_scope() {
    let text = format!(
        "{HEAD}  - name: main\n    steps: [[{{name: a, template: '{{{{item}}}}', withItems: [leaf]}}]]\n{LEAF}"
    );
    let graph = graph(&text);
    let named = Target::Named { scope: String::new(), name: "{{item}}".into() };
    assert_eq!(call(&graph, "a").target, named);
}

#[test]
fn a_workflow_may_be_nothing_but_a_reference() {
    let text = "kind: Workflow\nmetadata: {generateName: w-}\nspec:\n  workflowTemplateRef: {name: lib}\n  arguments: {parameters: [{name: p, value: mine}]}\n---\nkind: WorkflowTemplate\nmetadata: {name: lib}\nspec:\n  entrypoint: main\n  arguments: {parameters: [{name: p, value: theirs}, {name: q, value: kept}]}\n  templates:\n  - name: main\n    suspend: {}\n";
    let run = run(text);
    let label = ("workflows.argoproj.io/workflow-template".to_owned(), "lib".to_owned());
    assert_eq!(run.labels, [label]);
    let graph = graph_of(run);
    let values: Vec<_> = graph
        .arguments
        .parameters
        .iter()
        .map(|p| (&*p.name, p.value.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(values, [("p", "mine"), ("q", "kept")]);
    assert_eq!(graph.templates[0].scope, "", "its templates are the run's own");
}

#[test]
fn config_maps_are_looked_up_at_submit() {
    let maps = "---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: from-c}\n---\nkind: ConfigMap\nmetadata: {name: d}\ndata: {k: from-d}\n";
    let text = format!(
        "{}  arguments:\n    parameters:\n    - {{name: p, valueFrom: {{configMapKeyRef: {{name: c, key: k}}}}}}\n    - {{name: q, valueFrom: {{configMapKeyRef: {{name: c, key: none}}, default: dflt}}}}\n    - {{name: map, value: d}}\n  templates:\n  - name: main\n    inputs:\n      parameters:\n      - {{name: i, valueFrom: {{configMapKeyRef: {{name: '{{{{workflow.parameters.map}}}}', key: k}}}}}}\n    container: {{image: a}}\n{maps}",
        HEAD.replace("  templates:\n", "")
    );
    let graph = graph(&text);
    let values: Vec<_> =
        graph.arguments.parameters.iter().filter_map(|p| p.value.as_deref()).collect();
    assert_eq!(values, ["from-c", "dflt", "d"]);
    assert_eq!(graph.config_maps, [("d".to_owned(), vec![("k".to_owned(), "from-d".to_owned())])]);
}

#[test]
fn what_holds_for_the_whole_run_is_kept() {
    let text = format!(
        "{}  activeDeadlineSeconds: 60\n  parallelism: 2\n  suspend: true\n  archiveLogs: true\n  priority: 3\n  serviceAccountName: sa\n  ttlStrategy: {{secondsAfterCompletion: 1, secondsAfterFailure: 3}}\n  synchronization: {{mutexes: [{{name: m}}]}}\n  podMetadata: {{labels: {{a: x, b: x}}}}\n  workflowMetadata: {{labels: {{w: 1s}}, labelsFrom: {{v: {{expression: workflow.name}}}}}}\n  podSpecPatch: '{{\"a\": 1}}'\n  templates:\n  - name: main\n    metadata: {{labels: {{b: own, c: x}}}}\n    memoize: {{key: k, maxAge: 1h, cache: {{configMap: {{name: m}}}}}}\n    container: {{image: a}}\n",
        HEAD.replace("  templates:\n", "")
    );
    let run = run(&text);
    assert_eq!(
        (run.priority, run.labels.as_slice()),
        (3, &[("w".to_owned(), "1s".to_owned())][..])
    );
    let graph = graph_of(run);
    assert_eq!((graph.active_deadline_s, graph.parallelism), (Some(60), Some(2)));
    assert!(graph.suspend && graph.archive_logs);
    assert_eq!(graph.ttl_s, [Some(1), None, Some(3)]);
    assert_eq!(graph.locks, [Lock::Mutex { name: "m".into() }]);
    assert_eq!(graph.globals.service_account, "sa");
    assert_eq!(graph.labels_from, [("v".to_owned(), "workflow.name".to_owned())]);
    let main = &graph.templates[0];
    let labels: Vec<_> = main.labels.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(labels, [("a", "x"), ("b", "own"), ("c", "x")]);
    let memo = main.memo.as_ref().expect("it is looked up");
    assert_eq!((&*memo.key, &*memo.cache, memo.max_age.as_deref()), ("k", "m", Some("1h")));
    let Body::Process(process) = &main.body else { panic!("a process") };
    assert_eq!(process.patches, [serde_json::json!({"a": 1})]);
}
