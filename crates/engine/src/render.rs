//! The process of an attempt, with every text final.
//!
//! Rendering is a pure function of the run, so the same attempt is rendered alike before and after
//! a crash, and nothing of it needs to be written down.

use argosy_model::graph::{Body, OutputFrom, OutputsDecl, ProcessTemplate, Template};
use argosy_model::process::{
    Container, EnvValue, EnvVar, OutputArtifact, OutputFile, OutputsSpec, ProcessSpec, SetMember,
    StagedInput, VolumeSource,
};
use argosy_model::{AttemptId, Code, Diagnostic, Resources, StepKey};
use serde_json::{Value, json};

use crate::decide::render_text;
use crate::fault::{bad_value, evaluation};
use crate::outcome::{Last, Outcome, TryNames, exit_code, seconds};
use crate::run::Run;
use crate::scope::View;
use crate::{names, patch};

/// A process that is ready to be made, and what a person calls it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The process.
    pub process: ProcessSpec,
    /// The step's full name, with the try where there are several.
    pub name: String,
    /// The owner of the run.
    pub space: String,
}

/// Renders the process of an attempt.
///
/// # Errors
/// What the step is told: a tag cannot be replaced, or a value is not of its field's form.
pub fn render(run: &Run, attempt: AttemptId) -> Result<Rendered, Diagnostic> {
    let key = attempt.step;
    let space = run.spec.space.clone();
    if let Some(task) = run.task_of(key) {
        let name = names::full_name(run, key);
        return Ok(Rendered { process: task.process.clone(), name, space });
    }
    let template = run.template_of(key).ok_or_else(|| no_template("does not exist"))?;
    let process = match &template.body {
        Body::Process(process) | Body::ContainerSet(process) => process,
        _ => return Err(no_template("makes no process")),
    };
    let name = name_of(run, attempt, template);
    let view = late_view(run, attempt, template, &name);
    deadline_s(&view, template)?;
    let renderer = Renderer { view: &view };
    let mut rendered = renderer.process(template, process, attempt).map_err(evaluation)?;
    renderer.lay_on(&process.patches, &mut rendered)?;
    Ok(Rendered { process: rendered, name, space })
}

fn no_template(what: &str) -> Diagnostic {
    Diagnostic::new(Code::TemplateNotFound, format!("the step's template {what}"))
}

/// Ms that an attempt may run by its template. A bound that makes no sense had the attempt refused
/// when it was rendered.
pub(crate) fn bound_ms(run: &Run, attempt: AttemptId) -> Option<i64> {
    let template = run.template_of(attempt.step)?;
    template.active_deadline_s.as_ref()?;
    let name = name_of(run, attempt, template);
    let seconds = deadline_s(&late_view(run, attempt, template, &name), template).ok()?;
    seconds.map(|seconds| i64::from(seconds) * 1000)
}

/// Seconds that an attempt may run, where its template bounds that; at least 1 (Kubernetes refuses
/// a pod with less).
fn deadline_s(view: &View<'_>, template: &Template) -> Result<Option<u32>, Diagnostic> {
    let Some(text) = &template.active_deadline_s else { return Ok(None) };
    let text = render_text(view, text).map_err(evaluation)?;
    let seconds = text.trim().parse().ok().filter(|seconds| *seconds > 0);
    let what = || format!("activeDeadlineSeconds: {text:?} is not a whole number from 1 on");
    Ok(Some(seconds.ok_or_else(|| bad_value(what()))?))
}

fn name_of(run: &Run, attempt: AttemptId, template: &Template) -> String {
    match (&template.retry, user_tries(run, attempt)) {
        (Some(_), tries) => names::try_name(run, attempt.step, tries),
        (None, _) => names::full_name(run, attempt.step),
    }
}

/// What the process of an attempt needs, patches counted in. A patch that cannot be
/// laid on counts for nothing here; the attempt is refused for it when it is rendered.
#[must_use]
pub fn needs(run: &Run, attempt: AttemptId) -> Option<Resources> {
    if let Some(task) = run.task_of(attempt.step) {
        return Some(task.process.resources);
    }
    let process = match &run.template_of(attempt.step)?.body {
        Body::Process(process) | Body::ContainerSet(process) => process,
        _ => return None,
    };
    let patched = || render(run, attempt).ok().map(|rendered| rendered.process.resources);
    let patched = if process.patches.is_empty() { None } else { patched() };
    Some(patched.unwrap_or(process.resources))
}

