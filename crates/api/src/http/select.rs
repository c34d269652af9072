//! Which steps are meant: by a node field selector such as `displayName=approve,phase=Running`
//! (argo-workflows `docs/node-field-selector.md`), by a name, or by the values that are for them.

use std::iter;

use argosy_engine::{Run, is_suspended, names};
use argosy_model::graph::OutputFrom;
use argosy_model::{Code, Diagnostic, StepKey};

use super::error::{Answer, Refusal, bad_request};

/// Steps that an error lists.
const LISTED: usize = 10;

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
    let found: Vec<_> = all(run)
        .filter(|key| wanted.iter().all(|(name, value)| has(run, *key, name, value)))
        .collect();
    if found.is_empty() {
        return Err(absent(format!("no step matches {selector:?}")));
    }
    Ok(found)
}

fn all(run: &Run) -> impl Iterator<Item = StepKey> + use<> {
    (0u32..).map(StepKey).take(run.steps.len())
}

fn absent(what: String) -> Refusal {
    let help = "`argosy get RUN` shows names; a step has one once it is reached";
    Diagnostic::new(Code::NotFound, what).help(help).into()
}

/// What somebody calls a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The step.
    pub(super) step: StepKey,
    /// The one of its tries that is meant.
    pub(super) number: Option<u32>,
}

/// The step of a name: that of its node or its pod, its id, or the last part of its name, which
/// others may have too.
pub(super) fn named(run: &Run, name: &str) -> Answer<Named> {
    // Ids and names of pods end so; most steps need no second look.
    let hash = name.rsplit_once('-').and_then(|(_, hash)| hash.parse::<u32>().ok());
    let is = |full: &str, template: &str| {
        let run = &run.spec.name;
        full == name
            || hash == Some(names::fnv1a(full))
                && [names::node_id(run, full), names::pod_name(run, full, template)]
                    .iter()
                    .any(|other| other == name)
    };
    let mut shown = Vec::new();
    for step in all(run) {
        let template = run.template_of(step);
        let attempts = run.step(step).map_or(0, |step| step.attempts.len());
        let is_tried_again = template.is_some_and(|template| template.retry.is_some());
        let tries = (0u32..).take(if is_tried_again { attempts } else { 0 }).map(Some);
        for number in iter::once(None).chain(tries) {
            let (full, last) = match number {
                None => (names::full_name(run, step), names::display_name(run, step)),
                Some(number) => {
                    let last = format!("{}({number})", names::display_name(run, step));
                    (names::try_name(run, step, number), last)
                }
            };
            if is(&full, template.map_or("", |template| &template.name)) {
                return Ok(Named { step, number });
            }
            if last == name {
                shown.push(Named { step, number });
            }
        }
    }
    match shown.as_slice() {
        [one] => Ok(*one),
        [] => Err(absent(format!("the run {} has no step {name:?}", run.spec.name))),
        several => {
            let what = format!("{} steps are named {name:?}", several.len());
            let steps: Vec<_> = several.iter().map(|named| named.step).collect();
            Err(ambiguous(run, &what, &steps, "give the whole name of one, or its id"))
        }
    }
}

fn ambiguous(run: &Run, what: &str, steps: &[StepKey], help: &str) -> Refusal {
    let listed = steps.iter().take(LISTED).map(|step| {
        let name = names::full_name(run, *step);
        let id = names::node_id(&run.spec.name, &name);
        format!("{name} (id={id})")
    });
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = steps.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Diagnostic::new(Code::BadRequest, format!("{what}: {listed}{more}")).help(help).into()
}

/// The suspended step that values are for: the only one among those that a selector names (or among
/// all), or the only one of them that takes all of these values.
pub(super) fn suspended(run: &Run, selector: &str, values: &[&str]) -> Answer<StepKey> {
    let mut found = steps(run, selector)?;
    if found.is_empty() {
        found = all(run).collect();
    }
    found.retain(|key| is_suspended(run, *key));
    let takers: Vec<_> =
        found.iter().copied().filter(|key| values.iter().all(|v| takes(run, *key, v))).collect();
    match (found.as_slice(), takers.as_slice()) {
        ([], _) if selector.is_empty() => {
            Err(Diagnostic::new(Code::NotInState, "no step of the run is suspended").into())
        }
        ([], _) => Err(bad_request(format!("no suspended step matches {selector:?}"))),
        // Whether one that is named takes them is judged with everything else.
        ([step], _) | (_, [step]) => Ok(*step),
        (several, []) | (_, several) => {
            let what = format!("{} suspended steps may be meant", several.len());
            let help = "say which: --node-field-selector id=ID";
            Err(ambiguous(run, &what, several, help))
        }
    }
}

/// Whether a step takes a value of that name from outside.
fn takes(run: &Run, key: StepKey, name: &str) -> bool {
    let declared = run.template_of(key).map_or(&[][..], |template| &template.outputs.parameters);
    declared.iter().any(|output| output.name == name && output.from == OutputFrom::Supplied)
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
