//! Reading the reference time `Mon Jan 2 15:04:05 MST 2006` out of a layout.

/// One element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    Pm,
    LowerPm,
    ZoneName,
    Offset(Offset),
    /// `.000`: this many digits. The separator is as in the layout.
    Fraction {
        digits: usize,
        separator: char,
        /// `.999`: trailing zeros are dropped.
        trim: bool,
    },
}

/// How a zone's offset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// `Z` stands for UTC.
    pub(super) z: bool,
    pub(super) colon: bool,
    /// Hours only, hours and minutes, or seconds as well: 1 to 3.
    pub(super) parts: u8,
}

const FIXED: [(&str, Element); 22] = [
    ("January", Element::LongMonth),
    ("Monday", Element::LongWeekDay),
    ("MST", Element::ZoneName),
    ("01", Element::ZeroMonth),
    ("002", Element::ZeroYearDay),
    ("02", Element::ZeroDay),
    ("03", Element::ZeroHour12),
    ("04", Element::ZeroMinute),
    ("05", Element::ZeroSecond),
    ("06", Element::Year),
    ("15", Element::Hour),
    ("1", Element::NumMonth),
    ("2006", Element::LongYear),
    ("2", Element::Day),
    ("__2", Element::UnderYearDay),
    ("_2", Element::UnderDay),
    ("3", Element::Hour12),
    ("4", Element::Minute),
    ("5", Element::Second),
    ("PM", Element::Pm),
    ("pm", Element::LowerPm),
    ("Jan", Element::Month),
];

const OFFSETS: [(&str, bool, u8); 5] = [
    ("070000", false, 3),
    ("07:00:00", true, 3),
    ("0700", false, 2),
    ("07:00", true, 2),
    ("07", false, 1),
];

/// Splits a layout at its first element: the text before, the element, the layout after.
pub(super) fn next(layout: &str) -> Option<(&str, Element, &str)> {
    layout.char_indices().find_map(|(at, _)| {
        let (before, rest) = layout.split_at(at);
        let (element, len) = element(rest)?;
        // `_2006` is a literal underscore before the year.
        if element == Element::UnderDay && rest.starts_with("_2006") {
            return Some((&layout[..=at], Element::LongYear, &rest["_2006".len()..]));
        }
        Some((before, element, &rest[len..]))
    })
}

/// The element that `rest` starts with, and its length.
fn element(rest: &str) -> Option<(Element, usize)> {
    if let Some((name, element)) = FIXED.into_iter().find(|(name, _)| rest.starts_with(name)) {
        let word = rest
            .strip_prefix(name)
            .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_lowercase()));
        // `Janet` is no month.
        return (!(word && element == Element::Month)).then_some((element, name.len()));
    }
    match rest.chars().next()? {
        'M' if rest.starts_with("Mon") => {
            let word = rest[3..].starts_with(|c: char| c.is_ascii_lowercase());
            (!word).then_some((Element::WeekDay, 3))
        }
        sign @ ('-' | 'Z') => OFFSETS.into_iter().find_map(|(form, colon, parts)| {
            let z = sign == 'Z';
            rest[1..]
                .starts_with(form)
                .then_some((Element::Offset(Offset { z, colon, parts }), 1 + form.len()))
        }),
        separator @ ('.' | ',') => fraction(separator, &rest[1..]),
        _ => None,
    }
}

/// A run of `0` or `9` that no other digit follows.
fn fraction(separator: char, rest: &str) -> Option<(Element, usize)> {
    let digit = rest.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let digits = rest.chars().take_while(|c| *c == digit).count();
    let ends = !rest[digits..].starts_with(|c: char| c.is_ascii_digit());
    ends.then_some((Element::Fraction { digits, separator, trim: digit == '9' }, 1 + digits))
}
