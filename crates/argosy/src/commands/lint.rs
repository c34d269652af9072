//! Checking manifests without running them.

use std::collections::BTreeSet;
use std::process::ExitCode;

use argosy_api::argo::{self, Kind, Shelf, SubmitOptions};
use argosy_exec::images::{self, ImageTable};
use argosy_model::graph::Body;
use argosy_model::run::Plan;
use argosy_model::{Diagnostic, RunSpec};
use serde_json::json;

use super::Context;
use crate::cli::{LintArgs, Output};
use crate::client::quote;
use crate::embed;
use crate::failure::{Failure, shown};
use crate::input;
use crate::out::say;

pub(super) async fn lint(context: &Context, args: &LintArgs) -> Result<ExitCode, Failure> {
    let mut texts = Vec::new();
    for file in &args.files {
        texts.push((file.display().to_string(), input::text(file)?));
    }
    let (errors, warnings, host_images) = check(context, &texts);
    let errors = match (args.offline, errors.is_empty()) {
        (false, true) if has_server(context) => online(context, &texts).await?,
        _ => errors,
    };
    report(context, &errors, &warnings, &host_images)
}

fn has_server(context: &Context) -> bool {
    context.config.server.is_some() || embed::live_server(&context.config.data).is_some()
}

/// Everything that the files alone tell: errors, warnings, and images that are not known here.
/// Files may refer to each other.
fn check(
    context: &Context,
    texts: &[(String, String)],
) -> (Vec<Diagnostic>, Vec<Diagnostic>, BTreeSet<String>) {
    let (mut errors, mut warnings, mut images) = (Vec::new(), Vec::new(), BTreeSet::new());
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
                match argo::to_run(&object, &options, &shelf) {
                    Ok(spec) => images.extend(host_images(&spec)),
                    Err(refused) => errors.extend(refused),
                }
            }
            Err(refused) => errors.push(refused),
        }
    }
    (errors, warnings, images)
}

/// Images of a run for which the programs of this machine stand, as far as their names are given.
fn host_images(spec: &RunSpec) -> impl Iterator<Item = String> {
    let graph = match &spec.plan {
        Plan::Graph(graph) => Some(graph),
        Plan::Task(_) => None,
    };
    let templates = graph.into_iter().flat_map(|graph| &graph.templates);
    let processes = templates.filter_map(|template| match &template.body {
        Body::Process(process) | Body::ContainerSet(process) => Some(process),
        _ => None,
    });
    let containers = processes.flat_map(|process| {
        let set = process.set.iter().map(|member| &member.container);
        set.chain(&process.init).chain(&process.sidecars).chain([&process.main])
    });
    let images = containers.map(|container| container.image.clone());
    images.filter(|image| {
        let is_known = image.is_empty() || image.contains("{{");
        !is_known && ImageTable::default().find(image).kind == images::Kind::Host
    })
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
    host_images: &BTreeSet<String>,
) -> Result<ExitCode, Failure> {
    let code = if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) };
    if matches!(context.output, Output::Json | Output::Yaml) {
        context.print(&json!({
            "errors": errors, "warnings": warnings, "hostImages": host_images}))?;
        return Ok(code);
    }
    for warning in warnings {
        say!("warning: {}", warning.line())?;
    }
    for image in host_images {
        say!("note: image {image} is not known here: it runs with this machine's programs")?;
    }
    for error in errors {
        say!("{}", shown(error))?;
    }
    match errors.len() {
        0 => say!("✔ no linting errors found")?,
        1 => say!("✖ 1 linting error found")?,
        count => say!("✖ {count} linting errors found")?,
    }
    Ok(code)
}
