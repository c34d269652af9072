//! The members of a container set as nodes below their pod (argo-workflows
//! `workflow/controller/container_set_template.go`).

use argosy_model::attempt::ContainerEnd;
use argosy_model::graph::{Body, Template};
use argosy_model::process::SetMember;
use argosy_model::{Attempt, AttemptPhase, Exit};
use serde_json::{Map, Value, json};

use super::time;

/// The pod that the members are shown below.
pub(super) struct Pod<'a> {
    /// The name of the run.
    pub(super) run: &'a str,
    /// The full name of the pod's node.
    pub(super) name: &'a str,
    /// Fields that its members have as well: those of the template.
    pub(super) node: &'a Map<String, Value>,
    /// Its attempt, if there is one yet.
    pub(super) attempt: Option<&'a Attempt>,
}

impl Pod<'_> {
    fn id(&self, member: &str) -> String {
        argosy_engine::names::node_id(self.run, &format!("{}.{member}", self.name))
    }

    /// Adds the members' nodes; the ids of those that wait for no other.
    pub(super) fn add(
        &self,
        template: Option<&Template>,
        map: &mut Map<String, Value>,
    ) -> Vec<String> {
        let Some(Body::ContainerSet(process)) = template.map(|template| &template.body) else {
            return Vec::new();
        };
        for member in &process.set {
            map.insert(self.id(&member.container.name), self.member(member, &process.set));
        }
        let first = process.set.iter().filter(|member| member.dependencies.is_empty());
        first.map(|member| self.id(&member.container.name)).collect()
    }

    fn member(&self, member: &SetMember, set: &[SetMember]) -> Value {
        let name = &member.container.name;
        let mut node = Map::new();
        node.insert("id".into(), json!(self.id(name)));
        node.insert("name".into(), json!(format!("{}.{name}", self.name)));
        node.insert("displayName".into(), json!(name));
        node.insert("type".into(), json!("Container"));
        node.insert("boundaryID".into(), json!(argosy_engine::names::node_id(self.run, self.name)));
        for field in ["templateName", "templateRef", "templateScope"] {
            if let Some(value) = self.node.get(field) {
                node.insert(field.into(), value.clone());
            }
        }
        let after = set.iter().filter(|other| other.dependencies.contains(name));
        let after: Vec<String> = after.map(|other| self.id(&other.container.name)).collect();
        if !after.is_empty() {
            node.insert("children".into(), json!(after));
        }
        self.put_end(member, &mut node);
        Value::Object(node)
    }

    fn put_end(&self, member: &SetMember, node: &mut Map<String, Value>) {
        let ended = self.attempt.and_then(|attempt| attempt.end.as_deref());
        let ends = ended.map_or(&[][..], |end| &end.containers);
        let end = ends.iter().find(|end| end.name == member.container.name);
        node.insert("phase".into(), json!(self.phase(member, end)));
        node.insert("startedAt".into(), time(end.map_or(0, |end| end.started_ms)));
        node.insert("finishedAt".into(), time(end.map_or(0, |end| end.ended_ms)));
        let code = match end.map(|end| &end.exit) {
            Some(Exit::Code(code)) => *code,
            Some(Exit::Signal(signal)) => 128 + signal,
            _ => return,
        };
        node.insert("outputs".into(), json!({"exitCode": code.to_string()}));
        if code != 0 {
            node.insert("message".into(), json!(format!("Error (exit code {code})")));
        }
    }

    /// Which of the members run is known only of those that wait for no other.
    fn phase(&self, member: &SetMember, end: Option<&ContainerEnd>) -> &'static str {
        match (end.map(|end| &end.exit), self.attempt.map(|attempt| attempt.phase)) {
            (Some(Exit::Code(0)), _) => "Succeeded",
            (Some(_), _) => "Failed",
            (None, Some(AttemptPhase::Running)) if member.dependencies.is_empty() => "Running",
            (None, Some(AttemptPhase::Ended)) => "Omitted",
            (None, _) => "Pending",
        }
    }
}
