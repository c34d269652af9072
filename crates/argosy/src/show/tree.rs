//! A run as `argo get` and `argo submit --watch` draw it
//! (argo-workflows `cmd/argo/commands/common/get.go`): a block of facts and a tree of steps.

use std::collections::HashMap;
use std::fmt::Write as _;

use argosy_engine::names;
use serde_json::{Map, Value};

use super::{duration, mark, paint, since, time};

/// Width of the names of facts.
const KEY: usize = 20;

/// The whole picture of a run.
pub(crate) fn run(workflow: &Value, now_ms: i64, wide: bool) -> String {
    let mut text = facts(workflow, now_ms);
    let nodes = workflow["status"]["nodes"].as_object();
    if let Some(nodes) = nodes.filter(|nodes| !nodes.is_empty()) {
        text.push('\n');
        text.push_str(&Tree::new(workflow, nodes, now_ms).table(wide));
    }
    text
}

fn facts(workflow: &Value, now_ms: i64) -> String {
    let (meta, status) = (&workflow["metadata"], &workflow["status"]);
    let mut text = String::new();
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:<KEY$} {value}", format!("{name}:"));
        }
    };
    let at = |value: &Value| value.as_str().map(str::to_owned);
    fact("Name", meta["name"].as_str().unwrap_or_default());
    fact("Namespace", meta["namespace"].as_str().unwrap_or_default());
    fact("Status", &shown_status(workflow));
    fact("Message", status["message"].as_str().unwrap_or_default());
    fact("Created", &since(meta["creationTimestamp"].as_str(), now_ms));
    fact("Started", &since(status["startedAt"].as_str(), now_ms));
    fact("Finished", &since(status["finishedAt"].as_str(), now_ms));
    let started = time::parse(status["startedAt"].as_str());
    let finished = time::parse(at(&status["finishedAt"]).as_deref()).unwrap_or(now_ms);
    if let Some(started) = started {
        fact("Duration", &duration(finished - started));
    }
    fact("Progress", status["progress"].as_str().unwrap_or_default());
    let root = &status["nodes"][meta["name"].as_str().unwrap_or_default()]["outputs"];
    let all = |lists: &[&Value], value: fn(&Value) -> String| {
        let items = lists.iter().filter_map(|list| list.as_array()).flatten();
        items.map(|it| (it["name"].as_str().unwrap_or_default().to_owned(), value(it))).collect()
    };
    let value: fn(&Value) -> String = |parameter| names::plain(&parameter["value"]);
    let given = &workflow["spec"]["arguments"]["parameters"];
    let lists: [(&str, Vec<(String, String)>); 3] = [
        ("Parameters", all(&[given], value)),
        ("Output Parameters", all(&[&status["outputs"]["parameters"], &root["parameters"]], value)),
        (
            "Output Artifacts",
            all(&[&status["outputs"]["artifacts"], &root["artifacts"]], stored_at),
        ),
    ];
    for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        let _ = writeln!(text, "{:<KEY$}", format!("{title}:"));
        for (name, value) in list {
            let _ = writeln!(text, "{:<KEY$} {value}", format!("  {name}:"));
        }
    }
    text
}

/// The key of an artifact, and whether it is still there.
pub(super) fn stored_at(artifact: &Value) -> String {
    let key = artifact["s3"]["key"].as_str().unwrap_or_default();
    let deleted = if artifact["deleted"] == true { " (deleted)" } else { "" };
    format!("{key}{deleted}")
}

/// `Running (Suspended)`, `Failed (Terminated)`.
pub(crate) fn shown_status(workflow: &Value) -> String {
    let phase = workflow["status"]["phase"].as_str().unwrap_or_default();
    let suffix = match (workflow["spec"]["shutdown"].as_str(), phase) {
        (Some("Terminate"), _) => " (Terminated)",
        (Some("Stop"), _) => " (Stopped)",
        _ if workflow["spec"]["suspend"] == true => " (Suspended)",
        _ => "",
    };
    format!("{}{suffix}", paint(phase, phase))
}

struct Tree<'a> {
    name: &'a str,
    nodes: &'a Map<String, Value>,
    children: HashMap<&'a str, Vec<&'a Value>>,
    /// Nodes that are no other's children: the run itself, exit handlers and hooks.
    tops: Vec<&'a Value>,
    now_ms: i64,
}

/// One line of the table.
struct Line {
    step: String,
    /// Columns of `step` on the screen, which colours do not take.
    width: usize,
    cells: [String; 4],
    wide: [String; 2],
}

