//! What the server and the spawner say to each other, one JSON value a frame.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of the messages, in [`Report::Welcome`]. A spawner may be older than its server, so
/// fields are only ever added, and unknown ones are ignored.
pub const PROTOCOL: u32 = 1;

/// What the server wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Start a job. A known id is not started again: its last report is repeated.
    Start(Box<Start>),
    /// Send a signal to the job's whole tree. An unknown id is ignored, of an ended job the last
    /// report is repeated.
    Kill {
        /// The attempt's id.
        id: String,
        /// A signal number.
        signal: i32,
    },
    /// The end of this job is durable at the server and need not be kept.
    Forget {
        /// The attempt's id.
        id: String,
    },
    /// Repeat the last report of every known job, then say [`Report::Listed`].
    List,
    /// Try which isolation levels work here; answered by [`Report::Probed`].
    Probe,
    /// Refuse further starts, and end once nothing runs and every end is forgotten.
    Stop,
}

/// A job to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The attempt's id: 1 to 128 printable ASCII characters.
    pub id: String,
    /// Program and arguments. A program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// The complete environment; nothing is inherited. `ARGOSY_ATTEMPT` and `ARGOSY_SPAWNER` are
    /// added, by which descendants that left the job's session are found.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Working directory, as seen inside the isolation.
    pub cwd: PathBuf,
    /// File that standard output is appended to through a pipe (made with mode 0600, with the
    /// first byte); none is `/dev/null`.
    #[serde(default)]
    pub stdout: Option<PathBuf>,
    /// The same for standard error; the same path shares one pipe.
    #[serde(default)]
    pub stderr: Option<PathBuf>,
    /// What the job shares with the machine.
    #[serde(default)]
    pub isolation: Isolation,
    /// Host files and directories to show inside the isolation; level none takes none.
    #[serde(default)]
    pub binds: Vec<Bind>,
    /// Resource limits.
    #[serde(default)]
    pub limits: Limits,
}

/// What a job shares with the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "level", rename_all = "snake_case")]
pub enum Isolation {
    /// Everything.
    #[default]
    None,
    /// All but `/tmp`, `/var/tmp` and the process table; the same user inside.
    PrivateTmp {
        /// Host directory shown as `/tmp` and `/var/tmp`.
        tmp: PathBuf,
    },
    /// Writes land in `upper` (overlayfs) and the process table is its own; root inside. Other
    /// file systems mounted below `lower` are not visible, except `/dev` and `/sys`.
    PrivateRoot {
        /// Host directory that is the unchanged root: `/` or an image's folder.
        lower: PathBuf,
        /// Empty host directory that takes what the job writes.
        upper: PathBuf,
        /// Empty host directory for overlayfs, on the file system of `upper`.
        work: PathBuf,
        /// Empty host directory to mount on; stays empty on the host.
        merged: PathBuf,
        /// Host directory shown as `/tmp` and `/var/tmp`.
        tmp: PathBuf,
    },
}

/// A host path shown inside an isolation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// Host file or directory.
    pub source: PathBuf,
    /// Absolute path inside. A missing one is made where that is private: anywhere in a private
    /// root, below `/tmp` and `/var/tmp` otherwise.
    pub target: PathBuf,
    /// Whether writes are refused.
    #[serde(default)]
    pub read_only: bool,
}

/// Resource limits. Where nothing else is said, as the kernel's `setrlimit` knows them: per
/// process, inherited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of the job's whole tree in bytes. Refused where [`Abilities::memory`] does not work.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Private writable memory in bytes (`RLIMIT_DATA`: unlike `RLIMIT_AS` it does not count
    /// address space that a runtime only reserves).
    #[serde(default)]
    pub data_bytes: Option<u64>,
    /// Processor time in seconds (`RLIMIT_CPU`).
    #[serde(default)]
    pub cpu_s: Option<u64>,
    /// Processes of the job's user (`RLIMIT_NPROC`; the kernel does not apply it to root).
    #[serde(default)]
    pub processes: Option<u64>,
}

