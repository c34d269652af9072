//! One simulation: runs are submitted, the power goes again and again, and in the end everything
//! that was acknowledged must have been done, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

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
    let mut random = Random::new(plan.seed);
    let (disk, world) = (Disk::default(), World::new(plan.seed));
    let clock: Arc<dyn Clock> = Arc::new(SimClock::default());
    let mut submitted = 0;
    let mut acknowledged: Vec<String> = Vec::new();
    let mut found = Found::default();
    for epoch in 0..=plan.crashes {
        let last = epoch == plan.crashes;
        let fate = if random.chance(2) { Fate::Dropped } else { Fate::Kept };
        disk.crash_after((!last).then(|| (1 + random.below(12), fate)));
        let life = live(
            &disk,
            &world,
            &clock,
            &plan,
            &mut random,
            &mut submitted,
            &mut acknowledged,
            last,
        );
        tokio::select! {
            outcome = life => found.faults.extend(outcome.err()),
            () = disk.power.notified() => found.crashes += 1,
        }
        world.detach();
    }
    found.faults.extend(unfinished(&disk, &acknowledged).await);
    found.faults.extend(world.faults());
    found.started = world.started();
    found.commits = disk.commits();
    found
}

/// One life of the server, until it has nothing to do or the power goes.
#[expect(clippy::too_many_arguments, reason = "the parts of one simulation")]
async fn live(
    disk: &Disk,
    world: &World,
    clock: &Arc<dyn Clock>,
    plan: &Plan,
    random: &mut Random,
    submitted: &mut u64,
    acknowledged: &mut Vec<String>,
    last: bool,
) -> Result<(), String> {
    let reports = world.attach();
    let options = Options { effects_first: plan.effects_first, ..Options::default() };
    let store: Arc<dyn Storage> = Arc::new(disk.clone());
    let service =
        Service::start(options, store, Arc::new(world.clone()), reports, Arc::clone(clock))
            .await
            .map_err(|error| format!("the server does not start again: {error}"))?;
    let share =
        if last { plan.runs - *submitted } else { random.below(plan.runs - *submitted + 1) };
    for _ in 0..share {
        *submitted += 1;
        let spec = workload::draw(random, *submitted);
        let name = spec.name.clone();
        use argosy_api::ports::Service as _;
        match service.submit(spec, Cause::default()).await {
            Ok(_) => acknowledged.push(name),
            Err(refused) => return Err(format!("{name} was refused: {refused}")),
        }
    }
    // Simulated time: long enough for everything that can happen.
    tokio::time::sleep(Duration::from_secs(60)).await;
    if !last {
        // The power goes while nothing happens.
        disk.power.notify_one();
        std::future::pending::<()>().await;
    }
    Ok(())
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
