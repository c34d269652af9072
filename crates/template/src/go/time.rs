//! Times by Go layouts and by the letters of `workflow.creationTimestamp.<letter>`.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{Offset as ZoneOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ZonedDateTime};

use super::layout::{self, Element, Offset};
use crate::error::{Error, Result};

/// RFC 3339 to the second.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";
/// RFC 3339 with as many decimals as it takes.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

pub(super) const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
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
    let mut reader = Reader { rest: text, fields: Fields::default() };
    let fields = reader.read(layout).and_then(|()| {
        if reader.rest.is_empty() { Some(reader.fields) } else { None }
    });
    let at = text.len() - reader.rest.len();
    let wrong = || Error::Syntax {
        at,
        message: format!("cannot parse {text:?} as a time of the form {layout:?}"),
    };
    fields.and_then(|fields| fields.zoned(zone)).ok_or_else(wrong)
}

/// The parts of a time as they are read. Months and days of zero are not given.
#[derive(Debug, Clone, Copy, Default)]
struct Fields {
    year: i16,
    month: i8,
    day: i8,
    year_day: i16,
    hour: i8,
    minute: i8,
    second: i8,
    nanos: i32,
    pm: Option<bool>,
    offset: Option<i32>,
    /// A zone's name was given, which only counts if it is the zone's own.
    named: bool,
}

impl Fields {
    fn zoned(self, zone: &TimeZone) -> Option<ZonedDateTime> {
        let hour = match self.pm {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let date = if self.year_day > 0 {
            Date::new(self.year, 1, 1).ok()?.with().day_of_year(self.year_day).build().ok()?
        } else {
            Date::new(self.year, self.month.max(1), self.day.max(1)).ok()?
        };
        let time = jiff::civil::Time::new(hour, self.minute, self.second, self.nanos).ok()?;
        let civil = DateTime::from_parts(date, time);
        match self.offset {
            Some(0) if !self.named => civil.to_zoned_datetime(TimeZone::UTC).ok(),
            Some(seconds) => civil.to_zoned_datetime(own_or_fixed(zone, civil, seconds)?).ok(),
            None => civil.to_zoned_datetime(zone.clone()).ok(),
        }
    }
}

/// The zone itself where it has this offset at this time, else a zone of that offset only.
fn own_or_fixed(zone: &TimeZone, civil: DateTime, seconds: i32) -> Option<TimeZone> {
    let own = civil.to_zoned_datetime(zone.clone()).ok()?;
    if own.offset().seconds() == seconds {
        return Some(zone.clone());
    }
    Some(TimeZone::fixed(ZoneOffset::from_seconds(seconds).ok()?))
}

struct Reader<'a> {
    rest: &'a str,
    fields: Fields,
}

impl<'a> Reader<'a> {
    fn read(&mut self, mut layout: &str) -> Option<()> {
        while let Some((before, element, after)) = layout::next(layout) {
            self.literal(before)?;
            self.element(element)?;
            if matches!(element, Element::Second | Element::ZeroSecond) {
                self.unannounced_fraction(after);
            }
            layout = after;
        }
        self.literal(layout)
    }

    /// Text of the layout; a run of spaces matches any run of spaces.
    fn literal(&mut self, text: &str) -> Option<()> {
        for c in text.chars() {
            if c == ' ' {
                self.rest = self.rest.trim_start_matches(' ');
            } else {
                self.rest = self.rest.strip_prefix(c)?;
            }
        }
        Some(())
    }

