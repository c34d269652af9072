//! What is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use argosy_engine::{Head, Page, Run, Steps};
use argosy_model::{Item, Keep, Record, RunId, RunSpec, Step, StepKey};
use serde::{Deserialize, Serialize};

use crate::encode::encode;
use crate::error::Result;
use crate::row::RunRow;

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
    /// Artifacts that were due and are deleted.
    pub collected: Vec<Garbage>,
    /// Log records up to this commit are needed by no run.
    pub cut: Option<u64>,
}

impl Commit {
    /// Whether it is nothing but turns.
    pub(crate) fn is_record_alone(&self) -> bool {
        let Commit { at_ms: _, record, rows, snapshots, archived, .. } = self;
        let Commit { deleted, objects, memos, collected, cut, .. } = self;
        !record.turns.is_empty()
            && rows.is_empty()
            && snapshots.is_empty()
            && archived.is_empty()
            && deleted.is_empty()
            && objects.is_empty()
            && memos.is_empty()
            && collected.is_empty()
            && cut.is_none()
    }
}

/// Pieces of one run.
#[derive(Debug)]
pub struct Snapshot {
    /// The run.
    pub run: RunId,
    /// The pieces that changed since the last one.
    pub parts: Vec<Part>,
}

/// A piece of a run, as it was when it was taken. To encode it takes a while.
#[derive(Debug)]
pub enum Piece {
    /// What was accepted.
    Spec(Arc<RunSpec>),
    /// What stands beside the steps.
    Head(Box<Head>),
    /// A page of steps, with its number.
    Page(usize, Arc<Page>),
    /// The items of a loop.
    Items(StepKey, Arc<Vec<Item>>),
}

impl Piece {
    /// The piece as it is written.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn encode(&self) -> Result<Part> {
        let (name, data) = match self {
            Piece::Spec(spec) => ("spec".to_owned(), encode(spec)?),
            Piece::Head(head) => ("head".to_owned(), encode(head)?),
            Piece::Page(number, page) => (format!("page/{number}"), encode(page)?),
            Piece::Items(step, items) => (format!("items/{}", step.0), encode(items)?),
        };
        Ok(Part { name, data })
    }
}

/// A piece of a run, encoded.
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
}

/// A finished run, whole.
#[derive(Debug)]
pub struct Archived {
    /// The run.
    pub run: RunId,
    pub(crate) data: Vec<u8>,
    /// Artifacts that are to be deleted: at once, or with the run.
    pub garbage: Vec<(Garbage, Keep)>,
}

/// An artifact that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Garbage {
    /// The run that made it.
    pub run: RunId,
    /// Its key in the run's space.
    pub key: String,
    /// The space.
    pub space: String,
}

/// What an archive record holds.
#[derive(Serialize)]
struct WholeRef<'a> {
    spec: &'a RunSpec,
    head: Head,
    steps: &'a Steps,
    items: &'a BTreeMap<StepKey, Arc<Vec<Item>>>,
}

/// The same, read.
#[derive(Deserialize)]
pub(crate) struct Whole {
    pub(crate) spec: RunSpec,
    pub(crate) head: Head,
    pub(crate) steps: Vec<Step>,
    pub(crate) items: BTreeMap<StepKey, Arc<Vec<Item>>>,
}

impl Archived {
    /// The archive record of a finished run.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn of(run: &Run) -> Result<Archived> {
        let whole =
            WholeRef { spec: &run.spec, head: run.head(), steps: &run.steps, items: &run.items };
        let garbage = run.garbage().into_iter().map(|(key, keep)| {
            let space = run.spec.space.clone();
            (Garbage { run: run.id, key: key.to_owned(), space }, keep)
        });
        Ok(Archived { run: run.id, data: encode(&whole)?, garbage: garbage.collect() })
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
