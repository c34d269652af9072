//! Whose standard output is kept as `outputs.result`: that of the calls that something in the
//! calling template asks it of (argo-workflows `workflow/controller/operator.go`
//! `includeScriptOutput`). Logs are for people; kept as results they would count as what the run
//! holds.
//!
//! In doubt it is kept: a text that takes a call, or all of them, as a whole may read it.

use std::collections::{HashMap, HashSet};

use argosy_model::graph::{
    Argument, Arguments, ArtifactSource, Body, Call, Each, Graph, OutputFrom, Target, Template,
};
use argosy_template::{Expr, Text};

/// Calls of one template whose results are read.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    /// Those of these names.
    Of(HashSet<Box<str>>),
    /// It cannot be told which.
    Any,
}

/// By the position of the template; without those that read none.
#[derive(Debug, Default)]
pub(crate) struct Results(HashMap<u32, Read>);

impl Results {
    pub(crate) fn of(graph: &Graph) -> Results {
        let read = (0u32..).zip(&graph.templates).map(|(at, template)| (at, read_by(template)));
        let empty = Read::Of(HashSet::new());
        Results(read.filter(|(_, read)| *read != empty).collect())
    }

    /// Whether something in a template reads the result of its call of that name.
    pub(crate) fn is_read(&self, template: u32, call: &str) -> bool {
        match self.0.get(&template) {
            Some(Read::Of(names)) => names.contains(call),
            Some(Read::Any) => true,
            None => false,
        }
    }
}

fn read_by(template: &Template) -> Read {
    let mut read = Read::Of(HashSet::new());
    match &template.body {
        Body::Steps(groups) => groups.iter().flatten().for_each(|call| read.call(call)),
        Body::Dag(dag) => dag.tasks.iter().for_each(|call| read.call(call)),
        _ => return read,
    }
    for output in &template.outputs.parameters {
        match &output.from {
            OutputFrom::Value(text) | OutputFrom::Parameter(text) | OutputFrom::Path(text) => {
                read.text(text);
            }
            OutputFrom::Expression(source) => read.expression(source),
            OutputFrom::Unset | OutputFrom::Supplied => {}
        }
        read.texts(output.default.iter().chain([&output.global_name]));
    }
    for output in &template.outputs.artifacts {
        read.artifact(&output.source);
        read.texts([&output.path, &output.global_name]);
    }
    read
}

impl Read {
    fn call(&mut self, call: &Call) {
        if let Target::Named { name, .. } = &call.target {
            self.text(name);
        }
        self.arguments(&call.arguments);
        self.texts(&call.when);
        match &call.each {
            Some(Each::Items(items)) => items.iter().for_each(|item| self.item(item)),
            Some(Each::Param(text)) => self.text(text),
            Some(Each::Sequence(numbers)) => {
                self.texts(numbers.count.iter().chain(&numbers.start).chain(&numbers.end));
            }
            None => {}
        }
        for hook in &call.hooks {
            self.expression(&hook.expression);
            self.call(&hook.call);
        }
    }

    fn item(&mut self, item: &serde_json::Value) {
        match item {
            serde_json::Value::String(text) => self.text(text),
            serde_json::Value::Array(list) => list.iter().for_each(|inner| self.item(inner)),
            serde_json::Value::Object(map) => {
                self.texts(map.keys());
                map.values().for_each(|inner| self.item(inner));
            }
            _ => {}
        }
    }

    fn arguments(&mut self, arguments: &Arguments) {
        for Argument { value, expression, config_map, default, .. } in &arguments.parameters {
            self.texts(value.iter().chain(default));
            self.texts(config_map.iter().flat_map(|(name, key)| [name, key]));
            expression.iter().for_each(|source| self.expression(source));
        }
        for argument in &arguments.artifacts {
            self.artifact(&argument.source);
            self.text(&argument.sub_path);
        }
    }

    fn artifact(&mut self, source: &ArtifactSource) {
        match source {
            ArtifactSource::Unset => {}
            ArtifactSource::Expression(source) => self.expression(source),
            ArtifactSource::From(text)
            | ArtifactSource::Raw(text)
            | ArtifactSource::Key(text)
            | ArtifactSource::Http(text) => self.text(text),
            ArtifactSource::S3(at) => self.texts([&at.endpoint, &at.bucket, &at.key]),
        }
    }

    fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn text(&mut self, source: &str) {
        if !source.contains("{{") {
            return;
        }
        // What cannot be read is never evaluated either.
        let Ok(text) = Text::parse(source) else { return };
        if text.makes_names() {
            *self = Read::Any;
        }
        self.names(text.names());
    }

    /// An expression, which may hold tags.
    fn expression(&mut self, source: &str) {
        self.text(source);
        match Expr::parse(source) {
            Ok(expr) => self.names(expr.names()),
            Err(_) if source.contains("{{") => *self = Read::Any,
            Err(_) => {}
        }
    }

    fn names(&mut self, names: Vec<String>) {
        for name in names {
            let Read::Of(calls) = self else { return };
            let mut path = name.split('.');
            if !matches!(path.next(), Some("steps" | "tasks")) {
                continue;
            }
            match (path.next(), path.next(), path.next()) {
                (None, ..) => *self = Read::Any,
                (Some(call), None, _) | (Some(call), Some("outputs"), None | Some("result")) => {
                    calls.insert(call.into());
                }
                _ => {}
            }
        }
    }
}
