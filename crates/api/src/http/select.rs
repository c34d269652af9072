//! Node field selectors: `displayName=approve,phase=Running`
//! (argo-workflows `docs/node-field-selector.md`).

use argosy_engine::{Run, names};
use argosy_model::{Code, Diagnostic, StepKey};

use super::error::{Answer, bad_request};

/// The steps that a selector names; none for an empty selector.
pub(super) fn steps(run: &Run, selector: &str) -> Answer<Vec<StepKey>> {
    if selector.trim().is_empty() {
        return Ok(Vec::new());
    }
    let wanted = selector
        .split(',')
        .map(|part| {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| bad_request(format!("not a selector: {part:?}")))?;
            Ok((name.trim(), value.trim_start_matches('=').trim()))
        })
        .collect::<Answer<Vec<_>>>()?;
    let keys = (0u32..).map(StepKey).take(run.steps.len());
    let found: Vec<_> =
        keys.filter(|key| wanted.iter().all(|(name, value)| has(run, *key, name, value))).collect();
    if found.is_empty() {
        let what = format!("no step matches {selector:?}");
        let help =
            "`argosy get RUN -o wide` shows names and ids; a step has one once it is reached";
        return Err(Diagnostic::new(Code::NotFound, what).help(help).into());
    }
    Ok(found)
}

fn has(run: &Run, key: StepKey, name: &str, value: &str) -> bool {
    let full = || names::full_name(run, key);
    match name {
        "displayName" => names::display_name(run, key) == value,
        "name" => full() == value,
        "id" => names::node_id(&run.spec.name, &full()) == value,
        "templateName" => run.template_of(key).is_some_and(|template| template.name == value),
        "phase" => run.step(key).is_some_and(|step| format!("{:?}", step.phase) == value),
        _ => input(run, key, name) == Some(value),
    }
}

/// `inputs.parameters.NAME.value`
fn input<'r>(run: &'r Run, key: StepKey, name: &str) -> Option<&'r str> {
    let name = name.strip_prefix("inputs.parameters.")?.strip_suffix(".value")?;
    let declared = &run.template_of(key)?.inputs.parameters;
    let at = declared.iter().position(|parameter| parameter.name == name)?;
    run.step(key)?.inputs.as_deref()?.parameters.get(at)?.as_deref()
}
