//! Reading runs back.

use std::collections::BTreeSet;
use std::sync::Arc;

use argosy_engine::Run;
use argosy_model::{Keep, Record, RunId};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::assemble::{Assembly, StoredRun};
use crate::commit::Whole;
use crate::encode::decode;
use crate::error::Result;
use crate::open::{Store, number};

/// All that is live.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Live runs in the order of their ids.
    pub runs: Vec<StoredRun>,
    /// The largest id that was ever given.
    pub last_run: u64,
    /// Number of the last commit that was read.
    pub seq: u64,
}

impl Store {
    /// Every live run: its snapshot and what was logged after it.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] when what was written does not fit together.
    pub async fn load(&self, now_ms: i64) -> Result<Loaded> {
        let rows = sqlx::query("SELECT id, snapshot_seq FROM runs WHERE archived = 0 ORDER BY id")
            .fetch_all(&self.readers)
            .await?;
        let mut assembly = Assembly::default();
        for row in &rows {
            self.add(&mut assembly, row).await?;
        }
        let seq = self.replay(&mut assembly, 0).await?;
        let row = sqlx::query("SELECT COALESCE(MAX(id), 0) AS id FROM runs")
            .fetch_one(&self.readers)
            .await?;
        let in_rows = row.try_get::<i64, _>("id")?.cast_unsigned();
        let deleted = number(&self.readers, "last_run").await?;
        let last_run = in_rows.max(deleted).max(assembly.last_run());
        Ok(Loaded { runs: assembly.finish(now_ms), last_run, seq })
    }

    /// One run as it is now, live or archived.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub async fn run(&self, id: RunId, now_ms: i64) -> Result<Option<Run>> {
        let row = sqlx::query("SELECT id, archived, snapshot_seq FROM runs WHERE id = $1")
            .bind(id.0.cast_signed())
            .fetch_optional(&self.readers)
            .await?;
        let Some(row) = row else { return Ok(None) };
        if row.try_get::<i64, _>("archived")? != 0 {
            return self.archived(id).await;
        }
        let mut assembly = Assembly::default();
        let snapshot_seq = self.add(&mut assembly, &row).await?;
        self.replay(&mut assembly, snapshot_seq).await?;
        Ok(assembly.finish(now_ms).pop().map(|stored| stored.run))
    }

    async fn archived(&self, id: RunId) -> Result<Option<Run>> {
        let row = sqlx::query("SELECT data FROM archive WHERE run = $1")
            .bind(id.0.cast_signed())
            .fetch_optional(&self.readers)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let whole: Whole = decode(&row.try_get::<Vec<u8>, _>("data")?, "archive record")?;
        let Whole { spec, head, steps, items } = whole;
        let mut run = Run::restore(id, Arc::new(spec), head, vec![steps], items);
        run.collected = self.collected(&run).await?;
        Ok(Some(run))
    }

    /// Keys of a finished run's artifacts that have been deleted by themselves.
    async fn collected(&self, run: &Run) -> Result<BTreeSet<String>> {
        let at_end = run.garbage().into_iter().filter(|(_, keep)| *keep == Keep::UntilEnd);
        let mut keys: BTreeSet<String> = at_end.map(|(key, _)| key.to_owned()).collect();
        // A data directory that is only read may be older than the table.
        if !keys.is_empty() {
            let left = sqlx::query("SELECT object FROM garbage WHERE run = $1")
                .bind(run.id.0.cast_signed())
                .fetch_all(&self.readers)
                .await?;
            for row in &left {
                keys.remove(row.try_get::<&str, _>("object")?);
            }
        }
        Ok(keys)
    }

    /// Adds the run of a row with its pieces; the commit up to which they are current.
    async fn add(&self, assembly: &mut Assembly, row: &SqliteRow) -> Result<u64> {
        let id: i64 = row.try_get("id")?;
        let snapshot_seq = row.try_get::<i64, _>("snapshot_seq")?.cast_unsigned();
        let rows = match snapshot_seq {
            0 => Vec::new(),
            _ => {
                sqlx::query("SELECT part, data FROM parts WHERE run = $1")
                    .bind(id)
                    .fetch_all(&self.readers)
                    .await?
            }
        };
        let parts = rows
            .iter()
            .map(|row| Ok((row.try_get::<&str, _>("part")?, row.try_get::<&[u8], _>("data")?)))
            .collect::<Result<Vec<_>>>()?;
        assembly.add(RunId(id.cast_unsigned()), snapshot_seq, parts)?;
        Ok(snapshot_seq)
    }

    /// Applies the log after a commit; the number of its last one.
    async fn replay(&self, assembly: &mut Assembly, after: u64) -> Result<u64> {
        let mut last = after;
        loop {
            let rows =
                sqlx::query("SELECT seq, record FROM log WHERE seq > $1 ORDER BY seq LIMIT 256")
                    .bind(last.cast_signed())
                    .fetch_all(&self.readers)
                    .await?;
            if rows.is_empty() {
                return Ok(last);
            }
            for row in rows {
                last = row.try_get::<i64, _>("seq")?.cast_unsigned();
                let record: Record =
                    decode(row.try_get::<&[u8], _>("record")?, &format!("log record {last}"))?;
                assembly.apply(last, &record)?;
            }
        }
    }
}
