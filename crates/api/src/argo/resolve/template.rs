//! A template.

use argosy_model::graph::{Body, Dag, Memo, Template};
use argosy_model::{Code, limits};

use super::build::{BODIES, Build, Slot};
use super::names;
use crate::argo::yaml::Node;

impl Build<'_> {
    pub(super) fn template(&mut self, slot: &Slot) -> Template {
        let node = &*slot.node;
        let body_name = self.check_body(node);
        let body = self.body(slot, body_name);
        let is_process = matches!(body, Body::Process(_) | Body::ContainerSet(_));
        let is_nested = matches!(body, Body::Steps(_) | Body::Dag(_));
        self.check_leaf_fields(node, is_nested);
        let spec = self.spec.clone();
        let own_retry = node.get("retryStrategy");
        let spec_retry = || spec.get("retryStrategy").filter(|_| is_process);
        let retry = own_retry.or_else(spec_retry).map(|node| self.retry(node));
        let labels = metadata(&spec, node, "labels");
        let annotations = metadata(&spec, node, "annotations");
        Template {
            name: node.text("name").to_owned(),
            scope: slot.scope.to_string(),
            inputs: self.inputs(node, is_process),
            outputs: self.outputs(node, body_name.unwrap_or_default()),
            body,
            retry,
            active_deadline_s: node.any("activeDeadlineSeconds"),
            timeout: node.some_text("timeout"),
            parallelism: node.count("parallelism"),
            fail_fast: node.get("failFast").map(|_| node.flag("failFast")),
            memo: node.get("memoize").map(|memo| self.memo(memo)),
            locks: self.locks(node),
            priority: None,
            labels,
            annotations,
            display_name: self.display_name(node),
        }
    }

    fn check_body(&mut self, node: &Node) -> Option<&'static str> {
        let found = self.one_of(node, &BODIES).map(|(body, _)| body);
        if found.is_none() {
            let what = format!("the template `{}` does nothing", node.text("name"));
            self.sink.refuse(Code::MissingField, node.mark, what).help =
                "give it one of container, script, steps, dag, suspend, containerSet".into();
        }
        found
    }

    fn body(&mut self, slot: &Slot, name: Option<&str>) -> Body {
        let node = &*slot.node;
        let part = |name: &str| node.get(name).cloned();
        match name {
            Some("steps") => {
                let groups = node.list("steps");
                let count = groups.iter().map(|group| group.items().len() as u64).sum();
                if let Err(refused) = limits::CALLS.check(count, "template") {
                    self.sink.refuse(refused.code, node.mark, refused.what);
                    return Body::Empty;
                }
                Body::Steps(
                    groups.iter().map(|group| self.calls(slot, group.items(), false)).collect(),
                )
            }
            Some("dag") => {
                let Some(dag) = part("dag") else { return Body::Empty };
                Body::Dag(Dag {
                    tasks: self.calls(slot, dag.list("tasks"), true),
                    target: dag.some_text("target"),
                    fail_fast: dag.get("failFast").map(|_| dag.flag("failFast")),
                })
            }
            Some("suspend") => {
                Body::Suspend { duration: part("suspend").and_then(|s| s.some_text("duration")) }
            }
            Some("container" | "script") => Body::Process(Box::new(self.process(node))),
            Some("containerSet") => Body::ContainerSet(Box::new(self.process(node))),
            _ => Body::Empty,
        }
    }

    /// Fields that upstream refuses on templates that call others
    /// (argo-workflows `workflow/validate/validate.go`).
    fn check_leaf_fields(&mut self, node: &Node, is_nested: bool) {
        let wrong: &[&str] =
            if is_nested { &["activeDeadlineSeconds", "timeout"] } else { &["parallelism"] };
        for name in wrong {
            if let Some(field) = node.get(name) {
                let whose = if is_nested { "that run a process" } else { "with steps or a dag" };
                let what = format!("`{name}` is only for templates {whose}");
                self.sink.refuse(Code::Conflict, field.mark, what);
            }
        }
    }

    /// What the template calls its steps.
    fn display_name(&mut self, node: &Node) -> Option<String> {
        const KEY: &str = "workflows.argoproj.io/display-name";
        let annotations = node.get("annotations")?;
        self.check_literal(annotations, KEY, names::display);
        annotations.some_text(KEY)
    }

    fn memo(&mut self, node: &Node) -> Memo {
        let cache = node.at(&["cache", "configMap"]).map(|map| map.text("name").to_owned());
        let memo = Memo {
            key: node.text("key").to_owned(),
            cache: cache.unwrap_or_default(),
            max_age: node.some_text("maxAge"),
        };
        for (what, text) in [("key", &memo.key), ("cache.configMap.name", &memo.cache)] {
            if text.is_empty() {
                self.sink.refuse(Code::MissingField, node.mark, format!("memoize has no `{what}`"));
            }
        }
        let parts = [(node, "key"), (node.at(&["cache", "configMap"]).unwrap_or(node), "name")];
        for ((owner, field), rule) in
            parts.into_iter().zip([names::memo_key as names::Rule, names::object])
        {
            self.check_literal(owner, field, rule);
        }
        if let Err(long) = limits::MEMO_KEY_BYTES.check(memo.key.len() as u64, "memoize.key")
            && !memo.key.contains("{{")
        {
            self.sink.refuse(long.code, node.get("key").unwrap_or(node).mark, long.what);
        }
        memo
    }

    /// Checks a name that holds no tags; one that does is checked once they have values.
    pub(super) fn check_literal(&mut self, owner: &Node, field: &str, rule: names::Rule) {
        let text = owner.text(field);
        if text.is_empty() || text.contains("{{") {
            return;
        }
        if let Err(why) = rule(text) {
            let mark = owner.get(field).unwrap_or(owner).mark;
            let what = format!("`{field}` cannot be {text:?}");
            self.sink.refuse(Code::BadName, mark, what).help = why.into();
        }
    }

    /// The name of something in a list, which has to be there and well-formed.
    pub(super) fn name_of(&mut self, node: &Node, what: &str, rule: names::Rule) -> String {
        let name = node.text("name");
        if name.is_empty() {
            self.sink.refuse(Code::MissingField, node.mark, format!("the {what} has no name"));
        } else if let Err(why) = rule(name) {
            let mark = node.get("name").unwrap_or(node).mark;
            let article = if what.starts_with('a') { "an" } else { "a" };
            let text = format!("{name:?} is not a name of {article} {what}");
            self.sink.refuse(Code::BadName, mark, text).help = why.into();
        }
        name.to_owned()
    }

    /// Which of some fields that exclude each other is there.
    pub(super) fn one_of<'n>(
        &mut self,
        node: &'n Node,
        keys: &[&'static str],
    ) -> Option<(&'static str, &'n Node)> {
        let mut given = keys.iter().filter_map(|key| Some((*key, node.get(key)?)));
        let first = given.next()?;
        if let Some((second, _)) = given.next() {
            let entry = node.entries().iter().find(|entry| &*entry.key == second);
            let what = format!("`{}` and `{second}` exclude each other", first.0);
            let mark = entry.map_or(node.mark, |entry| entry.mark);
            self.sink.refuse(Code::Conflict, mark, what);
        }
        Some(first)
    }

    /// The names of a list, each of which may be there only once.
    pub(crate) fn check_unique(&mut self, list: &[Node], what: &str) {
        let mut seen = std::collections::HashSet::new();
        for node in list {
            let name = node.text("name");
            if !name.is_empty() && !seen.insert(name) {
                let mark = node.get("name").unwrap_or(node).mark;
                let text = format!("there are two {what} named {name:?}");
                self.sink.refuse(Code::DuplicateName, mark, text);
            }
        }
    }
}

/// Labels or annotations of a template's processes, on top of those of all processes of the run.
fn metadata(spec: &Node, template: &Node, key: &str) -> Vec<(String, String)> {
    let pairs = |node: Option<&Node>| node.map(|node| node.pairs(key)).unwrap_or_default();
    let mut all = pairs(spec.get("podMetadata"));
    super::extend(&mut all, &pairs(template.get("metadata")));
    all
}
