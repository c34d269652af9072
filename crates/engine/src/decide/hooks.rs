//! Calls made about a step or about the run
//! (argo-workflows `workflow/controller/{hooks,exit_handler}.go`).

use std::sync::Arc;

use argosy_model::graph::Hook;
use argosy_model::run::Plan;
use argosy_model::{Role, StepKey};
use serde_json::Value;

use super::bind::eval;
use super::turn::Turn;

impl Turn<'_> {
    /// Makes the hooks of a step whose time has come: those whose expression holds now, and at its
    /// end those without one. Each is made once.
    pub(super) fn fire_hooks(&mut self, key: StepKey) {
        let step = self.run.at(key);
        if !matches!(step.role, Role::Call(_) | Role::Item(_)) {
            return;
        }
        let over = step.phase.is_terminal();
        let never_ran =
            matches!(step.phase, argosy_model::Phase::Skipped | argosy_model::Phase::Omitted);
        let is_loop = step.kind == argosy_model::Kind::FanOut;
        let Some(call) = self.run.call_of(key).filter(|call| !call.hooks.is_empty()) else {
            return;
        };
        if is_loop || never_ran {
            return;
        }
        let hooks = call.hooks.clone();
        for (index, hook) in (0u32..).zip(&hooks) {
            let role = Role::Hook(index);
            let made = self.run.frames.get(key).map_or(&[][..], |frame| &frame.hooks);
            let made = made.iter().any(|hook| self.run.at(*hook).role == role);
            if made || !self.is_due(key, hook, over) || self.refusal(key, role).is_some() {
                continue;
            }
            self.make_call(key, role, &hook.call, None);
        }
    }

    fn is_due(&self, key: StepKey, hook: &Hook, over: bool) -> bool {
        if hook.expression.is_empty() {
            return over;
        }
        let view = self.view(self.run.boundary(key)).about(key);
        matches!(eval(&view, &hook.expression), Ok(Value::Bool(true)))
    }

    /// Makes the hooks of the run whose expression holds now.
    pub(super) fn fire_run_hooks(&mut self) {
        let spec = Arc::clone(&self.run.spec);
        let Plan::Graph(graph) = &spec.plan else { return };
        for (index, hook) in (0u32..).zip(&graph.hooks) {
            let role = Role::RunHook(index);
            let made = self.run.tops.iter().any(|key| self.run.at(*key).role == role);
            let due =
                matches!(eval(&self.view(StepKey::NONE), &hook.expression), Ok(Value::Bool(true)));
            if due && !made && self.refusal(StepKey::NONE, role).is_none() {
                self.make_call(StepKey::NONE, role, &hook.call, None);
            }
        }
    }
}
