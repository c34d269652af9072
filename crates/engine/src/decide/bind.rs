//! Values for a template's inputs, and every other evaluation of a text.

use argosy_model::graph::{
    Argument, Arguments, ArtifactArgument, ArtifactSource, InputArtifactDecl, Template,
};
use argosy_model::{Archive, Artifact, Code, Diagnostic, Inputs, Location, StepKey, limits};
use argosy_template::{Env, Lookup, Scope};
use serde_json::Value;

use super::turn::Turn;
use crate::fault::evaluation;
use crate::names::{fnv1a, plain};
use crate::scope::View;

/// Why something has no value.
#[derive(Debug)]
pub(super) enum Miss {
    /// Its producer was skipped.
    Absent(Diagnostic),
    /// Anything else.
    Failed(Diagnostic),
}

impl Miss {
    pub(super) fn why(self) -> Diagnostic {
        match self {
            Miss::Absent(why) | Miss::Failed(why) => why,
        }
    }

    /// Its producer left nothing.
    pub(super) fn absent(what: impl Into<String>) -> Miss {
        Miss::Absent(Diagnostic::new(Code::EvaluationFailed, what))
    }

    fn failed(what: impl Into<String>) -> Miss {
        Miss::Failed(Diagnostic::new(Code::EvaluationFailed, what))
    }
}

impl From<argosy_template::Error> for Miss {
    fn from(error: argosy_template::Error) -> Self {
        match error {
            argosy_template::Error::Absent { .. } => Miss::Absent(evaluation(error)),
            other => Miss::Failed(evaluation(other)),
        }
    }
}

/// The outside of an evaluation: the view's time, and a seed that no other evaluation of the run
/// has. What is evaluated for an attempt is seeded by the attempt, so that it comes out alike
/// however often it is evaluated.
pub(crate) fn env(view: &View<'_>) -> Env {
    let moment = match view.attempt {
        Some(number) => u64::from(number) | 1 << 63,
        None => view.run.events,
    };
    let seed = u64::from(fnv1a(&view.run.spec.uid)) << 32
        ^ u64::from(view.owner.0)
        ^ moment.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Env::new(view.now_ms, seed)
}

/// The text with its tags replaced.
pub(crate) fn render_text(view: &View<'_>, source: &str) -> Result<String, argosy_template::Error> {
    if !source.contains("{{") {
        return Ok(source.to_owned());
    }
    let mut env = env(view);
    view.run.compiled.text(source)?.render(view, &mut env)
}

/// The value of an expression.
pub(crate) fn eval(view: &View<'_>, source: &str) -> Result<Value, argosy_template::Error> {
    let mut env = env(view);
    view.run.compiled.expr(source)?.eval(view, &mut env)
}

impl Turn<'_> {
    pub(super) fn view(&self, owner: StepKey) -> View<'_> {
        View::inside(self.run, owner, self.now_ms)
    }
}

/// Values for all inputs of `template`.
pub(super) fn bind(
    view: &View<'_>,
    template: &Template,
    arguments: &Arguments,
) -> Result<Inputs, Diagnostic> {
    let mut parameters: Vec<Option<Box<str>>> = Vec::new();
    for declared in &template.inputs.parameters {
        let given = arguments.parameters.iter().find(|given| given.name == declared.name);
        // What a template declares is written in the template, and sees its inputs: those before.
        let own = View { own: Some((template, &parameters)), ..view.of_template() };
        let value = parameter((view, &own), declared, given)?;
        limits::PARAMETER_BYTES
            .check(value.len() as u64, &format!("parameter `{}`", declared.name))?;
        parameters.push(Some(value.into_boxed_str()));
    }
    let artifacts = template
        .inputs
        .artifacts
        .iter()
        .map(|declared| {
            let own = View { own: Some((template, &parameters)), ..view.of_template() };
            artifact((view, &own), declared, arguments)
        })
        .collect::<Result<Vec<_>, Diagnostic>>()?;
    Ok(Inputs { parameters: parameters.into(), artifacts: artifacts.into() })
}

/// One parameter: what the call gives, else what the template has, else its default
/// (argo-workflows `workflow/common/util.go` `ProcessArgs`).
fn parameter(
    (caller, own): (&View<'_>, &View<'_>),
    declared: &Argument,
    given: Option<&Argument>,
) -> Result<String, Diagnostic> {
    let fallback = || declared.default.as_deref().map(|text| render_text(own, text));
    let found = match given.map(|given| argument(caller, given)) {
        Some(Ok(Some(value))) => Some(value),
        Some(Err(Miss::Absent(why))) => match fallback() {
            Some(value) => Some(value.map_err(evaluation)?),
            None => return Err(why),
        },
        Some(Err(miss)) => return Err(miss.why()),
        Some(Ok(None)) | None => argument(own, declared).map_err(Miss::why)?,
    };
    let value = match found {
        Some(value) => value,
        None => return Err(not_supplied("parameters", &declared.name)),
    };
    if !declared.allowed.is_empty() && !declared.allowed.contains(&value) {
        let (name, allowed) = (&declared.name, &declared.allowed);
        let what = format!(
            "inputs.parameters.{name}: {value:?} is not among the allowed values {allowed:?}"
        );
        return Err(Diagnostic::new(Code::NotInEnum, what));
    }
    Ok(value)
}

fn not_supplied(kind: &str, name: &str) -> Diagnostic {
    Diagnostic::new(Code::MissingArgument, format!("inputs.{kind}.{name} was not supplied"))
}

