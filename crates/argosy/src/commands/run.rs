//! Running manifests, with a server or without one.

use std::process::ExitCode;

use serde_json::Value;

use super::watch::{Show, exit_code};
use super::{Context, submit};
use crate::cli::RunArgs;
use crate::client::Client;
use crate::embed::{self, Embedded, Owned};
use crate::failure::Failure;
use crate::out::{self, note};
use crate::show;

pub(super) async fn run(context: &Context, args: RunArgs) -> Result<ExitCode, Failure> {
    if context.config.server.is_some() || embed::live_server(&context.config.data).is_some() {
        let client = context.client().await?;
        return run_with(context, &client, &args).await;
    }
    // What keeps it from going on, such as a full disk, is said; all else is told by the run.
    super::log("error");
    let embedded =
        Embedded::start(Owned::take(&context.config).await?, &context.config, &args.machine, None)
            .await?;
    let client = Client::embedded(embedded.router.clone(), &context.config.namespace);
    let code = tokio::select! {
        code = run_with(context, &client, &args) => code,
        () = interrupted() => {
            note!("interrupted; the run goes on with the next `argosy up` or `argosy run`");
            Ok(ExitCode::from(130))
        }
    };
    tokio::select! {
        () = embedded.stop() => {}
        // Whoever interrupts twice does not want to wait.
        () = interrupted() => {}
    }
    code
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler the signal ends the process by itself.
        std::future::pending::<()>().await;
    }
}

async fn run_with(context: &Context, client: &Client, args: &RunArgs) -> Result<ExitCode, Failure> {
    let runs = submit::submit_files(context, client, &args.files, &args.given, false).await?;
    if runs.is_empty() {
        note!("the files hold no Workflow to run");
    }
    let how = match (args.watch, args.log) {
        (true, _) => Show::live(),
        (false, true) => Show::Nothing,
        (false, false) if context.output == crate::cli::Output::Text => Show::Lines,
        _ => Show::Nothing,
    };
    let close = |end: &Value| match context.print(end)? || how == Show::Tree {
        true => Ok(()),
        false => out::text(&show::run(end, super::get::now_ms(), false)),
    };
    Ok(exit_code(&submit::see_through(client, &runs, how, args.log, close).await?))
}
