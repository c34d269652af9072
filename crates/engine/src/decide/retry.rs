//! Whether something is tried again, and when
//! (argo-workflows `workflow/controller/operator.go` `processNodeRetries`).

use std::sync::Arc;

use argosy_model::graph::{Body, Retry, RetryPolicy, Template};
use argosy_model::{Code, Diagnostic, Event, Kind, Phase, Role, Step, StepKey, limits};
use argosy_template::go;
use serde_json::Value;

use super::bind::{eval, render_text};
use super::turn::{Turn, Work};
use crate::fault::{bad_value, evaluation};
use crate::outcome::Last;
use crate::scope::View;

/// What is known of the tries so far.
pub(super) struct Tries {
    /// How many there were.
    pub(super) count: u32,
    /// Unix ms of the first one's start.
    pub(super) first_start_ms: i64,
    /// The last one.
    pub(super) last: Last,
    /// Unix ms of its end.
    pub(super) ended_ms: i64,
}

/// Whether to try again.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Yes, at this time (Unix ms).
    Again(i64),
    /// No, and the step is told this.
    Enough(String),
}

/// Judges the end of a try.
pub(super) fn judge(view: View<'_>, retry: &Retry, tries: &Tries) -> Result<Verdict, Diagnostic> {
    let enough = |text: &str| Ok(Verdict::Enough(text.to_owned()));
    let duration = |name: &str, text: &Option<String>| {
        text.as_deref().map(|text| milliseconds(&view, name, text)).transpose()
    };
    let stop_at = duration("maxDuration", &retry.max_duration)?
        .map(|ms| tries.first_start_ms.saturating_add(ms));
    // At that very moment the last try is ended.
    if stop_at.is_some_and(|at| view.now_ms >= at) {
        return enough("Max duration limit exceeded");
    }
    let wait = match duration("duration", &retry.backoff)? {
        Some(base) => backoff(&view, retry, base, duration("cap", &retry.cap)?, tries.count)?,
        None => 0,
    };
    let at_ms = tries.ended_ms.saturating_add(wait);
    if stop_at.is_some_and(|stop| at_ms > stop) {
        return enough("Backoff would exceed max duration limit");
    }
    let covered = match retry.policy {
        RetryPolicy::Always | RetryPolicy::OnTransientError => true,
        RetryPolicy::OnFailure => tries.last.phase == Phase::Failed,
        RetryPolicy::OnError => tries.last.phase == Phase::Error,
    };
    if !covered
        || (retry.policy == RetryPolicy::OnTransientError && !is_transient(&tries.last.message))
    {
        return enough(&tries.last.message);
    }
    let limit = match &retry.limit {
        Some(text) => whole(&view, "limit", text)?,
        None => limits::RETRIES.max,
    };
    if u64::from(tries.count) > limit.min(limits::RETRIES.max) {
        return enough("No more retries left");
    }
    if let Some(source) = &retry.expression {
        let names = tries.last.names(tries.count.saturating_sub(1));
        let view = names.into_iter().fold(view, |view, (name, value)| view.with(name, value));
        let source = render_text(&view, source).map_err(evaluation)?;
        match eval(&view, &source).map_err(evaluation)? {
            Value::Bool(true) => {}
            Value::Bool(false) => return enough("retryStrategy.expression evaluated to false"),
            other => {
                let what = format!("retryStrategy.expression gave {other}, not true or false");
                return Err(Diagnostic::new(Code::EvaluationFailed, what));
            }
        }
    }
    Ok(Verdict::Again(at_ms))
}

/// `base * factor^(tries - 1)`, at most `cap`; ms.
fn backoff(
    view: &View<'_>,
    retry: &Retry,
    base: i64,
    cap: Option<i64>,
    tries: u32,
) -> Result<i64, Diagnostic> {
    let factor = match &retry.factor {
        Some(text) => whole(view, "backoff.factor", text)?.max(1),
        None => 1,
    };
    let factor = i64::try_from(factor).unwrap_or(i64::MAX);
    let mut wait = base;
    for _ in 1..tries {
        if factor == 1 || wait == i64::MAX {
            break;
        }
        wait = wait.saturating_mul(factor);
    }
    Ok(cap.map_or(wait, |cap| wait.min(cap)).max(0))
}

