//! Calls in the order of their dependencies
//! (argo-workflows `workflow/controller/dag.go`, `docs/enhanced-depends-logic.md`).

use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::graph::{Body, Dag};
use argosy_model::run::Plan;
use argosy_model::{Kind, Phase, Role, RunSpec, StepKey};

use super::bind::render_text;
use super::turn::Turn;
use crate::compiled::DagPlan;
use crate::depends::Condition;
use crate::run::Run;
use crate::scope::View;

fn dag_of(spec: &RunSpec, template: u32) -> Option<&Dag> {
    let Plan::Graph(graph) = &spec.plan else { return None };
    match &graph.templates.get(template as usize)?.body {
        Body::Dag(dag) => Some(dag),
        _ => None,
    }
}

impl Turn<'_> {
    pub(super) fn open_dag(&mut self, key: StepKey) {
        if let Err(text) = prepare(self.run, key, self.now_ms) {
            return self.end(key, Phase::Error, Some(text), None);
        }
        let ready: Vec<u32> = match self.run.frames.get(&key) {
            Some(frame) => (0u32..)
                .zip(frame.wanted.iter().zip(&frame.unmet))
                .filter(|(_, (wanted, unmet))| **wanted && **unmet == 0)
                .map(|(at, _)| at)
                .collect(),
            None => Vec::new(),
        };
        if ready.is_empty() {
            return self.end_with_outputs(key);
        }
        ready.into_iter().for_each(|task| self.start_task(key, task));
    }

    fn start_task(&mut self, key: StepKey, task: u32) {
        let spec = Arc::clone(&self.run.spec);
        let dag = dag_of(&spec, self.run.at(key).template);
        if let Some(call) = dag.and_then(|dag| dag.tasks.get(task as usize)) {
            self.make_call(key, Role::Call(task), call, None);
        }
    }

    /// A task has settled: what waited for it is looked at again.
    pub(super) fn advance_dag(&mut self, key: StepKey, child: StepKey) {
        let Role::Call(task) = self.run.at(child).role else { return };
        let template = self.run.at(key).template;
        self.settle_task(key, child, task);
        let compiled = Arc::clone(&self.run.compiled);
        let Some(plan) = compiled.dag(template) else { return };
        let dependents = plan.dependents.get(task as usize).map_or(&[][..], Vec::as_slice);
        for dependent in dependents {
            self.consider(key, plan, *dependent);
        }
        self.end_dag_when_over(key);
    }

    /// Notes the end of a task: for its dependents' counts and for the DAG's own end.
    fn settle_task(&mut self, key: StepKey, child: StepKey, task: u32) {
        let branch = branch_phase(self.run, key, child, task);
        let continues = self.continues_on(child);
        let skipped = self.run.at(child).phase == Phase::Skipped;
        let fail_fast = self.dag_fails_fast(key);
        let compiled = Arc::clone(&self.run.compiled);
        let template = self.run.at(key).template;
        let Some(frame) = self.run.frames.get_mut(&key) else { return };
        if let Some(slot) = frame.branch.get_mut(task as usize) {
            *slot = Some(branch);
        }
        for dependent in compiled
            .dag(template)
            .and_then(|p| p.dependents.get(task as usize))
            .into_iter()
            .flatten()
        {
            if let Some(unmet) = frame.unmet.get_mut(*dependent as usize) {
                *unmet = unmet.saturating_sub(1);
            }
        }
        let fails = branch.is_failure() && !continues && !skipped;
        if fails && frame.targets.contains(&task) && frame.broken.is_none() {
            frame.broken = Some(branch);
            if fail_fast {
                let gated = std::mem::take(&mut frame.gated);
                for waiting in gated {
                    let text = "not started: the DAG failed fast".to_owned();
                    self.end(waiting, Phase::Omitted, Some(text), None);
                }
            }
        }
    }

    fn dag_fails_fast(&self, key: StepKey) -> bool {
        let dag = dag_of(&self.run.spec, self.run.at(key).template);
        dag.and_then(|dag| dag.fail_fast).unwrap_or(true)
    }

    /// Starts or omits a task, if its dependencies decide that by now.
    fn consider(&mut self, key: StepKey, plan: &DagPlan, task: u32) {
        let Some(frame) = self.run.frames.get(&key) else { return };
        let at = task as usize;
        let made = frame.by_call.get(at).copied().flatten().is_some();
        if made || !frame.wanted.get(at).copied().unwrap_or(false) {
            return;
        }
        let Some(depends) = plan.depends.get(at).and_then(Option::as_ref) else { return };
        if frame.unmet.get(at).is_some_and(|unmet| *unmet > 0) && !depends.is_eager() {
            return;
        }
        let run = &*self.run;
        let value = depends.value(&mut |name, condition| task_holds(run, key, name, condition));
        match value {
            Some(true) => self.start_task(key, task),
            Some(false) => {
                let text = "omitted: depends condition not met".to_owned();
                self.add_ended(key, Role::Call(task), StepSeed::NO_TEMPLATE, Phase::Omitted, text);
            }
            None => {}
        }
    }

    /// Ends a DAG once nothing of it is open.
    fn end_dag_when_over(&mut self, key: StepKey) {
        let Some(frame) = self.run.frames.get(&key) else { return };
        if frame.open > 0 {
            return;
        }
        match first_failure(self.run, key) {
            Some(phase) => self.end(key, phase, None, None),
            None => self.end_with_outputs(key),
        }
    }
}

