//! A call becomes a step, and a step opens.

use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::graph::{Argument, Arguments, Body, Call, Graph, Target, Template};
use argosy_model::run::Plan;
use argosy_model::{Event, Kind, Phase, Role, RunSpec, Shutdown, StepKey, limits};
use serde_json::Value;

use super::bind::{self, bind};
use super::turn::{Turn, Work};
use crate::scope::View;

/// Whether a retry of this body is a step of its own, with the tries below it.
fn retries_below(template: &Template) -> bool {
    template.retry.is_some() && matches!(template.body, Body::Steps(_) | Body::Dag(_))
}

fn kind_of(template: &Template) -> Kind {
    match template.body {
        Body::Process(_) => Kind::Process,
        Body::ContainerSet(_) => Kind::ContainerSet,
        Body::Steps(_) => Kind::Steps,
        Body::Dag(_) => Kind::Dag,
        Body::Suspend { .. } => Kind::Suspend,
        Body::Empty => Kind::Nothing,
    }
}

fn graph_of(spec: &RunSpec) -> Option<&Graph> {
    match &spec.plan {
        Plan::Graph(graph) => Some(graph),
        Plan::Task(_) => None,
    }
}

impl Turn<'_> {
    /// The root: the entrypoint, given the run's own arguments.
    pub(super) fn make_root(&mut self, graph: &Graph) {
        let Some(template) = graph.templates.get(graph.entrypoint as usize) else {
            let text = "the entrypoint does not exist".to_owned();
            return self.add_ended(
                StepKey::NONE,
                Role::Root,
                StepSeed::NO_TEMPLATE,
                Phase::Error,
                text,
            );
        };
        let given = |p: &Argument| Argument {
            name: p.name.clone(),
            value: p.value.clone(),
            ..Argument::default()
        };
        let arguments = Arguments {
            parameters: graph.arguments.parameters.iter().map(given).collect(),
            artifacts: graph.arguments.artifacts.clone(),
        };
        // Values of the run's own parameters are data: the door has evaluated them already.
        let view = View::inside(self.run, StepKey::NONE, self.now_ms);
        let inputs = bind(&view, template, &arguments);
        self.make_step(StepKey::NONE, Role::Root, graph.entrypoint, template, inputs);
    }

    /// Makes the step (or, for a loop, the steps) of a call. `item` is set for one item of a loop.
    pub(super) fn make_call(
        &mut self,
        parent: StepKey,
        role: Role,
        call: &Call,
        item: Option<&Value>,
    ) {
        let spec = Arc::clone(&self.run.spec);
        let Some(graph) = graph_of(&spec) else { return };
        let owner = self.owner_of(parent, role);
        if let Some(text) = self.refusal(parent, role) {
            return self.add_ended(parent, role, StepSeed::NO_TEMPLATE, Phase::Failed, text);
        }
        if self.run.steps.len() as u64 >= limits::STEPS.max {
            let text = format!(
                "the run has reached the limit `{}` of {}",
                limits::STEPS.name,
                limits::STEPS.max
            );
            return self.add_ended(parent, role, StepSeed::NO_TEMPLATE, Phase::Error, text);
        }
        if let (Some(each), None) = (&call.each, item) {
            return self.make_fan_out(parent, role, owner, each, call);
        }
        // A hook about one item of a loop sees that item.
        let hooked = matches!(role, Role::Hook(_)).then(|| self.run.item_of(parent)).flatten();
        let view = self.view(owner).with_item(item.or(hooked));
        let target = resolve(&view, graph, &call.target);
        let shown = target.as_ref().map_or(StepSeed::NO_TEMPLATE, |(at, _)| *at);
        match call.when.as_deref().map(|when| holds(&view, when)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => {
                let text = format!(
                    "when '{}' evaluated false",
                    call.when.as_deref().map(|when| shown_when(&view, when)).unwrap_or_default()
                );
                return self.add_ended(parent, role, shown, Phase::Skipped, text);
            }
            Some(Err(text)) => return self.add_ended(parent, role, shown, Phase::Error, text),
        }
        match target {
            Ok((at, template)) => {
                let inputs = bind(&view, template, &call.arguments);
                self.make_step(parent, role, at, template, inputs);
            }
            Err(text) => self.add_ended(parent, role, shown, Phase::Error, text),
        }
    }

    fn make_step(
        &mut self,
        parent: StepKey,
        role: Role,
        at: u32,
        template: &Template,
        inputs: Result<argosy_model::Inputs, String>,
    ) {
        let inputs = match inputs {
            Ok(inputs) => inputs,
            Err(text) => return self.add_ended(parent, role, at, Phase::Error, text),
        };
        if self.depth(parent) as u64 >= limits::CALL_DEPTH.max {
            let text = format!(
                "Maximum recursion depth exceeded: the limit `{}` is {}",
                limits::CALL_DEPTH.name,
                limits::CALL_DEPTH.max
            );
            return self.add_ended(parent, role, at, Phase::Error, text);
        }
        let kind = if retries_below(template) { Kind::Retry } else { kind_of(template) };
        let key = self.add(parent, role, kind, at, Some(inputs));
        self.set_timeout(key, template);
        self.then(Work::Open(key));
    }

    /// How many templates are being carried out above a step to be.
    fn depth(&self, parent: StepKey) -> usize {
        let mut depth = 0;
        let mut at = parent;
        while let Some(step) = self.run.step(at) {
            depth += usize::from(matches!(step.kind, Kind::Steps | Kind::Dag));
            at = step.parent;
        }
        depth
    }

    /// The step in whose template the call that makes (parent, role) is written.
    pub(super) fn owner_of(&self, parent: StepKey, role: Role) -> StepKey {
        match role {
            Role::Call(_) => match self.run.step(parent) {
                Some(step) if step.kind == Kind::Group => step.parent,
                _ => parent,
            },
            Role::Item(_) | Role::Try(_) | Role::Hook(_) => self.run.boundary(parent),
            _ => StepKey::NONE,
        }
    }

    /// Why nothing new may be made there.
    pub(super) fn refusal(&self, parent: StepKey, role: Role) -> Option<String> {
        let exit =
            role == Role::Exit || self.run.is_exit_work(parent) || self.is_exit_hook(parent, role);
        match self.run.shutdown {
            Some(Shutdown::Stop) if !exit => Some(shutdown_text(Shutdown::Stop)),
            Some(Shutdown::Terminate) => Some(shutdown_text(Shutdown::Terminate)),
            _ if !exit && self.run.deadline_passed => Some("Step exceeded its deadline".to_owned()),
            _ => None,
        }
    }

    fn is_exit_hook(&self, parent: StepKey, role: Role) -> bool {
        let Role::Hook(index) = role else { return false };
        let hook = self.run.call_of(parent).and_then(|call| call.hooks.get(index as usize));
        hook.is_some_and(|hook| hook.expression.is_empty())
    }

    /// Opens a step, or lets it wait in the line of the limit that keeps it.
    pub(super) fn open(&mut self, key: StepKey) {
        let step = self.run.at(key);
        if step.phase != Phase::Waiting || !step.attempts.is_empty() {
            return;
        }
        let (parent, role, kind) = (step.parent, step.role, step.kind);
        if let Some(text) = self.refusal(parent, role) {
            return self.end(key, Phase::Failed, Some(text), None);
        }
        if self.run.suspended {
            self.run.throttled.push_back(key);
            return;
        }
        if !self.pass_gate(key) || !self.has_locks(key) || !self.has_recalled(key) {
            return;
        }
        match kind {
            Kind::Process | Kind::Task | Kind::ContainerSet => self.open_leaf(key),
            Kind::Nothing => self.end(key, Phase::Succeeded, None, None),
            _ => {
                self.emit(Event::StepStarted { step: key });
                self.fire_hooks(key);
                match kind {
                    Kind::Steps => self.open_group(key, 0),
                    Kind::Dag => self.open_dag(key),
                    Kind::Suspend => self.open_suspend(key),
                    Kind::Retry => self.make_try(key, 0),
                    _ => {}
                }
            }
        }
    }

    fn pass_gate(&mut self, key: StepKey) -> bool {
        let Some((owner, limit)) = self.run.gate_of(key) else { return true };
        let frame = self.run.frames.entry(owner).or_default();
        if frame.alive.contains(&key) {
            return true;
        }
        let passes = frame.alive.len() < limit;
        if passes {
            frame.alive.insert(key);
        } else {
            frame.gated.push_back(key);
        }
        passes
    }

    pub(super) fn release_gate(&mut self, key: StepKey) {
        let Some((owner, limit)) = self.run.gate_of(key) else { return };
        let Some(frame) = self.run.frames.get_mut(&owner) else { return };
        frame.alive.remove(&key);
        let room = limit.saturating_sub(frame.alive.len()).min(frame.gated.len());
        let next: Vec<_> = frame.gated.drain(..room).collect();
        next.into_iter().for_each(|key| self.then(Work::Open(key)));
    }
}

