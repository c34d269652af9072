//! Templates.

use super::calls::{DAG_TASK, STEP};
use super::io::{INPUTS, OUTPUTS};
use super::pod::{CONTAINER, CONTAINER_NODE, SCRIPT, VOLUME, VOLUME_MOUNT};
use super::spec::SYNCHRONIZATION;
use super::{Kind, Object, Range, Span, ignored, refused, why, works};

/// Any time, and none.
const PAUSE: Span = Span { some: false, bare: true };

pub(crate) static TEMPLATE: Object = Object {
    name: "Template",
    fields: &[
        works("activeDeadlineSeconds", Kind::Number(Range::from(1))),
        ignored("affinity", why::MACHINE),
        works("annotations", Kind::Pairs),
        works("archiveLocation", Kind::One(&ARCHIVE_LOCATION)),
        ignored("automountServiceAccountToken", why::CLUSTER),
        works("container", Kind::One(&CONTAINER)),
        works("containerSet", Kind::One(&CONTAINER_SET)),
        works("dag", Kind::One(&DAG)),
        refused("daemon", "daemons are not built yet"),
        refused("data", "data templates are not built yet"),
        ignored("executor", why::CLUSTER),
        works("failFast", Kind::Bool),
        ignored("hostAliases", why::MACHINE),
        refused("http", "HTTP templates are not built yet"),
        works("initContainers", Kind::Many(&CONTAINER)),
        works("inputs", Kind::One(&INPUTS)),
        works("memoize", Kind::One(&MEMOIZE)),
        works("metadata", Kind::One(&POD_METADATA)),
        ignored("metrics", "metrics of the user's own are not collected yet"),
        works("name", Kind::Text),
        ignored("nodeSelector", why::MACHINE),
        works("outputs", Kind::One(&OUTPUTS)),
        works("parallelism", Kind::Int(Range::new(1, i64::MAX))),
        refused("pendingTimeout", "only the whole time of a step is bounded, by `timeout`"),
        refused("plugin", "plugin templates are not built yet"),
        ignored("podResources", "the containers' own requests count"),
        works("podSpecPatch", Kind::Text),
        ignored("priorityClassName", why::CLUSTER),
        refused("resource", "resource templates need Kubernetes"),
        refused("resourceClaims", "device claims need Kubernetes"),
        works("retryStrategy", Kind::One(&RETRY_STRATEGY)),
        ignored("schedulerName", why::CLUSTER),
        works("script", Kind::One(&SCRIPT)),
        ignored("securityContext", why::USER),
        ignored("serviceAccountName", why::USER),
        works("sidecars", Kind::Many(&CONTAINER)),
        works("steps", Kind::Groups(&STEP)),
        works("suspend", Kind::One(&SUSPEND)),
        works("synchronization", Kind::One(&SYNCHRONIZATION)),
        works("timeout", Kind::Duration(Span { some: true, bare: false })),
        ignored("tolerations", why::MACHINE),
        works("volumes", Kind::Many(&VOLUME)),
    ],
};

pub(super) static POD_METADATA: Object = Object {
    name: "Metadata",
    fields: &[works("annotations", Kind::Pairs), works("labels", Kind::Pairs)],
};

static ARCHIVE_LOCATION: Object = Object {
    name: "ArtifactLocation",
    fields: &[
        works("archiveLogs", Kind::Bool),
        refused("s3", "logs go to the embedded store"),
        refused("gcs", why::SERVICE),
        refused("azure", why::SERVICE),
        refused("oss", why::SERVICE),
        refused("git", why::SERVICE),
        refused("http", why::SERVICE),
        refused("artifactory", why::SERVICE),
        refused("hdfs", why::SERVICE),
        refused("raw", "logs go to the embedded store"),
        refused("pendingTimeout", "only the whole time of a step is bounded, by `timeout`"),
        refused("plugin", why::SERVICE),
    ],
};

static DAG: Object = Object {
    name: "DAGTemplate",
    fields: &[
        works("failFast", Kind::Bool),
        works("target", Kind::Text),
        works("tasks", Kind::Many(&DAG_TASK)),
    ],
};

static SUSPEND: Object =
    Object { name: "SuspendTemplate", fields: &[works("duration", Kind::Duration(PAUSE))] };

static CONTAINER_SET: Object = Object {
    name: "ContainerSetTemplate",
    fields: &[
        works("containers", Kind::Many(&CONTAINER_NODE)),
        works("volumeMounts", Kind::Many(&VOLUME_MOUNT)),
        refused("retryStrategy", "retries inside of a container set are not built yet"),
    ],
};

static MEMOIZE: Object = Object {
    name: "Memoize",
    fields: &[
        works("cache", Kind::One(&CACHE)),
        works("key", Kind::Text),
        works("maxAge", Kind::Duration(Span { some: false, bare: false })),
    ],
};

static CACHE: Object =
    Object { name: "Cache", fields: &[works("configMap", Kind::One(&CACHE_CONFIG_MAP))] };

static CACHE_CONFIG_MAP: Object = Object {
    name: "CacheConfigMap",
    fields: &[
        works("name", Kind::Text),
        ignored("key", "the key of the entry is memoize.key"),
        ignored("optional", "a cache is made when it is first used"),
    ],
};

pub(super) static RETRY_STRATEGY: Object = Object {
    name: "RetryStrategy",
    fields: &[
        ignored("affinity", why::MACHINE),
        works("backoff", Kind::One(&BACKOFF)),
        works("expression", Kind::Expression),
        works("limit", Kind::Number(Range::from(0))),
        works("retryPolicy", Kind::Choice(&["Always", "OnFailure", "OnError", "OnTransientError"])),
    ],
};

static BACKOFF: Object = Object {
    name: "Backoff",
    fields: &[
        works("cap", Kind::Duration(PAUSE)),
        works("duration", Kind::Duration(PAUSE)),
        works("factor", Kind::Number(Range::from(0))),
        works("maxDuration", Kind::Duration(PAUSE)),
    ],
};
