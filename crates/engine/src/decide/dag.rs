//! Calls in the order of their dependencies
//! (argo-workflows `workflow/controller/dag.go`, `docs/enhanced-depends-logic.md`).

use std::cmp::Reverse;
use std::sync::Arc;

use argosy_model::graph::Dag;
use argosy_model::{Code, Diagnostic, Phase, Role, StepKey};

use super::bind::render_text;
use super::making::dag_of;
use super::turn::Turn;
use crate::compiled::DagPlan;
use crate::depends::Condition;
use crate::eager;
use crate::fault::evaluation;
use crate::frame::{Calls, DagFrame};
use crate::run::Run;
use crate::scope::View;

impl Turn<'_> {
    pub(super) fn open_dag(&mut self, key: StepKey) {
        let wanted = match prepare(self.run, key, self.now_ms) {
            Ok(wanted) => wanted,
            Err(why) => return self.refuse(key, &why),
        };
        self.spend(wanted as u64);
        if wanted == 0 {
            return self.end_with_outputs(key);
        }
        if self.expect_calls(key, wanted, 1) {
            self.make_now(key);
        }
    }

    /// A task has settled: what waited for it is looked at again.
    pub(super) fn advance_dag(&mut self, key: StepKey, child: StepKey) {
        let Role::Call(task) = self.run.at(child).role else { return };
        let looked_at = settle_task(self.run, key, child, task);
        self.spend(looked_at as u64);
        self.fail_fast(key);
        self.make_now(key);
        self.end_dag_when_over(key);
    }

    /// Lets nobody start any more who waits for the DAG's own bound, once it has failed.
    fn fail_fast(&mut self, key: StepKey) {
        let Some(frame) = self.run.frames.get_mut(key) else { return };
        let broken = frame.dag.as_ref().is_some_and(|dag| dag.broken.is_some());
        if !broken || frame.failed_fast || !dag_fails_fast(self.run, key) {
            return;
        }
        note_fail_fast(self.run, key);
        self.let_pass(key, 0);
    }

    /// What the dependencies of a task say; `None` while they do not decide.
    pub(super) fn is_met(&self, key: StepKey, task: u32) -> Option<bool> {
        let plan = self.run.compiled.dag(self.run.at(key).template)?;
        is_met(self.run, key, plan, task)
    }

    /// Ends a DAG once nothing of it is open.
    pub(super) fn end_dag_when_over(&mut self, key: StepKey) {
        if self.run.has_calls(key) || self.run.frames.get(key).is_none_or(|frame| frame.open > 0) {
            return;
        }
        match first_failure(self.run, key) {
            Some(phase) => self.end(key, phase, None, None),
            None => self.end_with_outputs(key),
        }
    }
}

fn dag_fails_fast(run: &Run, key: StepKey) -> bool {
    let dag = dag_of(&run.spec, run.at(key).template);
    dag.and_then(|dag| dag.fail_fast).unwrap_or(true)
}

fn note_fail_fast(run: &mut Run, key: StepKey) {
    if let Some(frame) = run.frames.get_mut(key) {
        frame.failed_fast = true;
    }
}

fn is_met(run: &Run, key: StepKey, plan: &DagPlan, task: u32) -> Option<bool> {
    match plan.depends.get(task as usize)? {
        None => Some(true),
        Some(depends) => {
            let dag = run.frames.get(key)?.dag.as_deref()?;
            depends.value(&mut |task, condition| task_holds(run, dag, *task, condition))
        }
    }
}

/// Notes the end of a task: for the DAG's own end, and for its dependents, which are ready where
/// that decides. How many those are.
fn settle_task(run: &mut Run, key: StepKey, child: StepKey, task: u32) -> usize {
    let branch = branch_phase(run, key, child, task);
    let continues = run.continues_on(child);
    let skipped = run.at(child).phase == Phase::Skipped;
    let compiled = Arc::clone(&run.compiled);
    let Some(plan) = compiled.dag(run.at(key).template) else { return 0 };
    let Some(dag) = dag_frame(run, key) else { return 0 };
    let at = task as usize;
    if let Some(slot) = dag.branch.get_mut(at) {
        *slot = Some(branch);
    }
    let fails = branch.is_failure() && !continues && !skipped;
    if fails && dag.is_target.get(at).copied().unwrap_or(false) && dag.broken.is_none() {
        dag.broken = Some(branch);
    }
    let dependents = plan.dependents.get(at).map_or(&[][..], Vec::as_slice);
    let mut eager = Vec::new();
    for dependent in dependents {
        let Some(unmet) = dag.unmet.get_mut(*dependent as usize) else { continue };
        *unmet = unmet.saturating_sub(1);
        if *unmet == 0 {
            dag.make_ready(*dependent);
        } else if let Some(known) = dag.eager.remove(dependent) {
            eager.push((*dependent, known));
        }
    }
    tell_eager(run, key, plan, task, eager);
    dependents.len()
}

/// Tells the end of a task to those that may not need the ends of all: to each with what it knows.
fn tell_eager(
    run: &mut Run,
    key: StepKey,
    plan: &DagPlan,
    task: u32,
    mut told: Vec<(u32, eager::State)>,
) {
    let mut ready = Vec::new();
    if let Some(dag) = run.frames.get(key).and_then(|frame| frame.dag.as_deref()) {
        let holds = |condition| task_holds(run, dag, task, condition) == Some(true);
        for (dependent, known) in &mut told {
            let Some(depends) = plan.eager.get(dependent) else { continue };
            if depends.tell(known, task, holds) {
                ready.push(*dependent);
            }
        }
    }
    let Some(dag) = dag_frame(run, key) else { return };
    dag.eager.extend(told);
    for dependent in ready {
        dag.eager.remove(&dependent);
        dag.make_ready(dependent);
    }
}

