//! What happens because time has passed.

use std::sync::Arc;

use argosy_model::attempt::Kill;
use argosy_model::graph::{Body, Template};
use argosy_model::run::Plan;
use argosy_model::{Diagnostic, Event, Kind, Phase, StepKey};
use argosy_template::go;

use super::bind::render_text;
use super::turn::Turn;
use crate::fault::{bad_value, evaluation};
use crate::render;
use crate::scope::View;

impl Turn<'_> {
    pub(super) fn on_wake(&mut self) {
        if self.run.run_deadline_ms().is_some_and(|at| at <= self.now_ms) {
            self.emit(Event::DeadlinePassed);
            if self.run.steps.is_empty() {
                return self.end_unstarted();
            }
            self.run.sweep = Some(StepKey::ROOT);
        }
        while let Some((at_ms, key)) = self.run.timers.first().copied() {
            if at_ms > self.now_ms || self.is_spent() {
                break;
            }
            self.emit(Event::DeadlineSet { step: key, deadline_ms: 0 });
            self.on_due(key);
        }
    }

    fn on_due(&mut self, key: StepKey) {
        let step = self.run.at(key);
        if step.phase.is_terminal() {
            return;
        }
        match step.kind {
            Kind::Suspend => self.end_suspend(key, None),
            Kind::Retry => self.make_next_try(key),
            kind if kind.has_attempts() && !step.attempts.is_empty() => {
                self.kill_leaf(key, Kill::Deadline);
            }
            _ => {
                let text = "Step exceeded its deadline".to_owned();
                self.end(key, Phase::Failed, Some(text), None);
            }
        }
    }

    pub(super) fn open_suspend(&mut self, key: StepKey) {
        let spec = Arc::clone(&self.run.spec);
        let Plan::Graph(graph) = &spec.plan else { return };
        let template = graph.templates.get(self.run.at(key).template as usize);
        let Some(Body::Suspend { duration: Some(text) }) = template.map(|t| &t.body) else {
            return;
        };
        match milliseconds(&self.view(key), text) {
            Ok(ms) => {
                let deadline_ms = self.now_ms.saturating_add(ms).max(1);
                self.emit(Event::DeadlineSet { step: key, deadline_ms });
            }
            Err(why) => self.refuse(key, &why),
        }
    }

    /// Sets the bound on a step's whole life, waiting included.
    pub(super) fn set_timeout(&mut self, key: StepKey, template: &Template) {
        let Some(text) = &template.timeout else { return };
        match timeout_ms(&self.view(key), text) {
            Ok(ms) => {
                let deadline_ms = self.now_ms.saturating_add(ms).max(1);
                self.emit(Event::DeadlineSet { step: key, deadline_ms });
            }
            Err(why) => self.refuse(key, &why),
        }
    }

    /// When a step's whole life is over, where its template bounds that.
    pub(super) fn life_ends_ms(&self, key: StepKey) -> Option<i64> {
        let text = self.run.template_of(key)?.timeout.as_deref()?;
        let ms = timeout_ms(&self.view(key), text).ok()?;
        Some(self.run.at(key).created_ms.saturating_add(ms).max(1))
    }

    /// After an attempt only the bound on the step's whole life is left.
    pub(super) fn reset_deadline(&mut self, key: StepKey) {
        let deadline_ms = self.life_ends_ms(key).unwrap_or(0);
        if self.run.at(key).deadline_ms != deadline_ms {
            self.emit(Event::DeadlineSet { step: key, deadline_ms });
        }
    }

    /// The bounds on one process, from its start on: the earliest of them and the step's own.
    pub(super) fn set_process_deadline(&mut self, key: StepKey, started_ms: i64) {
        let of_task = self.run.task_of(key).map(|task| task.timeout_ms).filter(|ms| *ms > 0);
        let bound = match of_task {
            Some(ms) => Some(i64::try_from(ms).unwrap_or(i64::MAX)),
            None => {
                self.run.current_attempt(key).and_then(|(id, _)| render::bound_ms(self.run, id))
            }
        };
        let own_bound = bound.map(|ms| started_ms.saturating_add(ms));
        let Some(at) = own_bound.into_iter().chain(self.retries_end_ms(key)).min() else { return };
        let at = at.max(1);
        let own = self.run.at(key).deadline_ms;
        if own == 0 || at < own {
            self.emit(Event::DeadlineSet { step: key, deadline_ms: at });
        }
    }
}

/// A duration (or a number of seconds) in ms. A pause that would have ended before it began is
/// none, as upstream: it may come from a time that has passed.
fn milliseconds(view: &View<'_>, text: &str) -> Result<i64, Diagnostic> {
    let text = render_text(view, text).map_err(evaluation)?;
    let nanos =
        go::duration::parse_or_seconds(text.trim()).map_err(|e| bad_value(e.to_string()))?;
    Ok((nanos / 1_000_000).max(0))
}

/// A bound on a step's life in ms. No step could keep one that is not longer than nothing.
fn timeout_ms(view: &View<'_>, text: &str) -> Result<i64, Diagnostic> {
    let text = render_text(view, text).map_err(evaluation)?;
    let nanos =
        go::duration::parse_or_seconds(text.trim()).map_err(|e| bad_value(e.to_string()))?;
    if nanos <= 0 {
        return Err(bad_value(format!("timeout: {text:?} is not longer than nothing")));
    }
    Ok(nanos / 1_000_000)
}
