//! Durations such as `1h2m3s` and `1.5h`, counted in nanoseconds.

use crate::error::{Error, Result};

/// Unit names with their length in nanoseconds, longest names first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];

const SECOND: u64 = 1_000_000_000;

/// The nanoseconds of a text in the form of Go's `time.ParseDuration`: an optional sign, then
/// decimal numbers each with a unit (`ns`, `us`, `ms`, `s`, `m`, `h`); or a plain `0`.
///
/// # Errors
/// [`Error::Syntax`] if the text has another form or does not fit 64 bits.
pub fn parse(text: &str) -> Result<i64> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if unsigned == "0" {
        return Ok(0);
    }
    let nanos = sum(unsigned).filter(|_| !unsigned.is_empty()).ok_or_else(|| invalid(text))?;
    let signed = if negative { -i128::from(nanos) } else { i128::from(nanos) };
    i64::try_from(signed).map_err(|_| invalid(text))
}

/// The same, where a bare whole number counts seconds, as in `activeDeadlineSeconds`-like fields
/// that accept both (`backoff.duration`, `timeout`, `suspend.duration`).
///
/// # Errors
/// As [`parse`].
pub fn parse_or_seconds(text: &str) -> Result<i64> {
    match text.parse::<i64>() {
        Ok(seconds) => seconds.checked_mul(1_000_000_000).ok_or_else(|| invalid(text)),
        Err(_) => parse(text),
    }
}

/// The text of Go's `Duration.String`: `1h2m3.5s`, `1.5ms`, `0s`.
pub fn format(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let short = match size {
        0 => return "0s".to_owned(),
        1..1_000 => Some((1, "ns")),
        1_000..1_000_000 => Some((1_000, "µs")),
        1_000_000..SECOND => Some((1_000_000, "ms")),
        _ => None,
    };
    if let Some((unit, name)) = short {
        return format!("{sign}{}{name}", decimal(size, unit));
    }
    let (minutes, rest) = (size / (60 * SECOND), size % (60 * SECOND));
    let seconds = decimal(rest, SECOND);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

fn invalid(text: &str) -> Error {
    Error::Syntax { at: 0, message: format!("invalid duration {text:?}") }
}

/// The sum of all parts, or nothing if a part is malformed or the sum overflows.
fn sum(mut rest: &str) -> Option<u64> {
    let mut total = 0_u64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let (_, unit) = UNITS.into_iter().find(|(unit, _)| *unit == name)?;
        total = total.checked_add(part(number, unit)?)?;
        rest = after;
    }
    Some(total)
}

/// `number` times `unit`; digits beyond a nanosecond are dropped, as in Go.
fn part(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    let mut nanos = whole.checked_mul(unit)?;
    let mut place = u128::from(unit);
    let mut below = 0_u128;
    let mut scale = 1_u128;
    for digit in fraction.bytes().take(18) {
        scale *= 10;
        below = below * 10 + u128::from(digit - b'0');
    }
    place = place * below / scale;
    nanos = nanos.checked_add(u64::try_from(place).ok()?)?;
    Some(nanos)
}

/// `size / unit` with as many decimals as it takes.
fn decimal(size: u64, unit: u64) -> String {
    let (whole, rest) = (size / unit, size % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn durations_parse_as_in_go() {
        let cases = [
            ("0", 0),
            ("5s", 5_000 * MS),
            ("30s", 30_000 * MS),
            ("1478s", 1_478_000 * MS),
            ("-5s", -5_000 * MS),
            ("+5s", 5_000 * MS),
            ("-0", 0),
            ("5.0s", 5_000 * MS),
            ("5.6s", 5_600 * MS),
            ("5.s", 5_000 * MS),
            (".5s", 500 * MS),
            ("10ns", 10),
            ("11us", 11_000),
            ("12µs", 12_000),
            ("12μs", 12_000),
            ("13ms", 13 * MS),
            ("14s", 14_000 * MS),
            ("15m", 900_000 * MS),
            ("16h", 57_600_000 * MS),
            ("3h30m", 12_600_000 * MS),
            ("10.5s4m", 250_500 * MS),
            ("-2m3.4s", -123_400 * MS),
            ("0.100000000000000000000h", 360_000 * MS),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_durations() {
        for text in
            ["", "3", "-", "s", ".", "-.", ".s", "+.s", "1d", "9223372036854775808ns", "1 s"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bare_numbers_count_seconds_where_both_are_accepted() {
        assert_eq!(parse_or_seconds("10").unwrap(), 10_000 * MS);
        assert_eq!(parse_or_seconds("2m").unwrap(), 120_000 * MS);
        assert!(parse_or_seconds("1.5").is_err());
        assert!(parse_or_seconds("9223372036854775807").is_err());
    }

    #[test]
    fn durations_format_as_in_go() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (245_000_000_000, "4m5s"),
            (245_001_000_000, "4m5.001s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (480_000_000_001, "8m0.000000001s"),
            (3_600_000_000_000, "1h0m0s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(format(nanos), expected);
        }
    }
}
