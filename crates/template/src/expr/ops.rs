//! Operators on values.

use std::cmp::Ordering;
use std::sync::Arc;

use super::ast::{Binary, Unary};
use crate::env::Env;
use crate::error::Fault;
use crate::go;
use crate::pattern;
use crate::value::Value;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, ZonedDateTime};

/// A value as a condition; nil counts as false.
pub(crate) fn truth(value: &Value) -> Result<bool, Fault> {
    match value {
        Value::Bool(bool) => Ok(*bool),
        Value::Nil => Ok(false),
        other => Err(format!("expected a bool, found {}", other.kind()).into()),
    }
}

/// Whether two values are equal: numbers by value, whatever their type; values of different
/// kinds never.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Str(left), Value::Str(right)) => left == right,
        (Value::Time(left), Value::Time(right)) => left.timestamp() == right.timestamp(),
        (Value::Zone(left), Value::Zone(right)) => left == right,
        (Value::List(left), Value::List(right)) => {
            left.items.len() == right.items.len()
                && left.items.iter().zip(&right.items).all(|(left, right)| equal(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            left.entries.len() == right.entries.len()
                && left
                    .entries
                    .iter()
                    .zip(&right.entries)
                    .all(|(left, right)| left.0 == right.0 && equal(left.1, right.1))
        }
        _ => matches!((left.number(), right.number()), (Some(left), Some(right)) if left == right),
    }
}

/// The order of two values, if they have one.
pub(crate) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Duration(left), Value::Duration(right)) => Some(left.cmp(right)),
        (Value::Str(left), Value::Str(right)) => Some(left.cmp(right)),
        (Value::Time(left), Value::Time(right)) => Some(left.timestamp().cmp(&right.timestamp())),
        _ => left.number()?.partial_cmp(&right.number()?),
    }
}

/// The value of `op operand`.
pub(super) fn unary(op: Unary, operand: &Value) -> Result<Value, Fault> {
    match (op, operand) {
        (Unary::Not, Value::Bool(bool)) => Ok(Value::Bool(!bool)),
        (Unary::Not, Value::Nil) => Ok(Value::Bool(true)),
        (Unary::Minus, Value::Int(int)) => Ok(Value::Int(int.wrapping_neg())),
        (Unary::Minus, Value::Float(float)) => Ok(Value::Float(-float)),
        (Unary::Minus, Value::Duration(nanos)) => Ok(Value::Duration(nanos.wrapping_neg())),
        (Unary::Plus, Value::Int(_) | Value::Float(_)) => Ok(operand.clone()),
        _ => {
            let sign = match op {
                Unary::Not => "not",
                Unary::Minus => "-",
                Unary::Plus => "+",
            };
            Err(format!("operator {sign} is not defined on {}", operand.kind()).into())
        }
    }
}

/// The value of `left op right` for operators that need both sides.
pub(super) fn binary(
    op: Binary,
    left: &Value,
    right: &Value,
    env: &mut Env,
) -> Result<Value, Fault> {
    match op {
        Binary::Equal => {
            env.burn(left.weight())?;
            Ok(Value::Bool(equal(left, right)))
        }
        Binary::NotEqual => {
            env.burn(left.weight())?;
            Ok(Value::Bool(!equal(left, right)))
        }
        Binary::Less => ordered("<", left, right, Ordering::is_lt),
        Binary::LessEqual => ordered("<=", left, right, Ordering::is_le),
        Binary::Greater => ordered(">", left, right, Ordering::is_gt),
        Binary::GreaterEqual => ordered(">=", left, right, Ordering::is_ge),
        Binary::In => contains(left, right, env).map(Value::Bool),
        Binary::Matches => text_test("matches", left, right, env, |text, pattern, env| {
            pattern::matches(pattern, text, env)
        }),
        Binary::Contains => {
            text_test("contains", left, right, env, |text, part, _| Ok(text.contains(part)))
        }
        Binary::StartsWith => {
            text_test("startsWith", left, right, env, |text, part, _| Ok(text.starts_with(part)))
        }
        Binary::EndsWith => {
            text_test("endsWith", left, right, env, |text, part, _| Ok(text.ends_with(part)))
        }
        Binary::Range => range(left, right, env),
        Binary::Add => add(left, right, env),
        Binary::Subtract => subtract(left, right),
        Binary::Multiply => multiply(left, right),
        Binary::Divide => divide(left, right),
        Binary::Remainder => remainder(left, right),
        Binary::Power => match (left.number(), right.number()) {
            (Some(left), Some(right)) => Ok(Value::Float(left.powf(right))),
            _ => Err(mismatch("**", left, right)),
        },
        // The evaluator handles these, as they may leave out their right side.
        Binary::Or | Binary::And | Binary::Coalesce | Binary::Elvis => {
            Err(mismatch("?", left, right))
        }
    }
}

