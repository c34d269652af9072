//! Parameters and artifacts.

use super::{Field, Kind, Object, Range, ignored, refused, why, works};

const PARAMETERS: Field = works("parameters", Kind::Many(&PARAMETER));
const ARTIFACTS: Field = works("artifacts", Kind::Many(&ARTIFACT));

pub(crate) static ARGUMENTS: Object =
    Object { name: "Arguments", fields: &[PARAMETERS, ARTIFACTS] };

pub(super) static INPUTS: Object = Object { name: "Inputs", fields: &[PARAMETERS, ARTIFACTS] };

pub(super) static OUTPUTS: Object = Object {
    name: "Outputs",
    fields: &[
        PARAMETERS,
        ARTIFACTS,
        ignored("exitCode", why::SERVER),
        ignored("result", why::SERVER),
    ],
};

static PARAMETER: Object = Object {
    name: "Parameter",
    fields: &[
        works("default", Kind::Scalar),
        ignored("description", "it is for people"),
        works("enum", Kind::Scalars),
        works("globalName", Kind::Text),
        works("name", Kind::Text),
        works("value", Kind::Scalar),
        works("valueFrom", Kind::One(&VALUE_FROM)),
    ],
};

static VALUE_FROM: Object = Object {
    name: "ValueFrom",
    fields: &[
        works("configMapKeyRef", Kind::One(&KEY_SELECTOR)),
        works("default", Kind::Scalar),
        refused("event", "events are not built yet"),
        works("expression", Kind::Expression),
        refused("jqFilter", "resource templates need Kubernetes"),
        refused("jsonPath", "resource templates need Kubernetes"),
        works("parameter", Kind::Text),
        works("path", Kind::Text),
        works("supplied", Kind::Free),
    ],
};

pub(super) static KEY_SELECTOR: Object = Object {
    name: "KeySelector",
    fields: &[works("key", Kind::Text), works("name", Kind::Text), works("optional", Kind::Bool)],
};

static ARTIFACT: Object = Object {
    name: "Artifact",
    fields: &[
        works("archive", Kind::One(&ARCHIVE)),
        ignored("archiveLogs", "logs are archived by template or workflow"),
        works("artifactGC", Kind::One(&ARTIFACT_GC)),
        refused("artifactory", why::SERVICE),
        refused("azure", why::SERVICE),
        ignored("deleted", why::SERVER),
        works("from", Kind::Text),
        works("fromExpression", Kind::Expression),
        refused("gcs", why::SERVICE),
        refused("git", why::SERVICE),
        works("globalName", Kind::Text),
        refused("hdfs", why::SERVICE),
        refused("http", why::SERVICE),
        works("mode", Kind::Int(Range::new(0, 0o777))),
        works("name", Kind::Text),
        works("optional", Kind::Bool),
        refused("oss", why::SERVICE),
        works("path", Kind::Text),
        refused("plugin", why::SERVICE),
        works("raw", Kind::One(&RAW)),
        works("recurseMode", Kind::Bool),
        works("s3", Kind::One(&S3)),
        works("subPath", Kind::Text),
    ],
};

/// When an artifact is deleted; empty leaves it to the workflow.
pub(super) const GC_STRATEGY: Kind =
    Kind::Choice(&["", "OnWorkflowCompletion", "OnWorkflowDeletion", "Never"]);

static ARTIFACT_GC: Object = Object {
    name: "ArtifactGC",
    fields: &[
        ignored("podMetadata", why::NO_GC_POD),
        ignored("serviceAccountName", why::NO_GC_POD),
        works("strategy", GC_STRATEGY),
    ],
};

static RAW: Object = Object { name: "RawArtifact", fields: &[works("data", Kind::Text)] };

static S3: Object = Object {
    name: "S3Artifact",
    fields: &[
        works("key", Kind::Text),
        refused("accessKeySecret", why::SERVICE),
        refused("bucket", why::SERVICE),
        refused("caSecret", why::SERVICE),
        refused("createBucketIfNotPresent", why::SERVICE),
        refused("encryptionOptions", why::SERVICE),
        refused("endpoint", why::SERVICE),
        refused("insecure", why::SERVICE),
        refused("region", why::SERVICE),
        refused("roleARN", why::SERVICE),
        refused("secretKeySecret", why::SERVICE),
        refused("sessionTokenSecret", why::SERVICE),
        refused("useSDKCreds", why::SERVICE),
    ],
};

static ARCHIVE: Object = Object {
    name: "ArchiveStrategy",
    fields: &[works("none", Kind::Free), works("tar", Kind::One(&TAR)), works("zip", Kind::Free)],
};

static TAR: Object = Object {
    name: "TarStrategy",
    // Go's gzip takes -1 for its default. Its -2, Huffman coding alone, is not known here.
    fields: &[works("compressionLevel", Kind::Int(Range::new(-1, 9)))],
};
