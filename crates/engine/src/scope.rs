//! What tags and expressions can see from where they stand.

use argosy_model::graph::{OutputDecl, Template};
use argosy_model::{Item, Kind, Phase, Role, Step, StepKey};
use argosy_template::go;
use argosy_template::{Lookup, Scope};
use serde_json::{Map, Value, json};

use crate::aggregate::aggregate;
use crate::decide::render_text;
use crate::failures;
use crate::item;
use crate::listed::{listed, written};
use crate::names;
use crate::outcome::{Last, TryNames};
use crate::run::Run;

/// The view from inside a template that a step carries out.
pub(crate) struct View<'a> {
    pub(crate) run: &'a Run,
    /// The step whose template the text is written in; `NONE` for the run's own texts.
    pub(crate) owner: StepKey,
    /// The item of the loop that the text stands in.
    pub(crate) item: Option<&'a Item>,
    /// The step that a hook is about.
    pub(crate) about: StepKey,
    /// Inputs of a template whose step is not made yet: what its own declarations see.
    pub(crate) own: Option<(&'a Template, &'a [Option<Box<str>>])>,
    /// Names that this one evaluation sees on top.
    pub(crate) extra: Vec<(&'static str, Value)>,
    /// Unix ms, for durations.
    pub(crate) now_ms: i64,
    /// The attempt that the text is evaluated for, by number.
    pub(crate) attempt: Option<u32>,
}

impl<'a> View<'a> {
    pub(crate) fn inside(run: &'a Run, owner: StepKey, now_ms: i64) -> View<'a> {
        let (item, own, extra, about, attempt) = (None, None, Vec::new(), StepKey::NONE, None);
        View { run, owner, item, about, own, extra, now_ms, attempt }
    }

    /// What a template sees that nobody has called yet: nothing of the caller's.
    pub(crate) fn of_template(&self) -> View<'a> {
        View::inside(self.run, StepKey::NONE, self.now_ms)
    }