impl<'a> Tree<'a> {
    fn new(workflow: &'a Value, nodes: &'a Map<String, Value>, now_ms: i64) -> Tree<'a> {
        let name = workflow["metadata"]["name"].as_str().unwrap_or_default();
        let mut children: HashMap<&str, Vec<&Value>> = HashMap::new();
        let grouped = groups(nodes);
        let mut tops = Vec::new();
        for node in nodes.values() {
            let id = node["id"].as_str().unwrap_or_default();
            let parent = grouped.get(id).copied().or(node["boundaryID"].as_str());
            match parent.filter(|parent| *parent != id) {
                Some(parent) => children.entry(parent).or_default().push(node),
                None if id != name => tops.push(node),
                None => {}
            }
        }
        tops.sort_by_cached_key(|node| started(node));
        for list in children.values_mut() {
            list.sort_by_cached_key(|node| started(node));
        }
        Tree { name, nodes, children, tops, now_ms }
    }

    fn table(&self, wide: bool) -> String {
        let mut lines = Vec::new();
        if let Some(root) = self.nodes.get(self.name) {
            self.draw(root, " ", " ", &mut lines);
        }
        for top in &self.tops {
            lines.push(Line::blank());
            self.draw(top, " ", " ", &mut lines);
        }
        render(&lines, wide)
    }

    /// Draws a node and what is below it. `own` is put before its own mark, `below` before the
    /// branches under it.
    fn draw(&self, node: &Value, own: &str, below: &str, lines: &mut Vec<Line>) {
        let id = node["id"].as_str().unwrap_or_default();
        let children: Vec<&Value> = self
            .children
            .get(id)
            .map(|list| list.iter().copied().filter(|child| child["phase"] != "Omitted").collect())
            .unwrap_or_default();
        let hidden = is_hidden(node, &children);
        if !hidden {
            lines.push(self.line(node, own));
        }
        let last = children.len().saturating_sub(1);
        for (at, child) in children.iter().enumerate() {
            let (part, under) = match (hidden && at == 0, at == last) {
                (true, true) => ("──", "  "),
                (true, false) => ("┬─", "│ "),
                (false, true) => ("└─", "  "),
                (false, false) => ("├─", "│ "),
            };
            let before = if hidden && at == 0 { own } else { below };
            self.draw(child, &format!("{before}{part}"), &format!("{below}{under}"), lines);
        }
    }

    fn line(&self, node: &Value, own: &str) -> Line {
        let text = |name: &str| node[name].as_str().unwrap_or_default();
        let phase = text("phase");
        let suspended = text("type") == "Suspend" && phase == "Running";
        let sign = mark(phase, suspended);
        let name = text("displayName");
        let step = format!("{own}{} {name}", paint(phase, sign));
        let width = own.chars().count() + 2 + name.chars().count();
        let template = match node["templateRef"].as_object() {
            Some(reference) => {
                let part = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or("");
                format!("{}/{}", part("name"), part("template"))
            }
            None => text("templateName").to_owned(),
        };
        let is_pod = text("type") == "Pod";
        let pod = if is_pod {
            names::pod_name(self.name, text("name"), text("templateName"))
        } else {
            String::new()
        };
        let started = time::parse(node["startedAt"].as_str());
        let finished = time::parse(node["finishedAt"].as_str()).unwrap_or(self.now_ms);
        let took = match (started, is_pod) {
            (Some(started), true) => duration(finished - started),
            _ => String::new(),
        };
        let artifacts = node["outputs"]["artifacts"].as_array();
        let artifacts = artifacts.into_iter().flatten().filter_map(|a| a["name"].as_str());
        Line {
            step,
            width,
            cells: [template, pod, took, text("message").replace('\n', " ")],
            wide: [artifacts.collect::<Vec<_>>().join(","), text("hostNodeName").to_owned()],
        }
    }
}

/// The step group, loop or retry that a node is drawn below, by the node's id.
fn groups(nodes: &Map<String, Value>) -> HashMap<&str, &str> {
    let mut grouped = HashMap::new();
    for node in nodes.values() {
        let (id, name) =
            (node["id"].as_str().unwrap_or_default(), node["name"].as_str().unwrap_or_default());
        let kind = node["type"].as_str().unwrap_or_default();
        for child in node["children"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let Some(child_node) = nodes.get(child) else { continue };
            let child_name = child_node["name"].as_str().unwrap_or_default();
            let rest = child_name.strip_prefix(name);
            let below = match kind {
                "StepGroup" => rest.is_some_and(|rest| rest.starts_with('.')),
                "TaskGroup" | "Retry" => rest.is_some_and(|rest| rest.starts_with('(')),
                _ => false,
            };
            if below {
                grouped.insert(child, id);
            }
        }
    }
    grouped
}

/// Nodes are drawn in the order of their starts; those of the same second in the order in which
/// they came to be, which is that of the object.
fn started(node: &Value) -> Option<i64> {
    time::parse(node["startedAt"].as_str())
}

/// Groups are not drawn, nor is a retry with one try.
fn is_hidden(node: &Value, children: &[&Value]) -> bool {
    match node["type"].as_str() {
        Some("StepGroup") => !children.is_empty() || node["phase"] != "Error",
        Some("Retry") => children.len() == 1,
        _ => false,
    }
}

impl Line {
    fn blank() -> Line {
        Line { step: String::new(), width: 0, cells: Default::default(), wide: Default::default() }
    }
}

