//! Checking manifests without running them.

use std::process::ExitCode;

use argosy_api::argo::{self, Kind, Shelf, SubmitOptions};
use argosy_model::Diagnostic;
use serde_json::json;

use super::Context;
use crate::cli::{LintArgs, Output};
use crate::client::quote;
use crate::embed;
use crate::failure::Failure;
use crate::input;
use crate::out::say;

pub(super) async fn lint(context: &Context, args: &LintArgs) -> Result<ExitCode, Failure> {
    let mut texts = Vec::new();
    for file in &args.files {
        texts.push((file.display().to_string(), input::text(file)?));
    }
    let (errors, warnings) = check(context, &texts);
    let errors = match (args.offline, errors.is_empty()) {
        (false, true) if has_server(context) => online(context, &texts).await?,
        _ => errors,
    };
    report(context, &errors, &warnings)
}

fn has_server(context: &Context) -> bool {
    context.config.server.is_some() || embed::live_server(&context.config.data).is_some()
}

/// Everything that the files alone tell. Files may refer to each other.
fn check(context: &Context, texts: &[(String, String)]) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let (mut shelf, mut objects) = (Shelf::default(), Vec::new());
    for (name, text) in texts {
        match argo::load(name, text) {
            Ok(loaded) => {
                warnings.extend(loaded.warnings);
                for object in loaded.objects {
                    shelf.add(object.clone());
                    objects.push(object);
                }
            }
            Err(refused) => errors.extend(refused),
        }
    }
    let given = context.config.namespace_is_given;
    let options =
        SubmitOptions { lint: true, suffix: "00000".to_owned(), ..SubmitOptions::default() };
    for object in objects {
        if matches!(object.kind, Kind::ConfigMap | Kind::Secret) {
            continue;
        }
        match object.space_in(&context.config.namespace, !given) {
            Ok(space) => {
                let options = SubmitOptions { namespace: space.to_owned(), ..options.clone() };
                errors.extend(argo::to_run(&object, &options, &shelf).err().unwrap_or_default());
            }
            Err(refused) => errors.push(refused),
        }
    }
    (errors, warnings)
}

/// The same with what the server has stored.
async fn online(context: &Context, texts: &[(String, String)]) -> Result<Vec<Diagnostic>, Failure> {
    let client = context.client().await?;
    let mut errors = Vec::new();
    for (name, text) in texts {
        let path = format!(
            "/api/v1/workflows/{}/lint?file={}&argosy.spaceIsDefault={}",
            quote(&client.space),
            quote(name),
            !context.config.namespace_is_given
        );
        match client.post_yaml(&path, text.clone()).await {
            Ok(_) => {}
            Err(Failure(refused)) => errors.extend(refused),
        }
    }
    Ok(errors)
}

fn report(
    context: &Context,
    errors: &[Diagnostic],
    warnings: &[Diagnostic],
) -> Result<ExitCode, Failure> {
    let code = if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) };
    if matches!(context.output, Output::Json | Output::Yaml) {
        context.print(&json!({"errors": errors, "warnings": warnings}))?;
        return Ok(code);
    }
    for warning in warnings {
        say!("warning: {}", warning.line())?;
    }
    for error in errors {
        say!("✖ {}", error.line())?;
    }
    if errors.is_empty() {
        say!("✔ no linting errors found")?;
    } else {
        say!("✖ {} linting errors found", errors.len())?;
    }
    Ok(code)
}
