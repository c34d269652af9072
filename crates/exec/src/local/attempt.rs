//! The life of one attempt, from its inputs to its outputs.

use super::backend::{House, Report};
use super::crew::{Crew, Ended, Running};
use super::fault::{self, cannot_start};
use super::jobs::News;
use super::layout::{Layout, Marker};
use super::order::Orders;
use super::plan::{Ceiling, Member, Plan};
use super::{save, set, stage, volumes};
use argosy_blob::Space;
use argosy_model::attempt::ContainerEnd;
use argosy_model::{AttemptId, Diagnostic, End, Exit, ProcessSpec};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// An attempt that is carried out.
pub struct Attempt {
    house: Arc<House>,
    orders: Orders,
    plan: Plan,
    boot: String,
    crew: Crew,
    /// Whether it has been told that it runs.
    announced: AtomicBool,
    /// Ends of single processes, by their position.
    ends: Mutex<BTreeMap<usize, ContainerEnd>>,
}

/// What is to be carried out.
pub struct Job {
    pub attempt: AttemptId,
    pub spec: ProcessSpec,
    /// What a person calls the step.
    pub name: String,
    pub space: String,
}

/// Carries an attempt out, or goes on with it. `stop` holds the grace in ms once it is to end.
pub async fn carry_out(house: Arc<House>, job: Job, stop: watch::Receiver<Option<u64>>) -> End {
    let layout = Layout::new(&house.data_dir, job.attempt);
    let begun = match layout.marker() {
        Ok(Some(marker)) => Attempt::resume(house, job, layout, marker).await,
        Ok(None) => {
            let mut ordered = stop.clone();
            tokio::select! {
                biased;
                Ok(_) = ordered.wait_for(Option::is_some) => Err(End::bare(Exit::NotStarted)),
                begun = Attempt::begin(house, job, layout) => begun,
            }
        }
        Err(error) => Err(unready(format!("cannot read its folder: {error}"))),
    };
    match begun {
        Ok((attempt, staged_ms)) => {
            let mut end = attempt.live(stop).await;
            end.staged_ms = staged_ms;
            end
        }
        Err(end) => end,
    }
}

/// What is to be said of limits of memory that do not hold for a whole process tree.
async fn memory_note(plan: &Plan, house: &House) -> Option<String> {
    let is_limited = |member: &Member| member.container.claim.limits.memory_bytes > 0;
    if !plan.members().any(is_limited) {
        return None;
    }
    let why = house.no_memory_limits().await?;
    Some(format!("its limit of memory holds for each process by itself: {why}"))
}

fn refused(why: Diagnostic) -> End {
    End::with_error(Exit::Refused, &why)
}

/// What the attempt needs cannot be put in place.
fn unready(what: String) -> End {
    refused(cannot_start(what))
}

impl Attempt {
    /// Goes on with an attempt that an earlier server has ordered.
    async fn resume(
        house: Arc<House>,
        job: Job,
        layout: Layout,
        marker: Marker,
    ) -> Result<(Self, i64), End> {
        let boot = house.jobs.boot().await;
        if marker.boot != boot {
            return Err(End::with_error(Exit::Lost, &fault::lost()));
        }
        // As it was, whatever works by now.
        let ceiling = Ceiling { level: marker.level, why: String::new(), by_machine: false };
        let plan = Plan::new(&job.spec, &house.images, &ceiling).map_err(unready)?;
        Ok((Self::new(house, job, layout, plan, boot), 0))
    }

