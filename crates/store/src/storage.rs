//! What a store must do, whatever it is made of. One contract suite runs over all of them.

use argosy_engine::Run;
use argosy_model::{Outputs, RunId};
use async_trait::async_trait;

use crate::commit::{Commit, Garbage};
use crate::error::Result;
use crate::load::Loaded;
use crate::objects::Object;
use crate::open::Store;
use crate::query::ListFilter;
use crate::row::RunRow;

/// A store, as the driver uses it. All errors are those of the disk, the database or damage to
/// what was written.
#[async_trait]
pub trait Storage: Send + Sync + 'static {
    /// Writes a commit and syncs it. A crash before this returns may have left all of the commit or
    /// nothing of it; a crash afterwards leaves all of it. After an error nothing of it is written.
    async fn commit(&self, commit: &Commit) -> Result<u64>;
    /// Leaves everything in one file, for whoever reads it next. Nothing is lost without it.
    async fn close(&self) {}
    /// Every live run: its snapshot and what was logged after it.
    async fn load(&self, now_ms: i64) -> Result<Loaded>;
    /// One run as it is now, live or archived.
    async fn run(&self, id: RunId, now_ms: i64) -> Result<Option<Run>>;
    /// The row of a run by name.
    async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>>;
    /// Rows of runs, newest first.
    async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>>;
    /// The objects of a kind, by name.
    async fn objects(&self, space: &str, kind: &str) -> Result<Vec<Object>>;
    /// One object.
    async fn object(&self, space: &str, kind: &str, name: &str) -> Result<Option<Object>>;
    /// Finished runs that are deleted by themselves, with the time (Unix ms) at which they are.
    async fn expiring(&self) -> Result<Vec<(i64, RunId)>>;
    /// Artifacts that are to be deleted now, those that come after this one, at most `limit`.
    async fn garbage(&self, after: Option<&Garbage>, limit: u32) -> Result<Vec<Garbage>>;
    /// Outputs kept for later steps, with the time (Unix ms) at which they were.
    async fn memo(&self, space: &str, cache: &str, name: &str) -> Result<Option<(i64, Outputs)>>;
}

#[async_trait]
impl Storage for Store {
    async fn commit(&self, commit: &Commit) -> Result<u64> {
        Store::commit(self, commit).await
    }

    async fn close(&self) {
        Store::close(self).await;
    }

    async fn load(&self, now_ms: i64) -> Result<Loaded> {
        Store::load(self, now_ms).await
    }

    async fn run(&self, id: RunId, now_ms: i64) -> Result<Option<Run>> {
        Store::run(self, id, now_ms).await
    }

    async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>> {
        Store::find(self, space, name).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>> {
        Store::list(self, filter).await
    }

    async fn objects(&self, space: &str, kind: &str) -> Result<Vec<Object>> {
        Store::objects(self, space, kind).await
    }

    async fn object(&self, space: &str, kind: &str, name: &str) -> Result<Option<Object>> {
        Store::object(self, space, kind, name).await
    }

    async fn expiring(&self) -> Result<Vec<(i64, RunId)>> {
        Store::expiring(self).await
    }

    async fn garbage(&self, after: Option<&Garbage>, limit: u32) -> Result<Vec<Garbage>> {
        Store::garbage(self, after, limit).await
    }

    async fn memo(&self, space: &str, cache: &str, name: &str) -> Result<Option<(i64, Outputs)>> {
        Store::memo(self, space, cache, name).await
    }
}
