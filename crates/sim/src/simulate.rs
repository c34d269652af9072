//! One simulation: runs are submitted, the power goes again and again, and in the end everything
//! that was acknowledged must have been done, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use argosy_api::ports::Service as _;
use argosy_model::{Cause, RunPhase};
use argosy_server::{Clock, Options, Service};
use argosy_store::Storage;

use crate::disk::{Disk, Fate};
use crate::random::Random;
use crate::workload;
use crate::world::World;

/// How a simulation goes.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// How often the power goes.
    pub crashes: u64,
    /// How many runs are submitted.
    pub runs: u64,
    /// Breaks the order of commit and effect.
    pub effects_first: bool,
}

/// What a simulation found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What must not happen and did.
    pub faults: Vec<String>,
    /// How often the power went.
    pub crashes: u64,
    /// How many processes were started.
    pub started: usize,
    /// How many commits were tried.
    pub commits: u64,
}

/// Simulated time.
#[derive(Debug, Default)]
struct SimClock {
    began: std::sync::OnceLock<tokio::time::Instant>,
    last: AtomicI64,
}

impl Clock for SimClock {
    fn now_ms(&self) -> i64 {
        let began = *self.began.get_or_init(tokio::time::Instant::now);
        let passed = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.last.fetch_max(passed, Ordering::SeqCst);
        1_000_000 + self.last.load(Ordering::SeqCst)
    }
}

/// Simulates.
///
/// # Panics
/// When the runtime cannot be made.
#[must_use]
pub fn simulate(plan: Plan) -> Found {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let Ok(runtime) = runtime else {
        return Found { faults: vec!["no runtime".to_owned()], ..Found::default() };
    };
    runtime.block_on(run(plan))
}

async fn run(plan: Plan) -> Found {
    let mut story = Story {
        plan,
        random: Random::new(plan.seed),
        disk: Disk::default(),
        world: World::new(plan.seed),
        clock: Arc::new(SimClock::default()),
        submitted: 0,
        acknowledged: Vec::new(),
    };
    let power = Arc::clone(&story.disk.power);
    let mut found = Found::default();
    for epoch in 0..=plan.crashes {
        let last = epoch == plan.crashes;
        let fate = if story.random.chance(2) { Fate::Dropped } else { Fate::Kept };
        story.disk.crash_after((!last).then(|| (1 + story.random.below(12), fate)));
        tokio::select! {
            outcome = story.live(last) => found.faults.extend(outcome.err()),
            () = power.notified() => found.crashes += 1,
        }
        story.world.detach();
    }
    found.faults.extend(unfinished(&story.disk, &story.acknowledged).await);
    found.faults.extend(story.world.faults());
    found.started = story.world.started();
    found.commits = story.disk.commits();
    found
}

/// What outlives every life of the server.
struct Story {
    plan: Plan,
    random: Random,
    disk: Disk,
    world: World,
    clock: Arc<dyn Clock>,
    submitted: u64,
    /// The runs that must be there in the end.
    acknowledged: Vec<String>,
}

impl Story {
    /// One life of the server, until it has nothing to do or the power goes.
    async fn live(&mut self, last: bool) -> Result<(), String> {
        let reports = self.world.attach();
        let options = Options { effects_first: self.plan.effects_first, ..Options::default() };
        let store: Arc<dyn Storage> = Arc::new(self.disk.clone());
        let backend = Arc::new(self.world.clone());
        let service = Service::start(options, store, backend, reports, Arc::clone(&self.clock))
            .await
            .map_err(|error| format!("the server does not start again: {error}"))?;
        if self.random.chance(2) {
            self.delete_newest(&service).await;
        }
        let left = self.plan.runs - self.submitted;
        let share = if last { left } else { self.random.below(left + 1) };
        for _ in 0..share {
            self.submitted += 1;
            let spec = workload::draw(&mut self.random, self.submitted);
            let name = spec.name.clone();
            match service.submit(spec, Cause::default()).await {
                Ok(_) => self.acknowledged.push(name),
                Err(refused) => return Err(format!("{name} was refused: {refused}")),
            }
        }
        // Simulated time: long enough for everything that can happen.
        tokio::time::sleep(Duration::from_secs(60)).await;
        if !last {
            // The power goes while nothing happens.
            self.disk.power.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    /// Deletes the newest run, if it is over. Whether that was in time before the power goes or
    /// not, nothing is promised of it any more.
    async fn delete_newest(&mut self, service: &Service) {
        let Some(name) = self.acknowledged.last().cloned() else { return };
        let Ok(Some(row)) = self.disk.find("default", &name).await else { return };
        if row.phase.is_terminal() {
            self.acknowledged.pop();
            // It may be too late for it.
            let _ = service.delete(row.id).await;
        }
    }
}

async fn unfinished(disk: &Disk, acknowledged: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    for name in acknowledged {
        match disk.find("default", name).await {
            Ok(Some(row)) if row.phase == RunPhase::Succeeded => {}
            Ok(Some(row)) => {
                faults.push(format!("{name} is {:?}{}", row.phase, open_steps(disk, row.id).await))
            }
            _ => faults.push(format!("{name} was acknowledged and is lost")),
        }
    }
    faults
}

/// The steps of a live run that are not over.
async fn open_steps(disk: &Disk, id: argosy_model::RunId) -> String {
    let Ok(loaded) = disk.load(0).await else { return String::new() };
    let Some(found) = loaded.runs.into_iter().find(|stored| stored.run.id == id) else {
        return String::new();
    };
    let run = found.run;
    let open = (0u32..).map(argosy_model::StepKey).zip(&run.steps);
    let open = open.filter(|(_, step)| !step.phase.is_terminal());
    let open: Vec<String> = open
        .map(|(key, step)| {
            let attempt = step.attempts.last().map(|attempt| attempt.phase);
            format!("{} {:?} {attempt:?}", argosy_engine::names::full_name(&run, key), step.kind)
        })
        .collect();
    format!(": {}", open.join(", "))
}