/// The value that an argument or declaration gives by itself.
pub(super) fn argument(view: &View<'_>, argument: &Argument) -> Result<Option<String>, Miss> {
    if let Some(text) = &argument.value {
        return Ok(Some(render_text(view, text)?));
    }
    if let Some(source) = &argument.expression {
        return match eval(view, source)? {
            Value::Null => Ok(None),
            value => Ok(Some(plain(&value))),
        };
    }
    if let Some((map, key)) = &argument.config_map {
        let (map, key) = (render_text(view, map)?, render_text(view, key)?);
        let maps = view.run.graph().map(|graph| &graph.config_maps[..]).unwrap_or_default();
        let found = maps.iter().find(|(name, _)| *name == map);
        let found = found.and_then(|(_, pairs)| pairs.iter().find(|(name, _)| *name == key));
        return match (found, &argument.default) {
            (Some((_, value)), _) => Ok(Some(value.clone())),
            (None, Some(default)) => Ok(Some(render_text(view, default)?)),
            (None, None) => {
                let what = format!("config map {map:?} has no key {key:?} here");
                Err(Miss::Failed(Diagnostic::new(Code::NotFound, what)))
            }
        };
    }
    match &argument.default {
        Some(text) => Ok(Some(render_text(view, text)?)),
        None => Ok(None),
    }
}

fn artifact(
    (caller, own): (&View<'_>, &View<'_>),
    declared: &InputArtifactDecl,
    arguments: &Arguments,
) -> Result<Option<Artifact>, Diagnostic> {
    let name = &declared.argument.name;
    let optional = declared.argument.optional;
    let given = arguments.artifacts.iter().find(|given| given.name == *name);
    let optional = optional || given.is_some_and(|given| given.optional);
    let sources = given.map(|given| (caller, given)).into_iter().chain([(own, &declared.argument)]);
    for (view, source) in sources {
        match artifact_argument(view, source) {
            Ok(Some(artifact)) => return Ok(Some(artifact)),
            Ok(None) => {}
            Err(_) if optional => return Ok(None),
            Err(miss) => return Err(miss.why()),
        }
    }
    if optional {
        return Ok(None);
    }
    Err(not_supplied("artifacts", name))
}

/// The artifact that an argument names.
pub(super) fn artifact_argument(
    view: &View<'_>,
    argument: &ArtifactArgument,
) -> Result<Option<Artifact>, Miss> {
    let Some(mut found) = artifact_source(view, &argument.source)? else { return Ok(None) };
    if argument.archive != Archive::Default {
        found.archive = argument.archive;
    }
    let sub_path = render_text(view, &argument.sub_path)?;
    if !sub_path.is_empty() {
        let joined = if found.sub_path.is_empty() {
            sub_path
        } else {
            format!("{}/{sub_path}", found.sub_path.trim_end_matches('/'))
        };
        found.sub_path = joined;
    }
    Ok(Some(found))
}

/// The artifact at a source.
pub(super) fn artifact_source(
    view: &View<'_>,
    source: &ArtifactSource,
) -> Result<Option<Artifact>, Miss> {
    let plain = |at| Artifact { at, archive: Archive::Default, sub_path: String::new() };
    let artifact = match source {
        ArtifactSource::Unset => return Ok(None),
        ArtifactSource::From(tag) => return artifact_tag(view, tag).map(Some),
        ArtifactSource::Expression(source) => return artifact_value(eval(view, source)?, source),
        ArtifactSource::Raw(text) => Artifact {
            at: Location::Raw { data: render_text(view, text)? },
            archive: Archive::None,
            sub_path: String::new(),
        },
        ArtifactSource::Key(text) => plain(Location::Blob { key: render_text(view, text)? }),
        ArtifactSource::Http(text) => plain(Location::Http { url: render_text(view, text)? }),
        ArtifactSource::S3(at) => {
            let mut at = (**at).clone();
            at.key = render_text(view, &at.key)?;
            at.bucket = render_text(view, &at.bucket)?;
            at.endpoint = render_text(view, &at.endpoint)?;
            plain(Location::S3(Box::new(at)))
        }
    };
    Ok(Some(artifact))
}

fn artifact_value(value: Value, source: &str) -> Result<Option<Artifact>, Miss> {
    match value {
        Value::Null => Err(Miss::absent(format!("{source}: the artifact is absent"))),
        value => serde_json::from_value(value)
            .map(Some)
            .map_err(|_| Miss::failed(format!("{source}: the value is not an artifact"))),
    }
}

/// The artifact that a whole tag names: `{{steps.a.outputs.artifacts.b}}`.
fn artifact_tag(view: &View<'_>, tag: &str) -> Result<Artifact, Miss> {
    let inner = tag.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    let name = inner.unwrap_or(tag).trim();
    let name = render_text(view, name)?;
    let path: Vec<&str> = name.split('.').collect();
    match view.get(&path) {
        Lookup::Known(value) | Lookup::Written { value, .. } => artifact_value(value, tag)?
            .ok_or_else(|| Miss::failed(format!("{tag} names no artifact"))),
        Lookup::Absent => Err(Miss::absent(format!("{tag}: its producer was skipped or omitted"))),
        Lookup::TooLarge { .. } => Err(Miss::failed(format!("{tag} names no artifact"))),
        Lookup::Unknown => Err(Miss::failed(format!("failed to resolve {tag}"))),
    }
}
