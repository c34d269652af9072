//! A process as a backend is asked to make it: every text is final, nothing is left to evaluate.

use serde::{Deserialize, Serialize};

use crate::artifact::{Archive, Artifact};
use crate::resources::Resources;

/// One attempt's processes with their inputs and outputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessSpec {
    /// The process whose end decides.
    pub main: Container,
    /// Processes that run and end before it, in order.
    pub init: Vec<Container>,
    /// Processes that run beside it and are ended with it.
    pub sidecars: Vec<Container>,
    /// Members of a container set; when not empty, `main` is unused.
    pub set: Vec<SetMember>,
    /// What is put in place before anything runs.
    pub inputs: Vec<StagedInput>,
    /// What is kept afterwards.
    pub outputs: OutputsSpec,
    /// Folders that processes share or are given.
    pub volumes: Vec<Volume>,
    /// What it needs.
    pub resources: Resources,
    /// Ms between the polite and the final signal.
    pub grace_ms: u64,
    /// Where artifacts with no key of their own go, without the artifact's name.
    pub key_prefix: String,
}

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Container {
    /// Its name; `main` for the one whose end decides.
    pub name: String,
    /// The image, which the image table maps to something local.
    pub image: String,
    /// The program and its first arguments; the image's entry point when empty.
    pub command: Vec<String>,
    /// Further arguments.
    pub args: Vec<String>,
    /// A program text, kept in a file whose path is the last argument.
    pub script: Option<String>,
    /// Variables.
    pub env: Vec<EnvVar>,
    /// All keys of these stores as variables.
    pub env_from: Vec<EnvFrom>,
    /// Folder to start in; the image's when empty.
    pub working_dir: String,
    /// Volumes by name.
    pub mounts: Vec<Mount>,
    /// What it asks for and may use.
    pub claim: Claim,
}

/// What a process asks for and the most that it may use; 0 where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    /// What it asks for.
    pub requests: Resources,
    /// The most that it may use.
    pub limits: Resources,
}

impl Claim {
    /// What a machine sets aside for it: of each resource what it asks for; where it only has a
    /// limit, that (Kubernetes' defaulting of requests).
    #[must_use]
    pub fn needs(&self) -> Resources {
        let of = |requested: u64, limit: u64| if requested == 0 { limit } else { requested };
        Resources {
            cpu_milli: of(self.requests.cpu_milli, self.limits.cpu_milli),
            memory_bytes: of(self.requests.memory_bytes, self.limits.memory_bytes),
            gpus: of(self.requests.gpus, self.limits.gpus),
        }
    }
}

/// What processes need together. Init containers run before the others, so of both the larger
/// counts, as Kubernetes has it.
#[must_use]
pub fn needs<'c>(
    init: impl IntoIterator<Item = &'c Container>,
    beside: impl IntoIterator<Item = &'c Container>,
) -> Resources {
    let together = beside.into_iter().map(|container| container.claim.needs());
    let together = together.fold(Resources::default(), |sum, next| sum.plus(&next));
    init.into_iter().map(|container| container.claim.needs()).fold(together, |most, next| {
        Resources {
            cpu_milli: most.cpu_milli.max(next.cpu_milli),
            memory_bytes: most.memory_bytes.max(next.memory_bytes),
            gpus: most.gpus.max(next.gpus),
        }
    })
}

/// A member of a container set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetMember {
    /// Its process.
    pub container: Container,
    /// Members that must have succeeded before it starts.
    pub dependencies: Vec<String>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: EnvValue,
}

/// Where a variable's value comes from. Secrets are only ever named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum EnvValue {
    /// The text itself.
    Text(String),
    /// A key of a secret, looked up when the process starts.
    Secret(KeyRef),
    /// A key of a configuration map, looked up when the process starts.
    ConfigMap(KeyRef),
}

/// A key in a named store of values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyRef {
    /// The store.
    pub name: String,
    /// The key in it.
    pub key: String,
    /// Whether its absence is no error.
    pub optional: bool,
}

/// All keys of a store as variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvFrom {
    /// The store.
    pub name: String,
    /// Whether it is a secret (else a configuration map).
    pub secret: bool,
    /// Put before every key.
    pub prefix: String,
    /// Whether its absence is no error.
    pub optional: bool,
}

/// A volume at a path of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mount {
    /// The volume.
    pub volume: String,
    /// Absolute path.
    pub path: String,
    /// Relative path in the volume.
    pub sub_path: String,
    /// Whether it cannot be written.
    pub read_only: bool,
}

/// A folder that processes are given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// Its name in the spec.
    pub name: String,
    /// What it holds.
    pub source: VolumeSource,
}

/// What a volume holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum VolumeSource {
    /// Nothing at first; gone with the attempt.
    EmptyDir,
    /// A folder of the machine, below an allowed one.
    HostPath(String),
    /// The keys of a secret as files. `items` picks and renames: (key, relative path).
    Secret {
        /// The secret.
        name: String,
        /// Which keys and where to; all when empty.
        items: Vec<(String, String)>,
        /// Whether its absence is no error.
        optional: bool,
    },
    /// The keys of a configuration map as files.
    ConfigMap {
        /// The map.
        name: String,
        /// Which keys and where to; all when empty.
        items: Vec<(String, String)>,
        /// Whether its absence is no error.
        optional: bool,
    },
}

/// An artifact that is put at a path before the process starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StagedInput {
    /// Its name.
    pub name: String,
    /// Absolute path.
    pub path: String,
    /// What to put there.
    pub artifact: Artifact,
    /// Permission bits, when they are to be set.
    pub mode: Option<u32>,
    /// Whether `mode` goes for everything below.
    pub recurse_mode: bool,
    /// Whether its absence is no error.
    pub optional: bool,
}

/// What is kept of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputsSpec {
    /// Files whose content becomes a parameter.
    pub parameters: Vec<OutputFile>,
    /// Files and folders that become artifacts.
    pub artifacts: Vec<OutputArtifact>,
    /// Whether its standard output is kept as its result.
    pub result: bool,
    /// Whether the logs are kept as artifacts, too (one `NAME-logs` for each process).
    pub logs: bool,
}

/// A parameter that is read from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Its name.
    pub name: String,
    /// Absolute path.
    pub path: String,
    /// Its value when the file is not there.
    pub default: Option<String>,
}

/// An artifact that is made of a file or folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputArtifact {
    /// Its name.
    pub name: String,
    /// Absolute path.
    pub path: String,
    /// How it is packed.
    pub archive: Archive,
    /// Its key in the space's store; derived from the attempt when `None`.
    pub key: Option<String>,
    /// Whether its absence is no error.
    pub optional: bool,
}
