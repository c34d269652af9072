//! What the driver asks of a backend. Every order may be given twice.

use std::collections::BTreeSet;

use argosy_engine::Rendered;
/// What a backend tells.
pub use argosy_exec::local::Report as BackendReport;
use argosy_model::attempt::Kill;
use argosy_model::{Artifact, AttemptId, Resources, RunId};
use async_trait::async_trait;

/// Makes jobs real.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Starts an attempt, or tells again how it stands.
    fn run(&self, attempt: AttemptId, rendered: Rendered);
    /// Ends an attempt: politely, and after `grace_ms` for good.
    fn kill(&self, attempt: AttemptId, why: Kill, grace_ms: u64);
    /// The attempt's end is durable; what is only needed to tell it can go.
    fn forget(&self, attempt: AttemptId);
    /// After a restart, before anything else: whatever is known of other attempts can go.
    fn keep_only(&self, _wanted: &BTreeSet<AttemptId>) {}
    /// Whether the bytes of an artifact of a space are still where they were kept.
    async fn holds(&self, _space: &str, _artifact: &Artifact) -> bool {
        true
    }
    /// Deletes an artifact of a space. One that is not there any more is deleted.
    async fn delete(&self, _space: &str, _key: &str) -> std::io::Result<()> {
        Ok(())
    }
    /// A run is deleted: what was kept of its attempts can go.
    fn discard(&self, _run: RunId) {}
    /// Waits until everything that was ordered so far is on its way.
    async fn flush(&self) {}
    /// Its machines, in the order of their ordinals.
    fn machines(&self) -> Vec<(String, Resources)>;
}