fn dag_frame(run: &mut Run, key: StepKey) -> Option<&mut DagFrame> {
    run.frames.get_mut(key)?.dag.as_deref_mut()
}

impl DagFrame {
    /// A task's turn has come, if it is wanted and has not had it.
    fn make_ready(&mut self, task: u32) {
        if let Some(waits) = self.waits.get_mut(task as usize)
            && std::mem::take(waits)
        {
            self.ready.push(Reverse(task));
        }
    }
}

/// The first target, in the order of the targets, whose branch failed with nothing to continue.
fn first_failure(run: &Run, key: StepKey) -> Option<Phase> {
    let frame = run.frames.get(key)?.dag.as_deref()?;
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
    let frame = run.frames.get(key).and_then(|frame| frame.dag.as_deref());
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
fn task_holds(run: &Run, dag: &DagFrame, task: u32, condition: Condition) -> Option<bool> {
    let child = (*dag.by_call.get(task as usize)?)?;
    let step = run.at(child);
    let open_hooks = run.frames.get(child).is_some_and(|frame| frame.open_hooks > 0);
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
        Condition::AnySucceeded => items(run, child).any(|p| p == Phase::Succeeded),
        // Of a loop over nothing neither holds: upstream has no group of tasks for it.
        Condition::AllFailed => {
            let mut items = items(run, child).peekable();
            items.peek().is_some() && items.all(|p| p == Phase::Failed)
        }
    })
}

/// The phases of a loop's items; none of what is no loop.
fn items(run: &Run, fan_out: StepKey) -> impl Iterator<Item = Phase> {
    let children = run.children(fan_out).iter().map(|key| run.at(*key));
    children.filter(|step| matches!(step.role, Role::Item(_))).map(|step| step.phase)
}

/// Fills in what a DAG's frame derives from its graph. Tasks without dependencies that have no step
/// are ready. Tells how many tasks are wanted.
fn prepare(run: &mut Run, key: StepKey, now_ms: i64) -> Result<usize, Diagnostic> {
    let spec = Arc::clone(&run.spec);
    let template = run.at(key).template;
    let Some(dag) = dag_of(&spec, template) else {
        return Err(no_dag());
    };
    let compiled = Arc::clone(&run.compiled);
    let Some(plan) = compiled.dag(template) else {
        return Err(no_dag());
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
    let count = wanted.iter().filter(|wanted| **wanted).count();
    let dag = run.frames.of(key).dag.get_or_insert_default();
    dag.by_call.resize(wanted.len(), None);
    dag.branch = vec![None; wanted.len()];
    dag.unmet = plan.needs.iter().map(|n| u32::try_from(n.len()).unwrap_or(u32::MAX)).collect();
    dag.eager = plan.eager.iter().map(|(task, depends)| (*task, depends.begin())).collect();
    dag.is_target = vec![false; wanted.len()];
    for target in &targets {
        if let Some(slot) = dag.is_target.get_mut(*target as usize) {
            *slot = true;
        }
    }
    dag.waits =
        wanted.iter().zip(&dag.by_call).map(|(wanted, made)| *wanted && made.is_none()).collect();
    dag.targets = targets;
    dag.ready.clear();
    for task in (0u32..).take(wanted.len()) {
        if dag.unmet.get(task as usize) == Some(&0) {
            dag.make_ready(task);
        }
    }
    Ok(count)
}

fn no_dag() -> Diagnostic {
    Diagnostic::new(Code::TemplateNotFound, "the DAG does not exist")
}

fn targets(view: &View<'_>, dag: &Dag, plan: &DagPlan) -> Result<Vec<u32>, Diagnostic> {
    let positions = (0u32..).zip(&dag.tasks);
    let Some(text) = &dag.target else {
        let is_leaf = |at: u32| plan.dependents.get(at as usize).is_none_or(Vec::is_empty);
        return Ok(positions.map(|(at, _)| at).filter(|at| is_leaf(*at)).collect());
    };
    let names = render_text(view, text).map_err(evaluation)?;
    let positions: std::collections::HashMap<&str, u32> =
        positions.map(|(at, task)| (task.name.as_str(), at)).collect();
    names
        .split_whitespace()
        .map(|name| {
            let found = positions.get(name).copied();
            found.ok_or_else(|| {
                let what = format!("target {name:?} is not a task of the DAG");
                Diagnostic::new(Code::BadDepends, what)
            })
        })
        .collect()
}

/// Derives again, on a run that was just loaded, what a DAG knows of its tasks.
pub(crate) fn resettle(run: &mut Run, key: StepKey, now_ms: i64) {
    let Ok(total) = prepare(run, key, now_ms) else { return };
    let children: Vec<StepKey> = run.children(key).to_vec();
    let mut made = 0;
    for child in children {
        let Role::Call(task) = run.at(child).role else { continue };
        made += 1;
        if run.has_settled(child) {
            settle_task(run, key, child, task);
        }
    }
    let broken = dag_frame(run, key).is_some_and(|dag| dag.broken.is_some());
    if broken && dag_fails_fast(run, key) {
        note_fail_fast(run, key);
    }
    run.set_calls(key, Calls { total, made, weight: 1 });
    let has_calls = run.has_calls(key);
    run.set_making(key, has_calls);
}