    fn element(&mut self, element: Element) -> Option<()> {
        match element {
            Element::LongMonth => self.fields.month = self.name(&MONTHS, usize::MAX)? + 1,
            Element::Month => self.fields.month = self.name(&MONTHS, 3)? + 1,
            Element::NumMonth => self.fields.month = self.month(1)?,
            Element::ZeroMonth => self.fields.month = self.month(2)?,
            Element::LongWeekDay => drop(self.name(&DAYS, usize::MAX)?),
            Element::WeekDay => drop(self.name(&DAYS, 3)?),
            Element::UnderDay => {
                self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
                self.fields.day = self.day(1)?;
            }
            Element::Day => self.fields.day = self.day(1)?,
            Element::ZeroDay => self.fields.day = self.day(2)?,
            Element::UnderYearDay | Element::ZeroYearDay => {
                self.rest = self.rest.trim_start_matches(' ');
                self.fields.year_day = i16::try_from(self.number(1, 3)?).ok()?;
            }
            Element::Hour => self.fields.hour = self.below(2, 24)?,
            Element::Hour12 => self.fields.hour = self.below(1, 13)?,
            Element::ZeroHour12 => self.fields.hour = self.below(2, 13)?,
            Element::Minute => self.fields.minute = self.below(1, 60)?,
            Element::ZeroMinute => self.fields.minute = self.below(2, 60)?,
            Element::Second => self.fields.second = self.below(1, 60)?,
            Element::ZeroSecond => self.fields.second = self.below(2, 60)?,
            Element::LongYear => self.fields.year = i16::try_from(self.number(4, 4)?).ok()?,
            Element::Year => {
                let year = i16::try_from(self.number(2, 2)?).ok()?;
                self.fields.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Element::Pm => self.fields.pm = Some(self.pm("AM", "PM")?),
            Element::LowerPm => self.fields.pm = Some(self.pm("am", "pm")?),
            Element::ZoneName => self.zone_name()?,
            Element::Offset(form) => self.offset(form)?,
            Element::Fraction { digits, separator: _, trim } => self.fraction(digits, trim)?,
        }
        Some(())
    }

    /// The index of the name that follows, in any case.
    fn name(&mut self, names: &[&str], len: usize) -> Option<i8> {
        let index = names.iter().position(|name| {
            let name = &name[..len.min(name.len())];
            self.rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
        })?;
        let name = names.get(index)?;
        self.rest = self.rest.get(len.min(name.len())..)?;
        i8::try_from(index).ok()
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        if digits < least { None } else { number.parse().ok() }
    }

    fn below(&mut self, least: usize, bound: i8) -> Option<i8> {
        let number = i8::try_from(self.number(least, 2)?).ok()?;
        (number < bound).then_some(number)
    }

    fn month(&mut self, least: usize) -> Option<i8> {
        self.below(least, 13).filter(|month| *month > 0)
    }

    fn day(&mut self, least: usize) -> Option<i8> {
        self.below(least, 32).filter(|day| *day > 0)
    }

    fn pm(&mut self, am: &str, pm: &str) -> Option<bool> {
        let is_pm = self.rest.starts_with(pm);
        self.rest = self.rest.strip_prefix(if is_pm { pm } else { am })?;
        Some(is_pm)
    }

    /// Three or four capitals. Only UTC has an offset of its own here; other names count as
    /// fabricated with offset zero, as in Go, unless they are the zone's own.
    fn zone_name(&mut self) -> Option<()> {
        let len = self.rest.bytes().take_while(u8::is_ascii_uppercase).count();
        if !(3..=4).contains(&len) {
            return None;
        }
        let (name, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.fields.named = name != "UTC" && name != "GMT";
        if !self.fields.named {
            self.fields.offset = Some(0);
        }
        Some(())
    }

    fn offset(&mut self, form: Offset) -> Option<()> {
        if form.z
            && let Some(rest) = self.rest.strip_prefix('Z')
        {
            self.rest = rest;
            self.fields.offset = Some(0);
            return Some(());
        }
        let sign = if self.rest.starts_with('-') { -1 } else { 1 };
        self.rest = self.rest.strip_prefix(['+', '-'])?;
        let mut seconds = i32::try_from(self.number(2, 2)?).ok()? * 3_600;
        for (part, unit) in [(2, 60), (3, 1)] {
            if form.parts >= part {
                if form.colon {
                    self.rest = self.rest.strip_prefix(':')?;
                }
                seconds += i32::try_from(self.number(2, 2)?).ok()? * unit;
            }
        }
        self.fields.offset = Some(sign * seconds);
        Some(())
    }

    fn fraction(&mut self, digits: usize, trim: bool) -> Option<()> {
        let Some(rest) = self.rest.strip_prefix(['.', ',']) else {
            return trim.then_some(());
        };
        let found = rest.bytes().take_while(u8::is_ascii_digit).count();
        if found == 0 || (!trim && found != digits) {
            return None;
        }
        self.take_nanos(rest, found);
        Some(())
    }

    /// Decimals that the text has after its seconds, although the layout does not ask for them.
    fn unannounced_fraction(&mut self, layout: &str) {
        let announced = matches!(
            layout::next(layout),
            Some(("", Element::Fraction { .. }, _))
        );
        let Some(rest) = self.rest.strip_prefix(['.', ',']) else { return };
        let found = rest.bytes().take_while(u8::is_ascii_digit).count();
        if !announced && found > 0 {
            self.take_nanos(rest, found);
        }
    }

    fn take_nanos(&mut self, rest: &'a str, digits: usize) {
        let (number, rest) = rest.split_at(digits);
        let nine = format!("{:0<9}", &number[..digits.min(9)]);
        self.fields.nanos = nine.parse().unwrap_or(0);
        self.rest = rest;
    }
}

/// The number of a weekday with Sunday as zero, as Go counts.
pub(crate) fn weekday(day: Weekday) -> i64 {
    i64::from(day.to_sunday_zero_offset())
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
