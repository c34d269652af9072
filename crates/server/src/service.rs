//! The handle through which doors and the command line use a running loop.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use argosy_engine::{Input, Run};
use argosy_model::{AttemptId, Cause, Code, Diagnostic, RunId, RunSpec};
use argosy_scheduler::Reason;
use argosy_store::{ListFilter, ObjectChange, RunRow, Store};
use tokio::sync::{mpsc, oneshot, watch};

use crate::backend::{Backend, BackendReport};
use crate::clock::Clock;
use crate::core::{Core, Mutation, Options, Request, SharedRun};

/// Requests that may wait for the loop.
const INBOX: usize = 4_096;

/// A running loop. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    requests: mpsc::Sender<Request>,
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    shared: Arc<RwLock<HashMap<RunId, SharedRun>>>,
    trouble: watch::Receiver<Option<String>>,
}

/// A run that a reader looks at: live, or from the archive.
#[derive(Clone, Debug)]
pub struct RunView {
    run: Arc<RwLock<Run>>,
    version: Option<watch::Receiver<u64>>,
}

impl RunView {
    /// Looks at the run as it is now.
    pub fn read<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        look(&self.run.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the run has changed since the last call; `false` when it never will again.
    pub async fn changed(&mut self) -> bool {
        match &mut self.version {
            Some(version) => version.changed().await.is_ok(),
            None => false,
        }
    }
}

/// The loop has left: the process is stopping.
#[derive(Debug, thiserror::Error)]
#[error("the server is stopping")]
pub struct Stopped;

impl From<Stopped> for Diagnostic {
    fn from(_: Stopped) -> Self {
        Diagnostic::new(Code::Unreachable, "the server is stopping").help("start it again")
    }
}

impl Service {
    /// Starts a loop on a data directory.
    ///
    /// # Errors
    /// When what the directory holds cannot be loaded.
    pub async fn start(
        options: Options,
        store: Arc<Store>,
        backend: Arc<dyn Backend>,
        reports: mpsc::UnboundedReceiver<BackendReport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Service, argosy_store::Error> {
        let (trouble, seen) = watch::channel(None);
        let shared = Arc::new(RwLock::new(HashMap::new()));
        let loaded = Core::load(
            &options,
            Arc::clone(&store),
            backend,
            Arc::clone(&clock),
            trouble,
            Arc::clone(&shared),
        )
        .await?;
        let (requests, inbox) = mpsc::channel(INBOX);
        tokio::spawn(loaded.core.run(inbox, reports, loaded.commits));
        Ok(Service { requests, store, clock, shared, trouble: seen })
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, Diagnostic>>) -> Request,
    ) -> Result<T, Diagnostic> {
        let (answer, asked) = oneshot::channel();
        self.requests.send(request(answer)).await.map_err(|_| Stopped)?;
        asked.await.map_err(|_| Stopped)?
    }

    /// Accepts a run. When this returns, the run survives power loss.
    ///
    /// # Errors
    /// [`Code::AlreadyExists`], [`Code::StoreFailed`].
    pub async fn submit(&self, spec: RunSpec, cause: Cause) -> Result<RunId, Diagnostic> {
        if self.find(&spec.space, &spec.name).await?.is_some() {
            let what = format!("a run named {:?} exists in {:?}", spec.name, spec.space);
            return Err(Diagnostic::new(Code::AlreadyExists, what).help("choose another name"));
        }
        let (spec, cause) = (Box::new(spec), Box::new(cause));
        self.ask(|answer| Request::Submit { spec, cause, answer }).await
    }

    /// Gives a live run an input; tells whether that changed anything.
    ///
    /// # Errors
    /// When the server is stopping.
    pub async fn input(&self, run: RunId, input: Input, cause: Cause) -> Result<bool, Diagnostic> {
        let cause = Box::new(cause);
        self.ask(|answer| Request::Input { run, input, cause, answer }).await
    }

    /// Puts or deletes objects.
    ///
    /// # Errors
    /// When the server is stopping.
    pub async fn put_objects(&self, changes: Vec<ObjectChange>) -> Result<(), Diagnostic> {
        let mutation = Mutation::Objects(changes);
        self.ask(|answer| Request::Mutate { mutation, answer }).await
    }

    /// Deletes a finished run.
    ///
    /// # Errors
    /// [`Code::NotInState`] while it goes on.
    pub async fn delete(&self, run: RunId) -> Result<(), Diagnostic> {
        if self.live(run).is_some() {
            return Err(Diagnostic::new(Code::NotInState, "the run is going on")
                .help("stop or terminate it first"));
        }
        let mutation = Mutation::Delete(run);
        self.ask(|answer| Request::Mutate { mutation, answer }).await
    }

    /// Why an attempt waits for a machine; `None` where it does not.
    ///
    /// # Errors
    /// When the server is stopping.
    pub async fn explain(&self, attempt: AttemptId) -> Result<Option<Reason>, Diagnostic> {
        let (answer, asked) = oneshot::channel();
        let request = Request::Explain { attempt, answer };
        self.requests.send(request).await.map_err(|_| Stopped)?;
        Ok(asked.await.map_err(|_| Stopped)?)
    }

    fn live(&self, run: RunId) -> Option<RunView> {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        let found = shared.get(&run)?;
        Some(RunView { run: Arc::clone(&found.run), version: Some(found.version.clone()) })
    }

    /// A run, live or archived.
    ///
    /// # Errors
    /// [`Code::NotFound`], and whatever the store says.
    pub async fn run(&self, id: RunId) -> Result<RunView, Diagnostic> {
        if let Some(view) = self.live(id) {
            return Ok(view);
        }
        match self.store.run(id, self.clock.now_ms()).await? {
            Some(run) => Ok(RunView { run: Arc::new(RwLock::new(run)), version: None }),
            None => Err(Diagnostic::new(Code::NotFound, format!("there is no {id}"))),
        }
    }

    /// The row of a run by name.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>, Diagnostic> {
        Ok(self.store.find(space, name).await?.map(|row| self.fresh(row)))
    }

    /// Rows of runs, newest first.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>, Diagnostic> {
        let rows = self.store.list(filter).await?;
        Ok(rows.into_iter().map(|row| self.fresh(row)).collect())
    }

    /// A row with the counts of the live run, which are not written at every step.
    fn fresh(&self, row: RunRow) -> RunRow {
        match self.live(row.id) {
            Some(view) => view.read(|run| RunRow { archived: row.archived, ..RunRow::of(run) }),
            None => row,
        }
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The clock.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// What the disk says, while it refuses.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// Makes everything durable and leaves the loop. Running attempts go on under the spawner.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.requests.send(Request::Stop { done }).await.is_ok() {
            // An error means that the loop has left already.
            let _ = stopped.await;
        }
    }
}
