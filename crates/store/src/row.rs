//! One row a run, for lists.

use argosy_engine::Run;
use argosy_model::{RunId, RunPhase};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::error::{Error, Result};

/// The last state of a run, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// Its owner.
    pub space: String,
    /// Its name.
    pub name: String,
    /// Its UUID.
    pub uid: String,
    /// The door that it came through.
    pub door: String,
    /// Its phase.
    pub phase: RunPhase,
    /// What a person should read about it.
    pub message: String,
    /// Its priority.
    pub priority: i32,
    /// Unix ms.
    pub accepted_ms: i64,
    /// Unix ms; 0 before its end.
    pub ended_ms: i64,
    /// Unix ms at which it is deleted by itself; 0 for never.
    pub expires_ms: i64,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// How many steps carry out work.
    pub steps: u64,
    /// How many of them have succeeded.
    pub done: u64,
    /// Whether it is folded into the archive.
    pub archived: bool,
}

impl RunRow {
    /// The row of a run as it is.
    #[must_use]
    pub fn of(run: &Run) -> RunRow {
        let (done, steps) = run.progress();
        RunRow {
            id: run.id,
            space: run.spec.space.clone(),
            name: run.spec.name.clone(),
            uid: run.spec.uid.clone(),
            door: run.spec.door.clone(),
            phase: run.phase,
            message: run.message.clone(),
            priority: run.spec.priority,
            accepted_ms: run.accepted_ms,
            ended_ms: run.ended_ms,
            expires_ms: run.expires_ms(),
            suspended: run.suspended,
            labels: run.labels.clone(),
            steps: steps as u64,
            done: done as u64,
            archived: false,
        }
    }

    pub(crate) fn read(row: &SqliteRow) -> Result<RunRow> {
        let phase: String = row.try_get("phase")?;
        let labels: String = row.try_get("labels")?;
        let number = |name: &str| row.try_get::<i64, _>(name);
        Ok(RunRow {
            id: RunId(number("id")?.cast_unsigned()),
            space: row.try_get("space")?,
            name: row.try_get("name")?,
            uid: row.try_get("uid")?,
            door: row.try_get("door")?,
            phase: RunPhase::parse(&phase)
                .ok_or_else(|| Error::Damaged(format!("phase {phase:?}")))?,
            message: row.try_get("message")?,
            priority: i32::try_from(number("priority")?).unwrap_or_default(),
            accepted_ms: number("accepted_ms")?,
            ended_ms: number("ended_ms")?,
            expires_ms: number("expires_ms")?,
            suspended: number("suspended")? != 0,
            labels: serde_json::from_str(&labels)
                .map_err(|error| Error::Damaged(format!("labels: {error}")))?,
            steps: number("steps")?.cast_unsigned(),
            done: number("done")?.cast_unsigned(),
            archived: number("archived")? != 0,
        })
    }
}
