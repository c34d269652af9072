//! Looking: lists, one run, one step, why something waits.

use std::process::ExitCode;

use futures::StreamExt;
use serde_json::Value;

use super::Context;
use crate::cli::{GetArgs, ListArgs, Output};
use crate::client::{Client, quote};
use crate::failure::Failure;
use crate::out::{self, note};
use crate::show;

/// Runs that are asked for at once.
const PAGE: usize = 1_000;

/// Unix ms.
pub(super) fn now_ms() -> i64 {
    use argosy_server::Clock as _;
    argosy_server::SystemClock::new().now_ms()
}

/// The path of a run.
pub(super) fn path(client: &Client, run: &str) -> String {
    format!("/api/v1/workflows/{}/{}", quote(&client.space), quote(run))
}

pub(super) async fn list(context: &Context, args: &ListArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let mut selector = args.selector.clone().unwrap_or_default();
    if !args.status.is_empty() {
        let comma = if selector.is_empty() { "" } else { "," };
        let phases: Vec<String> = args.status.iter().map(|phase| format!("{phase:?}")).collect();
        let phases = phases.join(",");
        selector.push_str(&format!("{comma}workflows.argoproj.io/phase in ({phases})"));
    }
    let prefix = args.prefix.as_deref().unwrap_or_default();
    let answer = rows(&client, &selector, prefix, args.limit as usize).await?;
    if !context.print(&answer)? {
        let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.is_empty() {
            note!("no runs in {}", client.space);
        } else {
            let wide = context.output == Output::Wide;
            out::text(&show::list(items, now_ms(), wide))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs, newest first, page after page until there are enough.
pub(super) async fn rows(
    client: &Client,
    selector: &str,
    prefix: &str,
    limit: usize,
) -> Result<Value, Failure> {
    let base = format!(
        "/api/v1/workflows/{}?listOptions.labelSelector={}&namePrefix={}",
        quote(&client.space),
        quote(selector),
        quote(prefix)
    );
    let mut items: Vec<Value> = Vec::new();
    let mut from = String::new();
    loop {
        let ask = limit.saturating_sub(items.len()).min(PAGE);
        let path = format!("{base}&listOptions.limit={ask}&listOptions.continue={}", quote(&from));
        let mut answer = client.get(&path).await?;
        if let Value::Array(page) = answer["items"].take() {
            items.extend(page);
        }
        from = answer["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if from.is_empty() || items.len() >= limit {
            items.truncate(limit);
            answer["metadata"]["continue"] = Value::from("");
            answer["items"] = Value::Array(items);
            return Ok(answer);
        }
    }
}

pub(super) async fn get(context: &Context, args: &GetArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    if let Some(step) = &args.step {
        return get_step(context, &client, &args.run, step).await;
    }
    let path = path(&client, &args.run);
    if context.output == Output::Json {
        return get_json(&client, &path).await;
    }
    let nodes = context.output != Output::Name;
    let workflow = client.get(&format!("{path}?argosy.nodes={nodes}")).await?;
    if !context.print(&workflow)? {
        let wide = context.output == Output::Wide;
        out::text(&show::run(&workflow, now_ms(), wide))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a run as it comes: the object of a large one is larger than one likes to hold.
async fn get_json(client: &Client, path: &str) -> Result<ExitCode, Failure> {
    let mut pieces = client.bytes(path).await?;
    let mut pretty = show::Pretty::default();
    while let Some(piece) = pieces.next().await {
        out::data(&pretty.lines(&piece?))?;
    }
    out::data(&pretty.end())?;
    Ok(ExitCode::SUCCESS)
}

async fn get_step(
    context: &Context,
    client: &Client,
    run: &str,
    step: &str,
) -> Result<ExitCode, Failure> {
    let (space, run, step) = (quote(&client.space), quote(run), quote(step));
    let path = format!("/argosy/v1/spaces/{space}/runs/{run}/steps?step={step}");
    let answer = client.get(&path).await?;
    for step in answer["steps"].as_array().into_iter().flatten() {
        if !context.print(step)? {
            out::text(&show::timeline(step))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn explain(context: &Context, run: &str) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let (space, run) = (quote(&client.space), quote(run));
    let answer = client.get(&format!("/argosy/v1/spaces/{space}/runs/{run}/explain")).await?;
    if !context.print(&answer)? {
        out::text(&show::explanation(&answer))?;
    }
    Ok(ExitCode::SUCCESS)
}
