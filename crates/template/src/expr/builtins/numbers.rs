//! Functions on numbers, and conversions.

use std::cmp::Ordering;

use super::{Function, MANY, arg, count, function, wanted};
use crate::env::Env;
use crate::error::Fault;
use crate::expr::ops;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("len", 1, 1, |args, env| match arg(args, 0) {
        Value::Str(text) => {
            env.burn(text.len() / 64)?;
            Ok(count(text.chars().count()))
        }
        Value::List(list) => Ok(count(list.items.len())),
        Value::Map(map) => Ok(count(map.entries.len())),
        other => Err(wanted("a string, an array or a map", 0, other)),
    }),
    function("type", 1, 1, |args, _| Ok(Value::str(arg(args, 0).kind()))),
    function("abs", 1, 1, |args, _| match arg(args, 0) {
        Value::Int(int) => Ok(Value::Int(int.wrapping_abs())),
        Value::Float(float) => Ok(Value::Float(float.abs())),
        Value::Duration(nanos) => Ok(Value::Duration(nanos.wrapping_abs())),
        other => Err(wanted("a number", 0, other)),
    }),
    function("ceil", 1, 1, |args, _| rounded(args, f64::ceil)),
    function("floor", 1, 1, |args, _| rounded(args, f64::floor)),
    function("round", 1, 1, |args, _| rounded(args, f64::round)),
    function("int", 1, 1, |args, _| to_int(arg(args, 0))),
    function("asInt", 1, 1, |args, _| to_int(arg(args, 0))),
    function("float", 1, 1, |args, _| to_float(arg(args, 0))),
    function("asFloat", 1, 1, |args, _| to_float(arg(args, 0))),
    function("string", 1, 1, |args, env| {
        env.burn(arg(args, 0).weight())?;
        let text = arg(args, 0).to_string();
        env.produce(text.len())?;
        Ok(Value::str(text))
    }),
    function("max", 1, MANY, |args, env| extreme(args, Ordering::Greater, env)),
    function("min", 1, MANY, |args, env| extreme(args, Ordering::Less, env)),
    function("mean", 1, MANY, |args, env| {
        let numbers = floats(args, env)?;
        let total: f64 = numbers.iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a count of items is exact in a float")]
        let count = numbers.len() as f64;
        Ok(Value::Float(if numbers.is_empty() { 0.0 } else { total / count }))
    }),
    function("median", 1, MANY, |args, env| {
        let mut numbers = floats(args, env)?;
        numbers.sort_by(f64::total_cmp);
        let middle = numbers.len() / 2;
        let upper = numbers.get(middle).copied().unwrap_or(0.0);
        let lower = middle.checked_sub(1).and_then(|at| numbers.get(at)).copied();
        Ok(Value::Float(match lower {
            Some(lower) if numbers.len() % 2 == 0 => f64::midpoint(lower, upper),
            _ => upper,
        }))
    }),
];

fn rounded(args: &[Value], round: fn(f64) -> f64) -> Result<Value, Fault> {
    let number = arg(args, 0).number().ok_or_else(|| wanted("a number", 0, arg(args, 0)))?;
    Ok(Value::Float(round(number)))
}

fn to_int(value: &Value) -> Result<Value, Fault> {
    match value {
        Value::Int(_) => Ok(value.clone()),
        Value::Float(float) => Ok(Value::Int(ops::float_to_int(*float))),
        Value::Duration(nanos) => Ok(Value::Int(*nanos)),
        Value::Str(text) => {
            let int = text.parse().map_err(|_| format!("{text:?} is not an integer"))?;
            Ok(Value::Int(int))
        }
        other => Err(format!("{} is not an integer", other.kind()).into()),
    }
}

fn to_float(value: &Value) -> Result<Value, Fault> {
    if let Value::Str(text) = value {
        let float = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
        return Ok(Value::Float(float));
    }
    let number = value.number().ok_or_else(|| format!("{} is not a number", value.kind()))?;
    Ok(Value::Float(number))
}

/// All numbers of the arguments and of the arrays in them.
fn numbers(args: &[Value], env: &mut Env) -> Result<Vec<Value>, Fault> {
    let mut found = Vec::new();
    collect(args, &mut found, env)?;
    Ok(found)
}

fn collect(values: &[Value], found: &mut Vec<Value>, env: &mut Env) -> Result<(), Fault> {
    env.burn(values.len())?;
    for value in values {
        match value {
            Value::Int(_) | Value::Float(_) => found.push(value.clone()),
            Value::List(list) => collect(&list.items, found, env)?,
            other => return Err(format!("expected a number, found {}", other.kind()).into()),
        }
    }
    Ok(())
}

fn floats(args: &[Value], env: &mut Env) -> Result<Vec<f64>, Fault> {
    Ok(numbers(args, env)?.iter().filter_map(Value::number).collect())
}

/// The first number that no other one is `wanted` of; nil if there is none. A single argument
/// that is not a number is its own extreme.
fn extreme(args: &[Value], wanted: Ordering, env: &mut Env) -> Result<Value, Fault> {
    if let [single] = args
        && !matches!(single, Value::List(_))
    {
        return Ok(single.clone());
    }
    let best = numbers(args, env)?
        .into_iter()
        .reduce(|best, next| if ops::order(&next, &best) == Some(wanted) { next } else { best });
    Ok(best.unwrap_or(Value::Nil))
}
