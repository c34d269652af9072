//! Ids. Inside the engine everything is an ordinal; the long names that upstreams use are made at
//! the doors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A run, numbered from 1 in the order of acceptance by this data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u64);

/// A step of one run: its ordinal, 0 being the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepKey(pub u32);

impl StepKey {
    /// The root step of every run.
    pub const ROOT: StepKey = StepKey(0);
    /// "No step": the parent of the root and of an exit handler.
    pub const NONE: StepKey = StepKey(u32::MAX);

    /// The ordinal as an index into a run's list of steps.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this names no step.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// One try of a step. It fences everything that a process does: files, objects and reports that
/// carry another attempt's id are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    /// The run.
    pub run: RunId,
    /// The step in it.
    pub step: StepKey,
    /// The try, numbered from 0 over user and infrastructure retries alike.
    pub number: u32,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run_{}", self.0)
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step_{}", self.0)
    }
}

/// `12.5.0`: run, step, number. Also the name of the attempt's folder and its key in the spawner.
impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run.0, self.step.0, self.number)
    }
}

/// The text was not `run.step.number`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an attempt id: {0:?}")]
pub struct NotAnAttemptId(pub String);

impl FromStr for AttemptId {
    type Err = NotAnAttemptId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || NotAnAttemptId(text.to_owned());
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or_else(refuse);
        let run = RunId(next()?.parse().map_err(|_| refuse())?);
        let step = StepKey(next()?.parse().map_err(|_| refuse())?);
        let number = next()?.parse().map_err(|_| refuse())?;
        match parts.next() {
            None => Ok(AttemptId { run, step, number }),
            Some(_) => Err(refuse()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempt_ids_survive_their_text_form() {
        let id = AttemptId { run: RunId(12), step: StepKey(5), number: 0 };
        assert_eq!(id.to_string(), "12.5.0");
        assert_eq!("12.5.0".parse(), Ok(id));
        for bad in ["", "1.2", "1.2.3.4", "a.b.c", "1.2.-1", "99999999999999999999.0.0"] {
            assert!(bad.parse::<AttemptId>().is_err(), "{bad}");
        }
    }
}
