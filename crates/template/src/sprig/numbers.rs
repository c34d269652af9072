//! Arithmetic on whatever can be read as a number.

use super::convert;
use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::lists::paid;
use crate::expr::builtins::strings::made;
use crate::expr::builtins::{Function, MANY, arg, function, int};
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("int", 1, 1, |args, _| Ok(Value::Int(convert::int(arg(args, 0))))),
    function("int64", 1, 1, |args, _| Ok(Value::Int(convert::int(arg(args, 0))))),
    function("float64", 1, 1, |args, _| Ok(Value::Float(convert::float(arg(args, 0))))),
    function("atoi", 1, 1, |args, _| {
        let Value::Str(text) = arg(args, 0) else { return Err("atoi takes a string".into()) };
        Ok(Value::Int(text.parse().unwrap_or(0)))
    }),
    function("toDecimal", 1, 1, |args, _| {
        let octal = i64::from_str_radix(&arg(args, 0).to_string(), 8);
        Ok(Value::Int(octal.unwrap_or(0)))
    }),
    function("add", 0, MANY, |args, _| Ok(ints(args, 0, i64::wrapping_add))),
    function("add1", 1, 1, |args, _| Ok(Value::Int(convert::int(arg(args, 0)).wrapping_add(1)))),
    function("sub", 2, 2, |args, _| Ok(chained(args, i64::wrapping_sub))),
    function("mul", 1, MANY, |args, _| Ok(chained(args, i64::wrapping_mul))),
    function("div", 2, 2, |args, _| divide(args, i64::wrapping_div)),
    function("mod", 2, 2, |args, _| divide(args, i64::wrapping_rem)),
    function("max", 1, MANY, |args, _| Ok(chained(args, i64::max))),
    function("biggest", 1, MANY, |args, _| Ok(chained(args, i64::max))),
    function("min", 1, MANY, |args, _| Ok(chained(args, i64::min))),
    function("addf", 0, MANY, |args, _| {
        Ok(decimal(args.iter().map(convert::float).fold(0.0, |sum, next| sum + next)))
    }),
    function("add1f", 1, 1, |args, _| Ok(decimal(convert::float(arg(args, 0)) + 1.0))),
    function("subf", 1, MANY, |args, _| Ok(floats(args, |left, right| left - right))),
    function("mulf", 1, MANY, |args, _| Ok(floats(args, |left, right| left * right))),
    function("divf", 1, MANY, |args, _| {
        if args.iter().skip(1).any(|arg| convert::float(arg) == 0.0) {
            return Err("decimal division by 0".into());
        }
        Ok(floats(args, |left, right| left / right))
    }),
    function("maxf", 1, MANY, |args, _| Ok(floats(args, f64::max))),
    function("minf", 1, MANY, |args, _| Ok(floats(args, f64::min))),
    function("ceil", 1, 1, |args, _| Ok(Value::Float(convert::float(arg(args, 0)).ceil()))),
    function("floor", 1, 1, |args, _| Ok(Value::Float(convert::float(arg(args, 0)).floor()))),
    function("round", 2, 3, |args, _| {
        let turn = if args.len() > 2 { convert::float(arg(args, 2)) } else { 0.5 };
        Ok(Value::Float(round(convert::float(arg(args, 0)), int(args, 1)?, turn)))
    }),
    function("until", 1, 1, |args, env| {
        let count = int(args, 0)?;
        paid(steps(0, count, if count < 0 { -1 } else { 1 }, env)?, env)
    }),
    function("untilStep", 3, 3, |args, env| {
        paid(steps(int(args, 0)?, int(args, 1)?, int(args, 2)?, env)?, env)
    }),
    function("seq", 0, 3, sequence),
];

fn ints(args: &[Value], first: i64, run: fn(i64, i64) -> i64) -> Value {
    Value::Int(args.iter().map(convert::int).fold(first, run))
}

/// The first argument, and the others one after the other.
fn chained(args: &[Value], run: fn(i64, i64) -> i64) -> Value {
    Value::Int(args.iter().map(convert::int).reduce(run).unwrap_or(0))
}

fn divide(args: &[Value], run: fn(i64, i64) -> i64) -> Result<Value, Fault> {
    match convert::int(arg(args, 1)) {
        0 => Err("integer divide by zero".into()),
        by => Ok(Value::Int(run(convert::int(arg(args, 0)), by))),
    }
}

fn floats(args: &[Value], run: fn(f64, f64) -> f64) -> Value {
    decimal(args.iter().map(convert::float).reduce(run).unwrap_or(0.0))
}

/// A result of decimal arithmetic: `0.1 + 0.2` is 0.3. 15 digits are what a float keeps exactly.
fn decimal(float: f64) -> Value {
    Value::Float(format!("{float:.14e}").parse().unwrap_or(float))
}

/// `value` to `places` decimals; `turn` is the part of the last place that rounds up.
fn round(value: f64, places: i64, turn: f64) -> f64 {
    let scale = 10_f64.powi(i32::try_from(places).unwrap_or(0));
    let digit = scale * value;
    let rounded = if digit.fract() >= turn { digit.ceil() } else { digit.floor() };
    rounded / scale
}

fn steps(start: i64, stop: i64, step: i64, env: &mut Env) -> Result<Vec<Value>, Fault> {
    let mut found = Vec::new();
    let ahead = |at: i64| if step > 0 { at < stop } else { step < 0 && at > stop };
    let mut at = start;
    while ahead(at) {
        env.burn(1)?;
        found.push(Value::Int(at));
        at = at.saturating_add(step);
    }
    Ok(found)
}

/// The numbers from the first to the last argument, both included, as a text; the step stands
/// between them.
fn sequence(args: &[Value], env: &mut Env) -> Result<Value, Fault> {
    let numbers = (0..args.len()).map(|index| int(args, index)).collect::<Result<Vec<_>, _>>()?;
    let (start, step, end) = match numbers.as_slice() {
        [end] => (1, None, *end),
        [start, end] => (*start, None, *end),
        [start, step, end] => (*start, Some(*step), *end),
        _ => return Ok(Value::str("")),
    };
    let direction = if end < start { -1 } else { 1 };
    let step = step.unwrap_or(direction);
    let numbers = steps(start, end.saturating_add(direction), step, env)?;
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    made(&texts.join(" "), env)
}
