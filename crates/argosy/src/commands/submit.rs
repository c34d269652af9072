//! Handing manifests to a server.

use std::path::Path;
use std::process::ExitCode;

use argosy_model::{Code, Diagnostic};
use serde_json::{Value, json};

use super::watch::{Following, Show, exit_code};
use super::{Context, logs};
use crate::cli::{Given, SubmitArgs};
use crate::client::{Blocks, Client, quote};
use crate::failure::{Failure, warn};
use crate::input;
use crate::out::{note, say};

/// Runs that are followed from their beginning at once; each may take two connections.
const AT_ONCE: usize = 16;

pub(super) async fn submit(context: &Context, args: SubmitArgs) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let runs = match &args.from {
        Some(from) => vec![from_template(&client, from, &args.given, args.dry_run).await?],
        None => submit_files(context, &client, &args.files, &args.given, args.dry_run).await?,
    };
    let follows = args.watch || args.wait || args.log;
    for run in &runs {
        if !context.print(run)? && !args.watch {
            say!("{}", run["metadata"]["name"].as_str().unwrap_or_default())?;
        }
    }
    if args.dry_run || !follows {
        return Ok(ExitCode::SUCCESS);
    }
    let how = if args.watch { Show::live() } else { Show::Outcome };
    let ends = see_through(&client, &runs, how, args.log, |end| how.close(end)).await?;
    Ok(exit_code(&ends))
}

/// Follows runs that were submitted, one after the other, with their logs where they are wanted.
pub(super) async fn see_through(
    client: &Client,
    runs: &[Value],
    how: Show,
    with_logs: bool,
    mut close: impl FnMut(&Value) -> Result<(), Failure>,
) -> Result<Vec<Value>, Failure> {
    let mut ends = Vec::new();
    for some in runs.chunks(AT_ONCE) {
        let mut begun = Vec::new();
        for run in some {
            begun.push(Seen::begin(client, run, how, with_logs).await);
        }
        for seen in begun {
            let end = seen?.through().await?;
            close(&end)?;
            ends.push(end);
        }
    }
    Ok(ends)
}

/// A run that is looked at from its beginning: it may end, and be gone, while others are shown.
struct Seen {
    following: Following,
    logs: Option<Result<Blocks, Failure>>,
}

impl Seen {
    async fn begin(
        client: &Client,
        run: &Value,
        how: Show,
        with_logs: bool,
    ) -> Result<Seen, Failure> {
        let text = |field: &str| run["metadata"][field].as_str().unwrap_or_default();
        let (name, client) = (text("name"), &client.within(text("namespace")));
        let following = Following::begin(client, name, how).await?;
        let logs = match with_logs {
            true => Some(logs::open(client, name, "logOptions.follow=true").await),
            false => None,
        };
        Ok(Seen { following, logs })
    }

    async fn through(self) -> Result<Value, Failure> {
        let logs = match self.logs {
            Some(Ok(blocks)) => logs::print(blocks, true, false).await,
            Some(Err(failure)) => Err(failure),
            None => Ok(()),
        };
        match logs {
            Err(closed) if closed.is_closed() => Err(closed),
            // Logs that cannot be read do not keep the run from its end.
            logs => self.following.end().await.and_then(|end| logs.map(|()| end)),
        }
    }
}

/// Submits the workflows of files, storing what else is in them first.
pub(super) async fn submit_files(
    context: &Context,
    client: &Client,
    files: &[std::path::PathBuf],
    given: &Given,
    dry_run: bool,
) -> Result<Vec<Value>, Failure> {
    let mut runs = Vec::new();
    let options = options(given)?;
    for file in files {
        let (name, text) = (file.display().to_string(), input::text(file)?);
        let path = format!(
            "/argosy/v1/spaces/{}/submissions?file={}&dryRun={dry_run}&argosy.spaceIsDefault={}",
            quote(&client.space),
            quote(&name),
            !context.config.namespace_is_given
        );
        let mut answer = client.post_yaml(&path, format!("{options}\n{text}")).await?;
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            if let Ok(warning) = serde_json::from_value::<Diagnostic>(warning.clone()) {
                warn(&warning);
            }
        }
        for stored in answer["stored"].as_array().into_iter().flatten() {
            note!("stored {}", stored.as_str().unwrap_or_default());
        }
        if let Value::Array(items) = answer["items"].take() {
            runs.extend(items);
        }
    }
    Ok(runs)
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
    let (name, text) = (file.display().to_string(), input::text(file)?);
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
