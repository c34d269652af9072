//! What an unquoted scalar means in YAML 1.1, as the reader of Kubernetes' tooling has it
//! (go-yaml v2 `resolve.go`).

use serde_json::Number;

use super::node::Value;

/// The value of an unquoted scalar; `None` for one that JSON cannot hold (`.inf`, `.nan`).
pub(super) fn resolve(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            return Some(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            return Some(Value::Bool(false));
        }
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return Some(Value::Text(text.into()));
    }
    let plain = text.trim_start_matches(['+', '-']);
    if matches!(plain, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return None;
    }
    match whole(text).or_else(|| float(text)) {
        Some(number) => Some(Value::Number(number)),
        None => Some(Value::Text(text.into())),
    }
}

/// Decimal, `0x`, `0b`, `0o`, and octal with a leading zero; underscores between digits.
fn whole(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.replace('_', "");
    let (radix, digits) = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some(two) if two.starts_with('0') => (8, &digits[1..]),
        _ => (10, &digits[..]),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    if negative { 0i64.checked_sub_unsigned(size).map(Number::from) } else { Some(size.into()) }
}

fn float(text: &str) -> Option<Number> {
    let rest = text.trim_start_matches(['+', '-']);
    let mantissa = rest.split(['e', 'E']).next().unwrap_or_default();
    let shaped = mantissa.contains(|c: char| c.is_ascii_digit())
        && rest.chars().all(|c| c.is_ascii_digit() || ".eE+-_".contains(c))
        && text.len() - rest.len() <= 1;
    if !shaped {
        return None;
    }
    Number::from_f64(text.replace('_', "").parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_scalars_read_as_in_yaml_1_1() {
        let number = |n: i64| Some(Value::Number(n.into()));
        let text = |t: &str| Some(Value::Text(t.into()));
        for (source, value) in [
            ("yes", Some(Value::Bool(true))),
            ("Off", Some(Value::Bool(false))),
            ("~", Some(Value::Null)),
            ("0644", number(0o644)),
            ("0o644", number(0o644)),
            ("0x1F", number(31)),
            ("0b11", number(3)),
            ("-10", number(-10)),
            ("+1_000", number(1000)),
            ("0", number(0)),
            ("1.50", Number::from_f64(1.5).map(Value::Number)),
            ("1e3", Number::from_f64(1000.0).map(Value::Number)),
            (".5", Number::from_f64(0.5).map(Value::Number)),
            // No base 60, no dates: both are texts.
            ("1:30", text("1:30")),
            ("2020-01-01", text("2020-01-01")),
            ("089", Number::from_f64(89.0).map(Value::Number)),
            ("1.2.3", text("1.2.3")),
            ("-", text("-")),
            ("--1", text("--1")),
            ("1-1", text("1-1")),
            ("-9223372036854775808", number(i64::MIN)),
            (".nan", None),
            ("-.inf", None),
        ] {
            assert_eq!(resolve(source), value, "{source}");
        }
    }
}