    pub(crate) fn with_item(mut self, item: Option<&'a Item>) -> View<'a> {
        self.item = item;
        self
    }

    /// What a hook about `step` sees: of a loop the one item that it is about (argo-workflows
    /// `workflow/controller/exit_handler.go` `resolveExitTmplArgument`).
    pub(crate) fn about(mut self, step: StepKey) -> View<'a> {
        self.item = self.run.item_of(step);
        self.about = step;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: Value) -> View<'a> {
        self.extra.push((name, value));
        self
    }

    fn inputs(&self, path: &[&str]) -> Lookup {
        let (template, parameters, artifacts) = match self.own {
            Some((template, parameters)) => (template, parameters, &[][..]),
            None => {
                let Some(template) = self.run.template_of(self.owner) else {
                    return Lookup::Unknown;
                };
                let inputs = self.run.step(self.owner).and_then(|step| step.inputs.as_deref());
                let Some(inputs) = inputs else { return Lookup::Unknown };
                (template, &*inputs.parameters, &*inputs.artifacts)
            }
        };
        match path {
            ["parameters"] => {
                let values = template.inputs.parameters.iter().zip(parameters);
                let map: Map<_, _> = values
                    .map(|(declared, value)| {
                        (declared.name.clone(), text_or_null(value.as_deref()))
                    })
                    .collect();
                let values = template.inputs.parameters.iter().zip(parameters);
                let list = values.map(|(declared, value)| listed(declared, value.as_deref()));
                Lookup::Written { text: written(list), value: Value::Object(map) }
            }
            ["parameters", name @ ..] => {
                let name = name.join(".");
                let values = template.inputs.parameters.iter().zip(parameters);
                match values.into_iter().find(|(declared, _)| declared.name == name) {
                    Some((_, Some(value))) => Lookup::Known(Value::String(value.to_string())),
                    Some((_, None)) => Lookup::Absent,
                    None => Lookup::Unknown,
                }
            }
            ["artifacts", name, "path"] => {
                let declared = template.inputs.artifacts.iter();
                match declared.into_iter().find(|artifact| artifact.argument.name == *name) {
                    Some(artifact) => self.path(&artifact.path, template, parameters),
                    None => Lookup::Unknown,
                }
            }
            ["artifacts", name @ ..] if !name.is_empty() => {
                let name = name.join(".");
                let values = template.inputs.artifacts.iter().zip(artifacts);
                match values.into_iter().find(|(declared, _)| declared.argument.name == name) {
                    Some((_, Some(artifact))) => Lookup::Known(json!(artifact)),
                    Some((_, None)) => Lookup::Absent,
                    None => Lookup::Unknown,
                }
            }
            _ => Lookup::Unknown,
        }
    }

    /// The path of an artifact, in which the template's parameters may stand. A path in a path is
    /// not looked at again.
    fn path(&self, path: &str, template: &Template, parameters: &[Option<Box<str>>]) -> Lookup {
        if self.own.is_some() {
            return Lookup::Known(Value::from(path));
        }
        let own = View { own: Some((template, parameters)), ..self.of_template() };
        match render_text(&own, path) {
            Ok(path) => Lookup::Known(Value::from(path)),
            Err(_) => Lookup::Unknown,
        }
    }

    fn own_outputs(&self, path: &[&str]) -> Lookup {
        let Some(template) = self.run.template_of(self.owner) else { return Lookup::Unknown };
        let found = match path {
            ["parameters", name, "path"] => {
                template.outputs.parameters.iter().find(|output| output.name == *name).and_then(
                    |output| match &output.from {
                        argosy_model::graph::OutputFrom::Path(path) => Some(path.clone()),
                        _ => None,
                    },
                )
            }
            ["artifacts", name, "path"] => template
                .outputs
                .artifacts
                .iter()
                .find(|output| output.name == *name)
                .map(|output| output.path.clone()),
            _ => return self.outputs_so_far(path),
        };
        let Some(path) = found else { return Lookup::Unknown };
        let inputs = self.run.step(self.owner).and_then(|step| step.inputs.as_deref());
        self.path(&path, template, inputs.map_or(&[], |inputs| &inputs.parameters))
    }

    /// `outputs.*` of the step itself, in hooks about it.
    fn outputs_so_far(&self, path: &[&str]) -> Lookup {
        match self.run.step(self.owner) {
            Some(step) if step.phase.is_terminal() => self.outputs_of(self.owner, step, path),
            _ => Lookup::Unknown,
        }
    }

    /// A sibling by the name of its call.
    pub(crate) fn sibling(&self, name: &str) -> Option<StepKey> {
        let about = self.run.step(self.about);
        let is_item = about.is_some_and(|step| matches!(step.role, Role::Item(_)));
        if is_item && self.run.call_of(self.about).is_some_and(|call| call.name == name) {
            return Some(self.about);
        }
        find_call(self.run, self.owner, name)
    }

    fn sibling_value(&self, path: &[&str]) -> Lookup {
        let [name, rest @ ..] = path else { return Lookup::Unknown };
        if *name == "name" && rest.is_empty() {
            return Lookup::Known(Value::String(names::short_name(self.run, self.owner)));
        }
        let Some(key) = self.sibling(name) else { return Lookup::Unknown };
        let Some(step) = self.run.step(key) else { return Lookup::Unknown };
        match rest {
            [] => self.sibling_object(key, step),
            ["outputs", rest @ ..] => self.outputs_of(key, step, rest),
            ["status"] => Lookup::Known(json!(step.phase.as_str())),
            ["exitCode"] => self.outputs_of(key, step, &["exitCode"]),
            ["id"] => {
                let full = names::full_name(self.run, key);
                Lookup::Known(json!(names::node_id(&self.run.spec.name, &full)))
            }
            ["ip"] if step.started_ms != 0 => Lookup::Known(json!("127.0.0.1")),
            ["hostNodeName"] if step.started_ms != 0 => Lookup::Known(json!("local")),
            ["startedAt"] if step.started_ms != 0 => Lookup::Known(json!(rfc3339(step.started_ms))),
            ["finishedAt"] if step.ended_ms != 0 => Lookup::Known(json!(rfc3339(step.ended_ms))),
            _ => Lookup::Unknown,
        }
    }

    /// A sibling as an object, for expressions that pass it on.
    fn sibling_object(&self, key: StepKey, step: &Step) -> Lookup {
        let mut map = Map::new();
        map.insert("status".into(), json!(step.phase.as_str()));
        let mut outputs = Map::new();
        for name in ["result", "parameters", "exitCode"] {
            if let Lookup::Known(value) = self.outputs_of(key, step, &[name]) {
                outputs.insert(name.into(), value);
            }
        }
        map.insert("outputs".into(), Value::Object(outputs));
        Lookup::Known(Value::Object(map))
    }

    fn outputs_of(&self, key: StepKey, step: &Step, path: &[&str]) -> Lookup {
        if step.kind == Kind::FanOut {
            return aggregate(self.run, key, step, path);
        }
        let never_ran = matches!(step.phase, Phase::Skipped | Phase::Omitted);
        let outputs = step.outputs.as_deref();
        let found = match path {
            ["result"] => outputs.and_then(|o| o.result.as_deref()).map(Value::from),
            ["exitCode"] => outputs.and_then(|o| o.exit_code).map(|c| Value::from(c.to_string())),
            ["parameters"] if !never_ran => outputs.map(parameters_object),
            ["parameters", name @ ..] => {
                let name = name.join(".");
                outputs
                    .and_then(|o| o.parameter(&name).cloned())
                    .or_else(|| never_ran.then(|| declared_default(self.run, key, &name))?)
            }
            ["artifacts", name @ ..] => {
                outputs.and_then(|o| o.artifact(&name.join("."))).map(|artifact| json!(artifact))
            }
            _ => None,
        };
        match found {
            Some(value) => Lookup::Known(value),
            None if never_ran => Lookup::Absent,
            None => Lookup::Unknown,
        }
    }

    fn workflow(&self, path: &[&str]) -> Lookup {
        let spec = &self.run.spec;
        let globals = self.run.graph().map(|graph| &graph.globals);
        let known = |text: &str| Lookup::Known(Value::from(text));
        match path {
            ["name"] => known(&spec.name),
            ["namespace"] => known(&spec.space),
            ["uid"] => known(&spec.uid),
            ["priority"] => known(&spec.priority.to_string()),
            ["mainEntrypoint"] => globals.map_or(Lookup::Unknown, |g| known(&g.main_entrypoint)),
            ["serviceAccountName"] => {
                globals.map_or(Lookup::Unknown, |g| known(&g.service_account))
            }
            ["scheduledTime"] => {
                globals.and_then(|g| g.scheduled_time.as_deref()).map_or(Lookup::Unknown, known)
            }
            ["status"] => {
                known(self.run.main.as_ref().map_or("Running", |(phase, _)| phase.as_str()))
            }
            ["message"] => known(self.run.main.as_ref().map_or("", |(_, message)| message)),
            ["failures"] => failures::lookup(self.run),
            ["duration"] => {
                let ms = self.now_ms - self.run.accepted_ms;
                #[expect(clippy::cast_precision_loss, reason = "shown with six digits")]
                let seconds = ms as f64 / 1000.0;
                known(&format!("{seconds:.6}"))
            }
            ["creationTimestamp", rest @ ..] => creation(self.run.accepted_ms, rest),
            ["parameters", rest @ ..] => self.run_parameters(rest),
            ["labels", rest @ ..] => pairs(&self.run.labels, rest),
            ["annotations", rest @ ..] => {
                globals.map_or(Lookup::Unknown, |globals| pairs(&globals.annotations, rest))
            }
            ["outputs", "parameters"] => {
                let globals = self.run.globals.iter();
                Lookup::Known(Value::Object(
                    globals.map(|(name, value)| (name.to_string(), value.clone())).collect(),
                ))
            }
            ["outputs", "parameters", name @ ..] => match self.run.globals.get(&*name.join(".")) {
                Some(value) => Lookup::Known(value.clone()),
                None => Lookup::Unknown,
            },
            ["outputs", "artifacts", name @ ..] => {
                match self.run.global_artifacts.get(&*name.join(".")) {
                    Some(artifact) => Lookup::Known(json!(artifact)),
                    None => Lookup::Unknown,
                }
            }
            _ => Lookup::Unknown,
        }
    }

    fn run_parameters(&self, path: &[&str]) -> Lookup {
        let Some(graph) = self.run.graph() else { return Lookup::Unknown };
        let values = &graph.arguments.parameters;
        match path {
            [] => Lookup::Written {
                text: written(values.iter().map(|it| listed(it, it.value.as_deref()))),
                value: Value::Object(
                    values
                        .iter()
                        .filter_map(|p| Some((p.name.clone(), Value::from(p.value.clone()?))))
                        .collect(),
                ),
            },
            ["json"] if values.iter().all(|parameter| parameter.name != "json") => {
                let list = values.iter().map(|it| listed(it, it.value.as_deref()));
                Lookup::Known(Value::from(written(list)))
            }
            name => {
                let name = name.join(".");
                match values.iter().find(|parameter| parameter.name == name) {
                    Some(parameter) => match &parameter.value {
                        Some(value) => Lookup::Known(Value::from(value.clone())),
                        None => Lookup::Unknown,
                    },
                    None => Lookup::Unknown,
                }
            }
        }
    }
}

