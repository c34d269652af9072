//! The graph of a run: templates that call each other. Every text in it may hold tags; they are
//! parsed once by the engine and evaluated when what they name is known. References to stored
//! templates are already resolved, so a graph stands alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::artifact::{Archive, Keep, S3Location};
use crate::process::{Container, SetMember, Volume};
use crate::resources::Resources;

/// A text that may hold tags.
pub type Text = String;

/// Templates and where to begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Graph {
    /// All templates; calls name them by position.
    pub templates: Vec<Template>,
    /// Where the run begins.
    pub entrypoint: u32,
    /// The run's own parameters and artifacts.
    pub arguments: Arguments,
    /// The call that is made when the main part is over, however it went.
    pub on_exit: Option<Box<Call>>,
    /// Calls that are made once an expression about the run holds.
    pub hooks: Vec<Hook>,
    /// How many processes of the run may be alive at once.
    pub parallelism: Option<u64>,
    /// Seconds that the main part may take.
    pub active_deadline_s: Option<u64>,
    /// Whether it is accepted suspended.
    pub suspend: bool,
    /// Retries of the whole run's entrypoint.
    pub retry: Option<Retry>,
    /// Names that `workflow.*` tags see.
    pub globals: Globals,
    /// Seconds after the end at which the run is deleted: any end, success, failure.
    pub ttl_s: [Option<u64>; 3],
    /// Prefix of artifact keys, with tags.
    pub key_format: Text,
    /// Whether logs are kept as artifacts, too.
    pub archive_logs: bool,
    /// How long artifacts are kept that do not say so themselves.
    pub keep: Keep,
    /// Configuration maps that the graph's arguments look up, frozen at submit: (name, pairs).
    pub config_maps: Vec<(String, Vec<(String, String)>)>,
    /// Labels set by expressions at the start.
    pub labels_from: Vec<(String, String)>,
    /// Locks that the whole run holds.
    pub locks: Vec<Lock>,
}

/// Values behind `workflow.*` tags that do not change while the run goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Globals {
    /// `workflow.serviceAccountName`.
    pub service_account: String,
    /// `workflow.mainEntrypoint`.
    pub main_entrypoint: String,
    /// `workflow.scheduledTime`.
    pub scheduled_time: Option<String>,
    /// `workflow.annotations.*`.
    pub annotations: Vec<(String, String)>,
    /// `workflow.labels.*`.
    pub labels: Vec<(String, String)>,
}

/// A template: a signature and a body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Template {
    /// Its name in its scope; empty for one that was written in place.
    pub name: String,
    /// The stored object that it came from, `kind/name`; empty for the run's own.
    pub scope: String,
    /// Parameters and artifacts that it takes.
    pub inputs: InputsDecl,
    /// Parameters and artifacts that it gives.
    pub outputs: OutputsDecl,
    /// What it does.
    pub body: Body,
    /// When and how often it is tried again.
    pub retry: Option<Retry>,
    /// Seconds that one try may run.
    pub active_deadline_s: Option<Text>,
    /// Time that a step of it may take from its creation on, waiting included (a duration).
    pub timeout: Option<Text>,
    /// How many of its children may be alive at once.
    pub parallelism: Option<u64>,
    /// Whether the first failure keeps further children from starting.
    pub fail_fast: Option<bool>,
    /// Where its outputs are looked up before it is run.
    pub memo: Option<Memo>,
    /// Locks that a step of it holds while it runs.
    pub locks: Vec<Lock>,
    /// Higher goes first.
    pub priority: Option<i32>,
    /// Metadata of its processes, for the door to show.
    pub labels: Vec<(String, Text)>,
    /// Metadata of its processes, for the door to show.
    pub annotations: Vec<(String, Text)>,
    /// What a person calls its steps, where that is not the last part of their name.
    pub display_name: Option<Text>,
}

