//! Patches of a pod's spec (`podSpecPatch`), laid on a process: the part of Kubernetes' strategic
//! merge that means something to processes (argo-workflows `workflow/controller/workflowpod.go`,
//! kubernetes `staging/src/k8s.io/api/core/v1/types.go` for the merge keys).

use argosy_model::graph::ProcessTemplate;
use argosy_model::process::{Claim, Container, EnvValue, EnvVar, KeyRef, ProcessSpec};
use argosy_model::{Code, Diagnostic, Resources, resources};
use serde_json::{Map, Value};

use crate::fault::bad_value;
use crate::names::plain;

/// Fields of a pod's spec that would change what runs here, and cannot.
const POD_REFUSED: [&str; 4] =
    ["activeDeadlineSeconds", "ephemeralContainers", "resourceClaims", "volumes"];

/// The same of a container.
const CONTAINER_REFUSED: [&str; 4] = ["envFrom", "lifecycle", "volumeDevices", "volumeMounts"];

/// Containers that the upstream adds by itself, and that do not exist here.
const NOT_HERE: [&str; 2] = ["wait", "init"];

/// Judges a patch without tags of a template's processes.
///
/// # Errors
/// What of it cannot be done.
pub fn judge(template: &ProcessTemplate, patch: &Value) -> Result<(), Diagnostic> {
    let mut process = ProcessSpec {
        main: template.main.clone(),
        init: template.init.clone(),
        sidecars: template.sidecars.clone(),
        set: template.set.clone(),
        ..ProcessSpec::default()
    };
    lay_on(&mut process, patch)
}

/// Judges a patch without tags of all processes of a run: whatever containers there will be.
///
/// # Errors
/// What of it cannot be done anywhere.
pub fn judge_anywhere(patch: &Value) -> Result<(), Diagnostic> {
    let named = |field: &str| -> Vec<Container> {
        let list = patch.get(field).and_then(Value::as_array).into_iter().flatten();
        let names = list.filter_map(|container| container.get("name").and_then(Value::as_str));
        names.map(|name| Container { name: name.to_owned(), ..Container::default() }).collect()
    };
    let (sidecars, init) = (named("containers"), named("initContainers"));
    lay_on(&mut ProcessSpec { sidecars, init, ..ProcessSpec::default() }, patch)
}

/// Reads a patch that is written as a text.
///
/// # Errors
/// It is not JSON.
pub(crate) fn parse(text: &str) -> Result<Value, Diagnostic> {
    serde_json::from_str(text).map_err(|error| bad(&format!("not JSON: {error}")))
}

/// Lays a patch whose texts are final on a process.
///
/// # Errors
/// What of it cannot be done.
pub(crate) fn lay_on(process: &mut ProcessSpec, patch: &Value) -> Result<(), Diagnostic> {
    for (field, value) in object(patch, "the patch")? {
        match field.as_str() {
            "containers" => containers(process, value, false)?,
            "initContainers" => containers(process, value, true)?,
            "terminationGracePeriodSeconds" => {
                let seconds = value.as_u64().ok_or_else(|| wrong(field, "a whole number"))?;
                process.grace_ms = seconds.saturating_mul(1000);
            }
            field => refuse(field, &POD_REFUSED)?,
        }
    }
    let set = process.set.iter().map(|member| &member.container);
    let beside = [&process.main].into_iter().chain(&process.sidecars).chain(set);
    process.resources = argosy_model::process::needs(&process.init, beside);
    Ok(())
}

fn refuse(field: &str, refused: &[&str]) -> Result<(), Diagnostic> {
    if field.starts_with('$') || refused.contains(&field) {
        let what = format!("podSpecPatch: `{field}` cannot be patched here");
        return Err(Diagnostic::new(Code::Unsupported, what));
    }
    Ok(())
}

fn bad(what: &str) -> Diagnostic {
    bad_value(format!("podSpecPatch: {what}"))
}

fn wrong(field: &str, kind: &str) -> Diagnostic {
    bad(&format!("`{field}` has to be {kind}"))
}

