//! Calls of templates: steps, tasks and hooks.

use std::sync::Arc;

use argosy_model::graph::{Call, Each, Hook, Sequence, Target};
use argosy_model::{Code, limits};
use serde::de::IgnoredAny;

use super::build::{Build, Slot};
use super::names;
use crate::argo::load::Kind;
use crate::argo::yaml::{Node, Value};

impl Build<'_> {
    /// The steps of one group, or the tasks of a DAG.
    pub(super) fn calls(&mut self, slot: &Slot, list: &[Node], is_dag: bool) -> Vec<Call> {
        if let Err(refused) = limits::CALLS.check(list.len() as u64, "template") {
            self.sink.refuse(refused.code, slot.node.mark, refused.what);
            return Vec::new();
        }
        list.iter().map(|node| self.call(slot, node, is_dag)).collect()
    }

    fn call(&mut self, slot: &Slot, node: &Node, is_dag: bool) -> Call {
        let (what, rule): (_, names::Rule) =
            if is_dag { ("task", names::task) } else { ("step", names::field) };
        let name = self.name_of(node, what, rule);
        let arguments = self.arguments(node.get("arguments"), true);
        let continues = |key: &str| node.get("continueOn").is_some_and(|on| on.flag(key));
        Call {
            name,
            target: self.target(&slot.scope, node).unwrap_or_default(),
            each: self.each(node),
            when: node.some_text("when"),
            depends: is_dag.then(|| self.depends(node)).flatten(),
            continue_on_error: continues("error"),
            continue_on_failed: continues("failed"),
            hooks: self.hooks(&slot.scope, node, &arguments),
            arguments,
        }
    }

    /// What a call names: a template of its own scope, of a stored object, or one in place.
    pub(super) fn target(&mut self, scope: &Arc<str>, node: &Node) -> Option<Target> {
        match self.one_of(node, &["template", "templateRef", "inline"]) {
            Some(("template", name)) => self.named_target(scope, name),
            Some(("templateRef", reference)) => self.referred_target(reference),
            Some((_, template)) => Some(Target::Template(self.add(scope, template))),
            None => {
                let what = format!("`{}` calls nothing", node.text("name"));
                self.sink.refuse(Code::MissingField, node.mark, what).help =
                    "give it a `template`".into();
                None
            }
        }
    }

    fn named_target(&mut self, scope: &Arc<str>, node: &Node) -> Option<Target> {
        let name = node.as_text().unwrap_or_default();
        if name.contains("{{") {
            // Which one it is shows while the run goes on, so all of them have to be there.
            self.lookup_all(scope);
            return Some(Target::Named { scope: scope.to_string(), name: name.to_owned() });
        }
        if let Some(at) = self.lookup(scope, name) {
            return Some(Target::Template(at));
        }
        let known = if self.sink.is_full() { Vec::new() } else { self.names(scope) };
        let near = known
            .iter()
            .map(|known| (strsim::damerau_levenshtein(known, name), known))
            .min()
            .filter(|(distance, known)| *distance <= (known.len() / 3).max(1));
        let help = match near {
            Some((_, near)) => format!("did you mean `{near}`?"),
            None => format!("the templates there are {}", shown(&known)),
        };
        let place = if scope.is_empty() { String::new() } else { format!(" in {scope}") };
        let what = format!("template {name:?} does not exist{place}");
        self.sink.refuse(Code::TemplateNotFound, node.mark, what).help = help;
        None
    }

    fn referred_target(&mut self, node: &Node) -> Option<Target> {
        let name = node.text("name");
        for key in ["name", "template"] {
            if node.text(key).is_empty() {
                let what = format!("the templateRef has no `{key}`");
                self.sink.refuse(Code::MissingField, node.mark, what);
                return None;
            }
        }
        if name.contains("{{") {
            let what = "the object of a templateRef cannot be named by a tag yet";
            self.sink.refuse(Code::Unsupported, node.mark, what);
            return None;
        }
        let kind = match node.flag("clusterScope") {
            true => Kind::ClusterWorkflowTemplate,
            false => Kind::WorkflowTemplate,
        };
        let Some(scope) = self.scope(kind, name) else {
            self.not_stored(kind, node);
            return None;
        };
        let template = node.get("template")?.clone();
        self.named_target(&scope, &template)
    }

    /// A reference to a stored object that is not there.
    pub(super) fn not_stored(&mut self, kind: Kind, node: &Node) {
        let name = node.text("name");
        let what = format!("there is no {} `{name}`", kind.as_str());
        let mark = node.get("name").unwrap_or(node).mark;
        self.sink.refuse(Code::TemplateNotFound, mark, what).help =
            "create it first, or give its file as well".into();
    }

    fn each(&mut self, node: &Node) -> Option<Each> {
        let (key, value) = self.one_of(node, &["withItems", "withParam", "withSequence"])?;
        match key {
            "withItems" => {
                let items = value.items();
                if let Err(refused) = limits::ITEMS.check(items.len() as u64, "withItems") {
                    self.sink.refuse(Code::TooLarge, value.mark, refused.what);
                }
                if let Some(item) = items.iter().find(|item| item.value == Value::Null) {
                    self.sink.refuse(Code::BadFanOut, item.mark, "an item cannot be nothing");
                }
                Some(Each::Items(items.iter().map(Node::to_json).collect()))
            }
            "withParam" => {
                self.check_param(value);
                Some(Each::Param(value.as_text()?.to_owned()))
            }
            _ => Some(Each::Sequence(self.sequence(value))),
        }
    }

    /// A `withParam` without tags is a JSON list.
    fn check_param(&mut self, node: &Node) {
        let text = node.as_text().unwrap_or_default();
        let is_list = || serde_json::from_str::<Vec<IgnoredAny>>(text).is_ok();
        if text.contains("{{") || is_list() {
            return;
        }
        let what = match crate::argo::yaml::parse("", text).as_deref() {
            Ok([list]) if matches!(list.value, Value::List(_)) => return,
            Ok([other]) => other.kind_name(),
            _ => "something else",
        };
        let what = format!("withParam value must be a JSON list, not {what}");
        self.sink.refuse(Code::BadFanOut, node.mark, what);
    }

    fn sequence(&mut self, node: &Node) -> Sequence {
        let sequence = Sequence {
            count: node.any("count"),
            start: node.any("start"),
            end: node.any("end"),
            format: node.some_text("format"),
        };
        match (&sequence.count, &sequence.end) {
            (Some(_), Some(_)) => {
                let what = "`count` and `end` exclude each other";
                self.sink.refuse(Code::Conflict, node.mark, what);
            }
            (None, None) => {
                self.sink.refuse(Code::MissingField, node.mark, "give `count` or `end`");
            }
            _ => {}
        }
        if let Some(count) = sequence.count.as_deref().and_then(|count| count.parse().ok())
            && let Err(refused) = limits::ITEMS.check(count, "withSequence")
        {
            let mark = node.get("count").unwrap_or(node).mark;
            self.sink.refuse(Code::TooLarge, mark, refused.what);
        }
        sequence
    }

    /// What a task waits for; a list of `dependencies` is the `depends` that has all of them done.
    fn depends(&mut self, node: &Node) -> Option<String> {
        let list = node.texts("dependencies");
        if list.is_empty() { node.some_text("depends") } else { Some(list.join(" && ")) }
    }

    /// Hooks of a call. `onExit` is the hook `exit`, given what the call is given.
    fn hooks(
        &mut self,
        scope: &Arc<str>,
        node: &Node,
        arguments: &argosy_model::graph::Arguments,
    ) -> Vec<Hook> {
        let mut hooks = self.hook_map(scope, node);
        if let Some(name) = node.get("onExit").filter(|name| name.as_text() != Some("")) {
            let target = self.named_target(scope, name).unwrap_or_default();
            let call = Call { target, arguments: arguments.clone(), ..Call::default() };
            hooks.retain(|hook| hook.name != "exit");
            hooks.push(Hook { name: "exit".into(), expression: String::new(), call });
        }
        hooks
    }

    /// Hooks under their names.
    pub(super) fn hook_map(&mut self, scope: &Arc<str>, node: &Node) -> Vec<Hook> {
        let Some(map) = node.get("hooks").cloned() else { return Vec::new() };
        map.entries().iter().map(|entry| self.hook(scope, &entry.key, &entry.node)).collect()
    }

    fn hook(&mut self, scope: &Arc<str>, name: &str, node: &Node) -> Hook {
        let expression = node.text("expression").to_owned();
        let target = self.target(scope, node).unwrap_or_default();
        let arguments = self.arguments(node.get("arguments"), true);
        let mut call = Call { target, arguments, ..Call::default() };
        if name == "exit" {
            // It is made at the end in any case; the expression says whether it does anything.
            call.when = (!expression.is_empty()).then(|| format!("{{{{={expression}}}}}"));
            return Hook { name: name.to_owned(), expression: String::new(), call };
        }
        if expression.is_empty() {
            let what = format!("the hook `{name}` has no `expression`");
            self.sink.refuse(Code::MissingField, node.mark, what).help =
                "only the hook `exit` goes without".into();
        }
        Hook { name: name.to_owned(), expression, call }
    }
}

/// The first of some names.
pub(super) fn shown(names: &[String]) -> String {
    let first = names.iter().take(10).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > 10 { format!("{first} and {} more", names.len() - 10) } else { first }
}
