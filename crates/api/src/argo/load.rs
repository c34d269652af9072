//! A file becomes objects that hold nothing this door does not know.

use std::sync::Arc;

use argosy_model::{Code, Diagnostic};
use serde_json::Value as Json;

use super::sink::Sink;
use super::yaml::{self, Node};
use super::{metadata, schema};

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A run to be.
    Workflow,
    /// Stored templates of a space.
    WorkflowTemplate,
    /// Stored templates of all spaces.
    ClusterWorkflowTemplate,
    /// Texts under keys.
    ConfigMap,
    /// Secret texts under keys.
    Secret,
}

impl Kind {
    const ALL: [Kind; 5] = [
        Kind::Workflow,
        Kind::WorkflowTemplate,
        Kind::ClusterWorkflowTemplate,
        Kind::ConfigMap,
        Kind::Secret,
    ];

    /// The word in the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.schema().name
    }

    fn schema(self) -> &'static schema::Object {
        match self {
            Kind::Workflow => &schema::WORKFLOW,
            Kind::WorkflowTemplate => &schema::WORKFLOW_TEMPLATE,
            Kind::ClusterWorkflowTemplate => &schema::CLUSTER_WORKFLOW_TEMPLATE,
            Kind::ConfigMap => &schema::CONFIG_MAP,
            Kind::Secret => &schema::SECRET,
        }
    }
}

/// Kinds that upstream or its manifests know and this door does not carry out.
const NOT_YET: [&str; 7] = [
    "CronWorkflow",
    "WorkflowEventBinding",
    "WorkflowTaskSet",
    "PersistentVolumeClaim",
    "ResourceQuota",
    "ResourceClaimTemplate",
    "ServiceAccount",
];

/// An object of a manifest.
#[derive(Clone, Debug)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// The file that it was read from, as the user named it.
    pub file: Arc<str>,
    /// Its name; empty where it has none of its own.
    pub name: String,
    /// What its name is to begin with, where it has none.
    pub generate_name: String,
    /// Its space; empty where it does not say.
    pub namespace: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// Its annotations.
    pub annotations: Vec<(String, String)>,
    /// The document, with nothing left out.
    pub json: Json,
    /// The document with its places.
    pub tree: Node,
}

/// What a file holds.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Its objects, in order.
    pub objects: Vec<Object>,
    /// What works but should be written in another way.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a file of YAML or JSON documents.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn load(file: &str, text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let documents = yaml::parse(file, text).map_err(|error| vec![error])?;
    let file: Arc<str> = file.into();
    let mut sink = Sink::new(&file);
    let mut objects = Vec::new();
    for tree in documents {
        if let Some(kind) = kind_of(&tree, &mut sink) {
            schema::check(kind.schema(), &tree, "", &mut sink);
            metadata::check(kind, &tree, &mut sink);
            objects.push(object(kind, &file, tree));
        }
    }
    if sink.errors.is_empty() {
        Ok(Loaded { objects, warnings: sink.warnings })
    } else {
        Err(sink.errors)
    }
}

fn kind_of(tree: &Node, sink: &mut Sink) -> Option<Kind> {
    let Some(node) = tree.get("kind") else {
        let what = "the document has no `kind`";
        sink.refuse(Code::UnknownKind, tree.mark, what).help =
            "write apiVersion: argoproj.io/v1alpha1 and kind: Workflow".into();
        return None;
    };
    let text = node.as_text().unwrap_or_default();
    let found = Kind::ALL.into_iter().find(|kind| kind.as_str() == text);
    if found.is_none() && NOT_YET.contains(&text) {
        let what = format!("objects of kind {text} are not supported yet");
        sink.refuse(Code::Unsupported, node.mark, what);
    } else if found.is_none() {
        let known = Kind::ALL.map(Kind::as_str).join(", ");
        sink.refuse(Code::UnknownKind, node.mark, format!("unknown kind {text:?}")).help =
            format!("the kinds are {known}");
    }
    found
}

fn object(kind: Kind, file: &Arc<str>, tree: Node) -> Object {
    let json = tree.to_json();
    let empty = Node { mark: tree.mark, value: yaml::Value::Null };
    let metadata = tree.get("metadata").unwrap_or(&empty);
    Object {
        kind,
        file: Arc::clone(file),
        name: metadata.text("name").to_owned(),
        generate_name: metadata.text("generateName").to_owned(),
        namespace: metadata.text("namespace").to_owned(),
        labels: metadata.pairs("labels"),
        annotations: metadata.pairs("annotations"),
        json,
        tree,
    }
}
