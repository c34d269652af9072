//! Times as people read them.

use argosy_template::go;

/// Unix ms of an RFC 3339 text; `None` for anything else.
pub(crate) fn parse(text: Option<&str>) -> Option<i64> {
    go::time::parse_ms(go::time::RFC3339, text?).ok()
}

/// A length of time in its two largest units: `9s`, `3m10s`, `2h5m`, `4d3h`.
pub(crate) fn duration(ms: i64) -> String {
    let seconds = (ms.max(0) + 500) / 1000;
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let first = parts.iter().position(|(count, _)| *count > 0).unwrap_or(3);
    parts
        .iter()
        .skip(first)
        .take(2)
        .filter(|(count, unit)| *count > 0 || *unit == "s" && first == 3)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect()
}

/// The largest unit of a length of time, as lists show an age.
pub(crate) fn age(ms: i64) -> String {
    let text = duration(ms);
    let end = text.find(|c: char| c.is_ascii_alphabetic()).map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

/// `START (AGE ago)`.
pub(crate) fn since(text: Option<&str>, now_ms: i64) -> String {
    match parse(text) {
        Some(at) => format!("{} ({} ago)", text.unwrap_or_default(), age(now_ms - at)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_show_their_two_largest_units() {
        for (ms, long, short) in [
            (0, "0s", "0s"),
            (400, "0s", "0s"),
            (9_000, "9s", "9s"),
            (190_000, "3m10s", "3m"),
            (7_500_000, "2h5m", "2h"),
            (3_600_000, "1h", "1h"),
            (100 * 3_600_000, "4d4h", "4d"),
        ] {
            assert_eq!((duration(ms).as_str(), age(ms).as_str()), (long, short));
        }
    }
}
