//! Times by Go layouts and by the letters of `workflow.creationTimestamp.<letter>`.

use std::sync::LazyLock;

use jiff::civil::Weekday;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ZonedDateTime};

use super::layout::{self, Element, Offset};
use super::reader::Reader;
use crate::error::{Error, Result};

/// RFC 3339 to the second.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";
/// RFC 3339 with as many decimals as it takes.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The strftime letters that have a meaning, with their Go layout.
const LETTERS: [(char, &str); 16] = [
    ('B', "January"),
    ('b', "Jan"),
    ('m', "01"),
    ('A', "Monday"),
    ('a', "Mon"),
    ('d', "02"),
    ('H', "15"),
    ('I', "03"),
    ('M', "04"),
    ('S', "05"),
    ('Y', "2006"),
    ('y', "06"),
    ('p', "PM"),
    ('Z', "MST"),
    ('z', "-0700"),
    ('L', ".000"),
];

/// The letters that [`strftime_letter_ms`] knows.
pub const STRFTIME_LETTERS: [char; 16] = {
    let mut letters = [' '; 16];
    let mut at = 0;
    while at < letters.len() {
        letters[at] = LETTERS[at].0;
        at += 1;
    }
    letters
};

/// Bundled, so that a schedule means the same on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The text of `unix_ms` (milliseconds since the epoch) in UTC by a Go layout.
pub fn format_ms(layout: &str, unix_ms: i64) -> String {
    format(layout, &at_ms(unix_ms, TimeZone::UTC))
}

/// The milliseconds since the epoch of a text by a Go layout; without an offset it is UTC.
///
/// # Errors
/// [`Error::Syntax`] at the first byte that does not fit the layout.
pub fn parse_ms(layout: &str, text: &str) -> Result<i64> {
    Ok(parse(layout, text, &TimeZone::UTC)?.timestamp().as_millisecond())
}

/// The text of one strftime letter (`Y`, `m`, `d`, ...) for `unix_ms` in UTC, or nothing if the
/// letter has no meaning. These are the formats of `workflow.creationTimestamp.<letter>`.
pub fn strftime_letter_ms(letter: char, unix_ms: i64) -> Option<String> {
    let (_, layout) = LETTERS.into_iter().find(|(known, _)| *known == letter)?;
    Some(format_ms(layout, unix_ms))
}

/// The zone of an IANA name. `Local` is UTC, as the machine's zone must not matter.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    match name {
        "" | "UTC" | "Local" => Some(TimeZone::UTC),
        _ => ZONES.get(name).ok(),
    }
}

/// The time at `unix_ms`, clamped to the years -9999 to 9999.
pub(crate) fn at_ms(unix_ms: i64, zone: TimeZone) -> ZonedDateTime {
    let clamped = if unix_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(unix_ms).unwrap_or(clamped).to_zoned_datetime(zone)
}

/// The text of a time by a Go layout.
pub(crate) fn format(mut layout: &str, time: &ZonedDateTime) -> String {
    let mut out = String::new();
    while let Some((before, element, after)) = layout::next(layout) {
        out.push_str(before);
        write(&mut out, element, time);
        layout = after;
    }
    out.push_str(layout);
    out
}

fn write(out: &mut String, element: Element, time: &ZonedDateTime) {
    let hour12 = (time.hour() + 11) % 12 + 1;
    let month = MONTHS[usize::from(time.month().unsigned_abs()) - 1];
    let day = DAYS[usize::from(time.weekday().to_sunday_zero_offset().unsigned_abs())];
    let pm = time.hour() >= 12;
    out.push_str(&match element {
        Element::LongMonth => month.to_owned(),
        Element::Month => month[..3].to_owned(),
        Element::NumMonth => time.month().to_string(),
        Element::ZeroMonth => format!("{:02}", time.month()),
        Element::LongWeekDay => day.to_owned(),
        Element::WeekDay => day[..3].to_owned(),
        Element::Day => time.day().to_string(),
        Element::UnderDay => format!("{:2}", time.day()),
        Element::ZeroDay => format!("{:02}", time.day()),
        Element::UnderYearDay => format!("{:3}", time.day_of_year()),
        Element::ZeroYearDay => format!("{:03}", time.day_of_year()),
        Element::Hour => format!("{:02}", time.hour()),
        Element::Hour12 => hour12.to_string(),
        Element::ZeroHour12 => format!("{hour12:02}"),
        Element::Minute => time.minute().to_string(),
        Element::ZeroMinute => format!("{:02}", time.minute()),
        Element::Second => time.second().to_string(),
        Element::ZeroSecond => format!("{:02}", time.second()),
        Element::LongYear => format!("{:04}", time.year()),
        Element::Year => format!("{:02}", time.year().rem_euclid(100)),
        Element::Pm => if pm { "PM" } else { "AM" }.to_owned(),
        Element::LowerPm => if pm { "pm" } else { "am" }.to_owned(),
        Element::ZoneName => zone_name(time),
        Element::Offset(form) => offset(form, time.offset().seconds()),
        Element::Fraction { digits, separator, trim } => {
            fraction(time.subsec_nanosecond(), digits, separator, trim)
        }
    });
}

fn zone_name(time: &ZonedDateTime) -> String {
    let info = time.time_zone().to_offset_info(time.timestamp());
    info.abbreviation().to_owned()
}

fn offset(form: Offset, seconds: i32) -> String {
    if form.z && seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let size = seconds.unsigned_abs();
    let colon = if form.colon { ":" } else { "" };
    let mut out = format!("{sign}{:02}", size / 3_600);
    if form.parts > 1 {
        out.push_str(&format!("{colon}{:02}", size / 60 % 60));
    }
    if form.parts > 2 {
        out.push_str(&format!("{colon}{:02}", size % 60));
    }
    out
}

fn fraction(nanos: i32, digits: usize, separator: char, trim: bool) -> String {
    let nine = format!("{nanos:09}");
    let mut text = nine[..digits.min(9)].to_owned();
    if trim {
        text.truncate(text.trim_end_matches('0').len());
        if text.is_empty() {
            return text;
        }
    }
    format!("{separator}{text:0<digits$}", digits = if trim { 0 } else { digits })
}

/// The time of a text by a Go layout, in `zone` unless the text has an offset.
///
/// # Errors
/// [`Error::Syntax`] at the first byte that does not fit the layout.
pub(crate) fn parse(layout: &str, text: &str, zone: &TimeZone) -> Result<ZonedDateTime> {
    let mut reader = Reader::new(text);
    let read = reader.read(layout).filter(|()| reader.rest.is_empty());
    let time = read.and_then(|()| reader.fields.zoned(zone));
    time.ok_or_else(|| Error::Syntax {
        at: text.len() - reader.rest.len(),
        message: format!("cannot parse {text:?} as a time of the form {layout:?}"),
    })
}

/// The number of a weekday with Sunday as zero, as Go counts.
pub(crate) fn weekday(day: Weekday) -> i64 {
    i64::from(day.to_sunday_zero_offset())
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