fn render(lines: &[Line], wide: bool) -> String {
    const TITLES: [&str; 5] = ["STEP", "TEMPLATE", "PODNAME", "DURATION", "MESSAGE"];
    const WIDE: [&str; 2] = ["ARTIFACTS", "NODENAME"];
    let step_width = lines.iter().map(|line| line.width).max().unwrap_or(0).max(4);
    let mut widths = [0; 4];
    for (at, width) in widths.iter_mut().enumerate() {
        let cells = lines.iter().map(|line| line.cells[at].chars().count());
        *width = cells.max().unwrap_or(0).max(TITLES[at + 1].len());
    }
    let mut text = format!("{:<step_width$}", TITLES[0]);
    let cells = |text: &mut String, cells: [&str; 4]| {
        for (at, cell) in cells.iter().enumerate() {
            let _ = write!(text, "  {cell:<width$}", width = widths[at]);
        }
    };
    cells(&mut text, [TITLES[1], TITLES[2], TITLES[3], TITLES[4]]);
    if wide {
        let _ = write!(text, "  {}  {}", WIDE[0], WIDE[1]);
    }
    let mut out = text.trim_end().to_owned();
    for line in lines {
        let mut text = format!("\n{}{}", line.step, " ".repeat(step_width - line.width));
        let [a, b, c, d] = &line.cells;
        cells(&mut text, [a, b, c, d]);
        if wide {
            let _ = write!(text, "  {}  {}", line.wide[0], line.wide[1]);
        }
        out.push_str(text.trim_end_matches(' '));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(name: &str, kind: &str, boundary: Option<&str>, children: &[&str]) -> (String, Value) {
        let id = |name: &str| names::node_id("wf", name);
        let children: Vec<_> = children.iter().map(|child| id(child)).collect();
        let shown = name.rsplit('.').next().unwrap_or(name);
        (
            id(name),
            json!({"id": id(name), "name": name, "displayName": shown, "type": kind,
                   "phase": "Succeeded", "boundaryID": boundary.map(id), "children": children,
                   "templateName": "t", "startedAt": "2026-01-01T00:00:00Z",
                   "finishedAt": "2026-01-01T00:00:09Z"}),
        )
    }

    fn drawn(nodes: Vec<(String, Value)>) -> Vec<String> {
        let nodes: Map<String, Value> = nodes.into_iter().collect();
        let workflow = json!({"metadata": {"name": "wf"}, "status": {"nodes": nodes}});
        let map = workflow["status"]["nodes"].as_object().unwrap();
        let table = Tree::new(&workflow, map, 0).table(false);
        let plain = anstream::adapter::strip_str(&table).to_string();
        plain
            .lines()
            .skip(1)
            .map(|line| line.split("  t").next().unwrap().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn step_groups_are_drawn_as_argo_draws_them() {
        let lines = drawn(vec![
            node("wf", "Steps", None, &["wf[0]"]),
            node("wf[0]", "StepGroup", Some("wf"), &["wf[0].hello1"]),
            node("wf[0].hello1", "Pod", Some("wf"), &["wf[1]"]),
            node("wf[1]", "StepGroup", Some("wf"), &["wf[1].hello2a", "wf[1].hello2b"]),
            node("wf[1].hello2a", "Pod", Some("wf"), &[]),
            node("wf[1].hello2b", "Pod", Some("wf"), &[]),
        ]);
        assert_eq!(lines, [" ✔ wf", " ├───✔ hello1", " └─┬─✔ hello2a", "   └─✔ hello2b"]);
    }

    #[test]
    fn members_of_a_container_set_are_drawn_below_their_pod() {
        let lines = drawn(vec![
            node("wf", "Steps", None, &["wf[0]"]),
            node("wf[0]", "StepGroup", Some("wf"), &["wf[0].set"]),
            node("wf[0].set", "Pod", Some("wf"), &["wf[0].set.a"]),
            node("wf[0].set.a", "Container", Some("wf[0].set"), &["wf[0].set.b"]),
            node("wf[0].set.b", "Container", Some("wf[0].set"), &[]),
        ]);
        assert_eq!(lines, [" ✔ wf", " └───✔ set", "     ├─✔ a", "     └─✔ b"]);
    }

    #[test]
    fn tries_of_the_entrypoint_are_drawn_below_it_and_exit_handlers_apart() {
        let lines = drawn(vec![
            node("wf", "Retry", None, &["wf(0)", "wf(1)"]),
            node("wf(0)", "Pod", None, &[]),
            node("wf(1)", "Pod", None, &[]),
            node("wf.onExit", "Pod", None, &[]),
        ]);
        assert_eq!(lines, [" ✔ wf", " ├─✔ wf(0)", " └─✔ wf(1)", "", " ✔ onExit"]);
    }

    #[test]
    fn tasks_of_a_dag_are_drawn_one_below_the_other() {
        let lines = drawn(vec![
            node("wf", "DAG", None, &["wf.A"]),
            node("wf.A", "Pod", Some("wf"), &["wf.B"]),
            node("wf.B", "TaskGroup", Some("wf"), &["wf.B(0:x)", "wf.B(1:y)"]),
            node("wf.B(0:x)", "Pod", Some("wf"), &[]),
            node("wf.B(1:y)", "Pod", Some("wf"), &[]),
        ]);
        assert_eq!(lines, [" ✔ wf", " ├─✔ A", " └─✔ B", "   ├─✔ B(0:x)", "   └─✔ B(1:y)"]);
    }
}
