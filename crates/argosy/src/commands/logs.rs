//! What steps printed.

use std::process::ExitCode;

use futures::StreamExt;

use super::Context;
use super::get::{path, timeline};
use crate::cli::{LogsArgs, Output};
use crate::client::{Client, quote};
use crate::failure::Failure;
use crate::out;

pub(super) async fn logs(context: &Context, args: &LogsArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    if let Some(step) = &args.step {
        let workflow = client.get(&path(&client, &args.run)).await?;
        let run = workflow["metadata"]["name"].as_str().unwrap_or_default();
        timeline(&client, run, step).await?;
    }
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
    while let Some(entry) = entries.next().await {
        let entry = entry?;
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        // Not as a text for people, which would lose the colours that a program printed.
        out::data(&match (json, prefix) {
            (true, _) => format!("{entry}\n"),
            (false, true) => format!("{}: {}\n", text("podName"), text("content")),
            (false, false) => format!("{}\n", text("content")),
        })?;
    }
    Ok(())
}
