//! The run itself: its arguments, its names, and what holds for all of it.

use std::sync::Arc;

use argosy_model::graph::{Argument, Arguments, Call, Globals, Graph, Target};
use argosy_model::{Code, limits};
use argosy_template::{Env, Expr, MapScope, Text};

use super::SubmitOptions;
use super::build::Build;
use super::calls::shown;
use crate::argo::load::{Kind, Object};
use crate::argo::yaml::Node;

/// Where artifacts go, unless they say so themselves (argo-workflows
/// `pkg/apis/workflow/v1alpha1/artifact_repository_types.go` `DefaultArchivePattern`).
const KEY_FORMAT: &str = "{{workflow.name}}/{{pod.name}}";

/// Names that the run is to have, worked out before its graph.
pub(crate) struct Identity {
    pub(super) name: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) annotations: Vec<(String, String)>,
}

impl Build<'_> {
    /// The graph of a run.
    pub(super) fn graph(&mut self, options: &SubmitOptions, identity: &Identity) -> Graph {
        let spec = Arc::clone(&self.spec);
        let own: Arc<str> = "".into();
        self.add_own();
        let arguments = self.run_arguments(options);
        let (entry_name, entrypoint) = self.entrypoint(options);
        let mut hooks = self.hook_map(&own, &spec);
        let exit =
            hooks.iter().position(|hook| hook.name == "exit").map(|at| hooks.remove(at).call);
        let exit = self.on_exit(&own, &arguments).or(exit);
        let metadata = spec.get("workflowMetadata");
        let labels_from = metadata.and_then(|m| m.get("labelsFrom")).map_or(&[][..], Node::entries);
        self.check_run_patch();
        let templates = self.templates();
        let mut graph = Graph {
            entrypoint: entrypoint.unwrap_or_default(),
            on_exit: exit.map(Box::new),
            hooks,
            parallelism: spec.count("parallelism"),
            active_deadline_s: spec.count("activeDeadlineSeconds"),
            suspend: spec.flag("suspend"),
            retry: None,
            globals: Globals {
                service_account: self.service_account(options),
                main_entrypoint: entry_name,
                scheduled_time: pair(&identity.annotations, "workflows.argoproj.io/scheduled-time"),
                annotations: identity.annotations.clone(),
                labels: identity.labels.clone(),
            },
            ttl_s: ttl(&spec),
            key_format: KEY_FORMAT.to_owned(),
            archive_logs: spec.flag("archiveLogs") || self.some_template_archives_logs(),
            keep: super::io::keep(&spec).unwrap_or_default(),
            config_maps: Vec::new(),
            labels_from: labels_from
                .iter()
                .map(|entry| (entry.key.to_string(), entry.node.text("expression").to_owned()))
                .collect(),
            locks: self.locks(&spec),
            templates,
            arguments,
        };
        graph.config_maps = self.config_maps(&graph);
        graph
    }

    fn service_account(&self, options: &SubmitOptions) -> String {
        let given = Some(options.service_account.as_str()).filter(|name| !name.is_empty());
        given.unwrap_or(self.spec.text("serviceAccountName")).to_owned()
    }

    /// Logs are archived for a run or not at all; a template that asks for it asks for all.
    fn some_template_archives_logs(&self) -> bool {
        let asks =
            |node: &Node| node.get("archiveLocation").is_some_and(|at| at.flag("archiveLogs"));
        self.slots.iter().any(|slot| asks(&slot.node))
    }

    fn entrypoint(&mut self, options: &SubmitOptions) -> (String, Option<u32>) {
        let spec = Arc::clone(&self.spec);
        let name = match options.entrypoint.as_str() {
            "" => spec.text("entrypoint").to_owned(),
            given => given.to_owned(),
        };
        let mark = spec.get("entrypoint").unwrap_or(&spec).mark;
        if name.is_empty() && self.is_open {
            return (name, None);
        }
        if name.is_empty() {
            self.sink.refuse(Code::MissingField, mark, "`spec` has no `entrypoint`").help =
                "name the template to begin with".into();
            return (name, None);
        }
        let found = self.lookup(&"".into(), &name);
        if found.is_none() {
            let what = format!("the entrypoint `{name}` is no template");
            let help = format!("the templates are {}", shown(&self.names("")));
            self.sink.refuse(Code::TemplateNotFound, mark, what).help = help;
        }
        (name, found)
    }

    /// The exit handler in its older spelling. It is given what the run was given.
    fn on_exit(&mut self, own: &Arc<str>, arguments: &Arguments) -> Option<Call> {
        let spec = Arc::clone(&self.spec);
        let node = spec.get("onExit").filter(|node| node.as_text() != Some(""))?;
        let Some(at) = self.lookup(own, node.as_text().unwrap_or_default()) else {
            let what = format!("the exit handler `{}` is no template", spec.text("onExit"));
            self.sink.refuse(Code::TemplateNotFound, node.mark, what);
            return None;
        };
        let parameters = arguments.parameters.iter().map(|parameter| Argument {
            name: parameter.name.clone(),
            value: Some(format!("{{{{workflow.parameters.{}}}}}", parameter.name)),
            ..Argument::default()
        });
        let arguments =
            Arguments { parameters: parameters.collect(), artifacts: arguments.artifacts.clone() };
        Some(Call { target: Target::Template(at), arguments, ..Call::default() })
    }

    /// The run's arguments with what was given at submit, each with a value
    /// (argo-workflows `workflow/util/util.go` `overrideParameters`).
    fn run_arguments(&mut self, options: &SubmitOptions) -> Arguments {
        let spec = Arc::clone(&self.spec);
        let node = spec.get("arguments");
        let mut arguments = self.arguments(node, false);
        let count = arguments.parameters.len() + options.parameters.len();
        if let Err(refused) = limits::PARAMETERS.check(count as u64, "run") {
            self.sink.refuse(Code::TooLarge, spec.mark, refused.what);
            return Arguments::default();
        }
        for (name, value) in &options.parameters {
            match arguments.parameters.iter_mut().find(|known| known.name == *name) {
                Some(known) => {
                    known.value = Some(value.clone());
                    known.expression = None;
                    known.config_map = None;
                }
                None => arguments.parameters.push(Argument {
                    name: name.clone(),
                    value: Some(value.clone()),
                    ..Argument::default()
                }),
            }
        }
        for parameter in &mut arguments.parameters {
            let list = node.map_or(&[][..], |node| node.list("parameters"));
            let at = list.iter().find(|node| node.text("name") == parameter.name);
            self.settle(parameter, at.unwrap_or(&spec), options.lint);
        }
        arguments
    }

    /// Gives a parameter of the run its value.
    fn settle(&mut self, parameter: &mut Argument, node: &Node, lint: bool) {
        let value = match (parameter.value.take(), parameter.config_map.take()) {
            (Some(value), _) => Some(value),
            (None, Some((map, key))) => match self.config_value(&map, &key) {
                Some(value) => Some(value),
                None if parameter.default.is_some() || lint => parameter.default.clone(),
                None => {
                    let what = format!("there is no config map `{map}` with a key `{key}`");
                    self.sink.refuse(Code::NotFound, node.mark, what);
                    return;
                }
            },
            (None, None) => self.computed(parameter, node).or_else(|| parameter.default.clone()),
        };
        let name = &parameter.name;
        match &value {
            None if lint => {}
            None => {
                let what = format!("the parameter `{name}` has no value");
                self.sink.refuse(Code::MissingArgument, node.mark, what).help =
                    format!("give it one with -p {name}=VALUE");
            }
            // The manifest's own value was looked at when it was read.
            Some(text) if node.any("value").as_ref() != Some(text) => {
                let what = format!("the parameter `{name}`");
                let size = limits::PARAMETER_BYTES.check(text.len() as u64, &what);
                if let Err(refused) = size {
                    self.sink.refuse(Code::TooLarge, node.mark, refused.what);
                }
                self.check_allowed(parameter, text, node.mark);
            }
            Some(_) => {}
        }
        parameter.expression = None;
        parameter.value = value.or_else(|| lint.then(String::new));
    }

    /// The value of an expression over nothing but functions.
    fn computed(&mut self, parameter: &Argument, node: &Node) -> Option<String> {
        let source = parameter.expression.as_deref()?;
        let value = Expr::parse(source).and_then(|e| e.eval(&MapScope::new(), &mut Env::new(0, 0)));
        match value {
            Ok(serde_json::Value::String(text)) => Some(text),
            Ok(value) => Some(argosy_template::to_go_json(&value)),
            Err(error) => {
                self.sink.refuse(Code::BadExpression, node.mark, error.to_string());
                None
            }
        }
    }

    fn config_value(&self, map: &str, key: &str) -> Option<String> {
        let pairs = config_pairs(&*self.stored(Kind::ConfigMap, map)?);
        pairs.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The maps that inputs and arguments of the graph look up.
    fn config_maps(&self, graph: &Graph) -> Vec<(String, Vec<(String, String)>)> {
        let parameters = graph.arguments.parameters.iter();
        let scope = parameters.fold(MapScope::new(), |scope, parameter| {
            let value = parameter.value.clone().unwrap_or_default();
            scope.with(&format!("workflow.parameters.{}", parameter.name), value)
        });
        let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
        for text in looked_up(graph) {
            let mut env = Env::new(0, 0);
            let Ok(name) = Text::parse(&text).and_then(|t| t.render(&scope, &mut env)) else {
                continue;
            };
            if found.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if let Some(map) = self.stored(Kind::ConfigMap, &name) {
                found.push((name, config_pairs(&map)));
            }
        }
        found
    }
}

