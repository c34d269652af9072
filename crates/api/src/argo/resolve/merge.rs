//! One object over another, as Kubernetes' strategic merge has it.

use crate::argo::yaml::{Entry, Node, Value};

/// `over` on top of `base`: objects are merged key by key, lists of named objects by name, and
/// everything else is taken from `over`.
pub(super) fn merge(base: &Node, over: &Node) -> Node {
    let value = match (&base.value, &over.value) {
        (Value::Map(base), Value::Map(over)) => Value::Map(merge_maps(base, over)),
        (Value::List(base), Value::List(over)) if is_named(base) && is_named(over) => {
            Value::List(merge_lists(base, over))
        }
        (_, Value::Null) => return base.clone(),
        (_, other) => other.clone(),
    };
    Node { mark: over.mark, value }
}

fn merge_maps(base: &[Entry], over: &[Entry]) -> Vec<Entry> {
    let mut merged = over.to_vec();
    for entry in base {
        match merged.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => known.node = merge(&entry.node, &known.node),
            None => merged.push(entry.clone()),
        }
    }
    merged
}

fn is_named(items: &[Node]) -> bool {
    items.iter().all(|item| name(item).is_some())
}

/// What tells the objects of a list apart.
fn name(item: &Node) -> Option<&str> {
    ["name", "mountPath"].iter().find_map(|key| item.get(key)?.as_text())
}

fn merge_lists(base: &[Node], over: &[Node]) -> Vec<Node> {
    let find =
        |list: &[Node], item: &Node| list.iter().find(|known| name(known) == name(item)).cloned();
    let mut merged: Vec<Node> = base
        .iter()
        .map(|item| find(over, item).map_or_else(|| item.clone(), |over| merge(item, &over)))
        .collect();
    merged.extend(over.iter().filter(|item| find(base, item).is_none()).cloned());
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argo::yaml::parse;
    use serde_json::json;

    #[test]
    fn the_upper_object_wins_field_by_field_and_name_by_name() {
        let text = "{a: 1, b: {x: 1, w: 2}, l: [{name: p, value: 1}, {name: q, value: 2}], s: [1]}\n---\n{b: {x: 9}, l: [{name: q, value: 7}, {name: r}], s: [2], m: null}\n";
        let documents = parse("a.yaml", text).expect("the text is YAML");
        let merged = merge(&documents[0], &documents[1]);
        let expected = json!({
            "a": 1,
            "b": {"x": 9, "w": 2},
            "l": [{"name": "p", "value": 1}, {"name": "q", "value": 7}, {"name": "r"}],
            "s": [2],
            "m": null,
        });
        assert_eq!(merged.to_json(), expected);
    }
}