    /// Puts everything in place that the processes will find.
    async fn begin(house: Arc<House>, job: Job, layout: Layout) -> Result<(Self, i64), End> {
        let ceiling: Ceiling = house.ceiling().await;
        let plan = Plan::new(&job.spec, &house.images, &ceiling).map_err(unready)?;
        let attempt = job.attempt;
        for message in &plan.notes {
            house.report(Report::Note { attempt, message: message.clone() });
        }
        if let Some(message) = memory_note(&plan, &house).await {
            house.report(Report::Note { attempt, message });
        }
        let made = layout.make(plan.level, &house.spares);
        made.map_err(|error| unready(format!("cannot make its folder: {error}")))?;
        let cleared =
            plan.members().try_for_each(|member| layout.clear_logs(&member.container.name));
        cleared.map_err(|error| unready(format!("cannot begin its log: {error}")))?;
        let own = Space::new(&job.space).map_err(refused)?;
        let (spec, space) = (&job.spec, &*job.space);
        let hand = house.hands.acquire().await;
        stage::inputs(&spec.inputs, &layout, &*house.store, &own).await.map_err(refused)?;
        volumes::fill(&spec.volumes, &layout, &*house.values, space).await.map_err(refused)?;
        drop(hand);
        let boot = house.jobs.boot().await;
        let marked = layout.mark(&Marker { boot: boot.clone(), level: plan.level });
        marked.map_err(|error| unready(format!("cannot write in its folder: {error}")))?;
        Ok((Self::new(house, job, layout, plan, boot), now_ms()))
    }

    fn new(house: Arc<House>, job: Job, layout: Layout, plan: Plan, boot: String) -> Self {
        let Job { attempt, spec, name, space } = job;
        let orders = Orders { attempt, spec, name, space, layout, level: plan.level };
        let crew = Crew::new(house.jobs.clone());
        Self {
            house,
            orders,
            plan,
            boot,
            crew,
            announced: AtomicBool::new(false),
            ends: Mutex::default(),
        }
    }

    /// Runs the processes, and keeps what they leave.
    async fn live(self, stop: watch::Receiver<Option<u64>>) -> End {
        let ended = tokio::select! {
            ended = self.run() => ended,
            never = self.end_when_ordered(stop.clone()) => match never {},
        };
        let mut end = tokio::select! {
            end = self.keep(ended) => end,
            () = patience(stop) => {
                End::with_message(Exit::Killed, "ended while its outputs were being kept")
            }
        };
        end.containers = self.container_ends();
        end.saved_ms = now_ms();
        end
    }

    /// Once it is ordered: asks all processes to end, and then makes them.
    async fn end_when_ordered(&self, mut stop: watch::Receiver<Option<u64>>) -> Infallible {
        if stop.wait_for(Option::is_some).await.is_ok() {
            self.crew.stop();
            patience(stop).await;
            self.crew.kill_all();
        }
        std::future::pending().await
    }

    async fn run(&self) -> Ended {
        for member in &self.plan.init {
            let ended = self.member(member, false).await;
            if !ended.is_success() {
                return ended.named("init container", &member.container.name);
            }
        }
        let spec = &self.orders.spec;
        if !spec.set.is_empty() {
            return set::run(&self.plan.main, &spec.set, |member| self.member(member, true)).await;
        }
        let Some(main) = self.plan.main.first() else { return Ended::of(Exit::NotStarted) };
        let mut sidecars = Vec::new();
        let mut refused = None;
        for member in &self.plan.sidecars {
            match self.start(member).await {
                Ok(job) => sidecars.push((member, job)),
                Err(ended) => {
                    refused = Some(ended.named("sidecar", &member.container.name));
                    break;
                }
            }
        }
        if let Some(ended) = refused {
            return self.end_sidecars(ended, sidecars).await;
        }
        let ended = self.member(main, true).await;
        self.end_sidecars(ended, sidecars).await
    }

    /// Ends the sidecars with the main process. Of those that had ended before, a failure counts.
    async fn end_sidecars(&self, mut ended: Ended, sidecars: Vec<(&Member, Running)>) -> Ended {
        sidecars.iter().for_each(|(_, job)| self.crew.ask(&job.id));
        let patience = Duration::from_millis(self.orders.spec.grace_ms);
        for (member, mut job) in sidecars {
            let sidecar = match timeout(patience, job.end(|_| ())).await {
                Ok(sidecar) => sidecar,
                Err(_) => {
                    self.crew.force(&job.id);
                    job.end(|_| ()).await
                }
            };
            self.note_end(member, &sidecar);
            let failed = !sidecar.is_success() && sidecar.exit != Exit::Killed;
            if ended.is_success() && failed {
                ended = sidecar.named("sidecar", &member.container.name);
            }
        }
        ended
    }

