//! Whether outputs of an earlier step take the place of a step's own work (argo-workflows `workflow/controller/operator.go` `executeTemplate`,
//! `workflow/controller/cache/configmap_cache.go`).

use std::sync::Arc;

use argosy_model::graph::{Memo, Template};
use argosy_model::run::Plan;
use argosy_model::{
    Diagnostic, Effect, Event, Kind, Outputs, Phase, Recall, Role, RunSpec, StepKey, limits,
};
use argosy_template::go;

use super::bind::render_text;
use super::turn::{Turn, Work};
use crate::fault::{bad_value, evaluation};
use crate::scope::View;

/// The template of a step, where the step is what a call of it came to. A loop is many of them,
/// a try a part of one.
pub(super) fn guarded<'s>(
    run: &crate::Run,
    spec: &'s RunSpec,
    key: StepKey,
) -> Option<&'s Template> {
    let step = run.step(key)?;
    let whole = match step.kind {
        Kind::Process | Kind::ContainerSet | Kind::Suspend | Kind::Retry => true,
        Kind::Steps | Kind::Dag => !matches!(step.role, Role::Try(_)),
        _ => false,
    };
    let Plan::Graph(graph) = &spec.plan else { return None };
    graph.templates.get(step.template as usize).filter(|_| whole)
}

impl Turn<'_> {
    /// Whether nothing is left to look up for a step; asks for what is.
    pub(super) fn has_recalled(&mut self, key: StepKey) -> bool {
        let spec = Arc::clone(&self.run.spec);
        let memo = guarded(self.run, &spec, key).and_then(|template| template.memo.as_ref());
        let Some(memo) = memo.filter(|_| self.run.at(key).recall.is_none()) else { return true };
        if self.run.recalling.contains(&key) {
            return false;
        }
        match place(&self.step_view(key), memo) {
            Ok((cache, key_text)) => {
                self.run.recalling.insert(key);
                let run = self.run.id;
                self.effect(Effect::Recall { run, step: key, cache, key: key_text });
            }
            Err(why) => self.refuse(key, &why),
        }
        false
    }

    pub(super) fn step_view(&self, key: StepKey) -> View<'_> {
        self.view(key).with_item(self.run.item_of(key))
    }

    /// Outputs that are there and young enough end the step; else it goes on.
    pub(super) fn on_recalled(
        &mut self,
        key: StepKey,
        (cache, name): (String, String),
        found: Option<(i64, Box<Outputs>)>,
    ) {
        if !self.run.recalling.remove(&key) || self.run.at(key).phase.is_terminal() {
            return;
        }
        let spec = Arc::clone(&self.run.spec);
        let Some(template) = guarded(self.run, &spec, key) else { return };
        let max_age = template.memo.as_ref().and_then(|memo| memo.max_age.as_deref());
        let max_age = max_age.map(|text| age_ms(&self.step_view(key), text)).transpose();
        let max_age = match max_age {
            Ok(max_age) => max_age,
            Err(why) => return self.refuse(key, &why),
        };
        let young = |kept_ms: i64| max_age.is_none_or(|ms| self.now_ms - kept_ms <= ms);
        let found = found.filter(|(kept_ms, _)| young(*kept_ms)).map(|(_, outputs)| outputs);
        let recall = Recall { cache, key: name, hit: found.is_some() };
        self.emit(Event::Recalled { step: key, recall: Box::new(recall) });
        match found {
            Some(outputs) => {
                self.set_globals(key, template, &outputs);
                self.end(key, Phase::Succeeded, None, Some(*outputs));
            }
            None => self.then(Work::Open(key)),
        }
    }

    /// Has the outputs of a step that succeeded kept, where they had been looked up in vain.
    pub(super) fn remember(&mut self, key: StepKey) {
        let step = self.run.at(key);
        let missed = step.recall.as_ref().is_some_and(|recall| !recall.hit);
        if missed && step.phase == Phase::Succeeded {
            self.effect(Effect::Remember(self.run.id, key));
        }
    }
}

/// How old outputs may be, in ms. A bare number has no unit, and is refused as upstream does.
fn age_ms(view: &View<'_>, text: &str) -> Result<i64, Diagnostic> {
    let text = render_text(view, text).map_err(evaluation)?;
    let nanos =
        go::duration::parse(text.trim()).map_err(|error| bad_value(format!("maxAge: {error}")))?;
    match nanos {
        0.. => Ok(nanos / 1_000_000),
        _ => Err(bad_value(format!("maxAge: {text:?} is negative"))),
    }
}

/// Cache and key of a step's outputs.
fn place(view: &View<'_>, memo: &Memo) -> Result<(String, String), Diagnostic> {
    let text = |source: &str| render_text(view, source).map_err(evaluation);
    let (cache, key) = (text(&memo.cache)?, text(&memo.key)?);
    limits::MEMO_KEY_BYTES.check(key.len() as u64, "the key of the memoized outputs")?;
    let letter = |c: char| c.is_ascii_alphanumeric();
    if !key.starts_with(letter) || !key.chars().all(|c| letter(c) || c == '-') {
        return Err(bad_value(format!(
            "{key:?} is no key of memoized outputs: it has to be letters, digits and `-`, and to \
             begin with a letter or a digit"
        )));
    }
    Ok((cache, key))
}
