//! Writing.

use std::collections::BTreeMap;
use std::sync::Arc;

use argosy_engine::{Head, Run};
use argosy_model::{Record, RunId, RunSpec, Step, StepKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{Connection, QueryBuilder, Sqlite, SqliteConnection};

use crate::encode::encode;
use crate::error::{Error, Result};
use crate::open::{Store, Writer};
use crate::row::RunRow;

/// Rows in one statement, below the databases' bounds on bound values.
const ROWS: usize = 500;

/// What one commit writes, all or nothing.
#[derive(Debug, Default)]
pub struct Commit {
    /// Unix ms.
    pub at_ms: i64,
    /// The turns; no row is written for an empty one.
    pub record: Record,
    /// Runs whose row changed, each once, in its last state.
    pub rows: Vec<RunRow>,
    /// Pieces of runs, current up to this commit.
    pub snapshots: Vec<Snapshot>,
    /// Runs that are folded into the archive.
    pub archived: Vec<Archived>,
    /// Runs that are deleted with all that is kept of them.
    pub deleted: Vec<RunId>,
    /// Objects that were put or deleted.
    pub objects: Vec<ObjectChange>,
    /// Outputs for later steps.
    pub memos: Vec<Memo>,
    /// Log records up to this commit are needed by no run.
    pub cut: Option<u64>,
}

/// Pieces of one run.
#[derive(Debug)]
pub struct Snapshot {
    /// The run.
    pub run: RunId,
    /// The pieces that changed since the last one.
    pub parts: Vec<Part>,
}

/// A piece of a run.
#[derive(Debug)]
pub struct Part {
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
}

impl Part {
    /// Its name among the run's pieces.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its bytes.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The spec.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn spec(spec: &RunSpec) -> Result<Part> {
        Ok(Part { name: "spec".to_owned(), data: encode(spec)? })
    }

    /// The head.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn head(run: &Run) -> Result<Part> {
        Ok(Part { name: "head".to_owned(), data: encode(&run.head())? })
    }

    /// A page of steps.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn page(run: &Run, number: usize) -> Result<Part> {
        Ok(Part { name: format!("page/{number}"), data: encode(run.page(number))? })
    }

    /// Items of a loop.
    ///
    /// # Errors
    /// When they cannot be encoded.
    pub fn items(step: StepKey, items: &[Value]) -> Result<Part> {
        Ok(Part { name: format!("items/{}", step.0), data: encode(items)? })
    }
}

/// A finished run, whole.
#[derive(Debug)]
pub struct Archived {
    /// The run.
    pub run: RunId,
    pub(crate) data: Vec<u8>,
}

/// What an archive record holds.
#[derive(Serialize)]
struct WholeRef<'a> {
    spec: &'a RunSpec,
    head: Head,
    steps: &'a [Step],
    items: &'a BTreeMap<StepKey, Arc<Vec<Value>>>,
}

/// The same, read.
#[derive(Deserialize)]
pub(crate) struct Whole {
    pub(crate) spec: RunSpec,
    pub(crate) head: Head,
    pub(crate) steps: Vec<Step>,
    pub(crate) items: BTreeMap<StepKey, Arc<Vec<Value>>>,
}

impl Archived {
    /// The archive record of a finished run.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn of(run: &Run) -> Result<Archived> {
        let whole =
            WholeRef { spec: &run.spec, head: run.head(), steps: &run.steps, items: &run.items };
        Ok(Archived { run: run.id, data: encode(&whole)? })
    }
}

/// An object that was put or deleted.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// Its owner.
    pub space: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What it holds; `None` deletes it.
    pub data: Option<Vec<u8>>,
}

/// Outputs of a step, kept for later ones.
#[derive(Clone, Debug)]
pub struct Memo {
    /// The owner.
    pub space: String,
    /// The cache.
    pub cache: String,
    /// The key.
    pub name: String,
    /// The outputs.
    pub outputs: argosy_model::Outputs,
}

impl Store {
    /// Writes a commit and syncs it. Returns its number.
    ///
    /// # Errors
    /// Whatever the database says; nothing of the commit is then written.
    pub async fn commit(&self, commit: &Commit) -> Result<u64> {
        let writer = self.writer.as_ref().ok_or(Error::Busy("opened for reading".to_owned()))?;
        let mut writer = writer.lock().await;
        let committed = write(&mut writer, commit).await;
        if committed.is_err() {
            // SQLite may have rolled back by itself, of which the connection does not know.
            writer.connection = self.connect().await?;
        }
        committed
    }
}

async fn write(writer: &mut Writer, commit: &Commit) -> Result<u64> {
    let seq = writer.seq + 1;
    let mut transaction = writer.connection.begin_with("BEGIN IMMEDIATE").await?;
    let to = &mut *transaction;
    if !commit.record.turns.is_empty() {
        sqlx::query("INSERT INTO log (seq, at_ms, record) VALUES ($1, $2, $3)")
            .bind(seq.cast_signed())
            .bind(commit.at_ms)
            .bind(encode(&commit.record)?)
            .execute(&mut *to)
            .await?;
    }
    put_rows(to, &commit.rows).await?;
    for snapshot in &commit.snapshots {
        put_snapshot(to, snapshot, seq).await?;
    }
    for archived in &commit.archived {
        put_archived(to, archived).await?;
    }
    delete_runs(to, &commit.deleted).await?;
    crate::objects::put(to, &commit.objects, commit.at_ms).await?;
    put_memos(to, &commit.memos, commit.at_ms).await?;
    if let Some(cut) = commit.cut {
        cut_log(to, cut, seq).await?;
    }
    transaction.commit().await?;
    writer.seq = seq;
    Ok(seq)
}

