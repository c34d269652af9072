//! Processes of a template: containers, what they need, and what is mounted.

use std::collections::BTreeSet;

use argosy_model::graph::ProcessTemplate;
use argosy_model::process::{
    Claim, Container, EnvFrom, EnvValue, EnvVar, KeyRef, Mount, SetMember, Volume,
};
use argosy_model::{Code, resources};

use super::build::{Build, by_name};
use super::{names, volumes};
use crate::argo::sink::Sink;
use crate::argo::yaml::Node;

impl Build<'_> {
    /// The processes of a template with a container, a script or a container set.
    pub(super) fn process(&mut self, template: &Node) -> ProcessTemplate {
        let mut process = ProcessTemplate::default();
        let main = template.get("container").or_else(|| template.get("script"));
        if let Some(main) = main {
            process.main = self.container(main);
            process.main.name = "main".into();
        }
        if let Some(set) = template.get("containerSet") {
            process.set = self.container_set(set);
        }
        for (key, list) in
            [("initContainers", &mut process.init), ("sidecars", &mut process.sidecars)]
        {
            for node in template.list(key) {
                self.name_of(node, "container", names::label);
                let mut container = self.container(node);
                if node.flag("mirrorVolumeMounts") {
                    container.mounts.extend(process.main.mounts.iter().cloned());
                }
                list.push(container);
            }
        }
        process.resources = process.needs();
        process.volumes = self.volumes(template, &process);
        process.patches = self.patches(template, &process);
        process
    }

    fn container(&mut self, node: &Node) -> Container {
        if node.text("image").is_empty() {
            self.sink.refuse(Code::MissingField, node.mark, "the container has no `image`");
        }
        Container {
            name: node.text("name").to_owned(),
            image: node.text("image").to_owned(),
            command: node.texts("command"),
            args: node.texts("args"),
            script: node.get("source").and_then(Node::as_text).map(str::to_owned),
            env: node.list("env").iter().map(|node| self.env(node)).collect(),
            env_from: node.list("envFrom").iter().filter_map(env_from).collect(),
            working_dir: node.text("workingDir").to_owned(),
            mounts: node.list("volumeMounts").iter().map(|node| self.mount(node)).collect(),
            claim: claim(node),
        }
    }

    fn env(&mut self, node: &Node) -> EnvVar {
        let name = node.text("name").to_owned();
        if name.is_empty() || name.contains('=') {
            let what = format!("{name:?} is no name of a variable");
            self.sink.refuse(Code::BadName, node.mark, what);
        }
        let from = |key: &str| node.at(&["valueFrom", key]).map(key_ref);
        let value = match (from("secretKeyRef"), from("configMapKeyRef")) {
            (Some(key), _) => EnvValue::Secret(key),
            (None, Some(key)) => EnvValue::ConfigMap(key),
            (None, None) => EnvValue::Text(node.text("value").to_owned()),
        };
        EnvVar { name, value }
    }

    fn mount(&mut self, node: &Node) -> Mount {
        match node.get("mountPath") {
            Some(path) => self.check_file(path),
            None => {
                self.sink.refuse(Code::MissingField, node.mark, "the mount has no `mountPath`");
            }
        }
        let sub_path = node.text("subPath");
        check_inside(&mut self.sink, node, "subPath");
        Mount {
            volume: node.text("name").to_owned(),
            path: node.text("mountPath").to_owned(),
            sub_path: sub_path.to_owned(),
            read_only: node.flag("readOnly"),
        }
    }

    fn container_set(&mut self, set: &Node) -> Vec<SetMember> {
        let nodes = set.list("containers");
        self.check_unique(nodes, "containers");
        let shared: Vec<Mount> =
            set.list("volumeMounts").iter().map(|node| self.mount(node)).collect();
        let known: Vec<&str> = nodes.iter().map(|node| node.text("name")).collect();
        let members = nodes.iter().map(|node| {
            self.name_of(node, "container", names::label);
            for dependency in node.list("dependencies") {
                let name = dependency.as_text().unwrap_or_default();
                if !known.contains(&name) {
                    let what = format!("there is no container `{name}` to wait for");
                    self.sink.refuse(Code::BadDepends, dependency.mark, what);
                }
            }
            let mut container = self.container(node);
            container.mounts.extend(shared.iter().cloned());
            SetMember { container, dependencies: node.texts("dependencies") }
        });
        let members: Vec<SetMember> = members.collect();
        if members.is_empty() {
            self.sink.refuse(Code::MissingField, set.mark, "the container set has no `containers`");
        }
        self.check_set_order(set, &members);
        members
    }

    fn check_set_order(&mut self, set: &Node, members: &[SetMember]) {
        let edges: Vec<Vec<usize>> = members
            .iter()
            .map(|member| {
                let position =
                    |name: &String| members.iter().position(|m| m.container.name == *name);
                member.dependencies.iter().filter_map(position).collect()
            })
            .collect();
        if let Some(circle) = crate::argo::validate::circle(&edges) {
            let names: Vec<&str> =
                circle.iter().filter_map(|at| Some(&*members.get(*at)?.container.name)).collect();
            let first = circle.first().and_then(|at| set.list("containers").get(*at));
            let what = format!("the containers wait for each other: {}", names.join(", "));
            self.sink.refuse(Code::Cycle, first.unwrap_or(set).mark, what);
        }
    }

    /// The volumes that the processes mount, from the template or the run.
    fn volumes(&mut self, template: &Node, process: &ProcessTemplate) -> Vec<Volume> {
        let set = process.set.iter().map(|member| &member.container);
        let containers = set.chain([&process.main]).chain(&process.init).chain(&process.sidecars);
        let mounted: BTreeSet<&str> =
            containers.flat_map(|c| &c.mounts).map(|mount| &*mount.volume).collect();
        let own = by_name(template.list("volumes"));
        let mut found = Vec::new();
        for name in mounted.into_iter().filter(|name| !name.contains("{{")) {
            let Some(node) = own.get(name).or_else(|| self.volumes.get(name)) else {
                let what = format!("there is no volume `{name}` to mount");
                self.sink.refuse(Code::Unresolved, template.mark, what);
                continue;
            };
            let stores = ["secret", "configMap"].iter().filter_map(|store| node.get(store));
            for item in stores.flat_map(|store| store.list("items")) {
                check_inside(&mut self.sink, item, "path");
            }
            match volumes::source(node) {
                Some(source) => found.push(Volume { name: name.to_owned(), source }),
                None => {
                    let what = format!("the volume `{name}` holds nothing");
                    self.sink.refuse(Code::MissingField, node.mark, what);
                }
            }
        }
        found
    }
}

