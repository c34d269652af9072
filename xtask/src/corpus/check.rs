//! Comparing a run with what was expected of it.

use argosy_engine::names;
use serde_json::Value;

use super::expect::{Expected, Line};

/// A run that is over, with its lines.
pub(super) struct Seen {
    workflow: Value,
    /// (display name of the node, container, line)
    lines: Vec<(String, String, String)>,
}

impl Seen {
    /// From a Workflow object and log entries, one JSON a line.
    pub(super) fn new(workflow: Value, logs: &str) -> Seen {
        let run = workflow["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let pods: Vec<(String, String)> = nodes(&workflow)
            .map(|node| {
                let text = |name: &str| node[name].as_str().unwrap_or_default();
                let template = match node["templateRef"]["template"].as_str() {
                    Some(template) => template,
                    None => text("templateName"),
                };
                (names::pod_name(&run, text("name"), template), text("displayName").to_owned())
            })
            .collect();
        let entries = logs.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines = entries
            .map(|entry| {
                let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
                let pod = text("podName");
                let shown =
                    pods.iter().find(|(name, _)| *name == pod).map(|(_, shown)| shown.clone());
                (shown.unwrap_or(pod), text("container"), text("content"))
            })
            .collect();
        Seen { workflow, lines }
    }

    fn name(&self) -> &str {
        self.workflow["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Whether a display name is the one that an expectation means.
    fn is(&self, shown: &str, step: &str) -> bool {
        if step.is_empty() || step.starts_with(['(', '.']) {
            return shown == format!("{}{step}", self.name());
        }
        shown == step
    }

    fn prints(&self, line: &Line) -> bool {
        self.lines.iter().any(|(shown, container, text)| {
            (self.is(shown, &line.step) || *container == line.step)
                && text.trim_end() == line.line.trim_end()
        })
    }

    fn some_node(&self, step: &str, holds: impl Fn(&Value) -> bool) -> bool {
        let shown = |node: &Value| node["displayName"].as_str().unwrap_or_default().to_owned();
        nodes(&self.workflow).any(|node| self.is(&shown(node), step) && holds(node))
    }
}

fn nodes(workflow: &Value) -> impl Iterator<Item = &Value> {
    workflow["status"]["nodes"].as_object().into_iter().flat_map(serde_json::Map::values)
}

/// Everything that was expected, or the first thing that is not so.
pub(super) fn check(expected: &Expected, seen: &Seen) -> Result<(), String> {
    let phase = seen.workflow["status"]["phase"].as_str().unwrap_or_default();
    if expected.phase != "any" && expected.phase != phase {
        let message = seen.workflow["status"]["message"].as_str().unwrap_or_default();
        let first = nodes(&seen.workflow)
            .filter(|node| node["phase"] == "Error" || node["phase"] == "Failed")
            .find_map(|node| {
                Some(format!("{}: {}", node["name"].as_str()?, node["message"].as_str()?))
            });
        return Err(format!("phase {phase} ({message}) {}", first.unwrap_or_default()));
    }
    for line in &expected.logs {
        if !seen.prints(line) {
            let printed: Vec<_> =
                seen.lines.iter().take(6).map(|(s, _, l)| format!("{s}: {l}")).collect();
            return Err(format!(
                "{:?} does not print {:?}; printed {printed:?}",
                line.step, line.line
            ));
        }
    }
    for line in &expected.absent {
        if seen.prints(line) {
            return Err(format!("{:?} prints {:?}", line.step, line.line));
        }
    }
    let year = seen.workflow["metadata"]["creationTimestamp"].as_str().and_then(|at| at.get(..4));
    for parameter in &expected.params {
        let value = parameter.value.replace("{year}", year.unwrap_or_default());
        let holds = |node: &Value| {
            let list = node["outputs"]["parameters"].as_array();
            list.into_iter().flatten().any(|output| {
                output["name"] == parameter.name.as_str() && names::plain(&output["value"]) == value
            })
        };
        if !seen.some_node(&parameter.step, holds) {
            return Err(format!(
                "{:?} has no {} = {:?}",
                parameter.step, parameter.name, parameter.value
            ));
        }
    }
    for node in &expected.phases {
        if !seen.some_node(&node.step, |found| found["phase"] == node.phase.as_str()) {
            return Err(format!("{:?} is not {}", node.step, node.phase));
        }
    }
    for alternatives in &expected.one_of {
        if !alternatives.iter().any(|line| seen.prints(line)) {
            return Err(format!("none of {alternatives:?}"));
        }
    }
    Ok(())
}
