//! What has been ordered and has not ended, so that nothing is lost with a connection or spawner.

use super::SpawnerEvent;
use argosy_spawn::{Order, Start};
use std::collections::{HashMap, HashSet};

/// The jobs under way.
#[derive(Debug, Default)]
pub struct Live {
    jobs: HashMap<String, Job>,
    /// A trial of the isolation levels was ordered and has not been answered.
    probing: bool,
}

#[derive(Debug, Default)]
struct Job {
    /// The order, until it is answered.
    unanswered: Option<Box<Start>>,
    /// The last signal that was ordered.
    signal: Option<i32>,
}

impl Live {
    /// An order has been given.
    pub fn gave(&mut self, order: Order) {
        match order {
            Order::Start(start) => {
                let job = self.jobs.entry(start.id.clone()).or_default();
                job.unanswered = Some(start);
            }
            Order::Kill { id, signal } => {
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.signal = Some(signal);
                }
            }
            Order::Probe => self.probing = true,
            Order::Forget { .. } | Order::List | Order::Stop => {}
        }
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// An event has come.
    pub fn saw(&mut self, event: &SpawnerEvent) {
        match event {
            SpawnerEvent::Started { id, .. } => {
                self.jobs.entry(id.clone()).or_default().unanswered = None;
            }
            SpawnerEvent::Refused { id, .. } | SpawnerEvent::Exited { id, .. } => {
                self.jobs.remove(id);
            }
            SpawnerEvent::Probed(_) => self.probing = false,
            _ => {}
        }
    }

    /// Compares with what the spawner of a new connection knows, where it is the `same` as before
    /// or not: the orders to give again, and the ids of jobs that are lost, sorted.
    pub fn reconcile(&mut self, same: bool, known: &[SpawnerEvent]) -> (Vec<Order>, Vec<String>) {
        let before = std::mem::take(&mut self.jobs);
        let ended: HashSet<&str> = known.iter().filter_map(ended).collect();
        known.iter().for_each(|event| self.saw(event));
        let (mut again, mut lost) = (Vec::new(), Vec::new());
        if self.probing {
            again.push(Order::Probe);
        }
        for (id, job) in before {
            if ended.contains(&*id) {
                continue;
            }
            match (self.jobs.contains_key(&id), &job.unanswered) {
                (true, _) => {}
                (false, Some(start)) if same => again.push(Order::Start(start.clone())),
                (false, _) => {
                    lost.push(id);
                    continue;
                }
            }
            if let Some(signal) = job.signal {
                again.push(Order::Kill { id: id.clone(), signal });
            }
            self.jobs.insert(id, job);
        }
        lost.sort_unstable();
        (again, lost)
    }
}

fn ended(event: &SpawnerEvent) -> Option<&str> {
    match event {
        SpawnerEvent::Refused { id, .. } | SpawnerEvent::Exited { id, .. } => Some(id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argosy_spawn::{Isolation, Limits, Reason};

    fn start(id: &str) -> Box<Start> {
        Box::new(Start {
            id: id.into(),
            argv: vec!["true".into()],
            env: vec![],
            cwd: "/".into(),
            stdout: None,
            stderr: None,
            isolation: Isolation::None,
            binds: vec![],
            limits: Limits::default(),
        })
    }

    fn started(id: &str) -> SpawnerEvent {
        SpawnerEvent::Started { id: id.into(), pid: 1, at_ms: 0 }
    }

    fn refused(id: &str) -> SpawnerEvent {
        SpawnerEvent::Refused { id: id.into(), reason: Reason::Cwd, message: String::new() }
    }

    /// One job in each state: unanswered, running, being killed, ended.
    fn live() -> Live {
        let mut live = Live::default();
        for id in ["unanswered", "running", "killed", "ended"] {
            live.gave(Order::Start(start(id)));
        }
        for event in [started("running"), started("killed"), started("ended"), refused("ended")] {
            live.saw(&event);
        }
        live.gave(Order::Kill { id: "killed".into(), signal: 15 });
        live
    }

    #[test]
    fn with_another_spawner_all_that_had_not_ended_is_lost() {
        let mut live = live();
        let lost = ["killed", "running", "unanswered"].map(String::from).to_vec();
        assert_eq!(live.reconcile(false, &[]), (vec![], lost));
        assert_eq!(live.reconcile(false, &[]), (vec![], vec![]), "it is lost once");
    }

    #[test]
    fn a_trial_that_was_not_answered_is_ordered_again_of_any_spawner() {
        for same in [false, true] {
            let mut live = Live::default();
            live.gave(Order::Probe);
            assert_eq!(live.reconcile(same, &[]), (vec![Order::Probe], vec![]));
        }
    }

    #[test]
    fn with_the_same_spawner_orders_that_may_not_have_arrived_are_given_again() {
        let mut live = live();
        let known = [started("running"), started("killed")];
        let (mut again, lost) = live.reconcile(true, &known);
        again.sort_by_key(|order| matches!(order, Order::Kill { .. }));
        let kill = Order::Kill { id: "killed".into(), signal: 15 };
        assert_eq!(again, [Order::Start(start("unanswered")), kill]);
        assert!(lost.is_empty());
    }

    #[test]
    fn an_end_that_came_meanwhile_is_neither_lost_nor_ordered_again() {
        let mut live = live();
        let known = ["unanswered", "running", "killed"].map(refused);
        assert_eq!(live.reconcile(true, &known), (vec![], vec![]));
        assert_eq!(live.reconcile(false, &[]), (vec![], vec![]));
    }
}
