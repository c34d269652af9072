//! Outputs of steps that are kept for later ones: looking them up, and keeping them.

use std::sync::Arc;

use argosy_engine::Input;
use argosy_model::{Outputs, RunId, StepKey};
use argosy_store::{Memo, Storage};

use super::{Core, Fetched};
use crate::backend::Backend;

impl Core {
    /// Looks outputs up beside the loop, which hears of them as of any other input.
    pub(super) fn recall(&self, run: RunId, step: StepKey, cache: String, key: String) {
        let Some(live) = self.runs.get(&run) else { return };
        let space = live.read(|run| run.spec.space.clone());
        let (store, backend) = (Arc::clone(&self.store), Arc::clone(&self.backend));
        let fetched = self.fetched.clone();
        tokio::spawn(async move {
            let found = look_up(&*store, &*backend, &space, &cache, &key).await;
            let input = Input::Recalled { step, at: (cache, key), found };
            // The loop is gone only when the process is stopping.
            let _ = fetched.send(Fetched::Input(run, input));
        });
    }

    /// Keeps the outputs of a step in the same commit as its end.
    pub(super) fn remember(&mut self, run: RunId, step: StepKey) {
        let Some(live) = self.runs.get(&run) else { return };
        let memo = live.read(|run| {
            let step = run.step(step)?;
            let recall = step.recall.as_deref()?;
            Some(Memo {
                space: run.spec.space.clone(),
                cache: recall.cache.clone(),
                name: recall.key.clone(),
                outputs: step.outputs.as_deref().cloned().unwrap_or_default(),
            })
        });
        self.batch.memos.extend(memo);
    }
}

/// What is kept, as far as all of it is still there. A cache that cannot be read is an empty one:
/// the step runs.
async fn look_up(
    store: &dyn Storage,
    backend: &dyn Backend,
    space: &str,
    cache: &str,
    key: &str,
) -> Option<(i64, Box<Outputs>)> {
    let found = store.memo(space, cache, key).await.unwrap_or_else(|error| {
        tracing::warn!(%error, cache, key, "kept outputs cannot be read");
        None
    });
    let (kept_ms, outputs) = found?;
    for (_, artifact) in &outputs.artifacts {
        if !backend.holds(space, artifact).await {
            return None;
        }
    }
    Some((kept_ms, Box::new(outputs)))
}
