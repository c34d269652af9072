//! What steps printed.

use std::borrow::Cow;
use std::process::ExitCode;

use argosy_model::Diagnostic;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::StreamExt;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Context;
use super::get::path;
use crate::cli::{LogsArgs, Output};
use crate::client::{Blocks, Client, quote, results};
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
    let blocks = open(&client, &args.run, &query).await?;
    print(blocks, prefix, context.output == Output::Json).await?;
    Ok(ExitCode::SUCCESS)
}

/// The logs of a run, as they come.
pub(super) async fn open(client: &Client, run: &str, query: &str) -> Result<Blocks, Failure> {
    client.blocks(&format!("{}/log?{query}", path(client, run))).await
}

/// Prints a run's lines, with the pod in front of each where that is wanted. What could not be read
/// is told at the end.
pub(super) async fn print(mut blocks: Blocks, prefix: bool, json: bool) -> Result<(), Failure> {
    let mut missing = Vec::new();
    let mut begins = true;
    while let Some(block) = blocks.next().await {
        let block = match block {
            Ok(block) => block,
            Err(Failure(broken)) => {
                missing.extend(broken);
                continue;
            }
        };
        let mut text = Vec::new();
        let refused = match json {
            true => take(&block, &mut text, |entry: &RawValue, text| {
                text.extend_from_slice(entry.get().as_bytes());
                text.push(b'\n');
            }),
            false => take(&block, &mut text, |entry: Entry<'_>, text| {
                entry.write(prefix && begins, text);
                begins = !entry.unfinished;
            }),
        };
        // All lines that have come are written at once: there may be millions.
        out::bytes(&text)?;
        missing.extend(refused);
    }
    if missing.is_empty() { Ok(()) } else { Err(Failure(missing)) }
}

/// Has the entries of a block written; what could not be read of them.
fn take<'t, T: Deserialize<'t>>(
    block: &'t [u8],
    text: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) -> Vec<Diagnostic> {
    let mut missing = Vec::new();
    for entry in results(block) {
        match entry {
            Ok(entry) => write(entry, text),
            Err(Failure(refused)) => missing.extend(refused),
        }
    }
    missing
}

/// A line of a log, or a piece of one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry<'t> {
    #[serde(borrow)]
    content: Cow<'t, str>,
    #[serde(borrow, rename = "podName")]
    pod: Cow<'t, str>,
    /// What was written, in base 64, where that is no text.
    bytes: String,
    /// Whether the line goes on.
    unfinished: bool,
}

impl Entry<'_> {
    /// A line, or a piece of one, as its program wrote it, behind the name of its pod where that is
    /// wanted.
    fn write(&self, prefix: bool, to: &mut Vec<u8>) {
        if prefix {
            to.extend_from_slice(self.pod.as_bytes());
            to.extend_from_slice(b": ");
        }
        match BASE64_STANDARD.decode(&self.bytes) {
            Ok(bytes) if !bytes.is_empty() => to.extend(bytes),
            _ => to.extend_from_slice(self.content.as_bytes()),
        }
        if !self.unfinished {
            to.push(b'\n');
        }
    }
}
