//! After a crash: what was ordered, or must be by now, and may not have been carried out.

use argosy_model::{AttemptPhase, Effect, StepKey};

use crate::decide::job_of;
use crate::run::Run;

/// The effects that bring the world in line with a run that was just loaded. Each is idempotent,
/// so it does not matter which of them had been carried out before.
#[must_use]
pub fn pending(run: &Run, now_ms: i64) -> Vec<Effect> {
    let mut effects = Vec::new();
    if run.phase.is_terminal() {
        effects.push(Effect::Archive(run.id));
        return effects;
    }
    for key in (0u32..).map(StepKey).take(run.steps.len()) {
        let Some((id, attempt)) = run.current_attempt(key) else { continue };
        match attempt.phase {
            AttemptPhase::Queued => {
                effects.extend(job_of(run, key).map(|job| Effect::Enqueue(Box::new(job))));
            }
            AttemptPhase::Placed | AttemptPhase::Running => {
                effects.push(Effect::Start(id));
                effects.extend(attempt.kill.map(|why| Effect::Kill(id, why)));
            }
            AttemptPhase::Ended => {}
        }
    }
    effects.push(Effect::WakeAt(run.id, now_ms));
    effects
}
