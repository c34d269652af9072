//! A workflow and what it refers to become one run that stands alone.

mod build;
mod calls;
mod io;
mod locks;
mod merge;
pub(crate) mod names;
mod patches;
mod process;
mod retry;
mod run;
mod source;
mod template;
mod volumes;

use std::sync::Arc;

use argosy_model::run::Plan;
use argosy_model::{Code, Diagnostic, Graph, RunSpec, limits};

pub(crate) use build::{Build, Slot};
use run::Identity;

use super::library::Library;
use super::load::{Kind, Object};
use super::sink::Sink;
use super::validate;
use super::yaml::{Node, Value};

/// What is said at submit, over what the manifest says. Empty texts say nothing.
#[derive(Clone, Debug, Default)]
pub struct SubmitOptions {
    /// The run's name.
    pub name: String,
    /// What the run's name begins with.
    pub generate_name: String,
    /// What makes a generated name unique; the caller draws it.
    pub suffix: String,
    /// The run's UUID; the caller draws it.
    pub uid: String,
    /// The space; `default` where nobody says.
    pub namespace: String,
    /// The template to begin with.
    pub entrypoint: String,
    /// Parameters of the run.
    pub parameters: Vec<(String, String)>,
    /// Labels on top of the manifest's.
    pub labels: Vec<(String, String)>,
    /// Annotations on top of the manifest's.
    pub annotations: Vec<(String, String)>,
    /// The order among runs that compete.
    pub priority: Option<i32>,
    /// The service account that `workflow.serviceAccountName` tells.
    pub service_account: String,
    /// Whether this is only a check: parameters of the run may lack values.
    pub lint: bool,
}

/// Resolves and validates a workflow. A stored template is taken for a workflow that refers to it.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn to_run(
    workflow: &Object,
    options: &SubmitOptions,
    library: &dyn Library,
) -> Result<RunSpec, Vec<Diagnostic>> {
    let (identity, graph, spec) = resolve(workflow, options, library)?;
    let space = space_of(workflow, options);
    let priority = spec.int("priority").and_then(|number| i32::try_from(number).ok());
    let source = source::of_run(workflow, space, &identity, &graph);
    Ok(RunSpec {
        space: space.to_owned(),
        name: identity.name,
        uid: options.uid.clone(),
        door: "argo".to_owned(),
        labels: identity.labels,
        priority: options.priority.or(priority).unwrap_or_default(),
        plan: Plan::Graph(Box::new(graph)),
        source,
    })
}

fn space_of<'o>(workflow: &'o Object, options: &'o SubmitOptions) -> &'o str {
    let given = [&options.namespace, &workflow.namespace];
    given.into_iter().find(|name| !name.is_empty()).map_or("default", |name| name)
}

/// The graph of a workflow, checked, with its names and its whole spec.
pub(super) fn resolve(
    workflow: &Object,
    options: &SubmitOptions,
    library: &dyn Library,
) -> Result<(Identity, Graph, Arc<Node>), Vec<Diagnostic>> {
    let mut sink = Sink::new(&workflow.file);
    let space = space_of(workflow, options);
    let Some(spec) = spec_of(workflow, space, library, &mut sink) else {
        return Err(sink.errors);
    };
    let mut build = Build::new(sink, library, space.to_owned(), spec);
    // A stored template that is only checked is checked for whoever will call it.
    build.is_open = options.lint && workflow.kind != Kind::Workflow;
    let identity = build.identity(workflow, options);
    let graph = build.graph(options, &identity);
    // What is too large is not looked at any closer.
    if build.sink.errors.iter().all(|error| error.code != Code::TooLarge) {
        validate::graph(&mut build, &graph);
    }
    let Build { sink, spec, .. } = build;
    if sink.errors.is_empty() { Ok((identity, graph, spec)) } else { Err(sink.errors) }
}

/// The workflow's spec, on top of that of the template that it refers to
/// (argo-workflows `workflow/util/merge.go` `JoinWorkflowSpec`).
fn spec_of(workflow: &Object, space: &str, library: &dyn Library, sink: &mut Sink) -> Option<Node> {
    let empty = Node { mark: workflow.tree.mark, value: Value::Map(Vec::new()) };
    let spec = workflow.tree.get("spec").cloned();
    if !matches!(
        workflow.kind,
        Kind::Workflow | Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate
    ) {
        let what = format!("a {} cannot be run", workflow.kind.as_str());
        sink.refuse(Code::UnknownKind, workflow.tree.mark, what);
        return None;
    }
    let Some(spec) = spec else {
        sink.refuse(Code::MissingField, workflow.tree.mark, "the object has no `spec`");
        return Some(empty);
    };
    let Some(reference) = spec.get("workflowTemplateRef") else { return Some(spec) };
    if let Some(templates) = spec.get("templates").filter(|list| !list.items().is_empty()) {
        let what = "`templates` and `workflowTemplateRef` exclude each other";
        sink.refuse(Code::Conflict, templates.mark, what);
    }
    let kind = match reference.flag("clusterScope") {
        true => Kind::ClusterWorkflowTemplate,
        false => Kind::WorkflowTemplate,
    };
    let name = reference.text("name");
    let Some(stored) = library.get(kind, space, name) else {
        let what = format!("there is no {} `{name}`", kind.as_str());
        let mark = reference.get("name").unwrap_or(reference).mark;
        sink.refuse(Code::TemplateNotFound, mark, what).help =
            "create it first, or give its file as well".into();
        return None;
    };
    let file = sink.file(&stored.file);
    let base = stored.tree.get("spec").map(|spec| spec.of_file(file)).unwrap_or(empty);
    Some(merge::merge(&base, &spec))
}