/// What a template does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// One process tree.
    Process(Box<ProcessTemplate>),
    /// Groups of calls; the calls of one group go together.
    Steps(Vec<Vec<Call>>),
    /// Calls with dependencies.
    Dag(Dag),
    /// A pause.
    Suspend {
        /// How long (a duration); for ever when `None`.
        duration: Option<Text>,
    },
    /// Processes that share one place, with dependencies.
    ContainerSet(Box<ProcessTemplate>),
    /// Nothing at all.
    #[default]
    Empty,
}

/// Calls with dependencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dag {
    /// The calls.
    pub tasks: Vec<Call>,
    /// Names of the tasks that are wanted, separated by spaces; all leaves when `None`.
    pub target: Option<Text>,
    /// Whether the first failure keeps further tasks from starting.
    pub fail_fast: Option<bool>,
}

/// A process before its texts are final. [`Container`]'s texts may hold tags here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessTemplate {
    /// The process whose end decides.
    pub main: Container,
    /// Processes before it.
    pub init: Vec<Container>,
    /// Processes beside it.
    pub sidecars: Vec<Container>,
    /// Members of a container set.
    pub set: Vec<SetMember>,
    /// Volumes.
    pub volumes: Vec<Volume>,
    /// What it needs.
    pub resources: Resources,
    /// Whether the step counts as done once the process is ready, and goes on running.
    pub daemon: bool,
    /// Ms between the polite and the final signal.
    pub grace_ms: Option<u64>,
    /// Merged into the process once the step's inputs are known, one after the other: strategic
    /// merge patches of a pod's spec with tags in their texts, or texts that are JSON once their
    /// tags are replaced.
    pub patches: Vec<Value>,
}

impl ProcessTemplate {
    /// What its containers need together, by their own claims.
    #[must_use]
    pub fn needs(&self) -> Resources {
        let set = self.set.iter().map(|member| &member.container);
        crate::process::needs(&self.init, [&self.main].into_iter().chain(&self.sidecars).chain(set))
    }
}

/// A call of a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// Its name among its siblings.
    pub name: String,
    /// What is called.
    pub target: Target,
    /// What it is given.
    pub arguments: Arguments,
    /// Called once for each of these.
    pub each: Option<Each>,
    /// Called only if this holds.
    pub when: Option<Text>,
    /// What it waits for, in the `depends` language (DAG only).
    pub depends: Option<String>,
    /// Whether the parent goes on as if it had succeeded, when it ends in Error.
    pub continue_on_error: bool,
    /// The same, when it ends in Failed.
    pub continue_on_failed: bool,
    /// Calls made about it. The one called `exit` without expression is made at its end.
    pub hooks: Vec<Hook>,
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// The template at this position.
    Template(u32),
    /// A template whose name holds tags, looked up in this scope.
    Named {
        /// The scope.
        scope: String,
        /// The name.
        name: Text,
    },
}

impl Default for Target {
    fn default() -> Self {
        Target::Template(0)
    }
}

/// A call that is made once something holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// Its name; `exit` is made at the end.
    pub name: String,
    /// What must hold; empty for the one that is made at the end.
    pub expression: String,
    /// The call.
    pub call: Call,
}

/// Items of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Each {
    /// These, with tags in their texts.
    Items(Vec<Value>),
    /// The items of a JSON list.
    Param(Text),
    /// Numbers.
    Sequence(Sequence),
}

/// Numbers from `start` on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sequence {
    /// How many; excludes `end`.
    pub count: Option<Text>,
    /// The first, 0 when not given.
    pub start: Option<Text>,
    /// The last.
    pub end: Option<Text>,
    /// A printf format for each.
    pub format: Option<String>,
}

/// What a call or a run is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arguments {
    /// Parameters.
    pub parameters: Vec<Argument>,
    /// Artifacts.
    pub artifacts: Vec<ArtifactArgument>,
}

/// A parameter that is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<Text>,
    /// An expression for its value.
    pub expression: Option<String>,
    /// A key of a configuration map: (name, key), texts with tags.
    pub config_map: Option<(Text, Text)>,
    /// Used when it has no value.
    pub default: Option<Text>,
    /// Allowed values.
    pub allowed: Vec<String>,
}

