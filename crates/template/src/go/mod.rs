//! Numbers, durations and times in the notation of Go, whose formats users write in manifests.

pub mod duration;
mod layout;
mod reader;
pub mod time;

/// A float as Go's `%v` prints it: the shortest digits that read back the same, in scientific
/// notation below 1e-4 and from 1e6 on.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = split(&scientific);
    if value != 0.0 && !(-4..6).contains(&exponent) {
        return format!("{digits}e{}{:02}", sign(exponent), exponent.unsigned_abs());
    }
    value.to_string()
}

/// A finite float as Go's `json.Marshal` writes it.
pub(crate) fn json_float(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let scientific = format!("{value:e}");
        let (digits, exponent) = split(&scientific);
        return format!("{digits}e{}{}", sign(exponent), exponent.unsigned_abs());
    }
    value.to_string()
}

/// A text between double quotes, with the escapes of Go (`strconv.Quote`).
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn split(scientific: &str) -> (&str, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

fn sign(exponent: i32) -> char {
    if exponent < 0 { '-' } else { '+' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_go() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (-2.25, "-2.25"),
            (100_000.0, "100000"),
            (123_456_789.0, "1.23456789e+08"),
            (1e6, "1e+06"),
            (1e20, "1e+20"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::INFINITY, "+Inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, expected) in cases {
            assert_eq!(float(value), expected);
        }
    }
}
