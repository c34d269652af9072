//! Lenient conversions: what does not fit becomes zero.

use crate::expr::ops;
use crate::value::Value;

/// Any value as an integer. Texts may have a base prefix and a fraction of zeros.
pub(super) fn int(value: &Value) -> i64 {
    match value {
        Value::Int(int) | Value::Duration(int) => *int,
        Value::Float(float) => ops::float_to_int(*float),
        Value::Bool(bool) => i64::from(*bool),
        Value::Str(text) => parse_int(text).unwrap_or(0),
        _ => 0,
    }
}

/// Any value as a float.
pub(super) fn float(value: &Value) -> f64 {
    match value {
        Value::Bool(bool) => f64::from(u8::from(*bool)),
        Value::Str(text) => text.parse().unwrap_or(0.0),
        other => other.number().unwrap_or(0.0),
    }
}

fn parse_int(text: &str) -> Option<i64> {
    let text = match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = match lower.get(..2) {
        Some("0x") => (lower.get(2..)?, 16),
        Some("0b") => (lower.get(2..)?, 2),
        Some("0o") => (lower.get(2..)?, 8),
        _ if lower.len() > 1 && lower.starts_with('0') => (lower.get(1..)?, 8),
        _ => (lower.as_str(), 10),
    };
    let size = i64::from_str_radix(digits, radix).ok()?;
    Some(if negative { -size } else { size })
}

/// Whether a value counts as not given: nil, false, zero, and what is empty.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::Bool(bool) => !bool,
        Value::Int(int) | Value::Duration(int) => *int == 0,
        Value::Float(float) => *float == 0.0,
        Value::Str(text) => text.is_empty(),
        Value::List(list) => list.items.is_empty(),
        Value::Map(map) => map.entries.is_empty(),
        Value::Time(_) | Value::Zone(_) => false,
    }
}
