//! One file a group of commands.

mod control;
mod doctor;
mod get;
mod lint;
mod logs;
mod run;
mod submit;
mod up;
mod watch;

use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::Value;

use crate::cli::{Cli, Command, Output};
use crate::client::Client;
use crate::config::Config;
use crate::embed;
use crate::failure::Failure;
use crate::out::{self, say};

/// What a command knows of its surroundings.
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) output: Output,
}

impl Context {
    /// The server: the one that was named, or the one that lives on the data directory, or for
    /// reading the data directory itself.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        if let Some(url) = &self.config.server {
            return Client::remote(url, &self.config.namespace);
        }
        if let Some(living) = Client::living(&self.config.data, &self.config.namespace) {
            return Ok(living);
        }
        embed::reading(&self.config.data, &self.config.namespace).await
    }

    /// Prints a value in one of the modes for programs; `false` in those for people.
    pub(crate) fn print(&self, value: &Value) -> Result<bool, Failure> {
        match self.output {
            Output::Json => {
                let text = serde_json::to_string_pretty(value).map_err(unprintable)?;
                out::data(&format!("{text}\n"))?;
            }
            Output::Yaml => {
                out::data(&serde_saphyr::to_string(value).map_err(unprintable)?)?;
            }
            Output::Name => names(value).try_for_each(|name| say!("{name}"))?,
            Output::Text | Output::Wide => return Ok(false),
        }
        Ok(true)
    }
}

/// The names of an object, or of the items of a list.
fn names(value: &Value) -> impl Iterator<Item = &str> {
    let items = match value["items"].as_array() {
        Some(items) => items.iter().collect(),
        None => vec![value],
    };
    items.into_iter().filter_map(|item| item["metadata"]["name"].as_str())
}

/// Carries a command out.
pub(crate) async fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let context = Context { config: Config::of(&cli.global)?, output: cli.global.output };
    match cli.command {
        Command::Run(args) => run::run(&context, args).await,
        Command::Up(args) => up::up(&context, args).await,
        Command::Submit(args) => submit::submit(&context, args).await,
        Command::List(args) => get::list(&context, &args).await,
        Command::Get(args) => get::get(&context, &args).await,
        Command::Watch(args) => watch::watch(&context, &args.run).await,
        Command::Wait(args) => watch::wait(&context, &args.runs).await,
        Command::Logs(args) => logs::logs(&context, &args).await,
        Command::Stop(args) => control::stop(&context, &args).await,
        Command::Terminate(args) => control::verb(&context, &args.runs, "terminate").await,
        Command::Suspend(args) => control::verb(&context, &args.runs, "suspend").await,
        Command::Resume(args) => control::resume(&context, &args).await,
        Command::Delete(args) => control::delete(&context, &args).await,
        Command::Lint(args) => lint::lint(&context, &args).await,
        Command::Explain(args) => get::explain(&context, &args.run).await,
        Command::Doctor => doctor::doctor(&context).await,
        Command::Config { .. } => config(&context),
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "argosy", &mut script);
            out::data(&String::from_utf8_lossy(&script))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Prints what a file would say to the same end, with where each value comes from.
fn config(context: &Context) -> Result<ExitCode, Failure> {
    let mut value = serde_json::to_value(&context.config).map_err(unprintable)?;
    let sources = &context.config.sources;
    let named: serde_json::Map<_, _> = sources
        .iter()
        .map(|(key, source)| ((*key).to_owned(), source.to_string().into()))
        .collect();
    value["sources"] = Value::Object(named);
    if context.print(&value)? {
        return Ok(ExitCode::SUCCESS);
    }
    for (key, source) in sources {
        let found = value.pointer(&format!("/{}", key.replace('.', "/")));
        let shown = toml::Value::try_from(found).map_err(unprintable)?;
        out::data(&format!("{key} = {shown}  # {source}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn unprintable(error: impl std::fmt::Display) -> Failure {
    Failure::other(error.to_string())
}

/// Logs on standard error, from a level on. `s3s` logs every refused request as an error, which is
/// its sender's to know.
fn log(level: &str) {
    let filter = tracing_subscriber::EnvFilter::new(format!("{level},s3s=off"));
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    // Only a second log in one process is refused.
    let _ = log.try_init();
}
