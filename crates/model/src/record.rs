//! What one commit writes: the turns of many runs, in order.

use serde::{Deserialize, Serialize};

use crate::event::{Cause, Event};
use crate::id::RunId;

/// Version of everything that is written to a data directory. A build opens every older version
/// and refuses a newer one.
pub const FORMAT_VERSION: u32 = 1;

/// What happened to one run at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The run.
    #[serde(rename = "r")]
    pub run: RunId,
    /// Unix ms.
    #[serde(rename = "at")]
    pub at_ms: i64,
    /// Who caused it, where a request did.
    #[serde(rename = "by", default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Cause>>,
    /// The events, in order.
    #[serde(rename = "e")]
    pub events: Vec<Event>,
}

/// One commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The turns, in order. A gang's placement is within one record.
    pub turns: Vec<Turn>,
}
