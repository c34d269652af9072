//! Ending, holding, resuming and deleting runs.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::Context;
use super::get::{path, rows};
use crate::cli::{DeleteArgs, ResumeArgs, StopArgs};
use crate::client::Client;
use crate::failure::Failure;
use crate::out::say;

async fn order(
    context: &Context,
    client: &Client,
    run: &str,
    verb: &str,
    body: &Value,
) -> Result<(), Failure> {
    let answer = client.put(&format!("{}/{verb}", path(client, run)), body).await?;
    shown(context, &answer, run, verb)
}

fn shown(context: &Context, answer: &Value, run: &str, verb: &str) -> Result<(), Failure> {
    if !context.print(answer)? {
        let name = answer["metadata"]["name"].as_str().unwrap_or(run);
        say!("{name}: {verb} ordered")?;
    }
    Ok(())
}

pub(super) async fn verb(
    context: &Context,
    runs: &[String],
    verb: &str,
) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    for run in runs {
        order(context, &client, run, verb, &json!({})).await?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn stop(context: &Context, args: &StopArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    for run in &args.runs {
        order(context, &client, run, "stop", &json!({"message": args.message})).await?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn resume(context: &Context, args: &ResumeArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let selector = &args.node_field_selector;
    for run in &args.runs {
        if args.output_parameters.is_empty() && args.message.is_empty() {
            order(context, &client, run, "resume", &json!({"nodeFieldSelector": selector})).await?;
            continue;
        }
        // Values and the end of the pause go together, so that half of them is never set.
        let values = Value::Object(pairs(&args.output_parameters)?).to_string();
        let body = json!({
            "nodeFieldSelector": selector, "outputParameters": values, "phase": "Succeeded",
            "message": args.message});
        let answer = client.put(&format!("{}/set", path(&client, run)), &body).await?;
        shown(context, &answer, run, "resume")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn pairs(texts: &[String]) -> Result<Map<String, Value>, Failure> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), json!(value))),
            None => Err(Failure::other(format!("{text:?} is not of the form NAME=VALUE"))),
        })
        .collect()
}

pub(super) async fn delete(context: &Context, args: &DeleteArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let runs = if args.all { finished(&client).await? } else { args.runs.clone() };
    for run in runs {
        let workflow = client.get(&path(&client, &run)).await?;
        let name = workflow["metadata"]["name"].as_str().unwrap_or(&run).to_owned();
        client.delete(&path(&client, &name)).await?;
        say!("{name} deleted")?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn finished(client: &Client) -> Result<Vec<String>, Failure> {
    let answer = rows(client, "workflows.argoproj.io/completed=true", "", usize::MAX).await?;
    let items = answer["items"].as_array().cloned().unwrap_or_default();
    let names = items.iter().filter_map(|item| item["metadata"]["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}