    /// Runs a process to its end.
    async fn member(&self, member: &Member, announced: bool) -> Ended {
        let attempt = self.orders.attempt;
        let mut job = match self.start(member).await {
            Ok(job) => job,
            Err(ended) => return ended,
        };
        let ended = job.end(|news| match news {
            News::Started(at_ms) => {
                if announced && !self.announced.swap(true, Ordering::Relaxed) {
                    self.house.report(Report::Started { attempt, at_ms });
                }
            }
            News::Unheard(message) => self.house.report(Report::Note { attempt, message }),
        });
        let ended = ended.await;
        self.note_end(member, &ended);
        ended
    }

    fn note_end(&self, member: &Member, ended: &Ended) {
        let (name, exit) = (member.container.name.clone(), ended.exit.clone());
        let Ended { started_ms, ended_ms, .. } = *ended;
        let end = ContainerEnd { name, exit, started_ms, ended_ms };
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).insert(member.index, end);
    }

    /// Ends of the single processes, where there are several.
    fn container_ends(&self) -> Vec<ContainerEnd> {
        let Plan { init, main, sidecars, .. } = &self.plan;
        if init.len() + main.len() + sidecars.len() < 2 {
            return Vec::new();
        }
        let ends = std::mem::take(&mut *self.ends.lock().unwrap_or_else(PoisonError::into_inner));
        ends.into_values().collect()
    }

    async fn start(&self, member: &Member) -> Result<Running, Ended> {
        // Under another spawner nothing is known of the attempt's earlier processes.
        if self.house.jobs.boot().await != self.boot {
            return Err(Ended::lost());
        }
        let start = self.orders.start(member, &self.house).await.map_err(Ended::refused)?;
        self.crew.start(start).ok_or_else(|| Ended::of(Exit::NotStarted))
    }

    /// Keeps results, parameters, artifacts and logs, as far as the end allows.
    async fn keep(&self, ended: Ended) -> End {
        let mut end = ended.end();
        let over = matches!(end.exit, Exit::Code(_) | Exit::Signal(_) | Exit::OutOfMemory);
        let members = &self.plan.main;
        let main = members.iter().find(|member| member.container.name == "main");
        let Some(member) = main.or(members.last()).filter(|_| over) else { return end };
        let _hand = self.house.hands.acquire().await;
        let mut kept = save::save(&self.orders, member, &self.house).await;
        if let Ok(saved) = &mut kept {
            let outputs = &mut saved.outputs;
            if let Err(error) = save::logs(&self.orders, members, &self.house, outputs).await {
                saved.missing.push(error);
            }
        }
        let exit_code = match end.exit {
            Exit::Code(code) => Some(code),
            _ => None,
        };
        let lost = match kept {
            Ok(saved) => {
                end.outputs = saved.outputs;
                fault::all(saved.missing)
            }
            Err(error) => Some(error),
        };
        end.outputs.exit_code = exit_code;
        match lost.filter(|_| exit_code == Some(0)) {
            Some(why) => End { exit: Exit::OutputsLost, message: why.line(), ..end },
            None => end,
        }
    }
}

/// Ends once the grace of an order to end is over. A later order may have less.
async fn patience(mut stop: watch::Receiver<Option<u64>>) {
    loop {
        let ordered = stop.wait_for(Option::is_some).await.map(|grace| grace.unwrap_or_default());
        let Ok(grace_ms) = ordered else { return std::future::pending().await };
        tokio::select! {
            Ok(()) = stop.changed() => {}
            () = sleep(Duration::from_millis(grace_ms)) => return,
        }
    }
}

/// Unix time in milliseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "a backend tells when things happened on its machine"
)]
pub fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}