fn object<'v>(value: &'v Value, field: &str) -> Result<&'v Map<String, Value>, Diagnostic> {
    value.as_object().ok_or_else(|| wrong(field, "an object"))
}

fn list<'v>(value: &'v Value, field: &str) -> Result<&'v [Value], Diagnostic> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(wrong(field, "a list")),
    }
}

fn text(value: &Value, field: &str) -> Result<String, Diagnostic> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        _ => Err(wrong(field, "a text")),
    }
}

fn texts(value: &Value, field: &str) -> Result<Vec<String>, Diagnostic> {
    list(value, field)?.iter().map(|item| text(item, field)).collect()
}

fn containers(process: &mut ProcessSpec, patches: &Value, init: bool) -> Result<(), Diagnostic> {
    for patch in list(patches, "containers")? {
        let patch = object(patch, "containers")?;
        let name = patch.get("name").and_then(Value::as_str).unwrap_or_default();
        let found = match init {
            true => process.init.iter_mut().find(|container| container.name == name),
            false => beside(process, name),
        };
        match found {
            Some(container) => self::container(container, patch)?,
            None if NOT_HERE.contains(&name) => {}
            None => return Err(bad(&format!("there is no container {name:?} to patch"))),
        }
    }
    Ok(())
}

fn beside<'p>(process: &'p mut ProcessSpec, name: &str) -> Option<&'p mut Container> {
    let set = process.set.iter_mut().map(|member| &mut member.container);
    let all = [&mut process.main].into_iter().chain(&mut process.sidecars).chain(set);
    all.into_iter().find(|container| container.name == name)
}

fn container(container: &mut Container, patch: &Map<String, Value>) -> Result<(), Diagnostic> {
    for (field, value) in patch {
        match field.as_str() {
            "name" => {}
            "image" => container.image = text(value, field)?,
            "command" => container.command = texts(value, field)?,
            "args" => container.args = texts(value, field)?,
            "workingDir" => container.working_dir = text(value, field)?,
            "env" => {
                for variable in list(value, field)? {
                    set_variable(&mut container.env, variable)?;
                }
            }
            "resources" => claim(&mut container.claim, value)?,
            field => refuse(field, &CONTAINER_REFUSED)?,
        }
    }
    Ok(())
}

fn set_variable(all: &mut Vec<EnvVar>, patch: &Value) -> Result<(), Diagnostic> {
    let patch = object(patch, "env")?;
    refuse_any(patch)?;
    let name = patch.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() || name.contains('=') {
        return Err(bad(&format!("{name:?} is no name of a variable")));
    }
    let value = match (patch.get("valueFrom"), patch.get("value")) {
        (Some(from), _) => value_from(from)?,
        (None, value) => EnvValue::Text(text(value.unwrap_or(&Value::Null), "env.value")?),
    };
    match all.iter_mut().find(|known| known.name == name) {
        Some(known) => known.value = value,
        None => all.push(EnvVar { name: name.to_owned(), value }),
    }
    Ok(())
}

fn refuse_any(patch: &Map<String, Value>) -> Result<(), Diagnostic> {
    patch.keys().try_for_each(|field| refuse(field, &[]))
}

fn value_from(value: &Value) -> Result<EnvValue, Diagnostic> {
    let value = object(value, "env.valueFrom")?;
    let key = |key: &Value| -> Result<KeyRef, Diagnostic> {
        serde_json::from_value(key.clone()).map_err(|error| bad(&error.to_string()))
    };
    match (value.get("secretKeyRef"), value.get("configMapKeyRef")) {
        (Some(secret), _) => Ok(EnvValue::Secret(key(secret)?)),
        (None, Some(map)) => Ok(EnvValue::ConfigMap(key(map)?)),
        (None, None) => Err(wrong("env.valueFrom", "a secretKeyRef or a configMapKeyRef")),
    }
}

