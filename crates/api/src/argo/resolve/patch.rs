//! Patches of processes.

use serde_json::Value;

/// One patch over another, both in YAML or JSON; `None` where one of them is not an object before
/// its tags are replaced.
pub(super) fn merge(base: &str, over: &str) -> Option<String> {
    let read = |text: &str| {
        let documents = crate::argo::yaml::parse("", text).ok()?;
        let [document] = documents.as_slice() else { return None };
        Some(document.clone()).filter(|node| node.to_json().is_object())
    };
    let merged = super::merge::merge(&read(base)?, &read(over)?).to_json();
    Some(Value::to_string(&merged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_s_patch_lies_on_top_of_the_run_s() {
        let run = "containers:\n- name: main\n  resources: {limits: {cpu: '1', memory: 1Gi}}\n";
        let own = r#"{"containers":[{"name":"main","resources":{"limits":{"cpu":"{{x}}"}}}]}"#;
        let merged = merge(run, own).and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let limits = serde_json::json!({"cpu": "{{x}}", "memory": "1Gi"});
        let at = merged.as_ref().and_then(|m| m.pointer("/containers/0/resources/limits"));
        assert_eq!(at, Some(&limits));
        assert_eq!(merge(run, "{{inputs.parameters.patch}}"), None);
    }
}