async fn put_rows(to: &mut SqliteConnection, rows: &[RunRow]) -> Result<()> {
    for rows in rows.chunks(ROWS) {
        let labels = rows
            .iter()
            .map(|row| {
                serde_json::to_string(&row.labels).map_err(|e| Error::Damaged(e.to_string()))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(
            "INSERT INTO runs (id, space, name, uid, door, phase, message, priority, accepted_ms,
             ended_ms, expires_ms, suspended, labels, steps, done, snapshot_seq, archived) ",
        );
        query.push_values(rows.iter().zip(labels), |mut to, (row, labels)| {
            to.push_bind(row.id.0.cast_signed())
                .push_bind(&row.space)
                .push_bind(&row.name)
                .push_bind(&row.uid)
                .push_bind(&row.door)
                .push_bind(row.phase.as_str())
                .push_bind(&row.message)
                .push_bind(i64::from(row.priority))
                .push_bind(row.accepted_ms)
                .push_bind(row.ended_ms)
                .push_bind(row.expires_ms)
                .push_bind(i64::from(row.suspended))
                .push_bind(labels)
                .push_bind(row.steps.cast_signed())
                .push_bind(row.done.cast_signed())
                .push_bind(0_i64)
                .push_bind(0_i64);
        });
        query.push(
            " ON CONFLICT (id) DO UPDATE SET phase = excluded.phase, message = excluded.message,
             ended_ms = excluded.ended_ms, expires_ms = excluded.expires_ms, suspended = excluded.suspended,
             labels = excluded.labels, steps = excluded.steps, done = excluded.done",
        );
        query.build().execute(&mut *to).await?;
    }
    Ok(())
}

async fn put_snapshot(to: &mut SqliteConnection, snapshot: &Snapshot, seq: u64) -> Result<()> {
    let run = snapshot.run.0.cast_signed();
    for part in &snapshot.parts {
        sqlx::query(
            "INSERT INTO parts (run, part, data) VALUES ($1, $2, $3)
             ON CONFLICT (run, part) DO UPDATE SET data = excluded.data",
        )
        .bind(run)
        .bind(&part.name)
        .bind(&part.data)
        .execute(&mut *to)
        .await?;
    }
    sqlx::query("UPDATE runs SET snapshot_seq = $1 WHERE id = $2")
        .bind(seq.cast_signed())
        .bind(run)
        .execute(to)
        .await?;
    Ok(())
}

async fn put_archived(to: &mut SqliteConnection, archived: &Archived) -> Result<()> {
    let run = archived.run.0.cast_signed();
    sqlx::query(
        "INSERT INTO archive (run, data) VALUES ($1, $2)
         ON CONFLICT (run) DO UPDATE SET data = excluded.data",
    )
    .bind(run)
    .bind(&archived.data)
    .execute(&mut *to)
    .await?;
    sqlx::query("DELETE FROM parts WHERE run = $1").bind(run).execute(&mut *to).await?;
    sqlx::query("UPDATE runs SET archived = 1 WHERE id = $1").bind(run).execute(to).await?;
    Ok(())
}

async fn delete_runs(to: &mut SqliteConnection, runs: &[RunId]) -> Result<()> {
    for run in runs {
        for statement in [
            "DELETE FROM archive WHERE run = $1",
            "DELETE FROM parts WHERE run = $1",
            "DELETE FROM runs WHERE id = $1",
        ] {
            sqlx::query(statement).bind(run.0.cast_signed()).execute(&mut *to).await?;
        }
    }
    Ok(())
}

async fn put_memos(to: &mut SqliteConnection, memos: &[Memo], at_ms: i64) -> Result<()> {
    for memo in memos {
        sqlx::query(
            "INSERT INTO memos (space, cache, name, created_ms, data) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (space, cache, name)
             DO UPDATE SET created_ms = excluded.created_ms, data = excluded.data",
        )
        .bind(&memo.space)
        .bind(&memo.cache)
        .bind(&memo.name)
        .bind(at_ms)
        .bind(encode(&memo.outputs)?)
        .execute(&mut *to)
        .await?;
    }
    Ok(())
}

async fn cut_log(to: &mut SqliteConnection, cut: u64, seq: u64) -> Result<()> {
    sqlx::query("DELETE FROM log WHERE seq <= $1")
        .bind(cut.cast_signed())
        .execute(&mut *to)
        .await?;
    sqlx::query(
        "INSERT INTO meta (name, value) VALUES ('cut', $1)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )
    .bind(seq.to_string())
    .execute(to)
    .await?;
    Ok(())
}
