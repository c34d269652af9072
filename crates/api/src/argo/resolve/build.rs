//! Templates on their way into a graph: which are wanted, and where they come from.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use argosy_model::graph::Template;
use argosy_model::{Code, limits};

use super::merge::merge;
use crate::argo::library::Library;
use crate::argo::load::{Kind, Object};
use crate::argo::sink::Sink;
use crate::argo::yaml::{Entry, Node, Value};

/// A template that is wanted, by its position in the graph.
#[derive(Clone)]
pub(crate) struct Slot {
    /// The stored object that it is from, `Kind/name`; empty for the run's own.
    pub(crate) scope: Arc<str>,
    /// Its definition, with the defaults in it.
    pub(crate) node: Arc<Node>,
}

/// Where templates are found under their names.
type Templates = BTreeMap<String, Node>;

pub(crate) struct Build<'l> {
    pub(crate) sink: Sink,
    library: &'l dyn Library,
    pub(super) space: String,
    /// Whether it is not known who will call the templates, and with what.
    pub(crate) is_open: bool,
    /// The run's spec, with a referred template's in it.
    pub(crate) spec: Arc<Node>,
    defaults: Option<Node>,
    scopes: HashMap<Arc<str>, Templates>,
    /// Scopes whose templates are all wanted.
    whole: HashSet<Arc<str>>,
    /// Volumes of the spec under their names.
    pub(super) volumes: HashMap<String, Node>,
    /// Weight of what every template gets from the spec, and of all copies of it.
    shared: u64,
    copied: u64,
    index: HashMap<(Arc<str>, String), u32>,
    pub(crate) slots: Vec<Slot>,
}

/// Fields of which a template has one: what it does.
pub(super) const BODIES: [&str; 10] = [
    "container",
    "script",
    "steps",
    "dag",
    "suspend",
    "containerSet",
    "resource",
    "http",
    "data",
    "plugin",
];

/// Fields of a spec that go into every template.
const SHARED: [&str; 5] =
    ["podMetadata", "podSpecPatch", "retryStrategy", "templateDefaults", "volumes"];

/// Named things under their names; of two with the same name the first.
pub(super) fn by_name(list: &[Node]) -> HashMap<String, Node> {
    let mut named = HashMap::new();
    for node in list {
        named.entry(node.text("name").to_owned()).or_insert_with(|| node.clone());
    }
    named
}

/// The field that says what a template does.
fn body_of(template: &Node) -> Option<&'static str> {
    BODIES.into_iter().find(|body| template.get(body).is_some())
}

