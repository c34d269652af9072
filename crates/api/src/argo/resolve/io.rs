//! Parameters and artifacts of templates and calls.

use argosy_model::graph::{
    Argument, Arguments, ArtifactArgument, ArtifactSource, InputArtifactDecl, InputsDecl,
    OutputArtifactDecl, OutputDecl, OutputFrom, OutputsDecl,
};
use argosy_model::{Archive, Code, Keep, limits};

use super::build::Build;
use super::names;
use crate::argo::yaml::{Mark, Node};

impl Build<'_> {
    /// What a call or a run is given. `all` refuses what has no value.
    pub(super) fn arguments(&mut self, node: Option<&Node>, all: bool) -> Arguments {
        let Some(node) = node else { return Arguments::default() };
        self.check_unique(node.list("parameters"), "parameters");
        self.check_unique(node.list("artifacts"), "artifacts");
        let parameters = node.list("parameters").iter().map(|node| {
            let parameter = self.parameter(node);
            let valued = parameter.value.is_some()
                || parameter.expression.is_some()
                || parameter.config_map.is_some()
                || parameter.default.is_some();
            if all && !valued {
                let what = format!("the parameter `{}` has no value", parameter.name);
                self.sink.refuse(Code::MissingArgument, node.mark, what);
            }
            parameter
        });
        let parameters = parameters.collect();
        let artifacts = node.list("artifacts").iter().map(|node| {
            let artifact = self.artifact(node);
            if all && artifact.source == ArtifactSource::Unset && !artifact.optional {
                let what = format!("the artifact `{}` comes from nowhere", artifact.name);
                self.sink.refuse(Code::MissingArgument, node.mark, what).help =
                    "give it `from`, `raw` or `s3.key`".into();
            }
            artifact
        });
        Arguments { parameters, artifacts: artifacts.collect() }
    }

    /// A parameter that is given or taken.
    pub(super) fn parameter(&mut self, node: &Node) -> Argument {
        let name = self.name_of(node, "parameter", names::parameter);
        let from = node.get("valueFrom");
        for key in ["path", "parameter"] {
            if let Some(field) = from.and_then(|from| from.get(key)) {
                let what = format!("`valueFrom.{key}` is only for outputs");
                self.sink.refuse(Code::Conflict, field.mark, what);
            }
        }
        self.one_of(node, &["value", "valueFrom"]);
        let reference = from.and_then(|from| from.get("configMapKeyRef"));
        let default = from.and_then(|from| from.any("default")).or_else(|| node.any("default"));
        let argument = Argument {
            name,
            value: node.any("value"),
            expression: from.and_then(|from| from.some_text("expression")),
            config_map: reference.map(|at| (at.text("name").into(), at.text("key").into())),
            default,
            allowed: node.list("enum").iter().filter_map(Node::scalar).collect(),
        };
        self.check_parameter(node, &argument);
        argument
    }

    fn check_parameter(&mut self, node: &Node, argument: &Argument) {
        let name = &argument.name;
        for (key, text) in [("value", &argument.value), ("default", &argument.default)] {
            let Some(text) = text else { continue };
            let mark = node.get(key).unwrap_or(node).mark;
            let size = limits::PARAMETER_BYTES.check(text.len() as u64, "the parameter");
            if let Err(refused) = size {
                self.sink.refuse(Code::TooLarge, mark, refused.what);
            }
            if !text.contains("{{") {
                self.check_allowed(argument, text, mark);
            }
        }
        if let Some(list) = node.get("enum").filter(|list| list.items().is_empty()) {
            let what = format!("the parameter `{name}` allows no value at all");
            self.sink.refuse(Code::NotInEnum, list.mark, what);
        }
    }

    /// A value is among those that its parameter allows, if it says which.
    pub(super) fn check_allowed(&mut self, argument: &Argument, value: &str, mark: Mark) {
        let Argument { name, allowed, .. } = argument;
        if allowed.is_empty() || allowed.iter().any(|known| known == value) {
            return;
        }
        let what = format!("{value:?} is not among the allowed values of `{name}`");
        self.sink.refuse(Code::NotInEnum, mark, what).help =
            format!("they are {}", allowed.join(", "));
    }

    /// Inputs that a template takes.
    pub(super) fn inputs(&mut self, template: &Node, is_process: bool) -> InputsDecl {
        let Some(node) = template.get("inputs") else { return InputsDecl::default() };
        self.check_unique(node.list("parameters"), "parameters");
        self.check_unique(node.list("artifacts"), "artifacts");
        let count = node.list("parameters").len() as u64;
        if let Err(refused) = limits::PARAMETERS.check(count, "template") {
            self.sink.refuse(Code::TooLarge, node.mark, refused.what);
        }
        let parameters = node.list("parameters").iter().map(|node| self.parameter(node)).collect();
        let artifacts = node.list("artifacts").iter().map(|node| {
            let argument = self.artifact(node);
            for key in ["from", "fromExpression"] {
                if let Some(field) = node.get(key) {
                    let what = format!("`{key}` is not for inputs");
                    self.sink.refuse(Code::Conflict, field.mark, what).help =
                        "the call says where the artifact comes from".into();
                }
            }
            self.check_path(node, is_process);
            InputArtifactDecl {
                argument,
                path: node.text("path").to_owned(),
                mode: node.int("mode").and_then(|mode| u32::try_from(mode).ok()),
                recurse_mode: node.flag("recurseMode"),
            }
        });
        InputsDecl { parameters, artifacts: artifacts.collect() }
    }

    /// The path of an artifact: there for processes, and only for them.
    fn check_path(&mut self, node: &Node, is_process: bool) {
        let name = node.text("name");
        match (is_process, node.get("path")) {
            (true, None) => {
                let what = format!("the artifact `{name}` has no `path`");
                self.sink.refuse(Code::MissingField, node.mark, what);
            }
            (false, Some(path)) => {
                let what = "`path` is only for templates that run a process";
                self.sink.refuse(Code::Conflict, path.mark, what);
            }
            (true, Some(path)) => self.check_file(path),
            (false, None) => {}
        }
    }

    /// A path in the file system of a process.
    pub(super) fn check_file(&mut self, node: &Node) {
        let path = node.as_text().unwrap_or_default();
        let above = path.split('/').any(|part| part == "..");
        if above || !(path.starts_with('/') || path.starts_with("{{")) {
            let what = format!("{path:?} is not an absolute path");
            self.sink.refuse(Code::BadValue, node.mark, what).help =
                "begin it with `/` and leave out `..`".into();
        }
    }

    /// An artifact that is given or taken.
    fn artifact(&mut self, node: &Node) -> ArtifactArgument {
        ArtifactArgument {
            name: self.name_of(node, "artifact", names::parameter),
            source: self.source(node),
            sub_path: node.text("subPath").to_owned(),
            archive: Self::archive(node),
            optional: node.flag("optional"),
        }
    }

    fn source(&mut self, node: &Node) -> ArtifactSource {
        let text = |node: &Node| node.as_text().unwrap_or_default().to_owned();
        match self.one_of(node, &["from", "fromExpression", "raw", "s3"]) {
            None => ArtifactSource::Unset,
            Some(("from", tag)) => ArtifactSource::From(text(tag)),
            Some(("fromExpression", source)) => ArtifactSource::Expression(text(source)),
            Some(("raw", raw)) => ArtifactSource::Raw(raw.text("data").to_owned()),
            Some((_, s3)) => self.key(s3),
        }
    }

    fn key(&mut self, s3: &Node) -> ArtifactSource {
        let key = s3.text("key");
        let bad = key.is_empty() || key.starts_with('/') || key.split('/').any(|part| part == "..");
        if bad {
            let mark = s3.get("key").unwrap_or(s3).mark;
            let what = format!("{key:?} is not a key");
            self.sink.refuse(Code::BadValue, mark, what).help =
                "a key does not begin with `/` and has no `..` in it".into();
        }
        ArtifactSource::Key(key.to_owned())
    }

    fn archive(node: &Node) -> Archive {
        let Some(archive) = node.get("archive") else { return Archive::Default };
        if archive.get("none").is_some() {
            return Archive::None;
        }
        if archive.get("zip").is_some() {
            return Archive::Zip;
        }
        let Some(tar) = archive.get("tar") else { return Archive::Default };
        // Go's gzip takes -1 for its default.
        let level = tar.int("compressionLevel").and_then(|level| u8::try_from(level).ok());
        level.map_or(Archive::Default, Archive::Tar)
    }

    /// Outputs that a template gives.
    pub(super) fn outputs(&mut self, template: &Node, body: &str) -> OutputsDecl {
        let Some(node) = template.get("outputs") else { return OutputsDecl::default() };
        self.check_unique(node.list("parameters"), "parameters");
        self.check_unique(node.list("artifacts"), "artifacts");
        let is_process = matches!(body, "container" | "script" | "containerSet");
        let parameters = node
            .list("parameters")
            .iter()
            .map(|node| self.output(node, body, is_process))
            .collect();
        let artifacts = node.list("artifacts").iter().map(|node| {
            self.check_path(node, is_process);
            OutputArtifactDecl {
                name: self.name_of(node, "artifact", names::parameter),
                path: node.text("path").to_owned(),
                source: self.source(node),
                archive: Self::archive(node),
                optional: node.flag("optional"),
                global_name: node.text("globalName").to_owned(),
                keep: keep(node),
            }
        });
        OutputsDecl { parameters, artifacts: artifacts.collect() }
    }

    fn output(&mut self, node: &Node, body: &str, is_process: bool) -> OutputDecl {
        let from = node.get("valueFrom");
        OutputDecl {
            name: self.name_of(node, "parameter", names::parameter),
            from: self.output_from(node, body, is_process),
            default: from.and_then(|from| from.any("default")).or_else(|| node.any("default")),
            global_name: node.text("globalName").to_owned(),
        }
    }

    fn output_from(&mut self, node: &Node, body: &str, is_process: bool) -> OutputFrom {
        if let Some(value) = node.any("value") {
            return OutputFrom::Value(value);
        }
        let kinds = ["path", "parameter", "expression", "supplied"];
        let found = node.get("valueFrom").and_then(|from| self.one_of(from, &kinds));
        let Some((key, at)) = found else {
            let what = format!("the parameter `{}` comes from nowhere", node.text("name"));
            self.sink.refuse(Code::MissingField, node.mark, what).help =
                "give it `valueFrom` with a path, parameter, expression or supplied".into();
            return OutputFrom::Unset;
        };
        let text = at.as_text().unwrap_or_default().to_owned();
        let misplaced = match key {
            "path" => !is_process,
            "supplied" => body != "suspend",
            _ => false,
        };
        if misplaced {
            let what = format!("`valueFrom.{key}` is not for templates with `{body}`");
            self.sink.refuse(Code::Conflict, at.mark, what);
        }
        match key {
            "path" => {
                self.check_file(at);
                OutputFrom::Path(text)
            }
            "parameter" => OutputFrom::Parameter(text),
            "expression" => OutputFrom::Expression(text),
            _ => OutputFrom::Supplied,
        }
    }
}

/// How long the artifacts of a workflow, or one artifact, are kept, where that is said.
pub(super) fn keep(node: &Node) -> Option<Keep> {
    match node.get("artifactGC")?.text("strategy") {
        "OnWorkflowCompletion" => Some(Keep::UntilEnd),
        "OnWorkflowDeletion" => Some(Keep::UntilDeletion),
        "Never" => Some(Keep::Always),
        _ => None,
    }
}
