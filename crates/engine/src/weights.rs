//! How many steps a template comes to at least, as far as its graph tells beforehand: a run that
//! cannot end within the limit is not begun.
//!
//! It is counted as if all went well: every group is reached, every dependency is met. What is
//! decided while the run goes on (conditions, lists that a step prints, templates by computed
//! names, outputs that are remembered, recursion) counts as little as it can come to.

use std::collections::HashMap;

use argosy_model::graph::{Body, Call, Each, Graph, Sequence, Target, Template};

use crate::compiled::DagPlan;
use crate::depends::Condition;

/// By the position of the template.
pub(crate) fn of(graph: &Graph, dags: &HashMap<u32, DagPlan>) -> Vec<u64> {
    let mut weights = vec![1; graph.templates.len()];
    let mut seen = vec![false; graph.templates.len()];
    let mut open: Vec<(u32, bool)> = Vec::new();
    for root in (0u32..).take(graph.templates.len()) {
        open.push((root, false));
        while let Some((at, complete)) = open.pop() {
            let index = at as usize;
            let Some(template) = graph.templates.get(index) else { continue };
            if complete {
                weights[index] = weight(template, dags.get(&at), &weights);
                continue;
            }
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            open.push((at, true));
            let called = calls(template).filter_map(|call| match call.target {
                Target::Template(at) => Some((at, false)),
                Target::Named { .. } => None,
            });
            open.extend(called);
        }
    }
    weights
}

fn calls(template: &Template) -> Box<dyn Iterator<Item = &Call> + '_> {
    match &template.body {
        Body::Steps(groups) => Box::new(groups.iter().flatten()),
        Body::Dag(dag) => Box::new(dag.tasks.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

/// The step of the template itself, and what it calls.
fn weight(template: &Template, plan: Option<&DagPlan>, weights: &[u64]) -> u64 {
    if template.memo.is_some() {
        return 1;
    }
    let below = match (&template.body, plan) {
        (Body::Steps(groups), _) => sum(groups.iter().map(|group| {
            let calls = group.iter().map(|call| call_weight(call, weights));
            sum(calls).saturating_add(1)
        })),
        (Body::Dag(dag), Some(plan)) if dag.target.is_none() => {
            let tasks = dag.tasks.iter().zip(&plan.depends);
            sum(tasks.map(|(call, depends)| {
                let met = depends.as_ref().is_none_or(|depends| {
                    let well =
                        |condition| matches!(condition, Condition::Done | Condition::Succeeded);
                    depends.value(&mut |_, condition| Some(well(condition))) == Some(true)
                });
                if met { call_weight(call, weights) } else { 1 }
            }))
        }
        _ => return 1,
    };
    let try_step = u64::from(template.retry.is_some());
    below.saturating_add(1 + try_step)
}

fn sum(weights: impl Iterator<Item = u64>) -> u64 {
    weights.fold(0, u64::saturating_add)
}

fn call_weight(call: &Call, weights: &[u64]) -> u64 {
    let one = item_weight(call, weights);
    match &call.each {
        None => one,
        Some(each) => known_items(each).saturating_mul(one).saturating_add(1),
    }
}

/// What one item of a loop, or a call that is no loop, comes to.
pub(crate) fn item_weight(call: &Call, weights: &[u64]) -> u64 {
    match call.target {
        Target::Template(at) if call.when.is_none() => {
            weights.get(at as usize).copied().unwrap_or(1)
        }
        _ => 1,
    }
}

/// How many items a loop has for certain.
fn known_items(each: &Each) -> u64 {
    match each {
        Each::Items(items) => items.len() as u64,
        Each::Param(_) => 0,
        Each::Sequence(Sequence { count: Some(count), .. }) => count.trim().parse().unwrap_or(0),
        Each::Sequence(Sequence { start, end, .. }) => {
            let number = |text: &Option<String>| match text {
                None => Some(0),
                Some(text) => text.trim().parse::<i64>().ok(),
            };
            match (number(start), end.as_ref().and_then(|_| number(end))) {
                (Some(start), Some(end)) => start.abs_diff(end).saturating_add(1),
                _ => 0,
            }
        }
    }
}
