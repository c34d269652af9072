//! A call becomes a step, and a step opens.

use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::graph::{Argument, Arguments, Body, Call, Graph, Target, Template};
use argosy_model::run::Plan;
use argosy_model::{
    Code, Diagnostic, Event, Inputs, Item, Kind, Phase, Role, RunSpec, Shutdown, StepKey, limits,
};

use super::bind::{self, bind};
use super::limit::WITH_THE_RUN;
use super::turn::{Turn, Work};
use crate::Run;
use crate::fault::evaluation;
use crate::names;
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
            let why = Diagnostic::new(Code::TemplateNotFound, "the entrypoint does not exist");
            return self.add_refused(StepKey::NONE, Role::Root, StepSeed::NO_TEMPLATE, &why);
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
        item: Option<&Item>,
    ) {
        let spec = Arc::clone(&self.run.spec);
        let Some(graph) = graph_of(&spec) else { return };
        if !self.may_add(1) {
            return;
        }
        let owner = self.owner_of(parent, role);
        if let Some(text) = self.refusal(parent, role) {
            return self.add_ended(parent, role, StepSeed::NO_TEMPLATE, Phase::Failed, text);
        }
        if let (Some(each), None) = (&call.each, item) {
            return self.make_fan_out(parent, role, owner, each, call);
        }
        let view = self.view(owner);
        let view = match role {
            Role::Hook(_) => view.about(parent),
            _ => view.with_item(item),
        };
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
            Some(Err(why)) => return self.add_refused(parent, role, shown, &why),
        }
        match target {
            Ok((at, template)) => {
                let inputs = bind(&view, template, &call.arguments);
                self.make_step(parent, role, at, template, inputs);
            }
            Err(why) => self.add_refused(parent, role, shown, &why),
        }
    }

    fn make_step(
        &mut self,
        parent: StepKey,
        role: Role,
        at: u32,
        template: &Template,
        inputs: Result<Inputs, Diagnostic>,
    ) {
        let inputs = match inputs {
            Ok(inputs) => inputs,
            Err(why) => return self.add_refused(parent, role, at, &why),
        };
        if self.depth(parent) as u64 >= limits::CALL_DEPTH.max {
            let text = format!(
                "Maximum recursion depth exceeded: the limit `{}` is {}",
                limits::CALL_DEPTH.name,
                limits::CALL_DEPTH.max
            );
            let why = Diagnostic::new(Code::TooDeep, text);
            return self.add_refused(parent, role, at, &why);
        }
        self.spend(size(&inputs) / BYTES);
        let kind = if retries_below(template) { Kind::Retry } else { kind_of(template) };
        let key = self.add(parent, role, kind, at, Some(inputs));
        if let Some(Err(why)) = names::given_name(self.run, key) {
            return self.refuse(key, &why);
        }
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
        if !self.run.is_ending() {
            return None;
        }
        if self.run.given_up.is_some() {
            return Some(WITH_THE_RUN.to_owned());
        }
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
            self.run.ready.insert(key);
            return;
        }
        if self.is_left_out(key) {
            let text = "not started: something beside it failed".to_owned();
            return self.end(key, Phase::Omitted, Some(text), None);
        }
        if !self.pass_gate(key) || !self.has_locks(key) || !self.has_recalled(key) {
            return;
        }
        match kind {
            Kind::Process | Kind::Task | Kind::ContainerSet => self.open_leaf(key),
            Kind::Nothing => self.end(key, Phase::Succeeded, None, None),
            _ => {
                if !self.may_add(self.below(key)) {
                    return;
                }
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

    /// How many steps a step has below it at least, if all goes well.
    fn below(&self, key: StepKey) -> u64 {
        let step = self.run.at(key);
        let own = 1 + u64::from(matches!(step.role, Role::Try(_)));
        self.run.compiled.weight(step.template).saturating_sub(own)
    }

    /// Whether a failure keeps a step from starting: one that is bounded with those beside it.
    fn is_left_out(&self, key: StepKey) -> bool {
        let owner = self.run.gate_of(key).map(|(owner, _)| owner);
        let frame = owner.and_then(|owner| self.run.frames.get(owner));
        frame.is_some_and(|frame| frame.failed_fast)
    }

    fn pass_gate(&mut self, key: StepKey) -> bool {
        let Some((owner, limit)) = self.run.gate_of(key) else { return true };
        let gate = self.run.frames.of(owner).gate.get_or_insert_default();
        if gate.alive.contains(&key) {
            return true;
        }
        let passes = gate.alive.len() < limit;
        if passes {
            gate.alive.insert(key);
        } else {
            gate.waiting.push_back(key);
        }
        passes
    }

    /// A step is over: whoever waited for its place goes on.
    pub(super) fn release_gate(&mut self, key: StepKey) {
        let Some((owner, limit)) = self.run.gate_of(key) else { return };
        let frame = self.run.frames.get_mut(owner);
        if let Some(gate) = frame.and_then(|frame| frame.gate.as_deref_mut()) {
            gate.alive.remove(&key);
            self.let_pass(owner, limit);
        }
    }

    /// Opens those that wait at a template's bound, as many as it has room for. Where a failure
    /// keeps them from starting, one needs no room, and each lets the next one follow.
    pub(super) fn let_pass(&mut self, owner: StepKey, limit: usize) {
        let Run { frames, steps, .. } = &mut *self.run;
        let Some(frame) = frames.get_mut(owner) else { return };
        let failed = frame.failed_fast;
        let Some(gate) = frame.gate.as_deref_mut() else { return };
        let mut passed = Vec::new();
        while gate.alive.len() < limit || (failed && passed.is_empty()) {
            let Some(next) = gate.waiting.pop_front() else { break };
            // One that was ended while it waited takes no place.
            if !steps[next.index()].phase.is_terminal() {
                gate.alive.insert(next);
                passed.push(next);
            }
        }
        passed.into_iter().for_each(|key| self.then(Work::Open(key)));
    }
}

/// Bytes of values that cost as much as the smallest thing that a turn counts.
const BYTES: u64 = 32;

/// Bytes of a step's values.
fn size(inputs: &Inputs) -> u64 {
    let texts = inputs.parameters.iter().flatten().map(|text| text.len() as u64);
    texts.sum()
}

/// The template that a call names.
pub(super) fn resolve<'g>(
    view: &View<'_>,
    graph: &'g Graph,
    target: &Target,
) -> Result<(u32, &'g Template), Diagnostic> {
    let missing = |what: String| Diagnostic::new(Code::TemplateNotFound, what);
    let at = match target {
        Target::Template(at) => *at,
        Target::Named { scope, name } => {
            let name = bind::render_text(view, name).map_err(evaluation)?;
            view.run
                .compiled
                .template(scope, &name)
                .ok_or_else(|| missing(format!("template {name:?} does not exist")))?
        }
    };
    let template = graph.templates.get(at as usize);
    Ok((at, template.ok_or_else(|| missing("the template does not exist".to_owned()))?))
}

/// Whether a `when` holds.
fn holds(view: &View<'_>, when: &str) -> Result<bool, Diagnostic> {
    let mut env = bind::env(view);
    let parsed = view.run.compiled.when(when).map_err(evaluation)?;
    parsed.eval(view, &mut env).map_err(evaluation)
}

/// A `when` as messages show it, with its tags replaced where they can be.
fn shown_when(view: &View<'_>, when: &str) -> String {
    bind::render_text(view, when).unwrap_or_else(|_| when.to_owned())
}

/// What a step that is ended with its run is told (argo-workflows
/// `workflow/controller/exec_control.go`).
pub(crate) fn shutdown_text(how: Shutdown) -> String {
    format!("workflow shutdown with strategy:  {how:?}")
}
