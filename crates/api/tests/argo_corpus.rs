//! Upstream's own examples, where they are at hand: what upstream's CI runs becomes a run, what is
//! refused is refused with a code and a place, and nothing panics.

#![expect(clippy::print_stdout, reason = "the counts are what the test reports")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use argosy_api::argo::{Kind, Library, Loaded, Object, Shelf, SubmitOptions, load, to_run};
use argosy_model::{Diagnostic, RunSpec};

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

fn text(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("  {}\n", error.line())).collect()
}

#[test]
fn what_upstream_runs_in_its_own_ci_becomes_a_run() {
    let Some(corpus) = corpus() else { return };
    let mut failed = String::new();
    let (mut passed, mut gates) = (0, 0);
    for (path, (gate, needs)) in expectations() {
        let mut library = Shelf::default();
        for need in &needs {
            let loaded = read(&corpus, need).unwrap_or_else(|e| panic!("{need}: {}", text(&e)));
            loaded.objects.into_iter().for_each(|object| library.add(object));
        }
        let result = read(&corpus, &path).and_then(|loaded| {
            let workflows = loaded.objects.iter().filter(|object| object.kind == Kind::Workflow);
            workflows.map(|object| run(object, &library)).collect::<Result<Vec<_>, _>>()
        });
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