impl<'l> Build<'l> {
    pub(super) fn new(
        sink: Sink,
        library: &'l dyn Library,
        space: String,
        spec: Node,
    ) -> Build<'l> {
        Build {
            sink,
            library,
            space,
            is_open: false,
            defaults: spec.get("templateDefaults").cloned(),
            volumes: by_name(spec.list("volumes")),
            shared: SHARED.iter().filter_map(|key| spec.get(key)).map(Node::weight).sum(),
            copied: 0,
            whole: HashSet::new(),
            spec: Arc::new(spec),
            scopes: HashMap::new(),
            index: HashMap::new(),
            slots: Vec::new(),
        }
    }

    /// A stored object.
    pub(super) fn stored(&self, kind: Kind, name: &str) -> Option<Arc<Object>> {
        self.library.get(kind, &self.space, name)
    }

    /// Wants all templates of the run itself.
    pub(super) fn add_own(&mut self) {
        let spec = Arc::clone(&self.spec);
        let own: Arc<str> = "".into();
        let templates = self.named(spec.list("templates"));
        let names: Vec<String> =
            spec.list("templates").iter().map(|t| t.text("name").to_owned()).collect();
        self.scopes.insert(Arc::clone(&own), templates);
        for name in names {
            self.lookup(&own, &name);
        }
    }

    fn named(&mut self, list: &[Node]) -> Templates {
        let mut templates = Templates::new();
        for node in list {
            let name = node.text("name").to_owned();
            if templates.contains_key(&name) && !name.is_empty() {
                let what = format!("there are two templates named {name:?}");
                self.sink.refuse(Code::DuplicateName, node.get("name").unwrap_or(node).mark, what);
            } else {
                templates.insert(name, node.clone());
            }
        }
        templates
    }

    /// The scope of a stored object's templates, read when first asked for.
    pub(super) fn scope(&mut self, kind: Kind, name: &str) -> Option<Arc<str>> {
        let scope: Arc<str> = format!("{}/{name}", kind.as_str()).into();
        if self.scopes.contains_key(&scope) {
            return Some(scope);
        }
        let object = self.stored(kind, name)?;
        let file = self.sink.file(&object.file);
        let list: Vec<Node> = object
            .tree
            .at(&["spec", "templates"])
            .map_or(&[][..], Node::items)
            .iter()
            .map(|template| template.of_file(file))
            .collect();
        let templates = self.named(&list);
        self.scopes.insert(Arc::clone(&scope), templates);
        Some(scope)
    }

    /// Names of the templates of a scope.
    pub(super) fn names(&self, scope: &str) -> Vec<String> {
        self.scopes.get(scope).map(|found| found.keys().cloned().collect()).unwrap_or_default()
    }

    /// Wants all templates of a scope.
    pub(super) fn lookup_all(&mut self, scope: &Arc<str>) {
        if self.whole.insert(Arc::clone(scope)) {
            for name in self.names(scope) {
                self.lookup(scope, &name);
            }
        }
    }

    /// Wants a template and tells its position.
    pub(super) fn lookup(&mut self, scope: &Arc<str>, name: &str) -> Option<u32> {
        let key = (Arc::clone(scope), name.to_owned());
        if let Some(found) = self.index.get(&key) {
            return Some(*found);
        }
        let node = self.scopes.get(scope)?.get(name)?.clone();
        let at = self.add(scope, &node);
        self.index.insert(key, at);
        Some(at)
    }

    /// Wants a template that is written where it is called.
    pub(super) fn add(&mut self, scope: &Arc<str>, node: &Node) -> u32 {
        let at = self.slots.len();
        self.copied = self.copied.saturating_add(self.shared);
        let checked = limits::TEMPLATES.check(at as u64 + 1, "run").and_then(|()| {
            limits::YAML_NODES.check(self.copied, "what the spec adds to each template")
        });
        if let Err(refused) = checked {
            self.sink.refuse(Code::TooLarge, node.mark, refused.what);
            return 0;
        }
        let node = Arc::new(self.with_defaults(node));
        self.slots.push(Slot { scope: Arc::clone(scope), node });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// The template on top of the spec's `templateDefaults`, whose body it does not take
    /// (argo-workflows `workflow/controller/operator.go` `mergedTemplateDefaultsInto`).
    fn with_defaults(&self, node: &Node) -> Node {
        let Some(defaults) = &self.defaults else { return node.clone() };
        let own = body_of(node);
        let nested = matches!(own, Some("steps" | "dag"));
        let takes = |entry: &&Entry| {
            let body = BODIES.contains(&&*entry.key);
            let leaf_only = matches!(&*entry.key, "timeout" | "activeDeadlineSeconds");
            (!body || own == Some(&*entry.key)) && !(leaf_only && nested)
        };
        let entries = defaults.entries().iter().filter(takes).cloned().collect();
        merge(&Node { mark: node.mark, value: Value::Map(entries) }, node)
    }

    /// Converts every wanted template, and those that they want.
    pub(super) fn templates(&mut self) -> Vec<Template> {
        let mut done: Vec<Template> = Vec::new();
        while let Some(slot) = self.slots.get(done.len()).cloned() {
            let template = self.template(&slot);
            done.push(template);
        }
        done
    }
}