/// The first target, in the order of the targets, whose branch failed with nothing to continue.
fn first_failure(run: &Run, key: StepKey) -> Option<Phase> {
    let frame = run.frames.get(&key)?;
    let calls = &dag_of(&run.spec, run.at(key).template)?.tasks;
    frame.targets.iter().find_map(|task| {
        let branch = (*frame.branch.get(*task as usize)?)?;
        let child = run.at((*frame.by_call.get(*task as usize)?)?);
        let call = calls.get(*task as usize)?;
        let continues = match child.phase {
            Phase::Failed => call.continue_on_failed,
            Phase::Error => call.continue_on_error,
            _ => false,
        };
        (branch.is_failure() && !continues && child.phase != Phase::Skipped).then_some(branch)
    })
}

/// The phase that a task's branch passes on: its own, or for one that never ran the worst of those
/// before it (upstream's `assessDAGPhase`).
fn branch_phase(run: &Run, key: StepKey, child: StepKey, task: u32) -> Phase {
    let phase = run.at(child).phase;
    if !matches!(phase, Phase::Omitted | Phase::Skipped) {
        return phase;
    }
    let needs =
        run.compiled.dag(run.at(key).template).and_then(|plan| plan.needs.get(task as usize));
    let frame = run.frames.get(&key);
    let before = needs
        .into_iter()
        .flatten()
        .filter_map(|need| (*frame?.branch.get(*need as usize)?)?.into());
    let worst = |a: Phase, b: Phase| if a.is_failure() { a } else { b };
    let mut before = before;
    let first = before.next().unwrap_or(Phase::Succeeded);
    before.fold(first, worst)
}