/// What the spawner tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// First on every connection; the last reports of all known jobs and a [`Report::Listed`]
    /// follow.
    Welcome {
        /// See [`PROTOCOL`].
        version: u32,
        /// The spawner's process.
        spawner_pid: u32,
        /// Unique to this instance: with another value, all that ran under the earlier one is
        /// dead.
        boot: String,
    },
    /// The job's process exists. With an isolation a [`Report::Refused`] may still follow.
    Started {
        /// The attempt's id.
        id: String,
        /// The job's process, or the first process of its namespace.
        pid: u32,
        /// Unix time in milliseconds.
        at_ms: u64,
    },
    /// The program was not run.
    Refused {
        /// The attempt's id.
        id: String,
        /// The kind of obstacle.
        reason: Reason,
        /// The obstacle by name, with the system's error.
        message: String,
    },
    /// The job ended, and its tree with it.
    Exited {
        /// The attempt's id.
        id: String,
        /// How.
        #[serde(flatten)]
        exit: Exit,
    },
    /// Every known job has been reported: the end of the answer to a connection or a list order.
    Listed,
    /// Answer to [`Order::Probe`].
    Probed(Abilities),
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exact wait status of the job's main process.
    pub status: Status,
    /// Unix time in milliseconds.
    pub started_ms: u64,
    /// Unix time in milliseconds.
    pub ended_ms: u64,
    /// User processor time of the main process and the children it waited for, microseconds.
    pub utime_us: u64,
    /// System processor time of the same, microseconds.
    pub stime_us: u64,
    /// Largest resident size of one of these processes, bytes.
    pub max_rss_bytes: u64,
    /// The last signal that a kill order sent to it.
    pub killed: Option<i32>,
    /// The kernel has killed a process of the job, as the job was over its own limit of memory.
    #[serde(default)]
    pub out_of_memory: bool,
    /// The process that watched over the job in its namespace was ended by somebody else, and the
    /// job with it: `status` is that process's.
    #[serde(default)]
    pub unwatched: bool,
    /// Why not all that it wrote is in its logs, if so.
    #[serde(default)]
    pub lost_output: Option<String>,
}

/// A wait status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Exit code.
    Code(i32),
    /// Number of the signal that ended it.
    Signal(i32),
}

/// Why a program was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The order contradicts itself or the limits.
    Invalid,
    /// The spawner has been told to stop.
    Stopping,
    /// The machine has no room for another process, or for what it needs. Later it may have some.
    Process,
    /// A log file could not be opened.
    Log,
    /// The machine refuses the namespaces: a lower isolation level may work.
    Namespace,
    /// The machine refuses overlayfs: a lower isolation level may work.
    Overlay,
    /// A mount was refused or its source or target does not exist.
    Mount,
    /// The working directory cannot be entered.
    Cwd,
    /// A resource limit was refused.
    Limit,
    /// The program does not exist.
    ProgramNotFound,
    /// The program exists and cannot be executed.
    Program,
}

/// What works on this machine, by trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// [`Isolation::PrivateTmp`].
    pub private_tmp: Ability,
    /// [`Isolation::PrivateRoot`] over `/`.
    pub private_root: Ability,
    /// [`Limits::memory_bytes`].
    #[serde(default = "not_tried")]
    pub memory: Ability,
}

/// What is said for a spawner that cannot.
fn not_tried() -> Ability {
    Ability::Refused {
        reason: Reason::Limit,
        message: "the spawner is older than its server".into(),
        remedy: "It ends by itself when nothing runs and no server is there.".into(),
    }
}

/// Whether something works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ability", rename_all = "snake_case")]
pub enum Ability {
    /// It does.
    Works,
    /// It does not.
    Refused {
        /// The kind of obstacle.
        reason: Reason,
        /// The obstacle by name, with the system's error.
        message: String,
        /// What an administrator can do about it.
        remedy: String,
    },
}