fn mismatch(op: &str, left: &Value, right: &Value) -> Fault {
    let (left, right) = (left.kind(), right.kind());
    Fault::Message(format!("operator {op} is not defined on {left} and {right}"))
}

fn ordered(
    op: &str,
    left: &Value,
    right: &Value,
    holds: fn(Ordering) -> bool,
) -> Result<Value, Fault> {
    if let (Some(left), Some(right)) = (left.number(), right.number())
        && (left.is_nan() || right.is_nan())
    {
        return Ok(Value::Bool(false));
    }
    order(left, right)
        .map(|order| Value::Bool(holds(order)))
        .ok_or_else(|| mismatch(op, left, right))
}

/// Whether `needle in haystack`.
fn contains(needle: &Value, haystack: &Value, env: &mut Env) -> Result<bool, Fault> {
    env.burn(haystack.weight())?;
    match (needle, haystack) {
        (_, Value::Nil) => Ok(false),
        (_, Value::List(list)) => Ok(list.items.iter().any(|item| equal(item, needle))),
        (Value::Str(key), Value::Map(map)) => Ok(map.entries.contains_key(key)),
        (key, Value::Map(map)) => Ok(map.entries.contains_key(key.to_string().as_str())),
        _ => Err(format!("operator in is not defined on {}", haystack.kind()).into()),
    }
}

/// A test of two texts; nil passes none.
fn text_test(
    op: &str,
    left: &Value,
    right: &Value,
    env: &mut Env,
    test: impl Fn(&str, &str, &mut Env) -> Result<bool, Fault>,
) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Str(text), Value::Str(other)) => {
            env.burn(text.len() / 64)?;
            test(text, other, env).map(Value::Bool)
        }
        (Value::Nil, _) | (_, Value::Nil) => Ok(Value::Bool(false)),
        _ => Err(mismatch(op, left, right)),
    }
}

fn range(left: &Value, right: &Value, env: &mut Env) -> Result<Value, Fault> {
    let (Value::Int(first), Value::Int(last)) = (left, right) else {
        return Err(mismatch("..", left, right));
    };
    let len = last.checked_sub(*first).and_then(|len| len.checked_add(1)).unwrap_or(i64::MAX);
    env.burn(usize::try_from(len.max(0)).unwrap_or(usize::MAX))?;
    Value::list((*first..=*last).map(Value::Int).collect())
}

fn add(left: &Value, right: &Value, env: &mut Env) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Ok(Value::Int(left.wrapping_add(*right))),
        (Value::Str(left), Value::Str(right)) => {
            env.produce(left.len() + right.len())?;
            Ok(Value::str(format!("{left}{right}")))
        }
        (Value::Duration(left), Value::Duration(right)) => {
            Ok(Value::Duration(left.wrapping_add(*right)))
        }
        (Value::Time(time), Value::Duration(nanos))
        | (Value::Duration(nanos), Value::Time(time)) => shift(time, *nanos),
        _ => floats("+", left, right, |left, right| left + right),
    }
}

fn subtract(left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Ok(Value::Int(left.wrapping_sub(*right))),
        (Value::Duration(left), Value::Duration(right)) => {
            Ok(Value::Duration(left.wrapping_sub(*right)))
        }
        (Value::Time(time), Value::Duration(nanos)) => shift(time, nanos.wrapping_neg()),
        (Value::Time(left), Value::Time(right)) => Ok(since(left, right)),
        // Times of a scope are texts, as JSON has no times.
        (Value::Time(time), Value::Str(text)) => {
            let other = rfc3339(text).ok_or_else(|| mismatch("-", left, right))?;
            Ok(since(time, &other))
        }
        (Value::Str(text), Value::Time(time)) => {
            let other = rfc3339(text).ok_or_else(|| mismatch("-", left, right))?;
            Ok(since(&other, time))
        }
        _ => floats("-", left, right, |left, right| left - right),
    }
}

fn rfc3339(text: &str) -> Option<ZonedDateTime> {
    go::time::parse(go::time::RFC3339, text, &TimeZone::UTC).ok()
}

/// The time `nanos` later.
pub(crate) fn shift(time: &ZonedDateTime, nanos: i64) -> Result<Value, Fault> {
    let later = time.checked_add(SignedDuration::from_nanos(nanos));
    later
        .map(|time| Value::Time(Arc::new(time)))
        .map_err(|_| Fault::from("the time is out of range"))
}

/// The duration from `earlier` to `later`, at most what 64 bits of nanoseconds hold (292 years).
pub(crate) fn since(later: &ZonedDateTime, earlier: &ZonedDateTime) -> Value {
    let nanos = later.timestamp().as_nanosecond() - earlier.timestamp().as_nanosecond();
    let bound = if nanos < 0 { i64::MIN } else { i64::MAX };
    Value::Duration(i64::try_from(nanos).unwrap_or(bound))
}

