//! A data directory that is read while no server of this process owns it.

use std::sync::{Arc, RwLock};

use argosy_api::ports::{self, RunView};
use argosy_engine::Input;
use argosy_model::{AttemptId, Cause, Code, Diagnostic, RunId, RunSpec};
use argosy_scheduler::Reason;
use argosy_store::{ListFilter, Object, ObjectChange, RunRow, Store};
use async_trait::async_trait;

use crate::clock::{Clock, SystemClock};

/// Reads a data directory, and refuses everything else.
pub struct Reader {
    store: Store,
}

impl Reader {
    /// Reads this store.
    #[must_use]
    pub fn new(store: Store) -> Reader {
        Reader { store }
    }

    fn refuse<T>(&self) -> Result<T, Diagnostic> {
        let what = format!("no server runs on {}", self.store.dir().display());
        Err(Diagnostic::new(Code::Unreachable, what).help("start one with `argosy up`"))
    }
}

#[async_trait]
impl ports::Service for Reader {
    async fn submit(&self, _: RunSpec, _: Cause) -> Result<RunId, Diagnostic> {
        self.refuse()
    }

    async fn input(&self, _: RunId, _: Input, _: Cause) -> Result<bool, Diagnostic> {
        self.refuse()
    }

    async fn delete(&self, _: RunId) -> Result<(), Diagnostic> {
        self.refuse()
    }

    async fn put_objects(&self, _: Vec<ObjectChange>) -> Result<(), Diagnostic> {
        self.refuse()
    }

    async fn objects(&self, space: &str, kind: &str) -> Result<Vec<Object>, Diagnostic> {
        Ok(self.store.objects(space, kind).await?)
    }

    async fn run(&self, id: RunId) -> Result<RunView, Diagnostic> {
        match self.store.run(id, self.now_ms()).await? {
            Some(run) => Ok(RunView::new(Arc::new(RwLock::new(run)), None)),
            None => Err(Diagnostic::new(Code::NotFound, format!("there is no {id}"))),
        }
    }

    async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>, Diagnostic> {
        Ok(self.store.find(space, name).await?)
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>, Diagnostic> {
        Ok(self.store.list(filter).await?)
    }

    async fn explain(&self, _: AttemptId) -> Result<Option<Reason>, Diagnostic> {
        Ok(None)
    }

    fn now_ms(&self) -> i64 {
        SystemClock::new().now_ms()
    }

    fn trouble(&self) -> Option<Diagnostic> {
        None
    }

    fn metrics(&self) -> Vec<(&'static str, &'static str, u64)> {
        Vec::new()
    }
}
