//! Times, durations and zones.

use std::sync::Arc;

use jiff::ZonedDateTime;
use jiff::tz::TimeZone;

use super::{Function, arg, function, text, wanted};
use crate::error::Fault;
use crate::go;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("now", 0, 1, |args, env| {
        let zone = match args.first() {
            None => TimeZone::UTC,
            Some(Value::Zone(zone)) => zone.clone(),
            Some(other) => return Err(wanted("a time zone", 0, other)),
        };
        Ok(Value::Time(Arc::new(go::time::at_ms(env.now_ms, zone))))
    }),
    function("duration", 1, 1, |args, _| {
        let nanos = go::duration::parse(text(args, 0)?);
        nanos.map(Value::Duration).map_err(|error| error.to_string().into())
    }),
    function("timezone", 1, 1, |args, _| zone(text(args, 0)?).map(Value::Zone)),
    function("date", 1, 4, |args, _| {
        let (in_zone, args) = match (args.first(), args.get(1..)) {
            (Some(Value::Zone(zone)), Some(rest)) => (Some(zone.clone()), rest),
            _ => (None, args),
        };
        date(in_zone.unwrap_or(TimeZone::UTC), args).map(|time| Value::Time(Arc::new(time)))
    }),
];

/// The layouts that `date` tries if it is given none.
const LAYOUTS: [&str; 7] = [
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    go::time::RFC3339,
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
];

fn zone(name: &str) -> Result<TimeZone, Fault> {
    go::time::zone(name).ok_or_else(|| Fault::Message(format!("unknown time zone {name}")))
}

/// `date(text)`, `date(text, layout)` and `date(text, layout, zone)`.
fn date(in_zone: TimeZone, args: &[Value]) -> Result<ZonedDateTime, Fault> {
    let source = text(args, 0)?;
    if matches!(arg(args, 1), Value::Nil) {
        let found =
            LAYOUTS.iter().find_map(|layout| go::time::parse(layout, source, &in_zone).ok());
        return found.ok_or_else(|| Fault::Message(format!("invalid date {source}")));
    }
    let in_zone = match arg(args, 2) {
        Value::Nil => in_zone,
        _ => zone(text(args, 2)?)?,
    };
    go::time::parse(text(args, 1)?, source, &in_zone).map_err(|error| error.to_string().into())
}
