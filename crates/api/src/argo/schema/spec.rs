//! The spec of a workflow, and what only it holds.

use super::calls::HOOK;
use super::io::{ARGUMENTS, GC_STRATEGY, KEY_SELECTOR};
use super::pod::VOLUME;
use super::template::{POD_METADATA, RETRY_STRATEGY, TEMPLATE};
use super::{Kind, Object, Range, deprecated, ignored, refused, why, works};

/// Seconds from 1 to what Go's `time.Duration` holds.
const SECONDS: Range = Range::new(1, i64::MAX / 1_000_000_000);

pub(crate) static SPEC: Object = Object {
    name: "WorkflowSpec",
    fields: &[
        works("activeDeadlineSeconds", Kind::Int(SECONDS)),
        ignored("affinity", why::MACHINE),
        works("archiveLogs", Kind::Bool),
        works("arguments", Kind::One(&ARGUMENTS)),
        works("artifactGC", Kind::One(&WORKFLOW_ARTIFACT_GC)),
        ignored("artifactRepositoryRef", "the embedded store is the repository"),
        ignored("automountServiceAccountToken", why::CLUSTER),
        ignored("dnsConfig", why::MACHINE),
        ignored("dnsPolicy", why::MACHINE),
        works("entrypoint", Kind::Text),
        ignored("executor", why::CLUSTER),
        refused("executorPlugins", "executor plugins are not built yet"),
        works("hooks", Kind::Keyed(&HOOK)),
        ignored("hostAliases", why::MACHINE),
        ignored("hostNetwork", why::MACHINE),
        ignored("imagePullSecrets", "no images are pulled"),
        ignored("metrics", "metrics of the user's own are not collected yet"),
        ignored("nodeSelector", why::MACHINE),
        works("onExit", Kind::Text),
        works("parallelism", Kind::Int(Range::new(1, i64::MAX))),
        ignored("podDisruptionBudget", why::CLUSTER),
        ignored("podGC", "no pods are left behind"),
        works("podMetadata", Kind::One(&POD_METADATA)),
        ignored("podPriorityClassName", why::CLUSTER),
        ignored("podResources", "the containers' own requests count"),
        works("podSpecPatch", Kind::Text),
        works("priority", Kind::Int(Range::from(i32::MIN as i64))),
        refused("resourceClaims", "device claims need Kubernetes"),
        works("retryStrategy", Kind::One(&RETRY_STRATEGY)),
        ignored("schedulerName", why::CLUSTER),
        ignored("securityContext", why::USER),
        works("serviceAccountName", Kind::Text),
        refused("shutdown", "a run is stopped through the API, not in its manifest"),
        works("suspend", Kind::Bool),
        works("synchronization", Kind::One(&SYNCHRONIZATION)),
        works("templateDefaults", Kind::One(&TEMPLATE)),
        works("templates", Kind::Many(&TEMPLATE)),
        ignored("tolerations", why::MACHINE),
        works("ttlStrategy", Kind::One(&TTL_STRATEGY)),
        ignored("volumeClaimGC", why::CLUSTER),
        refused("volumeClaimTemplates", why::VOLUME),
        works("volumes", Kind::Many(&VOLUME)),
        works("workflowMetadata", Kind::One(&WORKFLOW_METADATA)),
        works("workflowTemplateRef", Kind::One(&WORKFLOW_TEMPLATE_REF)),
        deprecated(
            "ttlSecondsAfterFinished",
            Kind::Int(Range::from(0)),
            "ttlStrategy.secondsAfterCompletion",
        ),
    ],
};

pub(super) static SYNCHRONIZATION: Object = Object {
    name: "Synchronization",
    fields: &[
        works("mutexes", Kind::Many(&MUTEX)),
        works("semaphores", Kind::Many(&SEMAPHORE)),
        deprecated("mutex", Kind::One(&MUTEX), "mutexes"),
        deprecated("semaphore", Kind::One(&SEMAPHORE), "semaphores"),
    ],
};

static SEMAPHORE: Object = Object {
    name: "SemaphoreRef",
    fields: &[
        works("configMapKeyRef", Kind::One(&KEY_SELECTOR)),
        refused("database", "sizes of semaphores are kept in ConfigMaps"),
        refused("namespace", "a lock belongs to its own namespace here"),
    ],
};

static MUTEX: Object = Object {
    name: "Mutex",
    fields: &[
        works("name", Kind::Text),
        refused("namespace", "a lock belongs to its own namespace here"),
        ignored("database", "all locks are kept in the database"),
    ],
};

static WORKFLOW_ARTIFACT_GC: Object = Object {
    name: "WorkflowLevelArtifactGC",
    fields: &[
        ignored("forceFinalizerRemoval", "a run can be deleted before its artifacts are"),
        ignored("podMetadata", why::NO_GC_POD),
        ignored("podSpecPatch", why::NO_GC_POD),
        ignored("serviceAccountName", why::NO_GC_POD),
        works("strategy", GC_STRATEGY),
    ],
};

static TTL_STRATEGY: Object = Object {
    name: "TTLStrategy",
    fields: &[
        works("secondsAfterCompletion", Kind::Int(Range::from(0))),
        works("secondsAfterSuccess", Kind::Int(Range::from(0))),
        works("secondsAfterFailure", Kind::Int(Range::from(0))),
    ],
};

static WORKFLOW_METADATA: Object = Object {
    name: "WorkflowMetadata",
    fields: &[
        works("annotations", Kind::Pairs),
        works("labels", Kind::Pairs),
        works("labelsFrom", Kind::Keyed(&LABEL_VALUE_FROM)),
    ],
};

static LABEL_VALUE_FROM: Object =
    Object { name: "LabelValueFrom", fields: &[works("expression", Kind::Expression)] };

static WORKFLOW_TEMPLATE_REF: Object = Object {
    name: "WorkflowTemplateRef",
    fields: &[works("name", Kind::Text), works("clusterScope", Kind::Bool)],
};
