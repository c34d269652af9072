//! Runs from what is written of them: pieces, and the log after the pieces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use argosy_engine::{Head, Page, Run};
use argosy_model::{Event, Record, RunId, RunSpec, StepKey, Turn};

use crate::encode::decode;
use crate::error::{Error, Result};

/// A live run with the commit up to which its parts are written.
#[derive(Debug)]
pub struct StoredRun {
    /// The run, rebuilt.
    pub run: Run,
    /// 0 when it has no snapshot.
    pub snapshot_seq: u64,
    /// Events since the snapshot.
    pub events_since: u64,
}

/// Live runs in the making: first every run with its pieces, then the log in order.
#[derive(Debug, Default)]
pub struct Assembly {
    live: BTreeMap<RunId, StoredRun>,
    /// Runs that only the log has.
    in_log: BTreeSet<RunId>,
    /// The largest number that the log has.
    last_run: u64,
}

impl Assembly {
    /// Adds a live run: its pieces by name, which there are none of when `snapshot_seq` is 0.
    ///
    /// # Errors
    /// [`Error::Damaged`] when a piece is missing or cannot be read.
    pub fn add<'p>(
        &mut self,
        id: RunId,
        snapshot_seq: u64,
        parts: impl IntoIterator<Item = (&'p str, &'p [u8])>,
    ) -> Result<()> {
        if snapshot_seq == 0 {
            self.in_log.insert(id);
            return Ok(());
        }
        let run = restore(id, parts)?;
        self.live.insert(id, StoredRun { run, snapshot_seq, events_since: 0 });
        Ok(())
    }

    /// Applies a record of the log to the runs that were added.
    ///
    /// # Errors
    /// [`Error::Damaged`] when a turn does not fit its run.
    pub fn apply(&mut self, seq: u64, record: &Record) -> Result<()> {
        record.turns.iter().try_for_each(|turn| self.apply_turn(seq, turn))
    }

    fn apply_turn(&mut self, seq: u64, turn: &Turn) -> Result<()> {
        self.last_run = self.last_run.max(turn.run.0);
        let damaged = |error: argosy_engine::Broken| Error::Damaged(error.to_string());
        match self.live.get_mut(&turn.run) {
            Some(stored) if seq > stored.snapshot_seq => {
                stored.run.apply(turn).map_err(damaged)?;
                stored.events_since += turn.events.len() as u64;
            }
            Some(_) => {}
            None => {
                let begins = matches!(turn.events.first(), Some(Event::Submitted(_)));
                if begins && self.in_log.contains(&turn.run) {
                    let run = Run::from_turn(turn).map_err(damaged)?;
                    let events_since = turn.events.len() as u64;
                    self.live.insert(turn.run, StoredRun { run, snapshot_seq: 0, events_since });
                }
            }
        }
        Ok(())
    }

    /// The largest number of a run that the log has, deleted ones included; 0 for none.
    #[must_use]
    pub fn last_run(&self) -> u64 {
        self.last_run
    }

    /// The runs, ready to go on, in the order of their ids.
    #[must_use]
    pub fn finish(self, now_ms: i64) -> Vec<StoredRun> {
        let mut runs: Vec<StoredRun> = self.live.into_values().collect();
        runs.iter_mut().for_each(|stored| stored.run.rebuild(now_ms));
        runs
    }
}

fn restore<'p>(id: RunId, parts: impl IntoIterator<Item = (&'p str, &'p [u8])>) -> Result<Run> {
    let (mut spec, mut head) = (None, None);
    let mut pages: BTreeMap<usize, Page> = BTreeMap::new();
    let mut items = BTreeMap::new();
    for (part, data) in parts {
        let what = format!("{id} {part}");
        match part.split_once('/') {
            None if part == "spec" => spec = Some(decode::<RunSpec>(data, &what)?),
            None if part == "head" => head = Some(decode::<Head>(data, &what)?),
            Some(("page", number)) => {
                pages.insert(parsed(number)?, decode(data, &what)?);
            }
            Some(("items", step)) => {
                items.insert(StepKey(parsed(step)?), Arc::new(decode(data, &what)?));
            }
            _ => return Err(Error::Damaged(what)),
        }
    }
    let (Some(spec), Some(head)) = (spec, head) else {
        return Err(Error::Damaged(format!("{id} has no spec or head")));
    };
    Ok(Run::restore(id, Arc::new(spec), head, pages.into_values().collect(), items))
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::Damaged(format!("part number {text:?}")))
}
