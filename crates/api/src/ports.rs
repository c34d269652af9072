//! What the doors need of the server. The server implements it; nothing here knows how.

use std::sync::{Arc, PoisonError, RwLock};

use argosy_engine::{Input, Run};
use argosy_model::{AttemptId, Cause, Diagnostic, RunId, RunSpec};
use argosy_scheduler::Reason;
use argosy_store::{ListFilter, Object, ObjectChange, RunRow};
use async_trait::async_trait;
use tokio::sync::watch;

/// A run that a reader looks at: live, or from the archive.
#[derive(Clone, Debug)]
pub struct RunView {
    run: Arc<RwLock<Run>>,
    version: Option<watch::Receiver<u64>>,
}

/// Steps of a run from which on a copy is looked at.
const COPIED_FROM: usize = 1_000;

impl RunView {
    /// A view of a run; `version` rises with every durable change, and is `None` for a run that
    /// never changes again.
    #[must_use]
    pub fn new(run: Arc<RwLock<Run>>, version: Option<watch::Receiver<u64>>) -> RunView {
        RunView { run, version }
    }

    /// Looks at the run as it is now, for a moment: the loop waits as long as this takes.
    pub fn read<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        look(&self.run.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at all of the run. Of a large one a copy is looked at, which shares what does not
    /// change meanwhile, so that the loop does not wait.
    pub fn show<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        let run = self.run.read().unwrap_or_else(PoisonError::into_inner);
        if run.steps.len() < COPIED_FROM || self.version.is_none() {
            return look(&run);
        }
        let copy = run.clone();
        drop(run);
        look(&copy)
    }

    /// The run as it is now, for one who takes longer to look at it: it does not change, and the
    /// loop does not wait.
    #[must_use]
    pub fn still(&self) -> RunView {
        match self.version {
            Some(_) => RunView::new(Arc::new(RwLock::new(self.read(Run::clone))), None),
            None => self.clone(),
        }
    }

    /// Waits until the run has changed since the last call; `false` when it never will again.
    /// Changes in between are one change.
    pub async fn changed(&mut self) -> bool {
        match &mut self.version {
            Some(version) => version.changed().await.is_ok(),
            None => false,
        }
    }
}

/// The server, as the doors see it: reading, and one way to write.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Accepts a run. When this returns, the run survives power loss.
    async fn submit(&self, spec: RunSpec, cause: Cause) -> Result<RunId, Diagnostic>;
    /// Gives a live run an input; tells whether that changed anything.
    async fn input(&self, run: RunId, input: Input, cause: Cause) -> Result<bool, Diagnostic>;
    /// Deletes a finished run.
    async fn delete(&self, run: RunId) -> Result<(), Diagnostic>;
    /// Puts or deletes objects.
    async fn put_objects(&self, changes: Vec<ObjectChange>) -> Result<(), Diagnostic>;
    /// The objects of a kind, by name; of no owner when `space` is empty.
    async fn objects(&self, space: &str, kind: &str) -> Result<Vec<Object>, Diagnostic>;
    /// A run, live or archived.
    async fn run(&self, id: RunId) -> Result<RunView, Diagnostic>;
    /// The row of a run by name.
    async fn find(&self, space: &str, name: &str) -> Result<Option<RunRow>, Diagnostic>;
    /// Rows of runs, newest first.
    async fn list(&self, filter: &ListFilter) -> Result<Vec<RunRow>, Diagnostic>;
    /// Why an attempt waits for a machine; `None` where it does not.
    async fn explain(&self, attempt: AttemptId) -> Result<Option<Reason>, Diagnostic>;
    /// Unix ms.
    fn now_ms(&self) -> i64;
    /// Why nothing can be accepted now; `None` where something can.
    fn trouble(&self) -> Option<Diagnostic>;
    /// Numbers for `/metrics`: (name, help, value).
    fn metrics(&self) -> Vec<(&'static str, &'static str, u64)>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argo::{Shelf, SubmitOptions, load, to_run};

    const LOOP: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: loop}
spec:
  entrypoint: main
  templates:
    - name: main
      steps: [[{name: each, template: leaf, withSequence: {count: COUNT}}]]
    - {name: leaf, container: {image: busybox, command: ['true']}}
";

    fn run(count: usize) -> Run {
        let loaded = load("loop.yaml", &LOOP.replace("COUNT", &count.to_string())).unwrap();
        let options = SubmitOptions { namespace: "s".to_owned(), ..SubmitOptions::default() };
        let spec = to_run(&loaded.objects[0], &options, &Shelf::default()).unwrap();
        let (mut run, _) = argosy_engine::submit(RunId(1), spec, 0);
        while run.steps.len() < count {
            let _ = argosy_engine::decide(&mut run, Input::Wake, 0);
        }
        run
    }

    #[test]
    fn nobody_waits_for_those_who_look_at_a_large_run() {
        for (count, waits) in [(10, true), (COPIED_FROM, false)] {
            let shared = Arc::new(RwLock::new(run(count)));
            let (_, version) = watch::channel(0);
            let view = RunView::new(Arc::clone(&shared), Some(version));
            let held = view.show(|run| (run.steps.len() >= count, shared.try_write().is_err()));
            assert_eq!(held, (true, waits), "{count}");
        }
    }
}
