//! Dependencies of tasks.

use std::collections::HashMap;

use argosy_engine::depends::Depends;
use argosy_model::Code;
use argosy_model::graph::Dag;

use crate::argo::resolve::{Build, Slot};
use crate::argo::yaml::Node;

/// Checks the tasks of a DAG against each other.
pub(super) fn check(build: &mut Build<'_>, slot: &Slot, dag: &Dag) {
    let Some(node) = slot.node.get("dag") else { return };
    let nodes = node.list("tasks");
    build.check_unique(nodes, "tasks");
    if nodes.is_empty() {
        build.sink.refuse(Code::MissingField, node.mark, "the DAG has no `tasks`");
    }
    check_spelling(build, nodes);
    let edges = edges(build, nodes, dag);
    if let Some(circle) = circle(&edges) {
        let names: Vec<&str> =
            circle.iter().filter_map(|at| Some(&*dag.tasks.get(*at)?.name)).collect();
        let first = circle.first().and_then(|at| nodes.get(*at)).unwrap_or(node);
        let field = first.get("depends").or_else(|| first.get("dependencies")).unwrap_or(first);
        let what = format!("the tasks depend on each other in a circle: {}", names.join(", "));
        build.sink.refuse(Code::Cycle, field.mark, what);
    }
    check_target(build, node, dag);
}

/// `depends` and `dependencies`, and `depends` and `continueOn`, do not go together in one DAG.
fn check_spelling(build: &mut Build<'_>, nodes: &[Node]) {
    if nodes.iter().all(|task| task.text("depends").is_empty()) {
        return;
    }
    for task in nodes {
        for (key, help) in [
            ("dependencies", "write all of them as `depends`"),
            ("continueOn", "write `depends: task.Failed` or `task.Errored`"),
        ] {
            if let Some(field) = task.get(key) {
                let what = format!("`{key}` does not go together with `depends` in one DAG");
                build.sink.refuse(Code::Conflict, field.mark, what).help = help.into();
            }
        }
    }
}

/// For each task, the positions of those that it waits for.
fn edges(build: &mut Build<'_>, nodes: &[Node], dag: &Dag) -> Vec<Vec<usize>> {
    let position: HashMap<&str, usize> =
        dag.tasks.iter().enumerate().map(|(at, task)| (task.name.as_str(), at)).collect();
    let mut edges = Vec::new();
    for (task, node) in dag.tasks.iter().zip(nodes) {
        let field = node.get("dependencies").or_else(|| node.get("depends")).unwrap_or(node);
        let Some(text) = &task.depends else {
            edges.push(Vec::new());
            continue;
        };
        let names = match Depends::parse(text) {
            Ok(parsed) => {
                check_counts(build, field, &parsed);
                parsed.tasks().into_iter().map(str::to_owned).collect()
            }
            Err(error) => {
                build.sink.refuse(Code::BadDepends, field.mark, error.to_string());
                Vec::new()
            }
        };
        for name in names.iter().filter(|name| !position.contains_key(name.as_str())) {
            let at = field.items().iter().find(|item| item.as_text() == Some(name));
            let what = format!("there is no task `{name}` to wait for");
            build.sink.refuse(Code::BadDepends, at.unwrap_or(field).mark, what);
        }
        edges.push(names.iter().filter_map(|name| position.get(name.as_str()).copied()).collect());
    }
    edges
}

/// A task counts once.
fn check_counts(build: &mut Build<'_>, field: &Node, depends: &Depends) {
    if let Some(name) = depends.counted_twice() {
        let what = format!("`{name}` stands twice in `atLeast`, and would count twice");
        build.sink.refuse(Code::BadDepends, field.mark, what).help =
            format!("put its conditions into one operand, as in ({name}.Failed || {name}.Errored)");
    }
}

fn check_target(build: &mut Build<'_>, node: &Node, dag: &Dag) {
    let Some(target) = dag.target.as_deref().filter(|target| !target.contains("{{")) else {
        return;
    };
    for name in target.split_whitespace() {
        if dag.tasks.iter().all(|task| task.name != name) {
            let mark = node.get("target").unwrap_or(node).mark;
            build.sink.refuse(Code::BadDepends, mark, format!("the target `{name}` is no task"));
        }
    }
}

/// The positions along a circle, if there is one, from its first node on.
pub(crate) fn circle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); edges.len()];
    for (at, needs) in edges.iter().enumerate() {
        for need in needs {
            dependents.get_mut(*need)?.push(at);
        }
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|at| waiting.get(*at) == Some(&0)).collect();
    while let Some(at) = free.pop() {
        for dependent in dependents.get(at).into_iter().flatten() {
            if let Some(left) = waiting.get_mut(*dependent) {
                *left -= 1;
                if *left == 0 {
                    free.push(*dependent);
                }
            }
        }
    }
    // What still waits is on a circle or behind one: going back along it ends on a circle.
    let mut at = waiting.iter().position(|left| *left > 0)?;
    let mut path = Vec::new();
    let mut seen = vec![false; edges.len()];
    while !std::mem::replace(seen.get_mut(at)?, true) {
        path.push(at);
        let needs = edges.get(at)?.iter();
        at = *needs.into_iter().find(|need| waiting.get(**need).is_some_and(|n| *n > 0))?;
    }
    let mut circle = path.split_off(path.iter().position(|known| *known == at)?);
    let first = circle.iter().enumerate().min_by_key(|(_, node)| **node)?.0;
    circle.rotate_left(first);
    Some(circle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_and_what_is_behind_it_is_not_blamed() {
        assert_eq!(circle(&[vec![], vec![0], vec![0, 1]]), None);
        assert_eq!(circle(&[vec![0]]), Some(vec![0]));
        assert_eq!(circle(&[vec![1], vec![2], vec![1]]), Some(vec![1, 2]));
        assert_eq!(circle(&[vec![1], vec![2], vec![3], vec![0]]), Some(vec![0, 1, 2, 3]));
    }
}
