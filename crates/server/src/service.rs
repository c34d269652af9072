//! The handle through which doors and the command line use a running loop.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use argosy_api::ports::{self, RunView};
use argosy_engine::{Input, Prepared};
use argosy_model::{AttemptId, Cause, Code, Diagnostic, RunId, RunSpec};
use argosy_scheduler::Reason;
use argosy_store::{ListFilter, Object, ObjectChange, RunRow, Storage};
use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot, watch};

use crate::backend::{Backend, BackendReport};
use crate::clock::Clock;
use crate::core::{Core, Mutation, Options, Request, SharedRun};
use crate::taken::Taken;

/// How long a server that is to end waits for a disk that refuses.
const PATIENCE: Duration = Duration::from_secs(5);

/// Requests that may wait for the loop.
const INBOX: usize = 4_096;

/// A running loop. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    requests: mpsc::Sender<Request>,
    store: Arc<dyn Storage>,
    taken: Arc<Taken>,
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    shared: Arc<RwLock<HashMap<RunId, SharedRun>>>,
    trouble: watch::Receiver<Option<String>>,
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
    /// Starts a loop on a store.
    ///
    /// # Errors
    /// When what the directory holds cannot be loaded.
    pub async fn start(
        options: Options,
        store: Arc<dyn Storage>,
        backend: Arc<dyn Backend>,
        reports: mpsc::UnboundedReceiver<BackendReport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Service, argosy_store::Error> {
        let (trouble, seen) = watch::channel(None);
        let shared = Arc::new(RwLock::new(HashMap::new()));
        let loaded = Core::load(
            &options,
            Arc::clone(&store),
            Arc::clone(&backend),
            Arc::clone(&clock),
            trouble,
            Arc::clone(&shared),
        )
        .await?;
        let (requests, inbox) = mpsc::channel(INBOX);
        tokio::spawn(loaded.core.run(inbox, reports, loaded.commits, loaded.found));
        let taken = Arc::new(Taken::default());
        tokio::spawn(know_names(Arc::clone(&taken), Arc::clone(&store)));
        Ok(Service { requests, store, taken, backend, clock, shared, trouble: seen })
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, Diagnostic>>) -> Request,
    ) -> Result<T, Diagnostic> {
        let (answer, asked) = oneshot::channel();
        self.requests.send(request(answer)).await.map_err(|_| Stopped)?;
        asked.await.map_err(|_| Stopped)?
    }

    fn live(&self, run: RunId) -> Option<RunView> {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        let found = shared.get(&run)?;
        Some(RunView::new(Arc::clone(&found.run), Some(found.version.clone())))
    }

    /// A row with the counts of the live run, which are not written at every step.
    fn fresh(&self, row: RunRow) -> RunRow {
        match self.live(row.id) {
            Some(view) => view.read(|run| RunRow { archived: row.archived, ..RunRow::of(run) }),
            None => row,
        }
    }

    /// Makes everything durable and leaves the loop. Running attempts go on under the spawner.
    /// Where the disk goes on refusing, what was acknowledged is durable already, and nothing else
    /// is waited for.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.requests.send(Request::Stop { done }).await.is_ok() {
            tokio::select! {
                // An error means that the loop has left already.
                _ = stopped => self.store.close().await,
                () = refusing_for(self.trouble.clone(), PATIENCE) => {
                    tracing::error!("stopped without writing what nobody was promised");
                }
            }
        }
        self.backend.flush().await;
    }
}

/// Waits until the disk has refused for so long without a break.
async fn refusing_for(mut trouble: watch::Receiver<Option<String>>, patience: Duration) {
    loop {
        if trouble.wait_for(Option::is_some).await.is_err() {
            // The loop is gone, and with it what would say so.
            return std::future::pending().await;
        }
        let over = tokio::time::timeout(patience, trouble.wait_for(Option::is_none)).await;
        if over.is_err() {
            return;
        }
    }
}

/// Reads the names beside the loop. Without them every submit asks the store.
async fn know_names(taken: Arc<Taken>, store: Arc<dyn Storage>) {
    if let Err(error) = taken.fill(&*store).await {
        tracing::warn!(%error, "the names of runs cannot be read");
    }
}

#[async_trait]
impl ports::Service for Service {
    async fn submit(&self, spec: RunSpec, cause: Cause) -> Result<RunId, Diagnostic> {
        let may_be_taken = self.taken.take(&spec.space, &spec.name);
        if may_be_taken && self.find(&spec.space, &spec.name).await?.is_some() {
            let what = format!("a run named {:?} exists in {:?}", spec.name, spec.space);
            return Err(Diagnostic::new(Code::AlreadyExists, what).help("choose another name"));
        }
        let (prepared, cause) = (Box::new(Prepared::from(spec)), Box::new(cause));
        self.ask(|answer| Request::Submit { prepared, cause, answer }).await
    }

    async fn input(&self, run: RunId, input: Input, cause: Cause) -> Result<bool, Diagnostic> {
        let cause = Box::new(cause);
        self.ask(|answer| Request::Input { run, input, cause, answer }).await
    }

    async fn put_objects(&self, changes: Vec<ObjectChange>) -> Result<(), Diagnostic> {
        let mutation = Mutation::Objects(changes);
        self.ask(|answer| Request::Mutate { mutation, answer }).await
    }

    async fn delete(&self, run: RunId) -> Result<(), Diagnostic> {
        if self.live(run).is_some() {
            return Err(Diagnostic::new(Code::NotInState, "the run is going on")
                .help("stop or terminate it first"));
        }
        let mutation = Mutation::Delete(run);
        self.ask(|answer| Request::Mutate { mutation, answer }).await
    }

    async fn explain(&self, attempt: AttemptId) -> Result<Option<Reason>, Diagnostic> {
        let (answer, asked) = oneshot::channel();
        let request = Request::Explain { attempt, answer };
        self.requests.send(request).await.map_err(|_| Stopped)?;
        Ok(asked.await.map_err(|_| Stopped)?)
    }

    async fn run(&self, id: RunId) -> Result<RunView, Diagnostic> {
        if let Some(view) = self.live(id) {
            return Ok(view);
        }
        match self.store.run(id, self.clock.now_ms()).await? {
            Some(run) => Ok(RunView::new(Arc::new(RwLock::new(run)), None)),
            None => Err(Diagnostic::new(Code::NotFound, format!("there is no {id}"))),
        }
    }

    async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>, Diagnostic> {
        Ok(self.store.find(space, name).await?.map(|row| self.fresh(row)))
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>, Diagnostic> {
        let rows = self.store.list(filter).await?;
        Ok(rows.into_iter().map(|row| self.fresh(row)).collect())
    }

    async fn objects(&self, space: &str, kind: &str) -> Result<Vec<Object>, Diagnostic> {
        Ok(self.store.objects(space, kind).await?)
    }

    async fn object(
        &self,
        space: &str,
        kind: &str,
        name: &str,
    ) -> Result<Option<Object>, Diagnostic> {
        Ok(self.store.object(space, kind, name).await?)
    }

    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    fn trouble(&self) -> Option<Diagnostic> {
        self.trouble.borrow().as_deref().map(crate::core::refusing)
    }

    fn metrics(&self) -> Vec<(&'static str, &'static str, u64)> {
        let live = self.shared.read().unwrap_or_else(PoisonError::into_inner).len();
        let refusing = u64::from(self.trouble.borrow().is_some());
        vec![
            ("argosy_runs_live", "Runs that have not ended.", live as u64),
            ("argosy_store_refusing", "1 while the data directory cannot be written.", refusing),
        ]
    }
}
