//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Run workflows on this machine: durable, and with nothing else to install.
#[derive(Debug, Parser)]
#[command(name = "argosy", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// The data directory
    /// [default: $ARGOSY_DATA, then the configuration's, then .argosy]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A server, as http://HOST:PORT
    /// [default: $ARGOSY_SERVER, then the configuration's, then that of the data directory]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The space whose runs are meant; manifests may not name another one
    /// [default: $ARGOSY_NAMESPACE, then the configuration's, then default]
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// How results are printed
    #[arg(short, long, global = true, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    Text,
    /// The same with more columns
    Wide,
    /// Names only
    Name,
    /// JSON; a run is the Argo Workflow object
    Json,
    /// YAML
    Yaml,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run manifests and wait for them; needs no server
    Run(RunArgs),
    /// Serve until stopped
    Up(UpArgs),
    /// Hand manifests, or a stored template, to the server
    Submit(SubmitArgs),
    /// Runs, newest first
    List(ListArgs),
    /// One run, or one step of it with the timeline of its attempts
    Get(GetArgs),
    /// Draw a run until it ends
    Watch(OneRun),
    /// Wait until runs have ended
    Wait(ManyRuns),
    /// What the steps of a run printed
    Logs(LogsArgs),
    /// End runs; exit handlers still run
    Stop(StopArgs),
    /// End runs at once, without exit handlers
    Terminate(ManyRuns),
    /// Let no new step of a run start
    Suspend(ManyRuns),
    /// Let suspended runs, or suspended steps, go on
    Resume(ResumeArgs),
    /// Delete finished runs
    Delete(DeleteArgs),
    /// Check manifests without running them
    Lint(LintArgs),
    /// Why a run's steps wait
    Explain(OneRun),
    /// What works on this machine
    Doctor,
    /// The configuration in force
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Completions for a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print it, with where each value comes from
    Show,
}

/// What processes may see of this machine.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Machine {
    /// A folder below which manifests may name paths of this machine; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_host_path: Vec<PathBuf>,
    /// The most that processes are kept apart; less where the machine refuses
    #[arg(long, value_enum, default_value_t = Isolation::PrivateRoot)]
    pub(crate) isolation: Isolation,
}

/// How far processes are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolation {
    /// Not at all
    None,
    /// A /tmp and process numbers of their own
    PrivateTmp,
    /// A root of their own where a step needs one
    #[default]
    PrivateRoot,
}

/// What a run is given.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Given {
    /// A parameter; may be repeated
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// A YAML or JSON file of parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) parameter_file: Option<PathBuf>,
    /// Where to begin, instead of the manifest's entrypoint
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) entrypoint: Option<String>,
    /// The run's name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the run's name begins with
    #[arg(long, value_name = "PREFIX")]
    pub(crate) generate_name: Option<String>,
    /// Labels, separated by commas
    #[arg(short, long, value_name = "NAME=VALUE,...")]
    pub(crate) labels: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Manifests; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) given: Given,
    /// Draw the tree of steps while they run
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print what the steps print
    #[arg(long)]
    pub(crate) log: bool,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Where to serve; may be repeated [default: 127.0.0.1:2746]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Where to serve blobs to S3 clients
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) s3_listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Manifests; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "from")]
    pub(crate) files: Vec<PathBuf>,
    /// A stored template: workflowtemplate/NAME or clusterworkflowtemplate/NAME
    #[arg(long, value_name = "KIND/NAME", conflicts_with = "files")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) given: Given,
    /// Draw the tree of steps until the end
    #[arg(long)]
    pub(crate) watch: bool,
    /// Wait for the end
    #[arg(long)]
    pub(crate) wait: bool,
    /// Print what the steps print, until the end
    #[arg(long)]
    pub(crate) log: bool,
    /// Say what would be submitted and submit nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only in these phases, separated by commas
    #[arg(long, value_name = "PHASE,...", value_delimiter = ',', value_enum, ignore_case = true)]
    pub(crate) status: Vec<Status>,
    /// Only names that begin so
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    /// Only with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
}

/// Phases of runs, in upstream's spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum Status {
    Pending,
    Running,
    Succeeded,
    Failed,
    Error,
}

fn run_name(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        Err("every run has a name, see `argosy list`")
    } else {
        Ok(text.to_owned())
    }
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The run; @latest is the newest
    #[arg(value_parser = run_name)]
    pub(crate) run: String,
    /// A step by its name
    pub(crate) step: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OneRun {
    /// The run; @latest is the newest
    #[arg(value_parser = run_name)]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct ManyRuns {
    /// The runs; @latest is the newest
    #[arg(required = true, value_parser = run_name)]
    pub(crate) runs: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// The runs; @latest is the newest
    #[arg(required = true, value_parser = run_name)]
    pub(crate) runs: Vec<String>,
    /// A text for those who look at the run
    #[arg(long, default_value = "")]
    pub(crate) message: String,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The runs; @latest is the newest
    #[arg(required = true, value_parser = run_name)]
    pub(crate) runs: Vec<String>,
    /// Only steps that match, e.g. displayName=approve
    #[arg(long, default_value = "")]
    pub(crate) node_field_selector: String,
    /// A value for a suspended step that waits for it; may be repeated
    #[arg(short = 'p', long = "output-parameter", value_name = "NAME=VALUE")]
    pub(crate) output_parameters: Vec<String>,
    /// A text for those who look at the step
    #[arg(short, long, default_value = "", value_name = "TEXT")]
    pub(crate) message: String,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The runs; @latest is the newest
    #[arg(required_unless_present = "all", value_parser = run_name)]
    pub(crate) runs: Vec<String>,
    /// All finished runs
    #[arg(long, conflicts_with = "runs")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// The run; @latest is the newest
    #[arg(value_parser = run_name)]
    pub(crate) run: String,
    /// Only of this step (its name or pod name)
    pub(crate) step: Option<String>,
    /// Go on until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only the last lines of each container
    #[arg(long, value_name = "COUNT")]
    pub(crate) tail: Option<usize>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "REGEX")]
    pub(crate) grep: Option<String>,
    /// Only this container
    #[arg(short, long, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// Without the name in front of each line
    #[arg(long)]
    pub(crate) no_prefix: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Manifests; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Look up nothing on the server
    #[arg(long)]
    pub(crate) offline: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn no_two_flags_of_a_command_are_the_same() {
        super::Cli::command().debug_assert();
    }
}
