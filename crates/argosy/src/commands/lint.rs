//! Checking manifests without running them.

use std::process::ExitCode;

use argosy_api::argo::{self, Kind, Shelf, SubmitOptions};
use argosy_model::Diagnostic;
use serde_json::json;

use super::Context;
use super::submit::read;
use crate::cli::{LintArgs, Output};
use crate::client::quote;
use crate::embed;
use crate::failure::Failure;

pub(super) async fn lint(context: &Context, args: &LintArgs) -> Result<ExitCode, Failure> {
    let mut texts = Vec::new();
    for file in &args.files {
        texts.push(read(file)?);
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
    let options = SubmitOptions {
        namespace: context.config.namespace.clone(),
        lint: true,
        suffix: "00000".to_owned(),
        ..SubmitOptions::default()
    };
    for object in objects {
        if matches!(object.kind, Kind::ConfigMap | Kind::Secret) {
            continue;
        }
        errors.extend(argo::to_run(&object, &options, &shelf).err().unwrap_or_default());
    }
    (errors, warnings)
}

/// The same with what the server has stored.
async fn online(context: &Context, texts: &[(String, String)]) -> Result<Vec<Diagnostic>, Failure> {
    let client = context.client().await?;
    let mut errors = Vec::new();
    for (name, text) in texts {
        let path = format!("/api/v1/workflows/{}/lint?file={}", quote(&client.space), quote(name));
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
        anstream::println!("warning: {}", warning.line());
    }
    for error in errors {
        anstream::println!("✖ {}", error.line());
    }
    if errors.is_empty() {
        anstream::println!("✔ no linting errors found");
    } else {
        anstream::println!("✖ {} linting errors found", errors.len());
    }
    Ok(code)
}
