//! Upstream's own examples, where they are at hand: what upstream's CI runs becomes a run, what is
//! refused is refused with a code and a place, and nothing panics.

#![expect(clippy::print_stdout, reason = "the counts are what the test reports")]

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use argosy_api::argo::{Kind, Library, Loaded, Object, Shelf, SubmitOptions, load, to_run};
use argosy_engine::{Input, Run, decide, render, submit};
use argosy_model::{
    Archive, Artifact, AttemptId, Diagnostic, Effect, End, Exit, Location, Outputs, Phase, RunId,
    RunSpec,
};

/// The folder that holds `argo/examples`: named by `ARGOSY_CORPUS`, or beside the repository.
fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = std::env::var_os("ARGOSY_CORPUS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root.join("../shared/corpus")).join("argo");
    folder.join("examples").is_dir().then_some(folder)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "yaml") {
            found.push(path);
        }
    }
    found.sort();
}

fn read(corpus: &Path, name: &str) -> Result<Loaded, Vec<Diagnostic>> {
    load(name, &std::fs::read_to_string(corpus.join(name)).expect("the file is there"))
}

fn run(object: &Object, library: &dyn Library) -> Result<RunSpec, Vec<Diagnostic>> {
    let options = SubmitOptions { suffix: "x1".into(), ..SubmitOptions::default() };
    to_run(object, &options, library)
}

/// What is written down about a file: whether upstream's CI runs it, and what it needs.
fn expectations() -> BTreeMap<String, (bool, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/corpus/argo.toml");
    let text = std::fs::read_to_string(path).expect("the list is in the repository");
    let table: toml::Table = text.parse().expect("the list is TOML");
    let list = table["file"].as_array().expect("a list of files").iter();
    list.map(|file| {
        let gate = file.get("gate").and_then(toml::Value::as_bool).unwrap_or(false);
        let needs = file.get("needs").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let needs = needs.iter().filter_map(|need| need.as_str().map(str::to_owned)).collect();
        (file["path"].as_str().unwrap_or_default().to_owned(), (gate, needs))
    })
    .collect()
}

/// The runs of a file, the objects of the files that it needs being stored.
fn runs(corpus: &Path, path: &str, needs: &[String]) -> Result<Vec<RunSpec>, Vec<Diagnostic>> {
    let mut library = Shelf::default();
    for need in needs {
        read(corpus, need)?.objects.into_iter().for_each(|object| library.add(object));
    }
    let loaded = read(corpus, path)?;
    let workflows = loaded.objects.iter().filter(|object| object.kind == Kind::Workflow);
    workflows.map(|object| run(object, &library)).collect()
}

fn text(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("  {}\n", error.line())).collect()
}

#[test]
fn what_upstream_runs_in_its_own_ci_becomes_a_run() {
    let Some(corpus) = corpus() else { return };
    let mut failed = String::new();
    let (mut passed, mut gates) = (0, 0);
    for (path, (gate, needs)) in expectations() {
        let result = runs(&corpus, &path, &needs);
        gates += usize::from(gate);
        match result {
            Ok(_) => passed += usize::from(gate),
            Err(errors) if gate => failed.push_str(&format!("{path}\n{}", text(&errors))),
            Err(_) => {}
        }
    }
    println!("{passed} of {gates} files that upstream's CI runs become runs");
    assert!(failed.is_empty(), "{failed}");
    assert!(gates > 70, "the list names {gates} files");
}

#[test]
fn every_example_becomes_runs_or_is_refused_with_a_code_and_a_place() {
    let Some(corpus) = corpus() else { return };
    let mut paths = Vec::new();
    files(&corpus.join("examples"), &mut paths);
    let mut library = Shelf::default();
    let mut loads = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(&corpus).unwrap_or(path).display().to_string();
        let loaded = read(&corpus, &name);
        for object in loaded.iter().flat_map(|loaded| &loaded.objects) {
            library.add(object.clone());
        }
        loads.push((name, loaded));
    }
    let (mut accepted, mut refused) = (0, 0);
    for (name, loaded) in loads {
        let result = loaded.and_then(|loaded| {
            let runs = loaded.objects.iter().filter(|object| object.kind == Kind::Workflow);
            runs.map(|object| run(object, &library)).collect::<Result<Vec<_>, _>>()
        });
        match result {
            Ok(_) => accepted += 1,
            Err(errors) => {
                refused += 1;
                println!("{name}\n{}", text(&errors));
                for error in &errors {
                    let place = error.place.as_ref().expect("a place");
                    assert!(place.line > 0 && place.column > 0, "{name}: {}", error.line());
                    assert!(!error.what.is_empty(), "{name}");
                }
            }
        }
    }
    println!("{accepted} of {} examples are accepted, {refused} refused", accepted + refused);
    assert!(accepted + refused > 200, "the corpus is complete");
}

/// Carries a run out with processes that all succeed, and write every output they declare.
fn carry_out(spec: RunSpec) -> Run {
    let (mut run, decision) = submit(RunId(1), spec, 1_000);
    let mut effects = VecDeque::from(decision.effects);
    for now_ms in 1_001..20_000 {
        let Some(effect) = effects.pop_front() else { break };
        let inputs = match effect {
            Effect::Enqueue(job) => vec![Input::Placed { attempt: job.attempt, machine: 0 }],
            Effect::Start(attempt) => {
                let end = Box::new(end_of(&run, attempt));
                vec![Input::Started { attempt, at_ms: now_ms }, Input::Ended { attempt, end }]
            }
            _ => continue,
        };
        for input in inputs {
            effects.extend(decide(&mut run, input, now_ms).effects);
        }
    }
    run
}

fn end_of(run: &Run, attempt: AttemptId) -> End {
    let (name, process) = match render(run, attempt) {
        Ok(rendered) => (rendered.name, rendered.process),
        Err(why) => return End::with_error(Exit::Refused, &why),
    };
    let key = "k".to_owned();
    let blob =
        Artifact { at: Location::Blob { key }, archive: Archive::Default, sub_path: String::new() };
    // Two examples look into what a step prints.
    let result = match name {
        name if name.contains("flip-coin") => "heads",
        name if name.contains("odd-or-even") => r#"{"num": 1, "evenness": "odd"}"#,
        _ => "1",
    };
    let parameters = process.outputs.parameters.iter();
    let artifacts = process.outputs.artifacts.iter();
    let outputs = Outputs {
        result: Some(result.into()),
        parameters: parameters.map(|p| (p.name.as_str().into(), written(&p.name).into())).collect(),
        artifacts: artifacts.map(|a| (a.name.as_str().into(), blob.clone())).collect(),
        exit_code: None,
    };
    End { outputs, ..End::bare(Exit::Code(0)) }
}

/// One example asks for what an earlier step writes.
fn written(parameter: &str) -> &'static str {
    if parameter == "resources" { r#"{"memory": "1Gi"}"# } else { "1" }
}

#[test]
fn every_tag_of_what_upstream_runs_has_a_value_when_it_is_needed() {
    let Some(corpus) = corpus() else { return };
    let mut unresolved = String::new();
    for (path, (_, needs)) in expectations().into_iter().filter(|(_, (gate, _))| *gate) {
        for run in runs(&corpus, &path, &needs).unwrap_or_default() {
            let run = carry_out(run);
            for step in run.steps.iter().filter(|step| step.phase == Phase::Error) {
                let message = step.message.as_deref().unwrap_or_default();
                unresolved.push_str(&format!("{path}: {message}\n"));
            }
        }
    }
    assert!(unresolved.is_empty(), "{unresolved}");
}