fn claim(claim: &mut Claim, patch: &Value) -> Result<(), Diagnostic> {
    for (field, amounts) in object(patch, "resources")? {
        match field.as_str() {
            "requests" => merge(&mut claim.requests, amounts)?,
            "limits" => merge(&mut claim.limits, amounts)?,
            field => refuse(field, &["claims"])?,
        }
    }
    Ok(())
}

fn merge(resources: &mut Resources, patch: &Value) -> Result<(), Diagnostic> {
    for (name, value) in object(patch, "resources")? {
        let text = if value.is_null() { "0".to_owned() } else { plain(value) };
        if resources::quantity_milli(&text).is_none() {
            return Err(bad(&format!("{text:?} is no quantity of {name}")));
        }
        let given = resources::of_quantities([(name.clone(), text)]);
        match name.as_str() {
            "cpu" => resources.cpu_milli = given.cpu_milli,
            "memory" => resources.memory_bytes = given.memory_bytes,
            name if name.ends_with("/gpu") => resources.gpus = given.gpus,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn process() -> ProcessSpec {
        let main = Container {
            name: "main".into(),
            image: "a".into(),
            args: vec!["x".into()],
            env: vec![EnvVar { name: "A".into(), value: EnvValue::Text("1".into()) }],
            claim: Claim {
                requests: Resources { memory_bytes: 10, ..Resources::default() },
                ..Claim::default()
            },
            ..Container::default()
        };
        let side = Container { name: "side".into(), image: "s".into(), ..Container::default() };
        ProcessSpec { main, sidecars: vec![side], ..ProcessSpec::default() }
    }

    #[test]
    fn containers_are_patched_by_name_and_field() {
        let mut process = process();
        let patch = json!({
            "nodeSelector": {"disk": "ssd"},
            "terminationGracePeriodSeconds": 5,
            "containers": [
                {"name": "main", "image": "b", "command": ["c"], "workingDir": "/w",
                 "env": [{"name": "A", "value": "2"},
                         {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                 "resources": {"limits": {"cpu": "500m", "memory": "1Ki"}}},
                {"name": "side", "resources": {"requests": {"cpu": 2}}},
                {"name": "wait", "image": "w"}]});
        lay_on(&mut process, &patch).expect("it fits");
        let main = &process.main;
        assert_eq!((&*main.image, &*main.working_dir), ("b", "/w"));
        assert_eq!((&main.command[..], &main.args[..]), (&["c".into()][..], &["x".into()][..]));
        let secret = KeyRef { name: "s".into(), key: "k".into(), optional: false };
        assert_eq!(
            main.env,
            [
                EnvVar { name: "A".into(), value: EnvValue::Text("2".into()) },
                EnvVar { name: "B".into(), value: EnvValue::Secret(secret) },
            ]
        );
        // A request stays where only the limit is patched; a lone limit is a request.
        let needs = Resources { cpu_milli: 2_500, memory_bytes: 10, gpus: 0 };
        assert_eq!(process.resources, needs);
        assert_eq!(process.main.claim.limits.memory_bytes, 1024);
        assert_eq!(process.grace_ms, 5_000);
    }

    #[test]
    fn what_would_mean_something_and_cannot_be_done_is_refused() {
        for (patch, word) in [
            (json!([]), "an object"),
            (json!({"volumes": []}), "`volumes`"),
            (json!({"$patch": "replace"}), "`$patch`"),
            (json!({"containers": {}}), "a list"),
            (json!({"containers": [{"name": "other"}]}), "\"other\""),
            (json!({"containers": [{"name": "main", "volumeMounts": []}]}), "`volumeMounts`"),
            (json!({"containers": [{"name": "main", "args": [1]}]}), "a text"),
            (json!({"containers": [{"name": "main", "env": [{"name": "A=B"}]}]}), "\"A=B\""),
            (
                json!({"containers": [{"name": "main", "resources": {"limits": {"cpu": "x"}}}]}),
                "quantity of cpu",
            ),
        ] {
            let refused = lay_on(&mut process(), &patch).expect_err("it is refused");
            assert!(refused.what.contains(word), "{patch}: {refused}");
        }
    }
}
