//! Containers and volumes, as Kubernetes' core/v1 has them.

use super::io::KEY_SELECTOR;
use super::{Field, Kind, Object, ignored, refused, why, works};

const ARGS: Field = works("args", Kind::Texts);
const COMMAND: Field = works("command", Kind::Texts);
const ENV: Field = works("env", Kind::Many(&ENV_VAR));
const ENV_FROM: Field = works("envFrom", Kind::Many(&ENV_FROM_SOURCE));
const IMAGE: Field = works("image", Kind::Text);
const IMAGE_PULL_POLICY: Field = ignored("imagePullPolicy", "no images are pulled");
const LIFECYCLE: Field = refused("lifecycle", "hooks of containers are not run");
const LIVENESS_PROBE: Field = ignored("livenessProbe", why::PROBE);
const NAME: Field = works("name", Kind::Text);
const PORTS: Field = ignored("ports", "all ports of a process are reachable");
const READINESS_PROBE: Field = ignored("readinessProbe", why::PROBE);
const RESIZE_POLICY: Field = ignored("resizePolicy", why::CLUSTER);
const RESOURCES: Field = works("resources", Kind::One(&RESOURCE_REQUIREMENTS));
const RESTART_POLICY: Field = ignored("restartPolicy", why::CLUSTER);
const SECURITY_CONTEXT: Field = ignored("securityContext", why::USER);
const STARTUP_PROBE: Field = ignored("startupProbe", why::PROBE);
const STDIN: Field = ignored("stdin", "nobody can write to it");
const STDIN_ONCE: Field = ignored("stdinOnce", "nobody can write to it");
const TERMINATION_PATH: Field = ignored("terminationMessagePath", why::CLUSTER);
const TERMINATION_POLICY: Field = ignored("terminationMessagePolicy", why::CLUSTER);
const TTY: Field = ignored("tty", "standard output is a file");
const VOLUME_DEVICES: Field = refused("volumeDevices", why::VOLUME);
const VOLUME_MOUNTS: Field = works("volumeMounts", Kind::Many(&VOLUME_MOUNT));
const WORKING_DIR: Field = works("workingDir", Kind::Text);

macro_rules! container {
    ($name:literal $(, $field:expr)*) => {
        Object {
            name: $name,
            fields: &[
                ARGS, COMMAND, ENV, ENV_FROM, IMAGE, IMAGE_PULL_POLICY, LIFECYCLE,
                LIVENESS_PROBE, NAME, PORTS, READINESS_PROBE, RESIZE_POLICY, RESOURCES,
                RESTART_POLICY, SECURITY_CONTEXT, STARTUP_PROBE, STDIN, STDIN_ONCE,
                TERMINATION_PATH, TERMINATION_POLICY, TTY, VOLUME_DEVICES, VOLUME_MOUNTS,
                WORKING_DIR,
                $($field,)*
            ],
        }
    };
}

pub(super) static CONTAINER: Object =
    container!("UserContainer", works("mirrorVolumeMounts", Kind::Bool));

pub(super) static SCRIPT: Object = container!("ScriptTemplate", works("source", Kind::Text));

pub(super) static CONTAINER_NODE: Object =
    container!("ContainerNode", works("dependencies", Kind::Texts));

static ENV_VAR: Object = Object {
    name: "EnvVar",
    fields: &[
        works("name", Kind::Text),
        works("value", Kind::Text),
        works("valueFrom", Kind::One(&ENV_VAR_SOURCE)),
    ],
};

static ENV_VAR_SOURCE: Object = Object {
    name: "EnvVarSource",
    fields: &[
        works("configMapKeyRef", Kind::One(&KEY_SELECTOR)),
        refused("fieldRef", "there is no pod to look at"),
        refused("fileKeyRef", why::VOLUME),
        refused("resourceFieldRef", "there is no pod to look at"),
        works("secretKeyRef", Kind::One(&KEY_SELECTOR)),
    ],
};

static ENV_FROM_SOURCE: Object = Object {
    name: "EnvFromSource",
    fields: &[
        works("configMapRef", Kind::One(&STORE_REF)),
        works("prefix", Kind::Text),
        works("secretRef", Kind::One(&STORE_REF)),
    ],
};

static STORE_REF: Object = Object {
    name: "StoreRef",
    fields: &[works("name", Kind::Text), works("optional", Kind::Bool)],
};

static RESOURCE_REQUIREMENTS: Object = Object {
    name: "ResourceRequirements",
    fields: &[
        refused("claims", "device claims need Kubernetes"),
        works("limits", Kind::Quantities),
        works("requests", Kind::Quantities),
    ],
};

pub(super) static VOLUME_MOUNT: Object = Object {
    name: "VolumeMount",
    fields: &[
        works("mountPath", Kind::Text),
        ignored("mountPropagation", why::CLUSTER),
        works("name", Kind::Text),
        works("readOnly", Kind::Bool),
        ignored("recursiveReadOnly", why::CLUSTER),
        works("subPath", Kind::Text),
        refused("subPathExpr", why::VOLUME),
    ],
};

pub(super) static VOLUME: Object = Object {
    name: "Volume",
    fields: &[
        works("configMap", Kind::One(&CONFIG_MAP_VOLUME)),
        refused("csi", why::VOLUME),
        refused("downwardAPI", "there is no pod to look at"),
        works("emptyDir", Kind::One(&EMPTY_DIR)),
        refused("ephemeral", why::VOLUME),
        works("hostPath", Kind::One(&HOST_PATH)),
        refused("image", why::VOLUME),
        works("name", Kind::Text),
        refused("nfs", why::VOLUME),
        refused("persistentVolumeClaim", why::VOLUME),
        refused("projected", why::VOLUME),
        works("secret", Kind::One(&SECRET_VOLUME)),
    ],
};

static EMPTY_DIR: Object = Object {
    name: "EmptyDirVolumeSource",
    fields: &[
        ignored("medium", "the folder is on the disk of the server"),
        ignored("sizeLimit", "the size is not limited"),
    ],
};

static HOST_PATH: Object = Object {
    name: "HostPathVolumeSource",
    fields: &[works("path", Kind::Text), ignored("type", "the folder has to be there")],
};

static CONFIG_MAP_VOLUME: Object = Object {
    name: "ConfigMapVolumeSource",
    fields: &[
        ignored("defaultMode", "files can be read by their owner"),
        works("items", Kind::Many(&KEY_TO_PATH)),
        works("name", Kind::Text),
        works("optional", Kind::Bool),
    ],
};

static SECRET_VOLUME: Object = Object {
    name: "SecretVolumeSource",
    fields: &[
        ignored("defaultMode", "files can be read by their owner"),
        works("items", Kind::Many(&KEY_TO_PATH)),
        works("optional", Kind::Bool),
        works("secretName", Kind::Text),
    ],
};

static KEY_TO_PATH: Object = Object {
    name: "KeyToPath",
    fields: &[
        works("key", Kind::Text),
        ignored("mode", "files can be read by their owner"),
        works("path", Kind::Text),
    ],
};
