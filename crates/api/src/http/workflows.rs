//! Runs as Workflows: create, submit, lint, list, get, delete and the verbs
//! (argo-workflows `pkg/apiclient/workflow/workflow.proto`).

use std::collections::HashMap;
use std::convert::Infallible;
use std::iter;

use argosy_engine::{Input, Supplied};
use argosy_model::{Code, Diagnostic, Phase, RunSpec, Shutdown};
use argosy_store::{ListFilter, RunRow};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::{Value, json};

use super::error::{Answer, bad_request, not_found};
use super::extract::{Path, Text};
use super::query::{self, Query};
use super::stock::Stock;
use super::{Asked, Door, library, select};
use crate::argo::{Kind, Object, SubmitOptions, load};
use crate::argo_status::{Pieces, outline, workflow};
use crate::ports::RunView;

/// Names that are drawn before a collision is believed.
const NAME_TRIES: usize = 3;

/// The row of a run; `@latest` is the newest of the space.
pub(super) async fn row(door: &Door, space: &str, name: &str) -> Answer<RunRow> {
    if name == "@latest" {
        let filter =
            ListFilter { space: Some(space.to_owned()), limit: 1, ..ListFilter::default() };
        let newest = door.service.list(&filter).await?.into_iter().next();
        return newest.ok_or_else(|| not_found("run", name));
    }
    door.service.find(space, name).await?.ok_or_else(|| not_found("run", name))
}

/// A run by name.
pub(super) async fn view(door: &Door, space: &str, name: &str) -> Answer<RunView> {
    let row = row(door, space, name).await?;
    Ok(door.service.run(row.id).await?)
}