/// Names of config maps in a graph, with tags.
fn looked_up(graph: &Graph) -> Vec<String> {
    use argosy_model::graph::Body;
    let mut names = Vec::new();
    let mut add = |arguments: &[Argument]| {
        names.extend(
            arguments.iter().filter_map(|a| a.config_map.as_ref()).map(|(map, _)| map.clone()),
        );
    };
    for template in &graph.templates {
        add(&template.inputs.parameters);
        let calls: Vec<&Call> = match &template.body {
            Body::Steps(groups) => groups.iter().flatten().collect(),
            Body::Dag(dag) => dag.tasks.iter().collect(),
            _ => continue,
        };
        for call in calls {
            add(&call.arguments.parameters);
            call.hooks.iter().for_each(|hook| add(&hook.call.arguments.parameters));
        }
    }
    let tops = graph.hooks.iter().map(|hook| &hook.call).chain(graph.on_exit.as_deref());
    tops.for_each(|call| add(&call.arguments.parameters));
    names
}

fn config_pairs(object: &Object) -> Vec<(String, String)> {
    object.tree.pairs("data")
}

fn pair(list: &[(String, String)], key: &str) -> Option<String> {
    list.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
}

fn ttl(spec: &Node) -> [Option<u64>; 3] {
    let seconds = |node: Option<&Node>, key: &str| node.and_then(|node| node.count(key));
    let strategy = spec.get("ttlStrategy");
    [
        seconds(strategy, "secondsAfterCompletion")
            .or_else(|| seconds(Some(spec), "ttlSecondsAfterFinished")),
        seconds(strategy, "secondsAfterSuccess"),
        seconds(strategy, "secondsAfterFailure"),
    ]
}
