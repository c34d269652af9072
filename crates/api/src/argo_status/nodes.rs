//! `status.nodes`: every step as a node, with the tries of a process as nodes of their own where
//! its template has a retry strategy.

use std::collections::{HashMap, HashSet};

use argosy_engine::depends::Depends;
use argosy_engine::outcome::Outcome;
use argosy_engine::{Run, names};
use argosy_model::{Attempt, AttemptPhase, End, Exit, Kind, Outputs, Phase, Role, Step, StepKey};
use serde_json::{Map, Value, json};

use super::containers::Pod;
use super::{locks, outputs, time};

/// All nodes by id.
#[must_use]
pub fn nodes(run: &Run) -> Value {
    let index = Index::of(run);
    let all = Nodes::of(run, &index);
    let mut map = Map::new();
    for key in (0u32..).map(StepKey).take(run.steps.len()) {
        all.add(key, &mut map);
    }
    Value::Object(map)
}

/// What is looked up for many nodes.
pub(super) struct Index {
    /// For each DAG step, which of its tasks name a task.
    dependents: HashMap<StepKey, HashMap<String, Vec<StepKey>>>,
    /// The groups of each steps step, by their numbers.
    groups: HashMap<(StepKey, u32), StepKey>,
}

impl Index {
    pub(super) fn of(run: &Run) -> Index {
        Index { dependents: dependents(run), groups: groups(run) }
    }
}

pub(super) struct Nodes<'a> {
    run: &'a Run,
    index: &'a Index,
}

fn groups(run: &Run) -> HashMap<(StepKey, u32), StepKey> {
    let steps = (0u32..).map(StepKey).zip(&run.steps);
    let group = |(key, step): (StepKey, &Step)| match step.role {
        Role::Group(number) => Some(((step.parent, number), key)),
        _ => None,
    };
    steps.filter_map(group).collect()
}

fn dependents(run: &Run) -> HashMap<StepKey, HashMap<String, Vec<StepKey>>> {
    let mut all: HashMap<StepKey, HashMap<String, Vec<StepKey>>> = HashMap::new();
    for (key, step) in (0u32..).map(StepKey).zip(&run.steps) {
        let in_dag = run.step(step.parent).is_some_and(|parent| parent.kind == Kind::Dag);
        if !in_dag || !matches!(step.role, Role::Call(_)) {
            continue;
        }
        let depends = run.call_of(key).and_then(|call| call.depends.as_deref());
        let Some(Ok(depends)) = depends.map(Depends::parse) else { continue };
        for name in depends.tasks() {
            let of_dag = all.entry(step.parent).or_default();
            of_dag.entry(name.to_owned()).or_default().push(key);
        }
    }
    all
}