/// How many tries of the user's budget came before this attempt.
fn user_tries(run: &Run, attempt: AttemptId) -> u32 {
    let before = run.at(attempt.step).attempts.iter().take(attempt.number as usize);
    u32::try_from(before.filter(|a| !a.was_infrastructure()).count()).unwrap_or(u32::MAX)
}

/// The view of a process's texts, with the names that are known only now.
fn late_view<'a>(run: &'a Run, attempt: AttemptId, template: &Template, name: &str) -> View<'a> {
    let step = run.at(attempt.step);
    let placed_ms = step.attempts.get(attempt.number as usize).map_or(0, |a| a.placed_ms);
    let pod = names::pod_name(&run.spec.name, name, &template.name);
    let mut view = View::inside(run, attempt.step, placed_ms)
        .with_item(run.item_of(attempt.step))
        .with("pod.name", json!(pod))
        .with("node.name", json!(name));
    view.attempt = Some(attempt.number);
    if template.retry.is_some() {
        for (name, value) in last_retry(run, attempt) {
            view = view.with(name, value);
        }
    }
    view
}

/// `retries` and `lastRetry.*`.
fn last_retry(run: &Run, attempt: AttemptId) -> TryNames {
    let before = run.at(attempt.step).attempts.iter().take(attempt.number as usize);
    let last = before.rev().find(|attempt| !attempt.was_infrastructure());
    let last = last.and_then(|last| Some((last.end.as_deref()?, last.kill)));
    let Some((end, kill)) = last else { return Last::no_names() };
    let Outcome { phase, message } = Outcome::of(end, kill, run);
    let (exit_code, seconds) = (exit_code(&end.exit), seconds(end));
    Last { phase, message, exit_code, seconds }.names_for_next(user_tries(run, attempt))
}

struct Renderer<'v, 'r> {
    view: &'v View<'r>,
}

type Text<T> = std::result::Result<T, argosy_template::Error>;

impl Renderer<'_, '_> {
    fn text(&self, source: &str) -> Text<String> {
        render_text(self.view, source)
    }

    fn texts(&self, sources: &[String]) -> Text<Vec<String>> {
        sources.iter().map(|source| self.text(source)).collect()
    }

    fn process(
        &self,
        template: &Template,
        process: &ProcessTemplate,
        attempt: AttemptId,
    ) -> Text<ProcessSpec> {
        let containers = |list: &[Container]| -> Text<Vec<Container>> {
            list.iter().map(|container| self.container(container)).collect()
        };
        let set = process.set.iter().map(|member| {
            let container = self.container(&member.container)?;
            Ok(SetMember { container, dependencies: member.dependencies.clone() })
        });
        let mut volumes = process.volumes.clone();
        for volume in &mut volumes {
            self.volume(&mut volume.source)?;
        }
        let graph = self.view.run.graph();
        let format = graph.map_or("", |graph| &graph.key_format);
        let mut key_prefix = self.text(format)?;
        if attempt.number > 0 {
            key_prefix.push_str(&format!("/{}", attempt.number));
        }
        Ok(ProcessSpec {
            main: self.container(&process.main)?,
            init: containers(&process.init)?,
            sidecars: containers(&process.sidecars)?,
            set: set.collect::<Text<_>>()?,
            inputs: self.inputs(template)?,
            outputs: OutputsSpec {
                result: self.view.run.keeps_result(attempt.step),
                logs: graph.is_some_and(|graph| graph.archive_logs),
                ..self.outputs(&template.outputs)?
            },
            volumes,
            resources: process.resources,
            grace_ms: process.grace_ms.unwrap_or(30_000),
            key_prefix,
        })
    }

    fn lay_on(&self, patches: &[Value], process: &mut ProcessSpec) -> Result<(), Diagnostic> {
        for given in patches {
            let tree = match given {
                Value::String(text) => patch::parse(&self.text(text).map_err(evaluation)?)?,
                tree => self.tree(tree).map_err(evaluation)?,
            };
            patch::lay_on(process, &tree)?;
        }
        Ok(())
    }