/// The template that a call names.
pub(super) fn resolve<'g>(
    view: &View<'_>,
    graph: &'g Graph,
    target: &Target,
) -> Result<(u32, &'g Template), String> {
    let at = match target {
        Target::Template(at) => *at,
        Target::Named { scope, name } => {
            let name = bind::render_text(view, name).map_err(|error| error.to_string())?;
            view.run
                .compiled
                .template(scope, &name)
                .ok_or_else(|| format!("template {name:?} does not exist"))?
        }
    };
    let template = graph.templates.get(at as usize);
    Ok((at, template.ok_or_else(|| "the template does not exist".to_owned())?))
}

/// Whether a `when` holds.
fn holds(view: &View<'_>, when: &str) -> Result<bool, String> {
    let mut env = bind::env(view);
    let parsed = view.run.compiled.when(when).map_err(|error| error.to_string())?;
    parsed.eval(view, &mut env).map_err(|error| error.to_string())
}

/// A `when` as messages show it, with its tags replaced where they can be.
fn shown_when(view: &View<'_>, when: &str) -> String {
    bind::render_text(view, when).unwrap_or_else(|_| when.to_owned())
}

/// What a step that is ended with its run is told (argo-workflows
/// `workflow/controller/exec_control.go`).
pub(super) fn shutdown_text(how: Shutdown) -> String {
    format!("workflow shutdown with strategy:  {how:?}")
}
