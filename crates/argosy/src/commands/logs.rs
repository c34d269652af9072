//! What steps printed.

use std::io::Write;
use std::process::ExitCode;

use futures::StreamExt;

use super::Context;
use super::get::path;
use crate::cli::{LogsArgs, Output};
use crate::client::{Client, quote};
use crate::failure::Failure;

pub(super) async fn logs(context: &Context, args: &LogsArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let mut query = format!("logOptions.follow={}", args.follow);
    for (name, value) in [
        ("podName", &args.step),
        ("grep", &args.grep),
        ("logOptions.container", &args.container),
        ("logOptions.tailLines", &args.tail.map(|count| count.to_string())),
    ] {
        if let Some(value) = value {
            query.push_str(&format!("&{name}={}", quote(value)));
        }
    }
    let prefix = !args.no_prefix;
    print(&client, &args.run, &query, prefix, context.output == Output::Json).await?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a run's lines, with the pod in front of each where that is wanted.
pub(super) async fn print(
    client: &Client,
    run: &str,
    query: &str,
    prefix: bool,
    json: bool,
) -> Result<(), Failure> {
    let mut entries = client.lines(&format!("{}/log?{query}", path(client, run))).await?;
    let mut out = anstream::stdout();
    while let Some(entry) = entries.next().await {
        let entry = entry?;
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        let printed = match (json, prefix) {
            (true, _) => writeln!(out, "{entry}"),
            (false, true) => writeln!(out, "{}: {}", text("podName"), text("content")),
            (false, false) => writeln!(out, "{}", text("content")),
        };
        if printed.is_err() {
            // Whoever read this has seen enough.
            return Ok(());
        }
    }
    Ok(())
}
