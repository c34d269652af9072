//! The clock, as a port.

use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Unix ms.
    fn now_ms(&self) -> i64;
}

/// The machine's clock, which never goes back: where somebody sets it back, time goes on from
/// where it was, or every deadline and pause would wait for as long as that was.
#[derive(Debug)]
pub struct SystemClock(Mutex<Steady>);

impl SystemClock {
    /// The clock as it is.
    #[must_use]
    pub fn new() -> Self {
        let (told_ms, at) = machine();
        Self(Mutex::new(Steady { told_ms, at }))
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let (clock_ms, at) = machine();
        // It is whole between any two statements that could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tell(clock_ms, at)
    }
}

/// What was told last, and when that was by the clock that nobody sets.
#[derive(Debug)]
struct Steady {
    told_ms: i64,
    at: Instant,
}

impl Steady {
    fn tell(&mut self, clock_ms: i64, at: Instant) -> i64 {
        let passed = at.saturating_duration_since(self.at).as_millis();
        let at_least = self.told_ms.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        if clock_ms <= at_least {
            return at_least;
        }
        // Not at every call: parts of a millisecond would be dropped each time.
        (self.told_ms, self.at) = (clock_ms, at);
        clock_ms
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the port that everybody else goes through")]
fn machine() -> (i64, Instant) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(since.as_millis()).unwrap_or(i64::MAX), Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn time_goes_on_when_the_clock_is_set_back() {
        let start = Instant::now();
        let mut steady = Steady { told_ms: 1_000_000, at: start };
        let after = |ms| start + Duration::from_millis(ms);
        for (passed_ms, clock_ms, expected) in [
            (10, 1_000_010, 1_000_010),
            // Set back by a quarter of an hour.
            (20, 100_020, 1_000_020),
            (5_020, 105_020, 1_005_020),
            // Set forward again, beyond where it was.
            (5_030, 2_000_000, 2_000_000),
            (5_040, 2_000_010, 2_000_010),
        ] {
            assert_eq!(steady.tell(clock_ms, after(passed_ms)), expected);
        }
    }
}
