//! Reading runs back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use argosy_engine::{Head, Page, Run};
use argosy_model::{Event, Record, RunId, RunSpec, StepKey, Turn};
use sqlx::Row;

use crate::commit::Whole;
use crate::encode::decode;
use crate::error::{Error, Result};
use crate::open::Store;

/// A live run with the commit up to which its parts are written.
#[derive(Debug)]
pub struct StoredRun {
    /// The run, rebuilt.
    pub run: Run,
    /// 0 when it has no snapshot.
    pub snapshot_seq: u64,
    /// Events since the snapshot.
    pub events_since: u64,
    /// The commit that accepted it, where that is still in the log.
    pub first_seq: u64,
}

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
    /// [`Error::Damaged`] when what was written does not fit together.
    pub async fn load(&self, now_ms: i64) -> Result<Loaded> {
        let mut live: BTreeMap<RunId, StoredRun> = BTreeMap::new();
        let rows = sqlx::query("SELECT id, snapshot_seq FROM runs WHERE archived = 0 ORDER BY id")
            .fetch_all(&self.readers)
            .await?;
        let mut pending: HashMap<RunId, ()> = HashMap::new();
        for row in rows {
            let id = RunId(row.try_get::<i64, _>("id")?.cast_unsigned());
            let snapshot_seq = row.try_get::<i64, _>("snapshot_seq")?.cast_unsigned();
            if snapshot_seq == 0 {
                pending.insert(id, ());
                continue;
            }
            let run = self.restore(id).await?;
            live.insert(id, StoredRun { run, snapshot_seq, events_since: 0, first_seq: 0 });
        }
        let seq = self.replay(&mut live, &pending, None).await?;
        let row = sqlx::query("SELECT COALESCE(MAX(id), 0) AS id FROM runs")
            .fetch_one(&self.readers)
            .await?;
        let last_run = row.try_get::<i64, _>("id")?.cast_unsigned();
        let mut runs: Vec<StoredRun> = live.into_values().collect();
        runs.iter_mut().for_each(|stored| stored.run.rebuild(now_ms));
        Ok(Loaded { runs, last_run, seq })
    }

    /// One run as it is now, live or archived.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub async fn run(&self, id: RunId, now_ms: i64) -> Result<Option<Run>> {
        let row = sqlx::query("SELECT archived, snapshot_seq FROM runs WHERE id = $1")
            .bind(id.0.cast_signed())
            .fetch_optional(&self.readers)
            .await?;
        let Some(row) = row else { return Ok(None) };
        if row.try_get::<i64, _>("archived")? != 0 {
            return self.archived(id).await;
        }
        let snapshot_seq = row.try_get::<i64, _>("snapshot_seq")?.cast_unsigned();
        let (mut live, mut pending) = (BTreeMap::new(), HashMap::new());
        if snapshot_seq == 0 {
            pending.insert(id, ());
        } else {
            let run = self.restore(id).await?;
            live.insert(id, StoredRun { run, snapshot_seq, events_since: 0, first_seq: 0 });
        }
        self.replay(&mut live, &pending, Some(snapshot_seq)).await?;
        Ok(live.into_values().next().map(|mut stored| {
            stored.run.rebuild(now_ms);
            stored.run
        }))
    }

    async fn archived(&self, id: RunId) -> Result<Option<Run>> {
        let row = sqlx::query("SELECT data FROM archive WHERE run = $1")
            .bind(id.0.cast_signed())
            .fetch_optional(&self.readers)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let whole: Whole = decode(&row.try_get::<Vec<u8>, _>("data")?, "archive record")?;
        let Whole { spec, head, steps, items } = whole;
        Ok(Some(Run::restore(id, Arc::new(spec), head, vec![steps], items)))
    }

    async fn restore(&self, id: RunId) -> Result<Run> {
        let rows = sqlx::query("SELECT part, data FROM parts WHERE run = $1")
            .bind(id.0.cast_signed())
            .fetch_all(&self.readers)
            .await?;
        let (mut spec, mut head) = (None, None);
        let mut pages: BTreeMap<usize, Page> = BTreeMap::new();
        let mut items = BTreeMap::new();
        for row in rows {
            let part: String = row.try_get("part")?;
            let data: Vec<u8> = row.try_get("data")?;
            let what = format!("{id} {part}");
            match part.split_once('/') {
                None if part == "spec" => spec = Some(decode::<RunSpec>(&data, &what)?),
                None if part == "head" => head = Some(decode::<Head>(&data, &what)?),
                Some(("page", number)) => {
                    pages.insert(parsed(number)?, decode(&data, &what)?);
                }
                Some(("items", step)) => {
                    items.insert(StepKey(parsed(step)?), Arc::new(decode(&data, &what)?));
                }
                _ => return Err(Error::Damaged(what)),
            }
        }
        let (Some(spec), Some(head)) = (spec, head) else {
            return Err(Error::Damaged(format!("{id} has no spec or head")));
        };
        Ok(Run::restore(id, Arc::new(spec), head, pages.into_values().collect(), items))
    }

    /// Applies the log to the live runs, and makes those that only the log has.
    async fn replay(
        &self,
        live: &mut BTreeMap<RunId, StoredRun>,
        pending: &HashMap<RunId, ()>,
        after: Option<u64>,
    ) -> Result<u64> {
        let mut last = after.unwrap_or(0);
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
                let data: Vec<u8> = row.try_get("record")?;
                let record: Record = decode(&data, &format!("log record {last}"))?;
                for turn in &record.turns {
                    replay_turn(live, pending, turn, last)?;
                }
            }
        }
    }
}

fn replay_turn(
    live: &mut BTreeMap<RunId, StoredRun>,
    pending: &HashMap<RunId, ()>,
    turn: &Turn,
    seq: u64,
) -> Result<()> {
    let damaged = |error: argosy_engine::Broken| Error::Damaged(error.to_string());
    match live.get_mut(&turn.run) {
        Some(stored) if seq > stored.snapshot_seq => {
            stored.run.apply(turn).map_err(damaged)?;
            stored.events_since += turn.events.len() as u64;
        }
        Some(_) => {}
        None => {
            let begins = matches!(turn.events.first(), Some(Event::Submitted(_)));
            if begins && pending.contains_key(&turn.run) {
                let run = Run::from_turn(turn).map_err(damaged)?;
                let events_since = turn.events.len() as u64;
                let stored = StoredRun { run, snapshot_seq: 0, events_since, first_seq: seq };
                live.insert(turn.run, stored);
            }
        }
    }
    Ok(())
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::Damaged(format!("part number {text:?}")))
}