/// What a condition says of a task; `None` while it is open.
fn task_holds(run: &Run, key: StepKey, name: &str, condition: Condition) -> Option<bool> {
    let child = crate::scope::find_call(run, key, name)?;
    let step = run.at(child);
    let open_hooks = run.frames.get(&child).is_some_and(|frame| frame.open_hooks > 0);
    if !step.phase.is_terminal() || open_hooks {
        return None;
    }
    let continues = |phase| match (phase, run.call_of(child)) {
        (Phase::Failed, Some(call)) => call.continue_on_failed,
        (Phase::Error, Some(call)) => call.continue_on_error,
        _ => false,
    };
    Some(match condition {
        Condition::Done => {
            matches!(step.phase, Phase::Succeeded | Phase::Skipped) || continues(step.phase)
        }
        Condition::Succeeded => step.phase == Phase::Succeeded,
        Condition::Failed => step.phase == Phase::Failed,
        Condition::Errored => step.phase == Phase::Error,
        Condition::Skipped => step.phase == Phase::Skipped,
        Condition::Omitted => step.phase == Phase::Omitted,
        Condition::Daemoned => false,
        Condition::AnySucceeded => {
            step.kind == Kind::FanOut && items(run, child).any(|p| p == Phase::Succeeded)
        }
        Condition::AllFailed => {
            step.kind == Kind::FanOut && items(run, child).all(|p| p == Phase::Failed)
        }
    })
}

fn items(run: &Run, fan_out: StepKey) -> impl Iterator<Item = Phase> {
    let children = run.children(fan_out).iter().map(|key| run.at(*key));
    children.filter(|step| matches!(step.role, Role::Item(_))).map(|step| step.phase)
}

/// Fills in what a DAG's frame derives from its graph and its settled tasks. Also how the frame is
/// rebuilt when a run is loaded.
pub(crate) fn prepare(run: &mut Run, key: StepKey, now_ms: i64) -> Result<(), String> {
    let spec = Arc::clone(&run.spec);
    let template = run.at(key).template;
    let Some(dag) = dag_of(&spec, template) else {
        return Err("the DAG does not exist".to_owned());
    };
    let compiled = Arc::clone(&run.compiled);
    let Some(plan) = compiled.dag(template) else {
        return Err("the DAG does not exist".to_owned());
    };
    let targets = targets(&View::inside(run, key, now_ms), dag, plan)?;
    let mut wanted = vec![false; dag.tasks.len()];
    let mut open: Vec<u32> = targets.clone();
    while let Some(task) = open.pop() {
        let Some(slot) = wanted.get_mut(task as usize) else { continue };
        if !std::mem::replace(slot, true) {
            open.extend(plan.needs.get(task as usize).into_iter().flatten());
        }
    }
    let frame = run.frames.entry(key).or_default();
    frame.by_call.resize(dag.tasks.len(), None);
    frame.branch = vec![None; dag.tasks.len()];
    frame.unmet = plan.needs.iter().map(|n| u32::try_from(n.len()).unwrap_or(u32::MAX)).collect();
    frame.wanted = wanted;
    frame.targets = targets;
    Ok(())
}

fn targets(view: &View<'_>, dag: &Dag, plan: &DagPlan) -> Result<Vec<u32>, String> {
    let positions = (0u32..).zip(&dag.tasks);
    let Some(text) = &dag.target else {
        let is_leaf = |at: u32| plan.dependents.get(at as usize).is_none_or(Vec::is_empty);
        return Ok(positions.map(|(at, _)| at).filter(|at| is_leaf(*at)).collect());
    };
    let names = render_text(view, text).map_err(|error| error.to_string())?;
    let positions: std::collections::HashMap<&str, u32> =
        positions.map(|(at, task)| (task.name.as_str(), at)).collect();
    names
        .split_whitespace()
        .map(|name| {
            let found = positions.get(name).copied();
            found.ok_or_else(|| format!("target {name:?} is not a task of the DAG"))
        })
        .collect()
}

/// Settles again, on a run that was just loaded, every task that had settled, in their order.
pub(crate) fn resettle(run: &mut Run, key: StepKey, now_ms: i64) {
    if prepare(run, key, now_ms).is_err() {
        return;
    }
    let children: Vec<StepKey> = run.children(key).to_vec();
    let mut turn = Turn::new(run, now_ms);
    for child in children {
        let step = turn.run.at(child);
        if let (Role::Call(task), true) = (step.role, step.phase.is_terminal()) {
            turn.settle_task(key, child, task);
        }
    }
}
