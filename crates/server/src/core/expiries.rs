//! Finished runs that are deleted by themselves: when their time has come, and nobody who followed
//! them to their end is still busy with them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, RwLock, Weak};

use argosy_engine::Run;
use argosy_model::RunId;

/// How long a run stays after its last follower has left: a command that has read all logs, or was
/// just told that its run is accepted, asks for the run's last state next.
const GRACE_MS: i64 = 2_000;

/// How often it is looked whether somebody follows a run whose time has come.
const LOOK_MS: i64 = 250;

/// For how long after its end followers can keep a run. One that has stopped reading is no reason
/// to keep it for ever.
const LONGEST_MS: i64 = 600_000;

/// The runs to come.
#[derive(Debug, Default)]
pub(crate) struct Expiries {
    times: BTreeSet<(i64, RunId)>,
    /// Those whose time comes so early that followers count.
    ended: HashMap<RunId, Ended>,
}

#[derive(Debug)]
struct Ended {
    /// Whoever looks at the run holds it.
    run: Weak<RwLock<Run>>,
    /// When somebody was last seen to.
    seen_ms: i64,
    /// When followers do not count any more.
    until_ms: i64,
}

impl Expiries {
    /// Of runs that had ended before the loop began.
    pub(crate) fn of(times: impl IntoIterator<Item = (i64, RunId)>) -> Expiries {
        Expiries { times: times.into_iter().collect(), ended: HashMap::new() }
    }

    /// A run that has ended now, and is deleted at `at_ms`.
    pub(crate) fn add(&mut self, id: RunId, at_ms: i64, run: &Arc<RwLock<Run>>, now_ms: i64) {
        let until_ms = now_ms + LONGEST_MS;
        if at_ms < until_ms {
            let run = Arc::downgrade(run);
            self.ended.insert(id, Ended { run, seen_ms: now_ms, until_ms });
        }
        self.times.insert((at_ms, id));
    }

    /// When the first one is to be looked at.
    pub(crate) fn next_ms(&self) -> Option<i64> {
        self.times.first().map(|(at, _)| *at)
    }

    /// The runs that are to be deleted now.
    pub(crate) fn take_due(&mut self, now_ms: i64) -> Vec<RunId> {
        let later = self.times.split_off(&(now_ms + 1, RunId(0)));
        let mut due = Vec::new();
        for (_, id) in std::mem::replace(&mut self.times, later) {
            match self.ended.get_mut(&id).and_then(|ended| ended.look(now_ms)) {
                Some(again_ms) => {
                    self.times.insert((again_ms, id));
                }
                None => {
                    self.ended.remove(&id);
                    due.push(id);
                }
            }
        }
        due
    }
}

impl Ended {
    /// When to look again; `None` where the run can go.
    fn look(&mut self, now_ms: i64) -> Option<i64> {
        if self.run.strong_count() > 0 {
            self.seen_ms = now_ms;
        }
        let until_ms = self.until_ms.min(self.seen_ms + GRACE_MS);
        (now_ms < until_ms).then_some(until_ms.min(now_ms + LOOK_MS))
    }
}

#[cfg(test)]
mod tests {
    use argosy_model::RunSpec;
    use argosy_model::run::Plan;

    use super::*;

    const RUN: RunId = RunId(7);

    fn run() -> Arc<RwLock<Run>> {
        let spec = RunSpec {
            space: "s".to_owned(),
            name: "n".to_owned(),
            uid: String::new(),
            door: "native".to_owned(),
            labels: Vec::new(),
            priority: 0,
            plan: Plan::Task(Box::default()),
            source: Default::default(),
        };
        Arc::new(RwLock::new(argosy_engine::submit(RUN, spec, 0).0))
    }

    #[test]
    fn a_run_stays_while_somebody_follows_it_and_a_moment_longer_but_not_for_ever() {
        let mut expiries = Expiries::default();
        let view = run();
        expiries.add(RUN, 1_000, &view, 1_000);
        assert_eq!(expiries.take_due(1_000), []);
        assert_eq!(expiries.next_ms(), Some(1_250));
        assert_eq!(expiries.take_due(50_000), [], "it is still followed");
        drop(view);
        assert_eq!(expiries.take_due(51_900), [], "it was followed 1.9 s ago");
        assert_eq!(expiries.next_ms(), Some(52_000));
        assert_eq!(expiries.take_due(52_000), [RUN]);
        assert_eq!(expiries.next_ms(), None);
        let view = run();
        expiries.add(RUN, 1_000, &view, 1_000);
        assert_eq!(expiries.take_due(600_999), []);
        assert_eq!(expiries.take_due(601_000), [RUN], "ten minutes after its end");
    }

    #[test]
    fn a_run_that_nobody_follows_goes_when_its_time_has_come() {
        let mut expiries = Expiries::of([(500, RunId(1))]);
        expiries.add(RUN, 6_000, &run(), 1_000);
        assert_eq!(expiries.take_due(499), []);
        assert_eq!(expiries.take_due(5_999), [RunId(1)]);
        assert_eq!(expiries.take_due(6_000), [RUN]);
    }
}
