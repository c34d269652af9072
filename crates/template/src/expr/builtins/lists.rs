//! Functions on arrays.

use std::cmp::Ordering;

use super::{Function, MANY, arg, function, list, text, wanted};
use crate::env::Env;
use crate::error::Fault;
use crate::expr::ops;
use crate::value::{List, Value};

pub(super) static TABLE: &[Function] = &[
    function("first", 1, 1, |args, _| Ok(end(arg(args, 0), <[Value]>::first))),
    function("last", 1, 1, |args, _| Ok(end(arg(args, 0), <[Value]>::last))),
    function("get", 2, 2, |args, _| {
        Ok(ops::member(arg(args, 0), arg(args, 1)).unwrap_or(Value::Nil))
    }),
    function("take", 2, 2, |args, env| {
        let items = &list(args, 0)?.items;
        let Value::Int(most) = arg(args, 1) else {
            return Err(wanted("an integer", 1, arg(args, 1)));
        };
        let most = usize::try_from(*most).map_err(|_| "take needs a count of at least zero")?;
        paid(items.iter().take(most).cloned().collect(), env)
    }),
    function("reverse", 1, 1, |args, env| {
        paid(list(args, 0)?.items.iter().rev().cloned().collect(), env)
    }),
    function("uniq", 1, 1, |args, env| unique(list(args, 0)?, env)),
    function("concat", 1, MANY, concat),
    function("flatten", 1, 1, |args, env| {
        let mut flat = Vec::new();
        flatten(list(args, 0)?, &mut flat, env)?;
        Value::list(flat)
    }),
    function("sort", 1, 2, |args, env| {
        let items = &list(args, 0)?.items;
        env.burn(items.len())?;
        sorted(items, items, args.get(1))
    }),
];

/// A new array: its items are paid for.
pub(crate) fn paid(items: Vec<Value>, env: &mut Env) -> Result<Value, Fault> {
    env.burn(items.len())?;
    Value::list(items)
}

/// One end of an array; nil of anything else.
fn end(value: &Value, end: fn(&[Value]) -> Option<&Value>) -> Value {
    match value {
        Value::List(list) => end(&list.items).cloned().unwrap_or(Value::Nil),
        _ => Value::Nil,
    }
}

/// The items without later ones that equal an earlier one.
pub(crate) fn unique(list: &List, env: &mut Env) -> Result<Value, Fault> {
    let mut kept: Vec<Value> = Vec::new();
    for item in &list.items {
        env.burn(item.weight().saturating_mul(1 + kept.len()))?;
        if !kept.iter().any(|own| ops::equal(own, item)) {
            kept.push(item.clone());
        }
    }
    Value::list(kept)
}

/// The items of all arguments, which must be arrays.
pub(crate) fn concat(args: &[Value], env: &mut Env) -> Result<Value, Fault> {
    let mut items = Vec::new();
    for index in 0..args.len() {
        items.extend(list(args, index)?.items.iter().cloned());
    }
    paid(items, env)
}

fn flatten(list: &List, flat: &mut Vec<Value>, env: &mut Env) -> Result<(), Fault> {
    env.burn(list.items.len())?;
    for item in &list.items {
        match item {
            Value::List(inner) => flatten(inner, flat, env)?,
            other => flat.push(other.clone()),
        }
    }
    Ok(())
}

/// `items` in the order of their keys: `"asc"`, the default, or `"desc"`. Equal keys keep the
/// order of their items.
pub(crate) fn sorted(
    items: &[Value],
    keys: &[Value],
    direction: Option<&Value>,
) -> Result<Value, Fault> {
    let descending = match direction {
        None => false,
        Some(direction) => match text(std::slice::from_ref(direction), 0)? {
            "asc" => false,
            "desc" => true,
            other => return Err(format!("invalid order {other}, expected asc or desc").into()),
        },
    };
    if let Some(pair) = keys
        .windows(2)
        .find(|pair| matches!(pair, [left, right] if ops::order(left, right).is_none()))
    {
        let kinds: Vec<_> = pair.iter().map(Value::kind).collect();
        return Err(format!("cannot order {}", kinds.join(" and ")).into());
    }
    let mut places: Vec<(&Value, &Value)> = keys.iter().zip(items).collect();
    places.sort_by(|(left, _), (right, _)| {
        let order = ops::order(left, right).unwrap_or(Ordering::Equal);
        if descending { order.reverse() } else { order }
    });
    Value::list(places.into_iter().map(|(_, item)| item.clone()).collect())
}