impl Build<'_> {
    /// Name, labels and annotations of the run.
    fn identity(&mut self, workflow: &Object, options: &SubmitOptions) -> Identity {
        let metadata = self.spec.get("workflowMetadata").cloned();
        let from_spec = |key: &str| metadata.as_ref().map(|m| m.pairs(key)).unwrap_or_default();
        let mut labels = from_spec("labels");
        let mut annotations = from_spec("annotations");
        let is_run = workflow.kind == Kind::Workflow;
        if is_run {
            extend(&mut labels, &workflow.labels);
            extend(&mut annotations, &workflow.annotations);
        }
        extend(&mut labels, &self.template_label(workflow));
        extend(&mut labels, &options.labels);
        extend(&mut annotations, &options.annotations);
        let generate = |prefix: &str| format!("{prefix}{}", options.suffix);
        let name = match (&*options.name, &*options.generate_name, &*workflow.name) {
            ("", "", "") => generate(&workflow.generate_name),
            ("", "", own) if is_run => own.to_owned(),
            ("", "", own) => generate(&format!("{own}-")),
            ("", prefix, _) => generate(prefix),
            (name, ..) => name.to_owned(),
        };
        let at = workflow.tree.at(&["metadata", "name"]);
        let mark = at.or_else(|| workflow.tree.get("metadata")).unwrap_or(&workflow.tree).mark;
        if let Err(long) = limits::NAME_BYTES.check(name.len() as u64, "the run's name") {
            self.sink.refuse(long.code, mark, long.what);
        } else if let Err(why) = names::object(&name) {
            let what = format!("the run's name {name:?} is not allowed");
            self.sink.refuse(Code::BadName, mark, what).help = why.into();
        }
        let own = if is_run { &workflow.labels[..] } else { &[] };
        self.judge_labels(own.iter().chain(&options.labels), workflow);
        Identity { name, labels, annotations }
    }

    fn judge_labels<'a>(
        &mut self,
        labels: impl Iterator<Item = &'a (String, String)>,
        workflow: &Object,
    ) {
        let given = workflow.tree.at(&["metadata", "labels"]);
        for (key, value) in labels {
            let node = given.and_then(|labels| labels.get(key)).or(given);
            let mark = node.unwrap_or(&workflow.tree).mark;
            let judged =
                names::label_key(key).map_err(|why| (format!("{key:?} is not a key"), why));
            let judged = judged.and_then(|()| {
                let what = || format!("the value {value:?} of {key:?} is not one");
                names::label_value(value).map_err(|why| (what(), why))
            });
            if let Err((what, why)) = judged {
                self.sink.refuse(Code::BadName, mark, format!("{what} of a label")).help =
                    why.into();
            }
        }
    }

    /// The label by which runs of a stored template are found (argo-workflows
    /// `workflow/common/common.go` `LabelKeyWorkflowTemplate`).
    fn template_label(&self, workflow: &Object) -> Vec<(String, String)> {
        let reference = self.spec.get("workflowTemplateRef");
        let (is_cluster, name) = match (workflow.kind, reference) {
            (Kind::Workflow, Some(reference)) => {
                (reference.flag("clusterScope"), reference.text("name"))
            }
            (Kind::WorkflowTemplate, _) => (false, &*workflow.name),
            (Kind::ClusterWorkflowTemplate, _) => (true, &*workflow.name),
            _ => return Vec::new(),
        };
        let kind = if is_cluster { "cluster-workflow-template" } else { "workflow-template" };
        vec![(format!("workflows.argoproj.io/{kind}"), name.to_owned())]
    }
}

/// Adds pairs, in place of those with the same key.
fn extend(list: &mut Vec<(String, String)>, more: &[(String, String)]) {
    for (key, value) in more {
        match list.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => known.clone_from(value),
            None => list.push((key.clone(), value.clone())),
        }
    }
}
