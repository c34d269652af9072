//! Following the steps of a path.

use super::Step;
use crate::env::Env;
use crate::error::Fault;
use crate::expr::ops;
use crate::value::Value;

/// All values that `steps` lead to from `start`.
pub(super) fn all(
    steps: &[Step],
    start: &Value,
    root: &Value,
    env: &mut Env,
) -> Result<Vec<Value>, Fault> {
    let mut found = vec![start.clone()];
    for step in steps {
        let mut next = Vec::new();
        for value in &found {
            follow(step, value, root, &mut next, env)?;
        }
        found = next;
    }
    Ok(found)
}

/// Adds to `out` what one step leads to from `value`.
fn follow(
    step: &Step,
    value: &Value,
    root: &Value,
    out: &mut Vec<Value>,
    env: &mut Env,
) -> Result<(), Fault> {
    env.burn(1)?;
    match step {
        Step::Key(key) => {
            if let Value::Map(map) = value {
                out.extend(map.entries.get(key.as_str()).cloned());
            }
        }
        Step::Index(index) => {
            if let Value::List(list) = value {
                let place = ops::place(*index, list.items.len());
                out.extend(place.and_then(|at| list.items.get(at)).cloned());
            }
        }
        Step::Slice { from, to, step } => {
            if let Value::List(list) = value {
                slice(&list.items, *from, *to, *step, out, env)?;
            }
        }
        Step::All => {
            let members = members(value);
            env.burn(members.len())?;
            out.extend(members.into_iter().cloned());
        }
        Step::Union(parts) => {
            for part in parts {
                follow(part, value, root, out, env)?;
            }
        }
        Step::Filter(condition) => {
            for member in members(value) {
                if condition.holds(member, root, env)? {
                    out.push(member.clone());
                }
            }
        }
        Step::Descent => descend(value, out, env)?,
    }
    Ok(())
}

fn members(value: &Value) -> Vec<&Value> {
    match value {
        Value::List(list) => list.items.iter().collect(),
        Value::Map(map) => map.entries.values().collect(),
        _ => Vec::new(),
    }
}

fn descend(value: &Value, out: &mut Vec<Value>, env: &mut Env) -> Result<(), Fault> {
    env.burn(1)?;
    out.push(value.clone());
    members(value).into_iter().try_for_each(|member| descend(member, out, env))
}

/// Python's rules: bounds outside are moved to the ends, a negative step goes backwards.
fn slice(
    items: &[Value],
    from: Option<i64>,
    to: Option<i64>,
    step: i64,
    out: &mut Vec<Value>,
    env: &mut Env,
) -> Result<(), Fault> {
    let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let bound = |index: i64| {
        let index = if index < 0 { index.saturating_add(len) } else { index };
        index.clamp(low, high)
    };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let mut at = from.map_or(first, bound);
    let end = to.map_or(last, bound);
    while if step > 0 { at < end } else { at > end } {
        env.burn(1)?;
        out.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    Ok(())
}