/// Submit options as Argo's clients spell them (`SubmitOpts`).
fn options(space: &str, options: &Value) -> Answer<SubmitOptions> {
    let text = |name: &str| options[name].as_str().unwrap_or_default().to_owned();
    let pairs = |list: Vec<String>| {
        list.into_iter()
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => Err(bad_request(format!("{pair:?} is not of the form NAME=VALUE"))),
            })
            .collect::<Answer<Vec<_>>>()
    };
    let commas = |name: &str| {
        let texts = text(name);
        texts.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let parameters = options["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.filter_map(Value::as_str).map(str::to_owned).collect();
    let priority = options["priority"].as_i64().and_then(|value| i32::try_from(value).ok());
    Ok(SubmitOptions {
        name: text("name"),
        generate_name: text("generateName"),
        namespace: space.to_owned(),
        entrypoint: text("entryPoint"),
        parameters: pairs(parameters)?,
        labels: pairs(commas("labels"))?,
        annotations: pairs(commas("annotations"))?,
        priority,
        service_account: text("serviceAccount"),
        ..SubmitOptions::default()
    })
}

/// Resolves a Workflow (or a template taken for one) and accepts it, or only says what would be
/// accepted.
async fn accept(
    door: &Door,
    caller: &super::Caller,
    object: &Object,
    mut options: SubmitOptions,
    dry_run: bool,
) -> Answer<Value> {
    let mut stock = Stock::new(door);
    for attempt in 1.. {
        let (uid, suffix) = (door.random)();
        (options.uid, options.suffix) = (uid, suffix);
        let spec = stock.resolve(object, &options).await?;
        if dry_run {
            return Ok(preview(&spec));
        }
        let drawn = spec.name.ends_with(&options.suffix);
        match door.service.submit(spec, caller.cause()).await {
            Ok(id) => return Ok(door.service.run(id).await?.show(workflow)),
            Err(taken) if taken.code == Code::AlreadyExists && drawn && attempt < NAME_TRIES => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    Err(bad_request("no name could be drawn"))
}

fn preview(spec: &RunSpec) -> Value {
    let mut object = spec.source.clone();
    object["metadata"]["name"] = json!(spec.name);
    object["metadata"]["namespace"] = json!(spec.space);
    object
}

fn is_yaml(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.contains("yaml"))
}

/// `POST /api/v1/workflows/{space}`: Argo's JSON with one Workflow; or, as YAML, a whole file,
/// whose other objects are stored first.
pub(super) async fn create(
    State(door): State<Door>,
    Path(space): Path<String>,
    query: Query,
    headers: HeaderMap,
    caller: Asked,
    Text(body): Text,
) -> Answer<Json<Value>> {
    if is_yaml(&headers) {
        return create_file(&door, &space, &query, &caller, (&Value::Null, &body)).await.map(Json);
    }
    let asked = library::Destination::of(&space, &query)?;
    let body = json_body(&body)?;
    let object = one_object(&body["workflow"], "workflow")?;
    let dry_run = body["serverDryRun"] == true || body["createOptions"]["dryRun"].is_array();
    let options = options(asked.space_of(&object)?, &Value::Null)?;
    accept(&door, &caller, &object, options, dry_run).await.map(Json)
}

/// Stores and runs what a manifest file holds, with submit options as [`options`] reads them.
pub(super) async fn create_file(
    door: &Door,
    space: &str,
    query: &HashMap<String, String>,
    caller: &super::Caller,
    (given, text): (&Value, &str),
) -> Answer<Value> {
    let file = query::value(query, "file").unwrap_or("-");
    let dry_run = query::flag(query, "dryRun")?;
    let loaded = load(file, text)?;
    let asked = library::Destination::of(space, query)?;
    let runs = loaded.objects.iter().filter(|object| object.kind == Kind::Workflow);
    // Looked at before anything is stored.
    let runs = runs.map(|object| Ok((object, options(asked.space_of(object)?, given)?)));
    let runs: Vec<_> = runs.collect::<Answer<_>>()?;
    let stored =
        if dry_run { Vec::new() } else { library::store(door, &asked, &loaded.objects).await? };
    let mut items = Vec::new();
    for (object, options) in runs {
        items.push(accept(door, caller, object, options, dry_run).await?);
    }
    Ok(json!({"items": items, "stored": stored, "warnings": loaded.warnings}))
}

pub(super) fn json_body(text: &str) -> Answer<Value> {
    serde_json::from_str(text).map_err(|error| {
        if error.to_string().contains("recursion limit") {
            return Diagnostic::new(Code::TooLarge, crate::argo::yaml::too_deep()).into();
        }
        bad_request(format!("the body is not JSON: {error}"))
    })
}

/// The one object that a part of a JSON body is.
pub(super) fn one_object(value: &Value, field: &str) -> Answer<Object> {
    if value.is_null() {
        return Err(bad_request(format!("the body has no `{field}`")));
    }
    let mut value = value.clone();
    if let Value::Object(map) = &mut value {
        // Go clients leave these out, as the type tells them.
        map.entry("apiVersion").or_insert_with(|| json!("argoproj.io/v1alpha1"));
        if field == "workflow" {
            map.entry("kind").or_insert_with(|| json!("Workflow"));
        }
        map.remove("status");
    }
    let mut objects = load("-", &value.to_string())?.objects;
    match (objects.pop(), objects.is_empty()) {
        (Some(object), true) => Ok(object),
        _ => Err(bad_request(format!("`{field}` is not one object"))),
    }
}

/// `POST /api/v1/workflows/{space}/submit`: a run of a stored template.
pub(super) async fn submit(
    State(door): State<Door>,
    Path(space): Path<String>,
    caller: Asked,
    Text(body): Text,
) -> Answer<Json<Value>> {
    library::Destination::of(&space, &HashMap::new())?;
    let body = json_body(&body)?;
    let name = body["resourceName"].as_str().unwrap_or_default();
    let kind = match body["resourceKind"].as_str().unwrap_or_default().to_lowercase().as_str() {
        "workflowtemplate" | "workflow-template" | "wftmpl" => Kind::WorkflowTemplate,
        "clusterworkflowtemplate" | "cluster-workflow-template" | "cwft" => {
            Kind::ClusterWorkflowTemplate
        }
        other => return Err(bad_request(format!("no run can be made of a {other:?}"))),
    };
    let stored = door.service.object(&library::home(kind, &space), kind.as_str(), name).await?;
    let stored = stored.ok_or_else(|| not_found(kind.as_str(), name))?;
    let object = library::parse(name, &stored.data)?.into_iter().next();
    let object = object.ok_or_else(|| not_found(kind.as_str(), name))?;
    let mut options = options(&space, &body["submitOptions"])?;
    if options.name.is_empty() && options.generate_name.is_empty() {
        options.generate_name = format!("{name}-");
    }
    let dry_run =
        body["submitOptions"]["dryRun"] == true || body["submitOptions"]["serverDryRun"] == true;
    accept(&door, &caller, &object, options, dry_run).await.map(Json)
}

/// `POST /api/v1/workflows/{space}/lint`
pub(super) async fn lint(
    State(door): State<Door>,
    Path(space): Path<String>,
    query: Query,
    headers: HeaderMap,
    Text(body): Text,
) -> Answer<Json<Value>> {
    let asked = library::Destination::of(&space, &query)?;
    if is_yaml(&headers) {
        let loaded = load(query::value(&query, "file").unwrap_or("-"), &body)?;
        let mut errors = Vec::new();
        for object in loaded.objects.iter().filter(|object| is_runnable(object.kind)) {
            let checked = check(&door, &asked, object, &loaded.objects).await;
            errors.extend(checked.err().map(|refusal| refusal.0).unwrap_or_default());
        }
        return match errors.is_empty() {
            true => Ok(Json(json!({"warnings": loaded.warnings}))),
            false => Err(errors.into()),
        };
    }
    let body = json_body(&body)?;
    let object = one_object(&body["workflow"], "workflow")?;
    check(&door, &asked, &object, &[]).await?;
    Ok(Json(object.json))
}

/// Checks one object, beside others of its file.
async fn check(
    door: &Door,
    asked: &library::Destination<'_>,
    object: &Object,
    others: &[Object],
) -> Answer<()> {
    let space = asked.space_of(object)?;
    let mut stock = Stock::new(door);
    others.iter().cloned().for_each(|object| stock.add(object));
    let mut options = options(space, &Value::Null)?;
    options.lint = true;
    // A name that is drawn at submit is checked with any five letters.
    options.suffix = "00000".to_owned();
    stock.resolve(object, &options).await?;
    Ok(())
}

fn is_runnable(kind: Kind) -> bool {
    matches!(kind, Kind::Workflow | Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate)
}

/// `GET /api/v1/workflows/{space}/{name}`; without its nodes with `argosy.nodes=false`.
pub(super) async fn get(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
    query: Query,
) -> Answer<Response> {
    let view = view(&door, &space, &name).await?;
    if query::value(&query, "argosy.nodes") == Some("false") {
        return Ok(Json(view.read(outline)).into_response());
    }
    let view = view.still();
    let mut pieces = view.read(Pieces::of);
    let mut pieces = iter::from_fn(move || view.read(|run| pieces.next(run)));
    let (first, second) = (pieces.next().unwrap_or_default(), pieces.next());
    let body = match second {
        // With its length, as it is known.
        None => Body::from(first),
        Some(second) => {
            let all = [first, second].into_iter().chain(pieces);
            Body::from_stream(stream::iter(
                all.map(|piece| Ok::<_, Infallible>(Bytes::from(piece))),
            ))
        }
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// `DELETE /api/v1/workflows/{space}/{name}`
pub(super) async fn delete(
    State(door): State<Door>,
    Path((space, name)): Path<(String, String)>,
) -> Answer<Json<Value>> {
    let row = row(&door, &space, &name).await?;
    door.service.delete(row.id).await?;
    Ok(Json(json!({})))
}

/// What may be asked of a run.
enum Verb {
    Stop,
    Terminate,
    Suspend,
    Resume,
    Set,
}

impl Verb {
    /// Upstream's word for it. It is judged before the run is looked at: whoever asks for what is
    /// not built is told so, whatever state the run is in.
    fn parse(word: &str) -> Answer<Verb> {
        Ok(match word {
            "stop" => Verb::Stop,
            "terminate" => Verb::Terminate,
            "suspend" => Verb::Suspend,
            "resume" => Verb::Resume,
            "set" => Verb::Set,
            "retry" | "resubmit" => return Err(unsupported(&format!("`{word}`"))),
            _ => return Err(not_found("verb", word)),
        })
    }
}

/// `PUT /api/v1/workflows/{space}/{name}/{verb}`
pub(super) async fn verb(
    State(door): State<Door>,
    Path((space, name, verb)): Path<(String, String, String)>,
    caller: Asked,
    Text(body): Text,
) -> Answer<Json<Value>> {
    let body = if body.trim().is_empty() { Value::Null } else { json_body(&body)? };
    let verb = Verb::parse(&verb)?;
    let row = row(&door, &space, &name).await?;
    if row.phase.is_terminal() {
        let what = format!("{} has ended: {}", row.name, row.phase.as_str());
        return Err(Diagnostic::new(Code::NotInState, what).into());
    }
    let view = door.service.run(row.id).await?;
    let selector = body["nodeFieldSelector"].as_str().unwrap_or_default();
    let message = body["message"].as_str().unwrap_or_default().to_owned();
    let input = match verb {
        Verb::Stop if !selector.is_empty() => return Err(unsupported("stopping single steps")),
        Verb::Stop => Input::Shutdown { how: Shutdown::Stop, message },
        Verb::Terminate => Input::Shutdown { how: Shutdown::Terminate, message },
        Verb::Suspend => Input::Suspend,
        Verb::Resume => Input::Resume { steps: view.show(|run| select::steps(run, selector))? },
        Verb::Set => supplied(&view, selector, &body)?,
    };
    door.service.input(row.id, input, caller.cause()).await?;
    // Without its nodes: a run of a million would keep the loop, and whoever asks, waiting.
    Ok(Json(view.read(outline)))
}

fn unsupported(what: &str) -> super::Refusal {
    Diagnostic::new(Code::Unsupported, format!("{what} is not built yet")).into()
}

/// `set`: values for one suspended step, and how it is to end with them. `outputParameters` is a
/// JSON object as text (argo-workflows `server/workflow/workflow_server.go` `SetWorkflow`).
fn supplied(view: &RunView, selector: &str, body: &Value) -> Answer<Input> {
    let phase = match body["phase"].as_str().unwrap_or_default() {
        "" => None,
        "Succeeded" => Some(Phase::Succeeded),
        "Failed" => Some(Phase::Failed),
        "Error" => Some(Phase::Error),
        other => return Err(bad_request(format!("{other} is an invalid phase to set to"))),
    };
    let parameters = json_body(body["outputParameters"].as_str().unwrap_or("{}"))?;
    let parameters =
        parameters.as_object().ok_or_else(|| bad_request("outputParameters is not an object"))?;
    let given: Vec<_> = parameters.keys().map(String::as_str).collect();
    let step = view.show(|run| select::suspended(run, selector, &given))?;
    let parameters = parameters.iter().map(|(name, value)| (name.as_str().into(), value.clone()));
    let message = body["message"].as_str().unwrap_or_default().to_owned();
    Ok(Input::Supply(Supplied { step, parameters: parameters.collect(), phase, message }))
}
