//! Which names mean something where (argo-workflows `docs/variables.md`,
//! `util/variables/keys`).

use std::collections::HashSet;

use argosy_model::graph::{Body, Call, Graph, Target, Template};
use argosy_template::go::time::STRFTIME_LETTERS;

use super::siblings::{Seen, Siblings};

/// Why a name means nothing; the second text is what to do.
pub(super) type Miss = (String, String);

/// What a text can see from where it stands.
pub(super) struct Scope<'g> {
    /// The run's names.
    pub(super) run: &'g RunNames,
    /// The graph, for what the called templates give.
    pub(super) graph: &'g Graph,
    /// The template that the text is in; none for texts of the run itself.
    pub(super) template: Option<&'g Template>,
    /// The calls of that template.
    pub(super) siblings: &'g Siblings<'g>,
    /// The call that the text is in; none for what is evaluated when others have ended.
    pub(super) call: Option<&'g Call>,
    /// Whether the text is in a call that is made for each of some items.
    pub(super) has_item: bool,
    /// Whether the text is evaluated before anything of its template is done.
    pub(super) is_before: bool,
    /// How much of the graph was searched so far.
    pub(super) searched: usize,
}

/// Names below `workflow.`.
#[derive(Debug, Default)]
pub(super) struct RunNames {
    parameters: HashSet<String>,
    labels: HashSet<String>,
    annotations: HashSet<String>,
    /// Names of global outputs: parameters, artifacts. `None` where a tag makes them.
    outputs: [Option<HashSet<String>>; 2],
    is_scheduled: bool,
    /// Whether the run may be another one, of which nothing is known.
    is_open: bool,
}

impl RunNames {
    pub(super) fn of(graph: &Graph, is_open: bool) -> RunNames {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect();
        let mut labels: HashSet<String> = names(&graph.globals.labels);
        labels.extend(graph.labels_from.iter().map(|(name, _)| name.clone()));
        let outputs = graph.templates.iter().map(|template| &template.outputs);
        let globals = |names: Vec<&String>| {
            let tagged = names.iter().any(|name| name.contains("{{"));
            (!tagged).then(|| names.into_iter().filter(|name| !name.is_empty()).cloned().collect())
        };
        let parameters = outputs.clone().flat_map(|outputs| &outputs.parameters);
        let artifacts = outputs.flat_map(|outputs| &outputs.artifacts);
        RunNames {
            parameters: graph.arguments.parameters.iter().map(|p| p.name.clone()).collect(),
            labels,
            annotations: names(&graph.globals.annotations),
            outputs: [
                globals(parameters.map(|output| &output.global_name).collect()),
                globals(artifacts.map(|output| &output.global_name).collect()),
            ],
            is_scheduled: graph.globals.scheduled_time.is_some(),
            is_open,
        }
    }

    fn judge(&self, path: &[&str]) -> Result<(), Miss> {
        let among = |known: &HashSet<String>, name: &[&str], what: &str| {
            let name = name.join(".");
            if self.is_open || known.contains(&name) {
                return Ok(());
            }
            Err((format!("the run has no {what} `{name}`"), list_of(known.iter())))
        };
        let either = |known: &Option<HashSet<String>>, name: &[&str], what: &str| match known {
            Some(known) => among(known, name, what),
            None => Ok(()),
        };
        match path {
            []
            | [
                "name" | "namespace" | "uid" | "priority" | "mainEntrypoint" | "status" | "message",
            ]
            | ["serviceAccountName" | "failures" | "duration" | "creationTimestamp"]
            | ["creationTimestamp", "RFC3339" | "s"]
            | ["parameters" | "labels" | "annotations" | "outputs"]
            | ["parameters" | "labels" | "annotations", "json"]
            | ["outputs", "parameters" | "artifacts"] => Ok(()),
            ["creationTimestamp", letter] => strftime(letter),
            ["scheduledTime"] if self.is_scheduled || self.is_open => Ok(()),
            ["scheduledTime"] => Err((
                "the run has no scheduled time".into(),
                "only runs of a schedule have one".into(),
            )),
            ["parameters", name @ ..] => among(&self.parameters, name, "parameter"),
            ["labels", name @ ..] => among(&self.labels, name, "label"),
            ["annotations", name @ ..] => among(&self.annotations, name, "annotation"),
            ["outputs", "parameters", name @ ..] => {
                either(&self.outputs[0], name, "global output parameter")
            }
            ["outputs", "artifacts", name @ ..] => {
                either(&self.outputs[1], name, "global output artifact")
            }
            _ => Err((format!("`workflow.{}` is no name", path.join(".")), String::new())),
        }
    }
}

/// A part of the run's time of creation, as one letter.
fn strftime(name: &str) -> Result<(), Miss> {
    let mut letters = name.chars();
    let letter = letters.next().filter(|_| letters.next().is_none());
    if letter.is_some_and(|letter| STRFTIME_LETTERS.contains(&letter)) {
        return Ok(());
    }
    let letters = STRFTIME_LETTERS.map(String::from).join(", ");
    Err((
        format!("`{name}` is no part of a time"),
        format!("known are {letters}, `s` (Unix seconds) and `RFC3339`"),
    ))
}