impl<'a> Nodes<'a> {
    pub(super) fn of(run: &'a Run, index: &'a Index) -> Nodes<'a> {
        Nodes { run, index }
    }

    fn id(&self, key: StepKey) -> String {
        names::node_id(&self.run.spec.name, &names::full_name(self.run, key))
    }

    /// Whether a step is shown. A loop among steps is not: its items hang under the group.
    fn is_shown(&self, key: StepKey) -> bool {
        let Some(step) = self.run.step(key) else { return false };
        let in_group = self.run.step(step.parent).is_some_and(|parent| parent.kind == Kind::Group);
        step.kind != Kind::FanOut || !in_group || step.phase == Phase::Skipped
    }

    /// Whether the tries of a process are shown below it.
    fn shows_tries(&self, key: StepKey) -> bool {
        let step = self.run.step(key);
        step.is_some_and(|step| matches!(step.kind, Kind::Process | Kind::ContainerSet))
            && self.run.template_of(key).is_some_and(|template| template.retry.is_some())
    }

    /// The nodes of a step, into the map by their ids.
    pub(super) fn add(&self, key: StepKey, map: &mut Map<String, Value>) {
        if !self.is_shown(key) {
            return;
        }
        let Some(step) = self.run.step(key) else { return };
        let mut node = self.common(key, step);
        node.insert("type".into(), json!(self.kind(key, step)));
        let mut children = self.children(key);
        if self.shows_tries(key) {
            let tries = self.add_tries(key, step, map);
            children.splice(0..0, tries);
        } else if step.kind == Kind::ContainerSet {
            let name = names::full_name(self.run, key);
            let members = self.add_members(key, &name, &node, step.attempts.last(), map);
            children.splice(0..0, members);
        }
        if !children.is_empty() {
            node.insert("children".into(), json!(children));
        }
        let outbound = self.outbound(key, step);
        if !outbound.is_empty() {
            node.insert("outboundNodes".into(), json!(outbound));
        }
        map.insert(self.id(key), Value::Object(node));
    }

    /// The members of a container set below their pod; the ids of the first ones.
    fn add_members(
        &self,
        key: StepKey,
        name: &str,
        node: &Map<String, Value>,
        attempt: Option<&Attempt>,
        map: &mut Map<String, Value>,
    ) -> Vec<String> {
        let pod = Pod { run: &self.run.spec.name, name, node, attempt };
        pod.add(self.run.template_of(key), map)
    }

    fn common(&self, key: StepKey, step: &Step) -> Map<String, Value> {
        let full = names::full_name(self.run, key);
        let mut node = Map::new();
        node.insert("id".into(), json!(names::node_id(&self.run.spec.name, &full)));
        node.insert("name".into(), json!(full));
        node.insert("displayName".into(), json!(names::display_name(self.run, key)));
        self.put_template(key, step, &mut node);
        node.insert("phase".into(), json!(step.phase.as_str()));
        if let Some(boundary) = self.boundary(key) {
            node.insert("boundaryID".into(), json!(boundary));
        }
        if let Some(message) = &step.message {
            node.insert("message".into(), json!(message));
        }
        let started = if step.started_ms == 0 { step.created_ms } else { step.started_ms };
        node.insert("startedAt".into(), time(started));
        node.insert("finishedAt".into(), time(step.ended_ms));
        if step.kind.has_attempts() {
            let done = u8::from(step.phase == Phase::Succeeded);
            node.insert("progress".into(), json!(format!("{done}/1")));
            if step.started_ms != 0 {
                node.insert("hostNodeName".into(), json!("local"));
            }
        }
        if let Some(inputs) = outputs::inputs(self.run.template_of(key), step.inputs.as_deref()) {
            node.insert("inputs".into(), inputs);
        }
        if let Some(outputs) = outputs::outputs(self.run, step.outputs.as_deref()) {
            node.insert("outputs".into(), outputs);
        }
        if let Some(status) = locks::of_node(self.run, key) {
            node.insert("synchronizationStatus".into(), status);
        }
        if let Some(recall) = &step.recall {
            let status = json!({"hit": recall.hit, "key": recall.key, "cacheName": recall.cache});
            node.insert("memoizationStatus".into(), status);
        }
        if matches!(step.role, Role::Hook(_) | Role::RunHook(_) | Role::Exit) {
            node.insert("nodeFlag".into(), json!({"hooked": true}));
        }
        if matches!(step.role, Role::Try(_)) {
            node.insert("nodeFlag".into(), json!({"retried": true}));
        }
        node
    }

    fn put_template(&self, key: StepKey, step: &Step, node: &mut Map<String, Value>) {
        if step.kind == Kind::Group {
            return;
        }
        let Some(template) = self.run.template_of(key) else { return };
        match template.scope.split_once('/') {
            None => {
                node.insert("templateName".into(), json!(template.name));
                node.insert("templateScope".into(), json!(format!("local/{}", self.run.spec.name)));
            }
            Some((kind, name)) => {
                let cluster = kind == "ClusterWorkflowTemplate";
                node.insert(
                    "templateRef".into(),
                    json!({
                    "name": name, "template": template.name, "clusterScope": cluster}),
                );
                let scope = if cluster { "cluster" } else { "namespaced" };
                node.insert("templateScope".into(), json!(format!("{scope}/{name}")));
            }
        }
    }

    fn kind(&self, key: StepKey, step: &Step) -> &'static str {
        match step.kind {
            Kind::Process | Kind::Task | Kind::ContainerSet if self.shows_tries(key) => "Retry",
            Kind::Process | Kind::Task | Kind::ContainerSet => "Pod",
            Kind::Steps => "Steps",
            Kind::Group => "StepGroup",
            Kind::Dag => "DAG",
            // A loop over nothing is no group.
            Kind::FanOut if step.phase == Phase::Skipped => "Skipped",
            Kind::FanOut => "TaskGroup",
            Kind::Retry => "Retry",
            Kind::Suspend => "Suspend",
            Kind::Container => "Container",
            Kind::Nothing => "Skipped",
        }
    }

    /// The node in whose template a node stands.
    fn boundary(&self, key: StepKey) -> Option<String> {
        let step = self.run.step(key)?;
        let boundary = match step.role {
            Role::Container(_) | Role::Child(_) | Role::Group(_) => step.parent,
            _ => self.run.boundary(key),
        };
        (!boundary.is_none()).then(|| self.id(boundary))
    }

    /// Children as Argo draws them: a steps node has its first group, a group the calls and each of
    /// these the next group; a DAG has its roots, and a task those that depend on it.
    fn children(&self, key: StepKey) -> Vec<String> {
        let Some(step) = self.run.step(key) else { return Vec::new() };
        let own = self.run.children(key).iter().copied();
        let mut children: Vec<StepKey> = match step.kind {
            Kind::Steps => own
                .filter(|c| {
                    matches!(
                        self.run.step(*c).map(|s| s.role),
                        Some(Role::Group(0) | Role::Hook(_))
                    )
                })
                .collect(),
            Kind::Group => own.flat_map(|child| self.shown_below(child)).collect(),
            Kind::Dag => own.filter(|child| self.is_dag_root(*child)).collect(),
            _ => own.collect(),
        };
        children.extend(self.followers(key, step));
        let mut seen = HashSet::with_capacity(children.len());
        children.retain(|child| seen.insert(*child));
        children.into_iter().map(|child| self.id(child)).collect()
    }

    fn shown_below(&self, key: StepKey) -> Vec<StepKey> {
        if self.is_shown(key) { vec![key] } else { self.run.children(key).to_vec() }
    }

    fn is_dag_root(&self, key: StepKey) -> bool {
        match self.run.step(key).map(|step| step.role) {
            Some(Role::Call(_)) => self.run.call_of(key).is_some_and(|call| call.depends.is_none()),
            _ => true,
        }
    }

    /// What is drawn after a node: the next group after the calls of one, dependents after a task.
    fn followers(&self, key: StepKey, step: &Step) -> Vec<StepKey> {
        let parent = match (step.role, self.run.step(step.parent)) {
            (Role::Item(_), Some(parent)) if !self.is_shown(step.parent) => parent.parent,
            (Role::Call(_), _) => step.parent,
            _ => return Vec::new(),
        };
        let Some(around) = self.run.step(parent) else { return Vec::new() };
        match (around.kind, around.role) {
            (Kind::Group, Role::Group(number)) => {
                let next = (around.parent, number.saturating_add(1));
                self.index.groups.get(&next).copied().into_iter().collect()
            }
            (Kind::Dag, _) => self.dependents(parent, key),
            _ => Vec::new(),
        }
    }

    fn dependents(&self, dag: StepKey, key: StepKey) -> Vec<StepKey> {
        let name = self.run.call_of(key).map_or("", |call| &call.name);
        let found = self.index.dependents.get(&dag).and_then(|tasks| tasks.get(name));
        found.cloned().unwrap_or_default()
    }

    /// The last nodes of a node, from which what follows it is drawn.
    fn outbound(&self, key: StepKey, step: &Step) -> Vec<String> {
        match step.kind {
            Kind::Process | Kind::Task | Kind::Container => vec![],
            Kind::Steps => {
                let last = self.run.children(key).iter().rev().find(|child| {
                    self.run.step(**child).is_some_and(|c| matches!(c.role, Role::Group(_)))
                });
                let calls = last.into_iter().flat_map(|group| self.run.children(*group));
                calls.flat_map(|call| self.shown_below(*call)).map(|call| self.id(call)).collect()
            }
            Kind::Dag => {
                let children = self.run.children(key).iter().copied();
                children
                    .filter(|child| self.dependents(key, *child).is_empty())
                    .map(|child| self.id(child))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The tries of a process as nodes; their ids.
    fn add_tries(&self, key: StepKey, step: &Step, map: &mut Map<String, Value>) -> Vec<String> {
        let mut ids = Vec::new();
        let mut number = 0;
        for attempt in &step.attempts {
            let full = names::try_name(self.run, key, number);
            let id = names::node_id(&self.run.spec.name, &full);
            let mut node = self.common(key, step);
            node.insert("id".into(), json!(id));
            node.insert("name".into(), json!(full));
            node.insert(
                "displayName".into(),
                json!(format!("{}({number})", names::short_name(self.run, key))),
            );
            node.insert("type".into(), json!("Pod"));
            node.insert("nodeFlag".into(), json!({"retried": true}));
            put_try(&mut node, self.run, step, attempt);
            let members = self.add_members(key, &full, &node, Some(attempt), map);
            if !members.is_empty() {
                node.insert("children".into(), json!(members));
            }
            map.insert(id.clone(), Value::Object(node));
            if !attempt.was_infrastructure() {
                number += 1;
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }
}

/// Phase, times, message and outputs of one try.
fn put_try(node: &mut Map<String, Value>, run: &Run, step: &Step, attempt: &Attempt) {
    let end = attempt.end.as_deref();
    let outcome = Outcome::of_attempt(attempt, run);
    let phase = match (attempt.phase, &outcome) {
        (AttemptPhase::Queued | AttemptPhase::Placed, _) => "Pending",
        (AttemptPhase::Running, _) => "Running",
        (AttemptPhase::Ended, Some(outcome)) => outcome.phase.as_str(),
        (AttemptPhase::Ended, None) => "Failed",
    };
    node.insert("phase".into(), json!(phase));
    let started = if attempt.started_ms == 0 { attempt.queued_ms } else { attempt.started_ms };
    node.insert("startedAt".into(), time(started));
    // A try that was never started ends with its step, and for its step's reason.
    let ended = end.map_or(0, |end| if end.ended_ms == 0 { step.ended_ms } else { end.ended_ms });
    node.insert("finishedAt".into(), time(ended));
    let last = step.attempts.last().is_some_and(|last| std::ptr::eq(last, attempt));
    if !last || !step.phase.is_terminal() {
        let kept = end.map(|end| Outputs { exit_code: code(end), ..end.outputs.clone() });
        match outputs::outputs(run, kept.as_ref()) {
            Some(outputs) => node.insert("outputs".into(), outputs),
            None => node.remove("outputs"),
        };
    }
    let of_step = step.message.as_deref().filter(|_| last && end.is_some()).map(str::to_owned);
    match outcome.map(|end| end.message).filter(|text| !text.is_empty()).or(of_step) {
        Some(text) => node.insert("message".into(), json!(text)),
        None => node.remove("message"),
    };
}

fn code(end: &End) -> Option<i32> {
    match end.exit {
        Exit::Code(code) => Some(code),
        _ => None,
    }
}
