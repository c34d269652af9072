//! Looking: lists, one run, one step, why something waits.

use std::process::ExitCode;

use serde_json::Value;

use super::Context;
use crate::cli::{GetArgs, ListArgs, Output};
use crate::client::{Client, quote};
use crate::failure::Failure;
use crate::show;

/// Unix ms.
pub(super) fn now_ms() -> i64 {
    use argosy_server::Clock as _;
    argosy_server::SystemClock.now_ms()
}

/// The path of a run.
pub(super) fn path(client: &Client, run: &str) -> String {
    format!("/api/v1/workflows/{}/{}", quote(&client.space), quote(run))
}

pub(super) async fn list(context: &Context, args: &ListArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let mut selector = args.selector.clone().unwrap_or_default();
    if let Some(phases) = &args.status {
        let comma = if selector.is_empty() { "" } else { "," };
        selector.push_str(&format!("{comma}workflows.argoproj.io/phase in ({phases})"));
    }
    let answer = client
        .get(&format!(
            "/api/v1/workflows/{}?listOptions.limit={}&listOptions.labelSelector={}&namePrefix={}",
            quote(&client.space),
            args.limit,
            quote(&selector),
            quote(args.prefix.as_deref().unwrap_or_default())
        ))
        .await?;
    if !context.print(&answer)? {
        let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.is_empty() {
            anstream::eprintln!("no runs in {}", client.space);
        } else {
            let wide = context.output == Output::Wide;
            anstream::print!("{}", show::list(items, now_ms(), wide));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn get(context: &Context, args: &GetArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let workflow = client.get(&path(&client, &args.run)).await?;
    let Some(step) = &args.step else {
        if !context.print(&workflow)? {
            let wide = context.output == Output::Wide;
            anstream::print!("{}", show::run(&workflow, now_ms(), wide));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let run = workflow["metadata"]["name"].as_str().unwrap_or_default();
    let steps = timeline(&client, run, step).await?;
    for (at, step) in steps.iter().enumerate() {
        if !context.print(step)? {
            let gap = if at > 0 { "\n" } else { "" };
            anstream::print!("{gap}{}", show::timeline(step));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The steps of that display name, full name or id.
async fn timeline(client: &Client, run: &str, step: &str) -> Result<Vec<Value>, Failure> {
    let base = format!("/argosy/v1/spaces/{}/runs/{}/steps", quote(&client.space), quote(run));
    let mut refused = None;
    for field in ["displayName", "name", "id"] {
        let selector = quote(&format!("{field}={step}"));
        match client.get(&format!("{base}?selector={selector}")).await {
            Ok(answer) => return Ok(answer["steps"].as_array().cloned().unwrap_or_default()),
            Err(failure) => refused = Some(failure),
        }
    }
    Err(refused.unwrap_or_else(|| Failure::other("no step of that name")))
}

pub(super) async fn explain(context: &Context, run: &str) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let workflow = client.get(&path(&client, run)).await?;
    let name = workflow["metadata"]["name"].as_str().unwrap_or_default();
    let answer = client
        .get(&format!("/argosy/v1/spaces/{}/runs/{}/explain", quote(&client.space), quote(name)))
        .await?;
    if !context.print(&answer)? {
        anstream::print!("{}", show::explanation(&answer));
    }
    Ok(ExitCode::SUCCESS)
}
