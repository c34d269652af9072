//! Documents and their metadata.

use super::spec::SPEC;
use super::{Field, Kind, Object, ignored, why, works};

const API_VERSION: Field = works("apiVersion", Kind::Text);
const KIND: Field = works("kind", Kind::Text);
const METADATA_FIELD: Field = works("metadata", Kind::One(&METADATA));
const SPEC_FIELD: Field = works("spec", Kind::One(&SPEC));

/// A run to be.
pub static WORKFLOW: Object = Object {
    name: "Workflow",
    fields: &[API_VERSION, KIND, METADATA_FIELD, SPEC_FIELD, ignored("status", why::SERVER)],
};

/// Stored templates of a space.
pub static WORKFLOW_TEMPLATE: Object =
    Object { name: "WorkflowTemplate", fields: &[API_VERSION, KIND, METADATA_FIELD, SPEC_FIELD] };

/// Stored templates of all spaces.
pub static CLUSTER_WORKFLOW_TEMPLATE: Object = Object {
    name: "ClusterWorkflowTemplate",
    fields: &[API_VERSION, KIND, METADATA_FIELD, SPEC_FIELD],
};

/// Texts under keys.
pub static CONFIG_MAP: Object = Object {
    name: "ConfigMap",
    fields: &[
        API_VERSION,
        KIND,
        METADATA_FIELD,
        works("data", Kind::Pairs),
        works("binaryData", Kind::Pairs),
        ignored("immutable", why::SERVER),
    ],
};

/// Secret texts under keys.
pub static SECRET: Object = Object {
    name: "Secret",
    fields: &[
        API_VERSION,
        KIND,
        METADATA_FIELD,
        works("data", Kind::Pairs),
        works("stringData", Kind::Pairs),
        ignored("type", why::SERVER),
        ignored("immutable", why::SERVER),
    ],
};

static METADATA: Object = Object {
    name: "ObjectMeta",
    fields: &[
        works("name", Kind::Text),
        works("generateName", Kind::Text),
        works("namespace", Kind::Text),
        works("labels", Kind::Pairs),
        works("annotations", Kind::Pairs),
        ignored("creationTimestamp", why::SERVER),
        ignored("deletionGracePeriodSeconds", why::SERVER),
        ignored("deletionTimestamp", why::SERVER),
        ignored("finalizers", why::CLUSTER),
        ignored("generation", why::SERVER),
        ignored("managedFields", why::SERVER),
        ignored("ownerReferences", why::CLUSTER),
        ignored("resourceVersion", why::SERVER),
        ignored("selfLink", why::SERVER),
        ignored("uid", why::SERVER),
    ],
};