impl Scope for View<'_> {
    fn get(&self, path: &[&str]) -> Lookup {
        let dotted = path.join(".");
        if let Lookup::Known(value) = find(&self.extra, &dotted) {
            return Lookup::Known(value);
        }
        match path {
            ["item", rest @ ..] => item::lookup(self.item, rest),
            ["inputs", rest @ ..] => self.inputs(rest),
            ["outputs", rest @ ..] => self.own_outputs(rest),
            ["steps" | "tasks", rest @ ..] => self.sibling_value(rest),
            ["workflow", rest @ ..] => self.workflow(rest),
            ["retries"] => self.tries().map_or(Lookup::Unknown, |names| find(&names, "retries")),
            ["lastRetry"] => self.last_retry(),
            ["lastRetry", ..] => {
                self.tries().map_or(Lookup::Unknown, |names| find(&names, &dotted))
            }
            ["node", "name"] => Lookup::Known(json!(names::full_name(self.run, self.owner))),
            _ => Lookup::Unknown,
        }
    }
}

impl View<'_> {
    /// `retries` and `lastRetry.*` of a template of steps or tasks that is tried again: upstream
    /// replaces them in all of its text, and in nothing that it calls.
    fn tries(&self) -> Option<TryNames> {
        let step = self.run.step(self.owner)?;
        let Role::Try(number) = step.role else { return None };
        let Some(before) = number.checked_sub(1) else { return Some(Last::no_names()) };
        let children = self.run.children(step.parent);
        let last = nth(self.run, children, before, Role::Try(before))?;
        Some(Last::of_step(self.run.at(last)).names_for_next(number))
    }

    /// What is known of the last try, as one object.
    fn last_retry(&self) -> Lookup {
        let of_try = self.tries();
        let names = of_try.as_ref().map_or(&self.extra[..], |names| names);
        let map: Map<_, _> = names
            .iter()
            .filter_map(|(name, value)| {
                Some((name.strip_prefix("lastRetry.")?.into(), value.clone()))
            })
            .collect();
        if map.is_empty() { Lookup::Unknown } else { Lookup::Known(Value::Object(map)) }
    }
}

