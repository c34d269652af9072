//! What upstream refuses before it runs a workflow (argo-workflows
//! `workflow/validate/validate.go`), on the resolved graph.

mod dag;

pub(crate) use dag::cycle;

use argosy_model::graph::{Body, Graph};

use super::resolve::Build;

/// Checks a resolved graph.
pub(crate) fn graph(build: &mut Build<'_>, graph: &Graph) {
    for (at, template) in graph.templates.iter().enumerate() {
        let Some(slot) = build.slots.get(at).cloned() else { continue };
        if let Body::Dag(dag) = &template.body {
            dag::check(build, &slot, dag);
        }
    }
}
