//! Handing manifests to a server.

use std::path::Path;
use std::process::ExitCode;

use argosy_model::{Code, Diagnostic};
use serde_json::{Value, json};

use super::watch::{Show, exit_code, follow};
use super::{Context, logs};
use crate::cli::{Given, SubmitArgs};
use crate::client::{Client, quote};
use crate::failure::{Failure, warn};

pub(super) async fn submit(context: &Context, args: SubmitArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let runs = match &args.from {
        Some(from) => vec![from_template(&client, from, &args.given, args.dry_run).await?],
        None => submit_files(&client, &args.files, &args.given, args.dry_run).await?,
    };
    let follows = args.watch || args.wait || args.log;
    for run in &runs {
        if !context.print(run)? && !args.watch {
            anstream::println!("{}", run["metadata"]["name"].as_str().unwrap_or_default());
        }
    }
    if args.dry_run || !follows {
        return Ok(ExitCode::SUCCESS);
    }
    let mut ends = Vec::new();
    for run in &runs {
        let how = if args.watch { Show::live() } else { Show::Nothing };
        ends.push(see_through(&client, run, how, args.log).await?);
    }
    Ok(exit_code(&ends))
}

/// Follows a run that was submitted, with its logs where they are wanted.
pub(super) async fn see_through(
    client: &Client,
    run: &Value,
    how: Show,
    with_logs: bool,
) -> Result<Value, Failure> {
    let name = run["metadata"]["name"].as_str().unwrap_or_default();
    if with_logs {
        logs::print(client, name, "logOptions.follow=true", true, false).await?;
    }
    follow(client, name, how).await
}

/// Submits the workflows of files, storing what else is in them first.
pub(super) async fn submit_files(
    client: &Client,
    files: &[std::path::PathBuf],
    given: &Given,
    dry_run: bool,
) -> Result<Vec<Value>, Failure> {
    let mut runs = Vec::new();
    let options = options(given)?;
    for file in files {
        let (name, text) = read(file)?;
        let path = format!(
            "/api/v1/workflows/{}?file={}&dryRun={dry_run}&options={}",
            quote(&client.space),
            quote(&name),
            quote(&options.to_string())
        );
        let mut answer = client.post_yaml(&path, text).await?;
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            if let Ok(warning) = serde_json::from_value::<Diagnostic>(warning.clone()) {
                warn(&warning);
            }
        }
        for stored in answer["stored"].as_array().into_iter().flatten() {
            anstream::eprintln!("stored {}", stored.as_str().unwrap_or_default());
        }
        if let Value::Array(items) = answer["items"].take() {
            runs.extend(items);
        }
    }
    Ok(runs)
}

/// A file's name, as messages give it, and its text.
pub(super) fn read(file: &Path) -> Result<(String, String), Failure> {
    let name = file.display().to_string();
    let bytes = if name == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let bytes = bytes.map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => Code::NotFound,
            _ => Code::BadRequest,
        };
        Failure(vec![Diagnostic::new(code, format!("{name}: {error}"))])
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let what = format!("{name}: byte {at} is not UTF-8");
        Failure(vec![Diagnostic::new(Code::BadText, what).help("save the file as UTF-8")])
    })?;
    Ok((name, text))
}

/// Submit options as the door takes them.
fn options(given: &Given) -> Result<Value, Failure> {
    let mut parameters = Vec::new();
    if let Some(file) = &given.parameter_file {
        parameters.extend(parameters_of(file)?);
    }
    parameters.extend(given.parameters.iter().cloned());
    Ok(json!({
        "name": given.name, "generateName": given.generate_name,
        "entryPoint": given.entrypoint, "parameters": parameters, "labels": given.labels}))
}

/// `name: value` pairs of a YAML or JSON file.
fn parameters_of(file: &Path) -> Result<Vec<String>, Failure> {
    let (name, text) = read(file)?;
    let documents = argosy_api::argo::yaml::parse(&name, &text)?;
    let mut parameters = Vec::new();
    for document in documents {
        let value = document.to_json();
        let map = value.as_object().ok_or_else(|| {
            let what = format!("{name} does not hold an object of parameters");
            Failure(vec![Diagnostic::new(Code::WrongType, what)])
        })?;
        for (key, value) in map {
            parameters.push(format!("{key}={}", argosy_engine::names::plain(value)));
        }
    }
    Ok(parameters)
}

async fn from_template(
    client: &Client,
    from: &str,
    given: &Given,
    dry_run: bool,
) -> Result<Value, Failure> {
    let Some((kind, name)) = from.split_once('/') else {
        let what = format!("--from {from:?} is not of the form KIND/NAME");
        return Err(Failure(vec![
            Diagnostic::new(Code::BadRequest, what).help("e.g. workflowtemplate/hello"),
        ]));
    };
    let mut options = options(given)?;
    options["dryRun"] = json!(dry_run);
    let body = json!({"resourceKind": kind, "resourceName": name, "submitOptions": options});
    client.post(&format!("/api/v1/workflows/{}/submit", quote(&client.space)), &body).await
}
