//! Names of steps. Argo is the one upstream that names steps by their path and has its clients
//! compute the names again, so its spelling is used for all (argo-workflows
//! `workflow/controller/{steps,dag,operator}.go`, `pkg/apis/workflow/v1alpha1/workflow_types.go`
//! `NodeID`).

use argosy_model::graph::Lock;
use argosy_model::{Code, Diagnostic, Item, Kind, Phase, Role, StepKey};
use serde_json::Value;

use crate::decide::render_text;
use crate::fault::evaluation;
use crate::item;
use crate::run::Run;
use crate::scope::View;

/// The full name of a step: `run`, `run[0].a`, `run.task(0:x)`, `run.task(0)`, `run.onExit`.
#[must_use]
pub fn full_name(run: &Run, key: StepKey) -> String {
    full_name_of_try(run, key, None)
}

/// The full name of one try of a step that is tried again: `run.task(1)`.
#[must_use]
pub fn try_name(run: &Run, key: StepKey, number: u32) -> String {
    full_name_of_try(run, key, Some(number))
}

fn full_name_of_try(run: &Run, key: StepKey, number: Option<u32>) -> String {
    let mut path = Vec::new();
    let mut at = key;
    while let Some(step) = run.step(at) {
        path.push(at);
        at = step.parent;
    }
    let mut name = String::new();
    for key in path.into_iter().rev() {
        push_part(run, key, &mut name);
    }
    if let Some(number) = number {
        name.push_str(&format!("({number})"));
    }
    name
}

/// What a step adds to its parent's name.
fn push_part(run: &Run, key: StepKey, name: &mut String) {
    let Some(step) = run.step(key) else { return };
    match step.role {
        Role::Root => name.push_str(&run.spec.name),
        Role::Exit => {
            name.push_str(&run.spec.name);
            name.push_str(".onExit");
        }
        Role::RunHook(index) => {
            name.push_str(&run.spec.name);
            let hook = run.graph().and_then(|graph| graph.hooks.get(index as usize));
            name.push_str(&format!(".hooks.{}", hook.map_or("", |hook| &hook.name)));
        }
        Role::Group(index) => name.push_str(&format!("[{index}]")),
        Role::Call(_) => {
            name.push('.');
            name.push_str(run.call_of(key).map_or("", |call| &call.name));
        }
        Role::Item(index) => name.push_str(&item_suffix(index, run.item_of(key))),
        Role::Try(number) => name.push_str(&format!("({number})")),
        Role::Hook(index) => {
            let hook = run.call_of(step.parent).and_then(|call| call.hooks.get(index as usize));
            match hook {
                Some(hook) if hook.expression.is_empty() => name.push_str(".onExit"),
                Some(hook) => name.push_str(&format!(".hooks.{}", hook.name)),
                None => {}
            }
        }
        Role::Container(index) => {
            name.push('.');
            name.push_str(&container_name(run, step.parent, index));
        }
        Role::Child(_) => {
            name.push('.');
            name.push_str(run.task_of(key).map_or("", |task| &task.name));
        }
    }
}

fn container_name(run: &Run, set: StepKey, index: u32) -> String {
    match run.template_of(set).map(|template| &template.body) {
        Some(argosy_model::graph::Body::ContainerSet(process)) => process
            .set
            .get(index as usize)
            .map(|member| member.container.name.clone())
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// `(0:value)`: brackets are dropped from the value, maps become `key:value` in key order
/// (argo-workflows `workflow/controller/operator.go` `processItem`).
#[must_use]
pub fn item_suffix(index: u32, item: Option<&Item>) -> String {
    let value = item.map(item::name).unwrap_or_default();
    format!("({index}:{})", value.replace(['(', ')'], ""))
}

/// A value as text: strings as they are, everything else as JSON in Go's form, where 1000.0 is
/// 1000.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => argosy_template::to_go_json(other),
    }
}

/// A step's name as lists show it: the one that its template gives, else the last part of its own.
#[must_use]
pub fn display_name(run: &Run, key: StepKey) -> String {
    given_name(run, key).and_then(Result::ok).unwrap_or_else(|| short_name(run, key))
}