impl Scope<'_> {
    /// Whether a dotted name means something here.
    pub(super) fn judge(&mut self, name: &str) -> Result<(), Miss> {
        let path: Vec<&str> = name.split('.').collect();
        match path.as_slice() {
            ["workflow", rest @ ..] => self.run.judge(rest),
            ["item", ..] if self.has_item => Ok(()),
            ["item", ..] => Err((
                format!("`{name}` is only in calls with items"),
                "add withItems, withParam or withSequence, or pass it on as an argument".into(),
            )),
            ["sprig"] => Ok(()),
            _ => match self.template {
                Some(template) => self.judge_in(template, name, &path),
                None => Err(unknown(name)),
            },
        }
    }

    fn judge_in(&mut self, template: &Template, name: &str, path: &[&str]) -> Result<(), Miss> {
        let is_process = matches!(template.body, Body::Process(_) | Body::ContainerSet(_));
        if self.is_before
            && matches!(path, ["outputs" | "steps" | "tasks" | "retries" | "lastRetry", ..])
        {
            return Err((
                "locks are taken, and caches looked up, before there is one".into(),
                "use inputs and what is known of the run".into(),
            ));
        }
        match path {
            ["inputs", rest @ ..] => inputs(template, rest),
            ["outputs", rest @ ..] => outputs(template, rest),
            [root @ ("steps" | "tasks"), rest @ ..] => self.sibling(template, root, rest),
            ["retries"] | ["lastRetry", ..] if template.retry.is_some() => Ok(()),
            ["retries"] | ["lastRetry", ..] => {
                Err((format!("`{name}` is only in templates with a retryStrategy"), String::new()))
            }
            ["node", "name"] => Ok(()),
            ["pod", "name"] if is_process => Ok(()),
            _ => Err(unknown(name)),
        }
    }

    fn sibling(&mut self, template: &Template, root: &str, path: &[&str]) -> Result<(), Miss> {
        let [name, rest @ ..] = path else { return Ok(()) };
        if *name == "name" && rest.is_empty() {
            return Ok(());
        }
        let own = match template.body {
            Body::Steps(_) => "steps",
            Body::Dag(_) => "tasks",
            _ => "",
        };
        if root != own {
            let help = if own.is_empty() {
                "pass it on as an argument".to_owned()
            } else {
                format!("write `{own}.{name}`")
            };
            return Err((format!("there are no {root} in this template"), help));
        }
        let what = root.trim_end_matches('s');
        match self.siblings.see(self.call, name, &mut self.searched) {
            Seen::Ended(call) => self.part_of(call, rest),
            Seen::Open => {
                let help = match root {
                    "tasks" => format!("let it wait for `{name}`"),
                    _ => "only steps of earlier groups have ended".to_owned(),
                };
                Err((format!("the {what} `{name}` may not have ended there"), help))
            }
            Seen::Unknown => {
                Err((format!("there is no {what} `{name}`"), list_of(self.siblings.names())))
            }
        }
    }

    /// What is known of a call that has ended.
    fn part_of(&self, call: &Call, path: &[&str]) -> Result<(), Miss> {
        let target = match call.target {
            Target::Template(at) => self.graph.templates.get(at as usize),
            Target::Named { .. } => None,
        };
        let Some(target) = target else { return Ok(()) };
        match path {
            []
            | ["id" | "ip" | "status" | "exitCode" | "startedAt" | "finishedAt" | "hostNodeName"]
            | ["outputs"]
            | ["outputs", "parameters" | "artifacts" | "result" | "exitCode"]
            | ["outputs", "result", ..] => Ok(()),
            ["outputs", rest @ ..] => outputs(target, rest)
                .map_err(|(what, help)| (format!("`{}`: {what}", call.name), help)),
            _ => Err((format!("`{}` has no `{}`", call.name, path.join(".")), String::new())),
        }
    }
}

fn inputs(template: &Template, path: &[&str]) -> Result<(), Miss> {
    let parameters = template.inputs.parameters.iter().map(|parameter| &parameter.name);
    let artifacts = template.inputs.artifacts.iter().map(|artifact| &artifact.argument.name);
    declared("input", path, parameters, artifacts)
}

fn outputs(template: &Template, path: &[&str]) -> Result<(), Miss> {
    let parameters = template.outputs.parameters.iter().map(|parameter| &parameter.name);
    let artifacts = template.outputs.artifacts.iter().map(|artifact| &artifact.name);
    match path {
        ["result" | "exitCode"] => Ok(()),
        _ => declared("output", path, parameters, artifacts),
    }
}

fn declared<'t>(
    side: &str,
    path: &[&str],
    parameters: impl Iterator<Item = &'t String> + Clone,
    artifacts: impl Iterator<Item = &'t String> + Clone,
) -> Result<(), Miss> {
    match path {
        [] | ["parameters" | "artifacts"] => Ok(()),
        ["parameters", name, ..] if parameters.clone().any(|known| known == name) => Ok(()),
        ["artifacts", name, ..] if artifacts.clone().any(|known| known == name) => Ok(()),
        ["parameters", name, ..] => {
            Err((format!("there is no {side} parameter `{name}`"), list_of(parameters)))
        }
        ["artifacts", name, ..] => {
            Err((format!("there is no {side} artifact `{name}`"), list_of(artifacts)))
        }
        _ => Err((format!("`{side}s.{}` is no name", path.join(".")), String::new())),
    }
}

fn unknown(name: &str) -> Miss {
    (
        "nothing has this name".to_owned(),
        format!("to keep it as text, write {{{{='{{{{{name}}}}}'}}}}"),
    )
}

fn list_of<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    names.truncate(10);
    if names.is_empty() { String::new() } else { format!("known are {}", names.join(", ")) }
}