/// A whole number that is not negative.
fn whole(view: &View<'_>, name: &str, text: &str) -> Result<u64, Diagnostic> {
    let text = render_text(view, text).map_err(evaluation)?;
    let refuse =
        || bad_value(format!("retryStrategy.{name}: {text:?} is not a whole number from 0 on"));
    text.trim().parse().map_err(|_| refuse())
}

/// A duration of the backoff that is not negative, in ms.
pub(super) fn milliseconds(view: &View<'_>, name: &str, text: &str) -> Result<i64, Diagnostic> {
    let text = render_text(view, text).map_err(evaluation)?;
    let nanos = go::duration::parse_or_seconds(text.trim()).ok().filter(|nanos| *nanos >= 0);
    let what = || format!("retryStrategy.backoff.{name}: {text:?} is not a duration from 0 on");
    Ok(nanos.ok_or_else(|| bad_value(what()))? / 1_000_000)
}

/// Ends that are known to pass (argo-workflows `util/errors/errors.go`, the part of it that does
/// not concern a Kubernetes API).
fn is_transient(message: &str) -> bool {
    ["timeout", "connection reset", "connection refused", "TLS handshake", "too many requests"]
        .iter()
        .any(|known| message.contains(known))
}

impl Turn<'_> {
    /// Makes try `number` below a retry.
    pub(super) fn make_try(&mut self, key: StepKey, number: u32) {
        if !self.may_add(1) {
            return;
        }
        let step = self.run.at(key);
        let (at, inputs) = (step.template, step.inputs.as_deref().cloned());
        let Some(template) = self.run.template_of(key) else { return };
        let kind = match template.body {
            Body::Dag(_) => Kind::Dag,
            _ => Kind::Steps,
        };
        let made = self.add(key, Role::Try(number), kind, at, inputs);
        self.then(Work::Open(made));
    }

    /// A try has settled.
    pub(super) fn advance_retry(&mut self, key: StepKey, child: StepKey) {
        let step = self.run.at(child);
        let outputs = step.outputs.as_deref().cloned();
        let message = step.message.as_deref().unwrap_or_default().to_owned();
        if !step.phase.is_failure() {
            return self.end(key, step.phase, None, outputs);
        }
        let phase = step.phase;
        let spec = Arc::clone(&self.run.spec);
        let retry = retry_of(&spec, self.run.at(key).template);
        let verdict = match (&retry, self.refusal(key, Role::Try(0))) {
            (_, Some(text)) => Ok(Verdict::Enough(text)),
            (None, None) => Ok(Verdict::Enough(message)),
            (Some(retry), None) => {
                let tries = self.tries_below(key, step);
                judge(self.view(key), retry, &tries)
            }
        };
        match verdict {
            Ok(Verdict::Again(at_ms)) if at_ms > self.now_ms => {
                self.emit(Event::DeadlineSet { step: key, deadline_ms: at_ms });
            }
            Ok(Verdict::Again(_)) => self.make_next_try(key),
            Ok(Verdict::Enough(text)) => self.end(key, phase, Some(text), outputs),
            Err(why) => self.end(key, Phase::Error, Some(why.line()), outputs),
        }
    }

    pub(super) fn make_next_try(&mut self, key: StepKey) {
        let tries = self.run.children(key).iter();
        let count = tries.filter(|c| matches!(self.run.at(**c).role, Role::Try(_))).count();
        self.make_try(key, u32::try_from(count).unwrap_or(u32::MAX));
    }

    fn tries_below(&self, key: StepKey, last: &Step) -> Tries {
        let tries = self.run.children(key).iter().map(|c| self.run.at(*c));
        let tries: Vec<_> = tries.filter(|step| matches!(step.role, Role::Try(_))).collect();
        Tries {
            count: u32::try_from(tries.len()).unwrap_or(u32::MAX),
            first_start_ms: tries.first().map_or(self.now_ms, |step| step.started_ms),
            last: Last::of_step(last),
            ended_ms: last.ended_ms,
        }
    }
}

pub(super) fn retry_of(spec: &argosy_model::RunSpec, template: u32) -> Option<&Retry> {
    let argosy_model::run::Plan::Graph(graph) = &spec.plan else { return None };
    let template: &Template = graph.templates.get(template as usize)?;
    template.retry.as_ref()
}