    /// A tree with all tags in its texts replaced.
    fn tree(&self, tree: &Value) -> Text<Value> {
        Ok(match tree {
            Value::String(text) => Value::from(self.text(text)?),
            Value::Array(items) => {
                items.iter().map(|item| self.tree(item)).collect::<Text<Vec<_>>>()?.into()
            }
            Value::Object(map) => {
                let pairs = map.iter().map(|(key, value)| Ok((self.text(key)?, self.tree(value)?)));
                Value::Object(pairs.collect::<Text<_>>()?)
            }
            other => other.clone(),
        })
    }

    fn container(&self, container: &Container) -> Text<Container> {
        let env = container.env.iter().map(|var| {
            let value = match &var.value {
                EnvValue::Text(text) => EnvValue::Text(self.text(text)?),
                EnvValue::Secret(key) => EnvValue::Secret(self.key_ref(key)?),
                EnvValue::ConfigMap(key) => EnvValue::ConfigMap(self.key_ref(key)?),
            };
            Ok(EnvVar { name: self.text(&var.name)?, value })
        });
        Ok(Container {
            name: container.name.clone(),
            image: self.text(&container.image)?,
            command: self.texts(&container.command)?,
            args: self.texts(&container.args)?,
            script: container.script.as_deref().map(|text| self.text(text)).transpose()?,
            env: env.collect::<Text<_>>()?,
            env_from: container.env_from.clone(),
            working_dir: self.text(&container.working_dir)?,
            mounts: container.mounts.clone(),
            claim: container.claim,
        })
    }

    fn key_ref(&self, key: &argosy_model::process::KeyRef) -> Text<argosy_model::process::KeyRef> {
        Ok(argosy_model::process::KeyRef {
            name: self.text(&key.name)?,
            key: self.text(&key.key)?,
            optional: key.optional,
        })
    }

    fn volume(&self, source: &mut VolumeSource) -> Text<()> {
        match source {
            VolumeSource::EmptyDir => {}
            VolumeSource::HostPath(path) => *path = self.text(path)?,
            VolumeSource::Secret { name, .. } | VolumeSource::ConfigMap { name, .. } => {
                *name = self.text(name)?;
            }
        }
        Ok(())
    }

    fn inputs(&self, template: &Template) -> Text<Vec<StagedInput>> {
        let step: StepKey = self.view.owner;
        let Some(given) = self.view.run.at(step).inputs.as_deref() else { return Ok(Vec::new()) };
        let declared = template.inputs.artifacts.iter().zip(&*given.artifacts);
        declared
            .filter_map(|(declared, artifact)| artifact.as_ref().map(|found| (declared, found)))
            .map(|(declared, artifact)| {
                Ok(StagedInput {
                    name: declared.argument.name.clone(),
                    path: self.text(&declared.path)?,
                    artifact: artifact.clone(),
                    mode: declared.mode,
                    recurse_mode: declared.recurse_mode,
                    optional: declared.argument.optional,
                })
            })
            .collect()
    }

    fn outputs(&self, declared: &OutputsDecl) -> Text<OutputsSpec> {
        let mut outputs = OutputsSpec::default();
        for parameter in &declared.parameters {
            if let OutputFrom::Path(path) = &parameter.from {
                outputs.parameters.push(OutputFile {
                    name: parameter.name.clone(),
                    path: self.text(path)?,
                    default: parameter
                        .default
                        .as_deref()
                        .map(|text| self.text(text))
                        .transpose()?,
                });
            }
        }
        for artifact in declared.artifacts.iter().filter(|artifact| !artifact.path.is_empty()) {
            let key = match &artifact.source {
                argosy_model::graph::ArtifactSource::Key(key) => Some(self.text(key)?),
                _ => None,
            };
            outputs.artifacts.push(OutputArtifact {
                name: artifact.name.clone(),
                path: self.text(&artifact.path)?,
                archive: artifact.archive,
                key,
                optional: artifact.optional,
            });
        }
        Ok(outputs)
    }
}
