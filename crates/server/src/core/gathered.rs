//! A commit whose large parts are not encoded yet.

use std::sync::{Arc, PoisonError, RwLock};

use argosy_engine::{PAGE_STEPS, Run};
use argosy_model::RunId;
use argosy_store::{Archived, Commit, Piece, Snapshot};

/// Pieces that the loop's own thread may encode: some milliseconds.
const FEW: usize = 4;

/// A commit, and what is still to be encoded for it.
pub(super) struct Gathered {
    pub(super) commit: Commit,
    pub(super) snapshots: Vec<(RunId, Vec<Piece>)>,
    /// Whether none of them can be encoded, as a test wants it.
    pub(super) broken: bool,
    /// Runs that have ended: nothing writes to them any more.
    pub(super) ended: Vec<(RunId, Arc<RwLock<Run>>)>,
}

/// A commit that is complete.
pub(super) struct Encoded {
    pub(super) commit: Commit,
    /// Runs whose snapshot is in it.
    pub(super) snapshots: Vec<RunId>,
    /// Runs whose snapshot could not be encoded. The log has it all.
    pub(super) broken: Vec<RunId>,
}

impl Gathered {
    /// Encodes everything; what takes long, on another thread.
    pub(super) async fn encode(self) -> Encoded {
        if self.pieces() <= FEW {
            return self.encode_now();
        }
        match tokio::task::spawn_blocking(|| self.encode_now()).await {
            Ok(encoded) => encoded,
            // Half of a commit must not be written, and there is no other half any more.
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }

    fn pieces(&self) -> usize {
        let snapshots = self.snapshots.iter().map(|(_, pieces)| pieces.len());
        let ended = self.ended.iter().map(|(_, run)| {
            run.read().unwrap_or_else(PoisonError::into_inner).steps.len().div_ceil(PAGE_STEPS)
        });
        snapshots.chain(ended).sum()
    }

    fn encode_now(self) -> Encoded {
        let Gathered { mut commit, snapshots, broken: breaks, ended } = self;
        let (mut written, mut broken) = (Vec::new(), Vec::new());
        let encode = |piece: &Piece| match breaks {
            true => Err(argosy_store::Error::Damaged("by a test".to_owned())),
            false => piece.encode(),
        };
        for (run, pieces) in snapshots {
            match pieces.iter().map(encode).collect() {
                Ok(parts) => {
                    commit.snapshots.push(Snapshot { run, parts });
                    written.push(run);
                }
                Err(error) => {
                    tracing::error!(%run, %error, "a snapshot cannot be written");
                    broken.push(run);
                }
            }
        }
        for (id, run) in ended {
            let run = run.read().unwrap_or_else(PoisonError::into_inner);
            match Archived::of(&run) {
                Ok(archived) => commit.archived.push(archived),
                Err(error) => tracing::error!(run = %id, %error, "a run cannot be archived"),
            }
        }
        Encoded { commit, snapshots: written, broken }
    }
}