fn floats(op: &str, left: &Value, right: &Value, run: fn(f64, f64) -> f64) -> Result<Value, Fault> {
    match (left.number(), right.number()) {
        (Some(left), Some(right)) => Ok(Value::Float(run(left, right))),
        _ => Err(mismatch(op, left, right)),
    }
}

fn multiply(left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Ok(Value::Int(left.wrapping_mul(*right))),
        (Value::Duration(nanos), Value::Int(times))
        | (Value::Int(times), Value::Duration(nanos)) => {
            Ok(Value::Duration(nanos.wrapping_mul(*times)))
        }
        (Value::Duration(nanos), Value::Float(times))
        | (Value::Float(times), Value::Duration(nanos)) => {
            Ok(Value::Duration(float_to_int(int_to_float(*nanos) * times)))
        }
        _ => floats("*", left, right, |left, right| left * right),
    }
}

/// A quotient is a float, also that of two integers.
fn divide(left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Duration(nanos), Value::Int(parts)) if *parts != 0 => {
            Ok(Value::Duration(nanos.wrapping_div(*parts)))
        }
        _ => floats("/", left, right, |left, right| left / right),
    }
}

fn remainder(left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) => Err("integer divide by zero".into()),
        (Value::Int(left), Value::Int(right)) => Ok(Value::Int(left.wrapping_rem(*right))),
        _ => Err(mismatch("%", left, right)),
    }
}

/// The nearest float.
#[expect(clippy::cast_precision_loss, reason = "Go converts in the same way")]
pub(crate) fn int_to_float(int: i64) -> f64 {
    int as f64
}

/// The integer part, at most what 64 bits hold.
#[expect(clippy::cast_possible_truncation, reason = "dropping the fraction is the purpose")]
pub(crate) fn float_to_int(float: f64) -> i64 {
    float as i64
}

/// The integer that a number is as an index or a count.
pub(crate) fn integer(value: &Value) -> Result<i64, Fault> {
    match value {
        Value::Int(int) => Ok(*int),
        Value::Float(float) => Ok(float_to_int(*float)),
        other => Err(format!("expected an integer, found {}", other.kind()).into()),
    }
}

/// The place in a list of `len` items that `index` means: from the end if negative.
pub(crate) fn place(index: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    let index = if index < 0 { index.checked_add(len)? } else { index };
    if index < len { usize::try_from(index).ok() } else { None }
}

/// The value of `object[key]` or `object.key`. A key that a map lacks gives nil.
pub(crate) fn member(object: &Value, key: &Value) -> Result<Value, Fault> {
    let out_of_range =
        |index, len| Fault::Message(format!("index out of range: {index} (array length is {len})"));
    match (object, key) {
        (Value::Map(map), Value::Str(key)) => {
            Ok(map.entries.get(key).cloned().unwrap_or(Value::Nil))
        }
        (Value::Map(map), key) => {
            Ok(map.entries.get(key.to_string().as_str()).cloned().unwrap_or(Value::Nil))
        }
        (Value::List(list), Value::Int(_) | Value::Float(_)) => {
            let index = integer(key)?;
            let item = place(index, list.items.len()).and_then(|at| list.items.get(at));
            item.cloned().ok_or_else(|| out_of_range(index, list.items.len()))
        }
        (Value::Str(text), Value::Int(_) | Value::Float(_)) => {
            let index = integer(key)?;
            let byte = place(index, text.len()).and_then(|at| text.as_bytes().get(at));
            let byte = byte.ok_or_else(|| out_of_range(index, text.len()))?;
            Ok(Value::Int(i64::from(*byte)))
        }
        _ => Err(format!("cannot fetch {key} from {}", object.kind()).into()),
    }
}

/// The value of `object[from:to]`; bounds outside are moved to the ends.
pub(super) fn slice(
    object: &Value,
    from: Option<&Value>,
    to: Option<&Value>,
    env: &mut Env,
) -> Result<Value, Fault> {
    let len = match object {
        Value::List(list) => list.items.len(),
        Value::Str(text) => text.len(),
        _ => return Err(format!("cannot slice {}", object.kind()).into()),
    };
    let bound = |value: Option<&Value>, default: usize| {
        let Some(value) = value else { return Ok(default) };
        let index = integer(value)?;
        let signed = i64::try_from(len).unwrap_or(i64::MAX);
        let index = if index < 0 { index.saturating_add(signed) } else { index };
        Ok::<_, Fault>(usize::try_from(index.clamp(0, signed)).unwrap_or(len))
    };
    let to = bound(to, len)?;
    let from = bound(from, 0)?.min(to);
    match object {
        Value::List(list) => {
            env.burn(to - from)?;
            Value::list(list.items.get(from..to).unwrap_or(&[]).to_vec())
        }
        Value::Str(text) => {
            env.produce(to - from)?;
            let bytes = text.as_bytes().get(from..to).unwrap_or(&[]);
            Ok(Value::str(String::from_utf8_lossy(bytes)))
        }
        _ => Ok(Value::Nil),
    }
}
