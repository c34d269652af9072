//! Reading a time by a Go layout.

use jiff::ZonedDateTime;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset as ZoneOffset, TimeZone};

use super::layout::{self, Element, Offset};
use super::time::{DAYS, MONTHS};

/// The parts of a time as they are read. Months and days of zero are not given.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fields {
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
    /// The time that the parts make, if there is such a time.
    pub(super) fn zoned(self, zone: &TimeZone) -> Option<ZonedDateTime> {
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

/// Reads a text element by element.
pub(super) struct Reader<'a> {
    /// What is not read yet.
    pub(super) rest: &'a str,
    pub(super) fields: Fields,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, fields: Fields::default() }
    }

    /// Reads as far as the layout fits.
    pub(super) fn read(&mut self, mut layout: &str) -> Option<()> {
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
        let announced = matches!(layout::next(layout), Some(("", Element::Fraction { .. }, _)));
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
