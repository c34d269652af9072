//! Why the open parts of a run are where they are, as far as the run alone decides. The words are
//! made in [`Why::sentence`], the only place.

use argosy_model::graph::Body;
use argosy_model::{AttemptId, AttemptPhase, Kind, Phase, Step, StepKey};
use serde::Serialize;

use crate::decide::lacking;
use crate::names;
use crate::run::Run;
use crate::scope::rfc3339;

/// How many names a sentence gives.
const NAMED: usize = 5;

/// Something that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The full name of the step, or of the step to be.
    pub step: String,
    /// The attempt that is the scheduler's, and of which that knows more.
    pub attempt: Option<AttemptId>,
    /// Why.
    pub why: Why,
}

/// Why it is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Why {
    /// It waits for a lock.
    Lock {
        /// Which, and who has it.
        message: String,
    },
    /// It is the run, and suspended.
    Suspended,
    /// The run is suspended.
    RunSuspended,
    /// It is a pause.
    Pause {
        /// Unix ms at which it ends by itself.
        until_ms: Option<i64>,
        /// Values that somebody has to give.
        lacks: Vec<String>,
    },
    /// It is a task, and `depends` on others that have not ended.
    Tasks {
        /// Names of the first of them.
        names: Vec<String>,
        /// How many there are besides.
        more: usize,
        /// Whether some of them may be enough.
        some: bool,
    },
    /// As many run as may.
    Parallelism,
    /// A further try has its time.
    Backoff {
        /// Unix ms of it.
        until_ms: i64,
    },
    /// It waits for a machine.
    Machine,
    /// It has one.
    Starting,
    /// It runs.
    Running,
}

impl Why {
    /// One sentence for a person.
    #[must_use]
    pub fn sentence(&self, run: &str) -> String {
        let resume = format!("`argosy resume {run}`");
        match self {
            Why::Lock { message } => message.clone(),
            Why::Suspended => format!("is suspended; {resume} lets it go on"),
            Why::RunSuspended => format!("waits for the run to be resumed ({resume})"),
            Why::Pause { until_ms, lacks } => pause(run, *until_ms, lacks),
            Why::Tasks { names, more, some } => {
                let amount = if *some { "some of " } else { "" };
                let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
                format!("waits for {amount}{}{more} to end", names.join(", "))
            }
            Why::Parallelism => {
                "waits for another step to end: the limit `parallelism` is reached".to_owned()
            }
            Why::Backoff { until_ms } => format!("is tried again at {}", rfc3339(*until_ms)),
            Why::Machine => "waits for a machine".to_owned(),
            Why::Starting => "is being started".to_owned(),
            Why::Running => "runs".to_owned(),
        }
    }
}

fn pause(run: &str, until_ms: Option<i64>, lacks: &[String]) -> String {
    let until = until_ms.map(|at| format!("until {}", rfc3339(at)));
    let given: Vec<_> = lacks.iter().map(|name| format!(" -p {name}=VALUE")).collect();
    let resume = format!("(`argosy resume {run}{}`)", given.concat());
    match (until, lacks) {
        (None, []) => format!("waits for somebody to resume it {resume}"),
        (Some(until), []) => format!("waits {until}, or for somebody to resume it {resume}"),
        (None, lacks) => format!("waits for a value of {} {resume}", lacks.join(", ")),
        (Some(until), lacks) => {
            format!("waits {until} for a value of {}, and fails without {resume}", lacks.join(", "))
        }
    }
}

/// What is open, at most so many: the run itself, the steps, and the tasks that are held back.
#[must_use]
pub fn explain(run: &Run, most: usize) -> Vec<Waiting> {
    let keys = (0u32..).map(StepKey).take(run.steps.len());
    let open = keys.filter(|key| !run.at(*key).phase.is_terminal());
    let steps = open.clone().filter_map(|key| of_step(run, key));
    let held_back = open.flat_map(|key| held_back(run, key, most));
    of_run(run).into_iter().chain(steps).chain(held_back).take(most).collect()
}