fn find(names: &[(&'static str, Value)], name: &str) -> Lookup {
    let found = names.iter().find(|(known, _)| *known == name);
    found.map_or(Lookup::Unknown, |(_, value)| Lookup::Known(value.clone()))
}

/// The step that the call of that name made under `owner`, if it has been made.
pub(crate) fn find_call(run: &Run, owner: StepKey, name: &str) -> Option<StepKey> {
    let step = run.step(owner)?;
    let (group, index) = run.compiled.call(step.template, name)?;
    let frame = run.frames.get(owner)?;
    if step.kind == Kind::Dag {
        return frame.dag.as_ref()?.by_call.get(index as usize).copied().flatten();
    }
    let group = nth(run, &frame.children, group, Role::Group(group))?;
    nth(run, &run.frames.get(group)?.children, index, Role::Call(index))
}

/// The child of a role that is made in order. Only hooks stand between such children, so it is at
/// its position or not far behind.
fn nth(run: &Run, children: &[StepKey], index: u32, role: Role) -> Option<StepKey> {
    let from = children.get(index as usize..)?;
    from.iter().find(|key| run.at(**key).role == role).copied()
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn parameters_object(outputs: &argosy_model::Outputs) -> Value {
    Value::Object(
        outputs.parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
    )
}

/// The default that a skipped step's template declares for an output.
fn declared_default(run: &Run, key: StepKey, name: &str) -> Option<Value> {
    let declared: &OutputDecl =
        run.template_of(key)?.outputs.parameters.iter().find(|output| output.name == name)?;
    declared.default.clone().map(Value::from)
}

fn pairs(list: &[(String, String)], path: &[&str]) -> Lookup {
    match path {
        [] => Lookup::Known(Value::Object(
            list.iter().map(|(k, v)| (k.clone(), Value::from(v.clone()))).collect(),
        )),
        ["json"] => {
            let map: Map<_, _> =
                list.iter().map(|(k, v)| (k.clone(), Value::from(v.clone()))).collect();
            Lookup::Known(Value::from(Value::Object(map).to_string()))
        }
        name => {
            let name = name.join(".");
            match list.iter().find(|(key, _)| *key == name) {
                Some((_, value)) => Lookup::Known(Value::from(value.clone())),
                None => Lookup::Unknown,
            }
        }
    }
}

fn creation(at_ms: i64, path: &[&str]) -> Lookup {
    let text = match path {
        [] | ["RFC3339"] => Some(rfc3339(at_ms)),
        ["s"] => Some((at_ms.div_euclid(1000)).to_string()),
        [letter] => {
            let mut letters = letter.chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) => go::time::strftime_letter_ms(letter, at_ms),
                _ => None,
            }
        }
        _ => None,
    };
    text.map_or(Lookup::Unknown, |text| Lookup::Known(Value::from(text)))
}

/// A time as Kubernetes objects spell it.
pub(crate) fn rfc3339(at_ms: i64) -> String {
    go::time::format_ms(go::time::RFC3339, at_ms)
}