/// An artifact that is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArtifactArgument {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: ArtifactSource,
    /// The part of it that is meant.
    pub sub_path: Text,
    /// How it is packed, where that is said.
    pub archive: Archive,
    /// Whether it may be absent.
    pub optional: bool,
}

/// Where an artifact comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum ArtifactSource {
    /// Nowhere yet.
    #[default]
    Unset,
    /// What a tag names.
    From(Text),
    /// What an expression gives.
    Expression(String),
    /// A text.
    Raw(Text),
    /// A key of the space's own store.
    Key(Text),
    /// Another S3; texts with tags.
    S3(Box<S3Location>),
    /// An address.
    Http(Text),
}

/// Inputs that a template takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputsDecl {
    /// Parameters; a value there is a constant, a default is used when nobody gives one.
    pub parameters: Vec<Argument>,
    /// Artifacts.
    pub artifacts: Vec<InputArtifactDecl>,
}

/// An artifact that a template takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputArtifactDecl {
    /// Its own default source, and whether it is optional.
    pub argument: ArtifactArgument,
    /// Absolute path at which processes find it; empty for templates without a process.
    pub path: Text,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Whether `mode` goes for everything below.
    pub recurse_mode: bool,
}

/// Outputs that a template gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputsDecl {
    /// Parameters.
    pub parameters: Vec<OutputDecl>,
    /// Artifacts.
    pub artifacts: Vec<OutputArtifactDecl>,
}

/// A parameter that a template gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputDecl {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub from: OutputFrom,
    /// Used when its source gives nothing.
    pub default: Option<Text>,
    /// The name under which the whole run sees it.
    pub global_name: Text,
}

/// Where an output parameter comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum OutputFrom {
    /// A constant.
    #[default]
    Unset,
    /// A text.
    Value(Text),
    /// A file of the process.
    Path(Text),
    /// An output of a child, as a tag.
    Parameter(Text),
    /// An expression.
    Expression(String),
    /// Somebody gives it while the step is suspended.
    Supplied,
}

/// An artifact that a template gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputArtifactDecl {
    /// Its name.
    pub name: String,
    /// A path of the process; empty where it comes from a child.
    pub path: Text,
    /// The child's artifact.
    pub source: ArtifactSource,
    /// How it is packed.
    pub archive: Archive,
    /// Whether it may be absent.
    pub optional: bool,
    /// The name under which the whole run sees it.
    pub global_name: Text,
    /// How long it is kept, where that is said.
    pub keep: Option<Keep>,
}

/// When and how often something is tried again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// Tries after the first; no bound when `None`.
    pub limit: Option<Text>,
    /// Which ends are tried again.
    pub policy: RetryPolicy,
    /// An expression over `lastRetry.*` and `retries` that must hold.
    pub expression: Option<String>,
    /// Wait before the second try (a duration).
    pub backoff: Option<Text>,
    /// Factor from one wait to the next.
    pub factor: Option<Text>,
    /// Largest wait (a duration).
    pub cap: Option<Text>,
    /// Time since the first start after which nothing is tried again (a duration).
    pub max_duration: Option<Text>,
}

/// Which ends are tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetryPolicy {
    /// Failed.
    #[default]
    OnFailure,
    /// Error.
    OnError,
    /// Error that is known to pass.
    OnTransientError,
    /// Both.
    Always,
}

/// Where outputs are looked up before a step is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memo {
    /// The key.
    pub key: Text,
    /// The cache.
    pub cache: Text,
    /// How old an entry may be (a duration).
    pub max_age: Option<Text>,
}

/// A lock of a space.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Lock {
    /// One holder.
    Mutex {
        /// Its name.
        name: Text,
    },
    /// As many holders as a configuration map's key says.
    Semaphore {
        /// The map.
        config_map: Text,
        /// The key.
        key: Text,
    },
}
