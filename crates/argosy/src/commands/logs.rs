//! What steps printed.

use std::process::ExitCode;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::StreamExt;
use serde_json::Value;

use super::Context;
use super::get::path;
use crate::cli::{LogsArgs, Output};
use crate::client::{Client, quote};
use crate::failure::Failure;
use crate::out;

pub(super) async fn logs(context: &Context, args: &LogsArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let mut query = format!("logOptions.follow={}", args.follow);
    for (name, value) in [
        ("argosy.step", &args.step),
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

/// Prints a run's lines, with the pod in front of each where that is wanted. What could not be read
/// is told at the end.
pub(super) async fn print(
    client: &Client,
    run: &str,
    query: &str,
    prefix: bool,
    json: bool,
) -> Result<(), Failure> {
    let mut entries = client.lines(&format!("{}/log?{query}", path(client, run))).await?;
    let mut missing = Vec::new();
    while let Some(entry) = entries.next().await {
        match entry {
            Ok(entry) if json => out::data(&format!("{entry}\n"))?,
            Ok(entry) => out::bytes(&line(&entry, prefix))?,
            Err(Failure(refused)) => missing.extend(refused),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(Failure(missing)) }
}

/// A line as its program wrote it, behind the name of its pod where that is wanted.
fn line(entry: &Value, prefix: bool) -> Vec<u8> {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let mut line = Vec::new();
    if prefix {
        line.extend_from_slice(format!("{}: ", text("podName")).as_bytes());
    }
    match BASE64_STANDARD.decode(text("bytes")) {
        Ok(bytes) if !bytes.is_empty() => line.extend(bytes),
        _ => line.extend_from_slice(text("content").as_bytes()),
    }
    if prefix || entry["unfinished"] != true {
        line.push(b'\n');
    }
    line
}
