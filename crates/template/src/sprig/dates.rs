//! Functions on dates. A date is a time or a number of Unix seconds; anything else means now.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

use super::convert;
use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::strings::made;
use crate::expr::builtins::{Function, arg, function, text, wanted};
use crate::expr::{methods, ops};
use crate::go;
use crate::value::Value;

const HTML: &str = "2006-01-02";
const SECOND: i64 = 1_000_000_000;

pub(super) static TABLE: &[Function] = &[
    function("now", 0, 0, |_, env| Ok(Value::Time(Arc::new(now(env))))),
    function("date", 2, 2, |args, env| format(text(args, 0)?, arg(args, 1), "UTC", env)),
    function("dateInZone", 3, 3, |args, env| {
        format(text(args, 0)?, arg(args, 1), text(args, 2)?, env)
    }),
    function("date_in_zone", 3, 3, |args, env| {
        format(text(args, 0)?, arg(args, 1), text(args, 2)?, env)
    }),
    function("htmlDate", 1, 1, |args, env| format(HTML, arg(args, 0), "UTC", env)),
    function("htmlDateInZone", 2, 2, |args, env| format(HTML, arg(args, 0), text(args, 1)?, env)),
    function("dateModify", 2, 2, |args, _| modify(args)),
    function("date_modify", 2, 2, |args, _| modify(args)),
    function("must_date_modify", 2, 2, |args, _| must_modify(args)),
    function("mustDateModify", 2, 2, |args, _| must_modify(args)),
    function("mustToDate", 2, 2, |args, _| {
        let parsed = go::time::parse(text(args, 0)?, text(args, 1)?, &TimeZone::UTC);
        let parsed = parsed.map_err(|error| error.to_string())?;
        Ok(Value::Time(Arc::new(parsed)))
    }),
    function("toDate", 2, 2, |args, _| {
        let parsed = go::time::parse(text(args, 0)?, text(args, 1)?, &TimeZone::UTC);
        let zero = || go::time::at_ms(ZERO_MS, TimeZone::UTC);
        Ok(Value::Time(Arc::new(parsed.unwrap_or_else(|_| zero()))))
    }),
    function("unixEpoch", 1, 1, |args, env| {
        made(&time(args, 0)?.timestamp().as_second().to_string(), env)
    }),
    function("ago", 1, 1, |args, env| {
        let Value::Duration(nanos) = ops::since(&now(env), &date(arg(args, 0), env)) else {
            return Ok(Value::Nil);
        };
        made(&go::duration::format(methods::round(nanos, SECOND)), env)
    }),
    function("duration", 1, 1, |args, env| {
        let seconds = match arg(args, 0) {
            Value::Str(text) => text.parse().unwrap_or(0),
            other => convert::int(other),
        };
        made(&go::duration::format(i64::wrapping_mul(seconds, SECOND)), env)
    }),
    function("durationRound", 1, 1, |args, env| {
        let nanos = match arg(args, 0) {
            Value::Str(text) => go::duration::parse(text).unwrap_or(0),
            Value::Int(nanos) | Value::Duration(nanos) => *nanos,
            Value::Time(_) => match ops::since(&now(env), &date(arg(args, 0), env)) {
                Value::Duration(nanos) => nanos,
                _ => 0,
            },
            _ => 0,
        };
        made(&rounded(nanos), env)
    }),
];

/// Go's zero time, the start of year one.
const ZERO_MS: i64 = -62_135_596_800_000;

fn now(env: &Env) -> ZonedDateTime {
    go::time::at_ms(env.now_ms, TimeZone::UTC)
}

fn date(value: &Value, env: &Env) -> ZonedDateTime {
    match value {
        Value::Time(time) => time.as_ref().clone(),
        Value::Int(seconds) => Timestamp::from_second(*seconds)
            .map_or_else(|_| now(env), |time| time.to_zoned_datetime(TimeZone::UTC)),
        _ => now(env),
    }
}

fn time(args: &[Value], index: usize) -> Result<&ZonedDateTime, Fault> {
    match arg(args, index) {
        Value::Time(time) => Ok(time),
        other => Err(wanted("a time", index, other)),
    }
}

/// A date by a Go layout; an unknown zone means UTC.
fn format(layout: &str, value: &Value, zone: &str, env: &mut Env) -> Result<Value, Fault> {
    let zone = go::time::zone(zone).unwrap_or(TimeZone::UTC);
    let time = date(value, env).with_time_zone(zone);
    env.produce(layout.len())?;
    made(&go::time::format(layout, &time), env)
}

/// A date moved by a duration; by none if the duration cannot be read.
fn modify(args: &[Value]) -> Result<Value, Fault> {
    let nanos = go::duration::parse(text(args, 0)?).unwrap_or(0);
    ops::shift(time(args, 1)?, nanos)
}

/// The same, a duration that cannot be read being an error.
fn must_modify(args: &[Value]) -> Result<Value, Fault> {
    let nanos = go::duration::parse(text(args, 0)?).map_err(|error| error.to_string())?;
    ops::shift(time(args, 1)?, nanos)
}

/// A duration in its largest unit only.
fn rounded(nanos: i64) -> String {
    let seconds = nanos.unsigned_abs() / SECOND.unsigned_abs();
    let exact = nanos.unsigned_abs().is_multiple_of(SECOND.unsigned_abs());
    let units = [
        (365 * 86_400, "y"),
        (30 * 86_400, "mo"),
        (86_400, "d"),
        (3_600, "h"),
        (60, "m"),
        (1, "s"),
    ];
    // A unit counts once the duration is longer than it.
    let longer = |unit: u64| seconds > unit || (seconds == unit && !exact);
    let found = units.into_iter().find(|(unit, _)| longer(*unit));
    found.map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", seconds / unit))
}
