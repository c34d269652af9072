//! One server on simulated time, disk and processes.

#![allow(dead_code, reason = "each test binary uses a part of the harness")]

use std::sync::Arc;
use std::time::Duration;

use argosy_api::ports::{RunView, Service as _};
use argosy_model::run::Plan;
use argosy_model::{Cause, RunPhase, RunSpec};
use argosy_server::{Clock, Options, Service};
use argosy_sim::{Disk, World};
use argosy_store::Storage;
use serde_json::Value;
use tokio::time::Instant;

struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now_ms(&self) -> i64 {
        1_000_000 + i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

pub struct House {
    pub disk: Disk,
    pub world: World,
    clock: Arc<dyn Clock>,
}

impl House {
    pub fn new() -> House {
        let clock = Arc::new(PausedClock(Instant::now()));
        House { disk: Disk::default(), world: World::new(1), clock }
    }

    /// A server on what is there.
    pub async fn serve(&self) -> Service {
        self.serve_with(Options { effects_first: false, ..Options::default() }).await
    }

    pub async fn serve_with(&self, options: Options) -> Service {
        let store: Arc<dyn Storage> = Arc::new(self.disk.clone());
        let world = Arc::new(self.world.clone());
        let reports = self.world.attach();
        Service::start(options, store, world, reports, Arc::clone(&self.clock)).await.unwrap()
    }

    /// The phase of a run as its row has it.
    pub async fn phase(&self, name: &str) -> RunPhase {
        self.disk.find("default", name).await.unwrap().unwrap().phase
    }
}

/// Runs something on paused time, which goes on by itself whenever nothing else can.
pub fn simulated<T>(story: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(story)
}

pub fn spec(name: &str, priority: i32, graph: Value) -> RunSpec {
    RunSpec {
        space: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        door: "sim".into(),
        labels: Vec::new(),
        priority,
        plan: Plan::Graph(Box::new(serde_json::from_value(graph).unwrap())),
        source: Value::Null,
    }
}

pub async fn submit(service: &Service, name: &str, priority: i32, graph: &Value) -> RunView {
    let spec = spec(name, priority, graph.clone());
    let id = service.submit(spec, Cause::default()).await.unwrap();
    service.run(id).await.unwrap()
}

/// Waits for the end of a run.
pub async fn end(view: &mut RunView) -> RunPhase {
    loop {
        let phase = view.read(|run| run.phase);
        if phase.is_terminal() {
            return phase;
        }
        tokio::time::timeout(Duration::from_secs(600), view.changed()).await.expect("it ends");
    }
}
