//! What a step leaves behind.

use std::sync::Arc;

use argosy_model::graph::{OutputDecl, OutputFrom, Template};
use argosy_model::run::Plan;
use argosy_model::{Diagnostic, Event, Outputs, Phase, RunSpec, StepKey};
use serde_json::Value;

use super::bind::{Miss, artifact_source, eval, render_text};
use super::turn::Turn;
use crate::fault::evaluation;
use crate::scope::View;

fn template_of(spec: &RunSpec, at: u32) -> Option<&Template> {
    match &spec.plan {
        Plan::Graph(graph) => graph.templates.get(at as usize),
        Plan::Task(_) => None,
    }
}

impl Turn<'_> {
    /// Ends a steps or DAG step that did what it should, with its declared outputs.
    pub(super) fn end_with_outputs(&mut self, key: StepKey) {
        let spec = Arc::clone(&self.run.spec);
        let Some(template) = template_of(&spec, self.run.at(key).template) else {
            return self.end(key, Phase::Succeeded, None, None);
        };
        match declared_outputs(&self.view(key), template, Outputs::default(), true) {
            Ok(outputs) => {
                self.set_globals(key, template, &outputs);
                self.end(key, Phase::Succeeded, None, Some(outputs));
            }
            Err(why) => self.refuse(key, &why),
        }
    }

    /// The outputs of a step of processes: what its backend kept, and what its template computes.
    pub(super) fn leaf_outputs(
        &mut self,
        key: StepKey,
        kept: Outputs,
        succeeded: bool,
    ) -> Result<Outputs, Diagnostic> {
        let spec = Arc::clone(&self.run.spec);
        let Some(template) = template_of(&spec, self.run.at(key).template) else { return Ok(kept) };
        if self.run.at(key).kind == argosy_model::Kind::Task {
            return Ok(kept);
        }
        let outputs = declared_outputs(&self.view(key), template, kept, succeeded)?;
        self.set_globals(key, template, &outputs);
        Ok(outputs)
    }

    /// Outputs that the whole run sees.
    pub(super) fn set_globals(&mut self, key: StepKey, template: &Template, outputs: &Outputs) {
        for declared in template.outputs.parameters.iter().filter(|o| !o.global_name.is_empty()) {
            let Some(value) = outputs.parameter(&declared.name) else { continue };
            if let Ok(name) = render_text(&self.view(key), &declared.global_name) {
                self.emit(Event::GlobalSet { name: name.into(), value: value.clone() });
            }
        }
        for declared in template.outputs.artifacts.iter().filter(|o| !o.global_name.is_empty()) {
            let Some(artifact) = outputs.artifact(&declared.name) else { continue };
            if let Ok(name) = render_text(&self.view(key), &declared.global_name) {
                let artifact = Box::new(artifact.clone());
                self.emit(Event::GlobalArtifactSet { name: name.into(), artifact });
            }
        }
    }
}

/// The outputs that a template declares, over those that are there already.
pub(super) fn declared_outputs(
    view: &View<'_>,
    template: &Template,
    mut outputs: Outputs,
    succeeded: bool,
) -> Result<Outputs, Diagnostic> {
    for declared in &template.outputs.parameters {
        if outputs.parameter(&declared.name).is_some() {
            continue;
        }
        match parameter(view, declared) {
            Ok(Some(value)) => outputs.parameters.push((declared.name.as_str().into(), value)),
            Ok(None) => {}
            Err(_) if !succeeded => {}
            Err(why) => return Err(why.within(&format!("outputs.parameters.{}", declared.name))),
        }
    }
    for declared in &template.outputs.artifacts {
        if outputs.artifact(&declared.name).is_some() {
            continue;
        }
        match artifact_source(view, &declared.source) {
            Ok(Some(artifact)) => outputs.artifacts.push((declared.name.as_str().into(), artifact)),
            Ok(None) => {}
            Err(_) if declared.optional || !succeeded => {}
            Err(miss) => {
                let of = format!("outputs.artifacts.{}", declared.name);
                return Err(miss.why().within(&of));
            }
        }
    }
    Ok(outputs)
}

fn parameter(view: &View<'_>, declared: &OutputDecl) -> Result<Option<Value>, Diagnostic> {
    let found = match &declared.from {
        OutputFrom::Unset | OutputFrom::Path(_) | OutputFrom::Supplied => return Ok(None),
        OutputFrom::Value(text) | OutputFrom::Parameter(text) => {
            render_text(view, text).map(Value::from).map_err(Miss::from)
        }
        OutputFrom::Expression(source) => match eval(view, source) {
            Ok(Value::Null) => Err(Miss::absent("the expression gave nil")),
            Ok(value) => Ok(value),
            Err(error) => Err(Miss::from(error)),
        },
    };
    match (found, &declared.default) {
        (Ok(value), _) => Ok(Some(value)),
        (Err(Miss::Absent(_)), Some(default)) => {
            render_text(view, default).map(|text| Some(text.into())).map_err(evaluation)
        }
        (Err(miss), _) => Err(miss.why()),
    }
}
