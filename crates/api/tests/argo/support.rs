//! Manifests in few words.

use argosy_api::argo::{Kind, Shelf, SubmitOptions, load, to_run};
use argosy_model::run::Plan;
use argosy_model::{Diagnostic, Graph, RunSpec};

/// The five lines before the templates of a workflow; what follows begins in line 6.
pub const HEAD: &str =
    "kind: Workflow\nmetadata: {name: wf}\nspec:\n  entrypoint: main\n  templates:\n";

/// A template that does something.
pub const LEAF: &str = "  - name: leaf\n    container: {image: busybox, command: [echo]}\n";

pub fn options() -> SubmitOptions {
    SubmitOptions { suffix: "x7".into(), uid: "u".into(), ..SubmitOptions::default() }
}

/// Runs the first workflow of a text, the other objects being stored.
pub fn submit(text: &str, options: &SubmitOptions) -> Result<RunSpec, Vec<Diagnostic>> {
    let loaded = load("a.yaml", text)?;
    let mut library = Shelf::default();
    loaded.objects.iter().for_each(|object| library.add(object.clone()));
    let workflow = loaded.objects.iter().find(|object| object.kind == Kind::Workflow);
    to_run(workflow.expect("the text holds a workflow"), options, &library)
}

pub fn run(text: &str) -> RunSpec {
    submit(text, &options()).unwrap_or_else(|errors| panic!("{text}\n{}", lines(&errors)))
}

pub fn graph_of(run: RunSpec) -> Graph {
    match run.plan {
        Plan::Graph(graph) => *graph,
        Plan::Task(_) => panic!("the run is a graph"),
    }
}

pub fn graph(text: &str) -> Graph {
    graph_of(run(text))
}

pub fn lines(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| error.line() + "\n").collect()
}

/// What is wrong with a text, each as `CODE line:column`.
pub fn refusals(text: &str) -> Vec<String> {
    let errors = match submit(text, &options()) {
        Ok(_) => return Vec::new(),
        Err(errors) => errors,
    };
    let shown = errors.iter().map(|error| {
        let place = error.place.as_ref().expect("a refusal has a place");
        format!("{} {}:{}", error.code, place.line, place.column)
    });
    shown.collect()
}
