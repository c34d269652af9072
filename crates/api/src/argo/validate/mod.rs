//! What upstream refuses before it runs a workflow (argo-workflows
//! `workflow/validate/validate.go`), on the resolved graph.

mod calls;
mod dag;
mod names;
mod siblings;
mod tags;

pub(crate) use dag::circle;

use argosy_model::graph::Graph;

use super::resolve::Build;

/// Checks a resolved graph.
pub(crate) fn graph(build: &mut Build<'_>, graph: &Graph) {
    calls::check(build, graph);
    tags::check(build, graph);
}
