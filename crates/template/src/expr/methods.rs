//! Methods of times and durations, as Go has them.

use std::sync::Arc;

use jiff::ZonedDateTime;

use super::ops;
use crate::error::Fault;
use crate::go;
use crate::value::Value;

/// The value of `object.name(args)`.
pub(super) fn call(object: &Value, name: &str, args: &[Value]) -> Result<Value, Fault> {
    let value = match object {
        Value::Time(time) => of_time(time, name, args)?,
        Value::Duration(nanos) => of_duration(*nanos, name, args)?,
        // The parts of a version are methods in Go and members here.
        Value::Map(map) if args.is_empty() => map.entries.get(name).cloned(),
        _ => None,
    };
    value.ok_or_else(|| Fault::Message(format!("{} has no method {name}", object.kind())))
}

fn of_time(time: &Arc<ZonedDateTime>, name: &str, args: &[Value]) -> Result<Option<Value>, Fault> {
    let value = match (name, args) {
        ("Year", []) => Value::Int(time.year().into()),
        ("Month", []) => Value::Int(time.month().into()),
        ("Day", []) => Value::Int(time.day().into()),
        ("Hour", []) => Value::Int(time.hour().into()),
        ("Minute", []) => Value::Int(time.minute().into()),
        ("Second", []) => Value::Int(time.second().into()),
        ("Nanosecond", []) => Value::Int(time.subsec_nanosecond().into()),
        ("YearDay", []) => Value::Int(time.day_of_year().into()),
        ("Weekday", []) => Value::Int(go::time::weekday(time.weekday())),
        ("Unix", []) => Value::Int(time.timestamp().as_second()),
        ("UnixMilli", []) => Value::Int(time.timestamp().as_millisecond()),
        ("UnixMicro", []) => Value::Int(time.timestamp().as_microsecond()),
        ("UnixNano", []) => {
            let nanos = i64::try_from(time.timestamp().as_nanosecond());
            Value::Int(nanos.map_err(|_| "the time is out of range")?)
        }
        ("String", []) => Value::str(go::time::format(GO_STRING, time)),
        ("UTC", []) => Value::Time(Arc::new(time.with_time_zone(jiff::tz::TimeZone::UTC))),
        ("In", [Value::Zone(zone)]) => Value::Time(Arc::new(time.with_time_zone(zone.clone()))),
        ("Format", [Value::Str(layout)]) => Value::str(go::time::format(layout, time)),
        ("Add", [Value::Duration(nanos)]) => ops::shift(time, *nanos)?,
        ("Sub", [Value::Time(other)]) => ops::since(time, other),
        ("Before", [Value::Time(other)]) => Value::Bool(time.timestamp() < other.timestamp()),
        ("After", [Value::Time(other)]) => Value::Bool(time.timestamp() > other.timestamp()),
        ("Equal", [Value::Time(other)]) => Value::Bool(time.timestamp() == other.timestamp()),
        ("AddDate", [Value::Int(years), Value::Int(months), Value::Int(days)]) => {
            add_date(time, *years, *months, *days)?
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// The layout of Go's `Time.String`.
const GO_STRING: &str = "2006-01-02 15:04:05.999999999 -0700 MST";

fn add_date(time: &ZonedDateTime, years: i64, months: i64, days: i64) -> Result<Value, Fault> {
    let spans = || {
        let span = jiff::Span::new();
        let parts = [span.try_years(years)?, span.try_months(months)?, span.try_days(days)?];
        parts.into_iter().try_fold(time.clone(), |time, part| time.checked_add(part))
    };
    let later = spans().map_err(|_: jiff::Error| Fault::from("the time is out of range"))?;
    Ok(Value::Time(Arc::new(later)))
}

fn of_duration(nanos: i64, name: &str, args: &[Value]) -> Result<Option<Value>, Fault> {
    let float = ops::int_to_float(nanos);
    let value = match (name, args) {
        ("Hours", []) => Value::Float(float / 3.6e12),
        ("Minutes", []) => Value::Float(float / 6e10),
        ("Seconds", []) => Value::Float(float / 1e9),
        ("Milliseconds", []) => Value::Int(nanos / 1_000_000),
        ("Microseconds", []) => Value::Int(nanos / 1_000),
        ("Nanoseconds", []) => Value::Int(nanos),
        ("String", []) => Value::str(go::duration::format(nanos)),
        ("Abs", []) => Value::Duration(nanos.saturating_abs()),
        ("Round", [Value::Duration(unit)]) => Value::Duration(round(nanos, *unit)),
        ("Truncate", [Value::Duration(unit)]) if *unit > 0 => Value::Duration(nanos - nanos % unit),
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// `nanos` to the nearest multiple of `unit`, halves away from zero.
pub(crate) fn round(nanos: i64, unit: i64) -> i64 {
    if unit <= 0 {
        return nanos;
    }
    let rest = (nanos % unit).abs();
    let down = nanos - nanos % unit;
    if rest < unit - rest { down } else { down.saturating_add(unit * nanos.signum()) }
}