/// A path that a field gives is inside of its volume, as Kubernetes has it.
fn check_inside(sink: &mut Sink, node: &Node, field: &str) {
    let path = node.text(field);
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        let mark = node.get(field).unwrap_or(node).mark;
        let what = format!("{path:?} is not a path inside of the volume");
        sink.refuse(Code::BadValue, mark, what);
    }
}

fn key_ref(node: &Node) -> KeyRef {
    KeyRef {
        name: node.text("name").to_owned(),
        key: node.text("key").to_owned(),
        optional: node.flag("optional"),
    }
}

fn env_from(node: &Node) -> Option<EnvFrom> {
    let (source, secret) = match node.get("secretRef") {
        Some(source) => (source, true),
        None => (node.get("configMapRef")?, false),
    };
    Some(EnvFrom {
        name: source.text("name").to_owned(),
        secret,
        prefix: node.text("prefix").to_owned(),
        optional: source.flag("optional"),
    })
}

/// What a container asks for and may use.
fn claim(container: &Node) -> Claim {
    let Some(node) = container.get("resources") else { return Claim::default() };
    let amounts = |list: &str| {
        let entries = node.get(list).map_or(&[][..], Node::entries);
        let pairs =
            entries.iter().filter_map(|entry| Some((entry.key.to_string(), entry.node.scalar()?)));
        resources::of_quantities(pairs)
    };
    Claim { requests: amounts("requests"), limits: amounts("limits") }
}