fn of_run(run: &Run) -> Option<Waiting> {
    let why = if run.phase.is_terminal() {
        return None;
    } else if waits_for_lock(run, StepKey::NONE) && run.steps.is_empty() {
        Why::Lock { message: run.message.clone() }
    } else if run.suspended {
        Why::Suspended
    } else {
        return None;
    };
    Some(Waiting { step: run.spec.name.clone(), attempt: None, why })
}

fn waits_for_lock(run: &Run, key: StepKey) -> bool {
    run.locks.get(&key).is_some_and(|holding| !holding.taken)
}

/// Of a step that is open: nothing where it only waits for what is below it.
fn of_step(run: &Run, key: StepKey) -> Option<Waiting> {
    let step = run.at(key);
    let queued =
        run.current_attempt(key).filter(|(_, attempt)| attempt.phase == AttemptPhase::Queued);
    let why = why(run, key, step)?;
    Some(Waiting { step: names::full_name(run, key), attempt: queued.map(|(id, _)| id), why })
}

fn why(run: &Run, key: StepKey, step: &Step) -> Option<Why> {
    if let (true, Some(message)) = (waits_for_lock(run, key), &step.message) {
        return Some(Why::Lock { message: message.to_string() });
    }
    let until_ms = Some(step.deadline_ms).filter(|at| *at > 0);
    match (step.kind, step.phase, step.attempts.last().map(|attempt| attempt.phase)) {
        (Kind::Suspend, Phase::Running, _) => {
            let lacks = lacking(run, key, &[]).map(|output| output.name.clone()).collect();
            Some(Why::Pause { until_ms: until_ms.filter(|_| ends_itself(run, key)), lacks })
        }
        (Kind::Retry, Phase::Running, _) => {
            let tries = run.children(key).iter().map(|child| run.at(*child));
            let between = tries.into_iter().all(|step| step.phase.is_terminal());
            until_ms.filter(|_| between).map(|until_ms| Why::Backoff { until_ms })
        }
        (_, Phase::Waiting, None) if run.suspended => Some(Why::RunSuspended),
        (_, Phase::Waiting, None) => Some(Why::Parallelism),
        (_, _, Some(AttemptPhase::Placed)) => Some(Why::Starting),
        (_, _, Some(AttemptPhase::Running)) => Some(Why::Running),
        (kind, ..) => kind.has_attempts().then_some(Why::Machine),
    }
}

/// Whether the time that a pause has is its own, and not a bound on its template.
fn ends_itself(run: &Run, key: StepKey) -> bool {
    let body = run.template_of(key).map(|template| &template.body);
    matches!(body, Some(Body::Suspend { duration: Some(_) }))
}

/// The tasks of a DAG that have no step yet, as others have not ended.
fn held_back(run: &Run, key: StepKey, most: usize) -> Vec<Waiting> {
    let Some((plan, frame, tasks)) = dag(run, key) else { return Vec::new() };
    let above = names::full_name(run, key);
    let is_open = |task: &u32| {
        let child = frame.by_call.get(*task as usize).copied().flatten();
        !child.is_some_and(|child| run.has_settled(child))
    };
    let name = |task: u32| Some(tasks.get(task as usize)?.name.clone());
    let waiting = (0u32..).zip(&frame.waits).filter(|(_, waits)| **waits);
    waiting
        .filter_map(|(task, _)| {
            let needs: Vec<u32> =
                plan.needs.get(task as usize)?.iter().copied().filter(is_open).collect();
            let names: Vec<_> = needs.iter().take(NAMED).filter_map(|need| name(*need)).collect();
            let more = needs.len() - names.len();
            let why = Why::Tasks { names, more, some: plan.eager.contains_key(&task) };
            Some(Waiting { step: format!("{above}.{}", name(task)?), attempt: None, why })
        })
        .take(most)
        .collect()
}

type Dag<'r> =
    (&'r crate::compiled::DagPlan, &'r crate::frame::DagFrame, &'r [argosy_model::graph::Call]);

fn dag(run: &Run, key: StepKey) -> Option<Dag<'_>> {
    let Body::Dag(dag) = &run.template_of(key)?.body else { return None };
    let frame = run.frames.get(key)?.dag.as_deref()?;
    Some((run.compiled.dag(run.at(key).template)?, frame, &dag.tasks))
}