/// The name that a step's template gives to the whole of a call (argo-workflows
/// `workflow/controller/operator.go` `executeTemplate`): not to a loop, nor to one of several
/// tries, nor to what was never carried out.
pub(crate) fn given_name(run: &Run, key: StepKey) -> Option<Result<String, Diagnostic>> {
    let step = run.step(key)?;
    let is_part = matches!(step.kind, Kind::FanOut | Kind::Group | Kind::Container | Kind::Nothing)
        || matches!(step.role, Role::Try(_))
        || matches!(step.phase, Phase::Skipped | Phase::Omitted);
    let text = run.template_of(key).filter(|_| !is_part)?.display_name.as_deref()?;
    // The same whenever somebody looks.
    let mut view = View::inside(run, key, step.created_ms);
    view.attempt = Some(0);
    let named = render_text(&view, text).map_err(evaluation);
    Some(named.and_then(|name| match is_given_name(&name) {
        true => Ok(name),
        false => {
            let what = format!("displayName must match the regex {GIVEN_NAME}, and is {name:?}");
            Err(Diagnostic::new(Code::BadName, what))
        }
    }))
}

/// What a name that a template gives has to match.
pub const GIVEN_NAME: &str = "^[a-zA-Z0-9][a-zA-Z0-9-.]{0,61}[a-zA-Z0-9]$";

/// Whether it does.
#[must_use]
pub fn is_given_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric();
    (2..=63).contains(&name.len())
        && name.starts_with(letter)
        && name.ends_with(letter)
        && name.chars().all(|c| letter(c) || c == '-' || c == '.')
}

/// The last part of a step's name.
#[must_use]
pub fn short_name(run: &Run, key: StepKey) -> String {
    let Some(step) = run.step(key) else { return String::new() };
    match step.role {
        Role::Item(_) | Role::Try(_) => {
            let mut name = short_name(run, step.parent);
            push_part(run, key, &mut name);
            name
        }
        Role::Hook(_) => {
            let mut name = short_name(run, step.parent);
            push_part(run, key, &mut name);
            name
        }
        _ => {
            let mut name = String::new();
            push_part(run, key, &mut name);
            name.strip_prefix('.').map(str::to_owned).unwrap_or(name)
        }
    }
}

/// A lock as messages name it: `space/Mutex/name`, `space/ConfigMap/map/key` (argo-workflows
/// `workflow/sync/lock_name.go`).
#[must_use]
pub fn lock_name(space: &str, lock: &Lock) -> String {
    match lock {
        Lock::Mutex { name } => format!("{space}/Mutex/{name}"),
        Lock::Semaphore { config_map, key } => format!("{space}/ConfigMap/{config_map}/{key}"),
    }
}

/// 32-bit FNV-1a.
#[must_use]
pub fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The id that Argo's clients compute for a node: the run's name for the root, else
/// `run-fnv(name)`.
#[must_use]
pub fn node_id(run_name: &str, full_name: &str) -> String {
    if run_name == full_name {
        return run_name.to_owned();
    }
    format!("{run_name}-{}", fnv1a(full_name))
}

/// The pod name that Argo's clients compute (version 2 of the rule: `run-template-hash`, with the
/// prefix cut so that the whole has at most 253 characters; `util/wfutil/pod_name.go`).
#[must_use]
pub fn pod_name(run_name: &str, full_name: &str, template: &str) -> String {
    if run_name == full_name {
        return run_name.to_owned();
    }
    let prefix =
        if template.is_empty() { run_name.to_owned() } else { format!("{run_name}-{template}") };
    let prefix: String = prefix.chars().take(253 - 11).collect();
    format!("{prefix}-{}", fnv1a(full_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // Test vectors of the FNV reference (draft-eastlake-fnv, 32 bits).
        for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fnv1a(text), hash, "{text}");
        }
    }

    #[test]
    fn given_names_match_upstreams_regex() {
        let long = "a".repeat(63);
        for name in ["ab", "A-1.b", "1a", &long] {
            assert!(is_given_name(name), "{name}");
        }
        for name in ["", "a", "-ab", "ab.", "a b", "a_b", "\u{e4}b", "a\n", &format!("{long}a")] {
            assert!(!is_given_name(name), "{name:?}");
        }
    }

    #[test]
    fn items_are_named_as_argo_names_them() {
        for (item, name) in [
            (r#""a (b)""#, "(0:a b)"),
            ("3", "(0:3)"),
            ("1.50", "(0:1.50)"),
            ("123456789012345678901234567890", "(0:123456789012345678901234567890)"),
            (r#"{"os":"debian","image":"x","n":1e3}"#, "(0:image:x,n:1e3,os:debian)"),
            (r#"["a",1.0]"#, "(0:[a 1.0])"),
            (r#""<a> \"b\"""#, r#"(0:<a> \"b\")"#),
        ] {
            let item = Item::new(item.to_owned()).unwrap();
            assert_eq!(item_suffix(0, Some(&item)), name);
        }
    }
}
