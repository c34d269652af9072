//! The queue and its round: jobs in the order of priority and arrival, gangs whole.
//!
//! The order is strict: a job that does not fit now but would on an emptier machine holds those
//! behind it back, so nothing starves. One that no machine could ever hold is passed over.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use argosy_model::effect::{Gang, Job};
use argosy_model::{AttemptId, Resources};

use crate::explain::Reason;
use crate::machine::{Machine, MachineSpec};

/// A decision: this attempt goes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The attempt.
    pub attempt: AttemptId,
    /// The machine, by its ordinal in the pool.
    pub machine: u32,
}

/// Place in the queue.
type Order = (Reverse<i32>, u64);

/// Machines, waiting jobs and placed jobs.
#[derive(Debug, Default)]
pub struct Scheduler {
    machines: Vec<Machine>,
    /// Jobs that may be placed now.
    ready: BTreeMap<Order, Job>,
    /// Jobs whose backoff has not passed, by its end.
    held_back: BTreeMap<(i64, u64), Job>,
    orders: HashMap<AttemptId, (Option<i64>, Order)>,
    gangs: BTreeMap<String, BTreeSet<Order>>,
    placed: HashMap<AttemptId, (u32, Resources)>,
    next: u64,
    /// Set when a round could come to something it did not come to before.
    changed: bool,
}

impl Scheduler {
    /// A pool of these machines; a machine's ordinal is its position.
    #[must_use]
    pub fn new(machines: Vec<MachineSpec>) -> Scheduler {
        Scheduler {
            machines: machines.into_iter().map(Machine::new).collect(),
            ..Scheduler::default()
        }
    }

    /// The machines, by ordinal.
    #[must_use]
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// How many jobs wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.orders.len()
    }

    /// How many jobs are placed.
    #[must_use]
    pub fn running(&self) -> usize {
        self.placed.len()
    }

    /// Takes a job in. One that is known already is left as it is.
    pub fn enqueue(&mut self, job: Job, now_ms: i64) {
        if self.orders.contains_key(&job.attempt) || self.placed.contains_key(&job.attempt) {
            return;
        }
        self.next += 1;
        let order = (Reverse(job.priority), self.next);
        self.changed = true;
        if job.not_before_ms > now_ms {
            self.orders.insert(job.attempt, (Some(job.not_before_ms), order));
            self.held_back.insert((job.not_before_ms, self.next), job);
        } else {
            self.insert_ready(order, job);
        }
    }

    fn insert_ready(&mut self, order: Order, job: Job) {
        self.orders.insert(job.attempt, (None, order));
        if let Some(gang) = &job.gang {
            self.gangs.entry(gang.id.clone()).or_default().insert(order);
        }
        self.ready.insert(order, job);
    }

    /// Notes a job that is placed already: a run was loaded again.
    pub fn adopt(&mut self, attempt: AttemptId, machine: u32, asked: Resources) {
        if self.placed.contains_key(&attempt) {
            return;
        }
        if let Some(host) = self.machines.get_mut(machine as usize)
            && host.take(&asked)
        {
            self.placed.insert(attempt, (machine, asked));
        }
    }

    /// Takes a job out: it ended, or is not wanted any more.
    pub fn withdraw(&mut self, attempt: AttemptId) {
        self.changed = true;
        if let Some((machine, asked)) = self.placed.remove(&attempt)
            && let Some(machine) = self.machines.get_mut(machine as usize)
        {
            machine.give_back(&asked);
        }
        match self.orders.remove(&attempt) {
            Some((Some(until), order)) => {
                self.held_back.remove(&(until, order.1));
            }
            Some((None, order)) => {
                self.take_ready(order);
            }
            None => {}
        }
    }

    fn take_ready(&mut self, order: Order) -> Option<Job> {
        let job = self.ready.remove(&order)?;
        self.orders.remove(&job.attempt);
        if let Some(gang) = &job.gang
            && let Some(members) = self.gangs.get_mut(&gang.id)
        {
            members.remove(&order);
            if members.is_empty() {
                self.gangs.remove(&gang.id);
            }
        }
        Some(job)
    }

    /// The time at which a round has something to do that it has not now.
    #[must_use]
    pub fn next_wake_ms(&self) -> Option<i64> {
        self.held_back.keys().next().map(|(until, _)| *until)
    }

    /// Places what can be placed.
    pub fn round(&mut self, now_ms: i64) -> Vec<Placement> {
        self.release_held_back(now_ms);
        let mut placements = Vec::new();
        if !std::mem::take(&mut self.changed) {
            return placements;
        }
        let mut after: Option<Order> = None;
        while let Some(order) = self.next_ready(after) {
            after = Some(order);
            let Some(job) = self.ready.get(&order) else { continue };
            if !self.machines.iter().any(|machine| machine.could_take(&job.resources)) {
                continue;
            }
            let placed = match job.gang.clone() {
                None => self.place_one(order, &mut placements),
                Some(gang) => self.place_gang(&gang, &mut placements),
            };
            if !placed {
                break;
            }
        }
        placements
    }

    fn next_ready(&self, after: Option<Order>) -> Option<Order> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        self.ready.range((from, Unbounded)).next().map(|(order, _)| *order)
    }

    fn release_held_back(&mut self, now_ms: i64) {
        while let Some(entry) = self.held_back.first_entry() {
            if entry.key().0 > now_ms {
                return;
            }
            let ((_, number), job) = entry.remove_entry();
            self.changed = true;
            self.insert_ready((Reverse(job.priority), number), job);
        }
    }

    /// Places one job; `false` where it has to wait for room.
    fn place_one(&mut self, order: Order, placements: &mut Vec<Placement>) -> bool {
        let Some(job) = self.ready.get(&order) else { return true };
        let asked = job.resources;
        let Some(at) = self.machines.iter().position(|machine| machine.can_take(&asked)) else {
            return false;
        };
        let Some(job) = self.take_ready(order) else { return true };
        let machine = u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(host) = self.machines.get_mut(at) {
            host.take(&asked);
        }
        self.placed.insert(job.attempt, (machine, asked));
        placements.push(Placement { attempt: job.attempt, machine });
        true
    }

    /// Places a whole gang or nothing; `false` where it has to wait for room. One that is not
    /// complete, or could never fit, is passed over.
    fn place_gang(&mut self, gang: &Gang, placements: &mut Vec<Placement>) -> bool {
        let Some(members) = self.gangs.get(&gang.id).cloned() else { return true };
        if members.len() < gang.size as usize {
            return true;
        }
        let asked: Vec<Resources> =
            members.iter().filter_map(|order| self.ready.get(order)).map(|j| j.resources).collect();
        if !fits_all(&self.machines, &asked, false) {
            return true;
        }
        if !fits_all(&self.machines, &asked, true) {
            return false;
        }
        members.into_iter().for_each(|order| {
            self.place_one(order, placements);
        });
        true
    }

    /// What of a request can keep a job from starting.
    fn counted(&self, asked: &Resources) -> Resources {
        let of = self.machines.iter().map(|machine| machine.charged(asked));
        of.max_by_key(|charged| charged.cpu_milli).unwrap_or(*asked)
    }

    /// Why a waiting job waits; `None` for one that does not.
    #[must_use]
    pub fn explain(&self, attempt: AttemptId) -> Option<Reason> {
        let (held, order) = self.orders.get(&attempt)?;
        if let Some(until_ms) = held {
            return Some(Reason::Backoff { until_ms: *until_ms });
        }
        let job = self.ready.get(order)?;
        if let Some(gang) = &job.gang {
            let have = self.gangs.get(&gang.id).map_or(0, BTreeSet::len);
            let have = u32::try_from(have).unwrap_or(u32::MAX);
            if have < gang.size {
                return Some(Reason::GangIncomplete { have, need: gang.size });
            }
        }
        let most = |of: fn(&Machine) -> Resources| {
            self.machines.iter().map(of).fold(Resources::default(), |a, b| Resources {
                cpu_milli: a.cpu_milli.max(b.cpu_milli),
                memory_bytes: a.memory_bytes.max(b.memory_bytes),
                gpus: a.gpus.max(b.gpus),
            })
        };
        let asked = self.counted(&job.resources);
        if !self.machines.iter().any(|machine| machine.could_take(&asked)) {
            let largest = most(|machine| machine.spec.capacity);
            return Some(Reason::NoMachineFits { asked, machines: self.machines.len(), largest });
        }
        if !self.machines.iter().any(|machine| machine.can_take(&asked)) {
            let free_slots = self.machines.iter().map(|m| m.free_slots).max().unwrap_or(0);
            let (machines, free) = (self.machines.len(), most(|machine| machine.free));
            return Some(Reason::Busy { asked, machines, free, free_slots });
        }
        let ahead = self.ready.range(..*order).count();
        Some(Reason::Behind { ahead })
    }
}

/// Whether all of these fit together: into what is free now, or into the empty machines.
fn fits_all(machines: &[Machine], asked: &[Resources], now: bool) -> bool {
    let mut trial: Vec<Machine> = if now {
        machines.to_vec()
    } else {
        machines.iter().map(|machine| Machine::new(machine.spec.clone())).collect()
    };
    asked.iter().all(|asked| trial.iter_mut().any(|machine| machine.take(asked)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use argosy_model::{RunId, StepKey};

    fn machine(memory_bytes: u64, slots: u64) -> MachineSpec {
        let capacity = Resources { cpu_milli: 2_000, memory_bytes, gpus: 0 };
        MachineSpec { name: "m".into(), capacity, slots, compressible_cpu: true }
    }

    fn id(run: u64) -> AttemptId {
        AttemptId { run: RunId(run), step: StepKey(0), number: 0 }
    }

    fn job(run: u64, memory_bytes: u64) -> Job {
        Job {
            attempt: id(run),
            resources: Resources { cpu_milli: 64_000, memory_bytes, gpus: 0 },
            not_before_ms: 0,
            priority: 0,
            gang: None,
        }
    }

    fn placed(scheduler: &mut Scheduler, now_ms: i64) -> Vec<u64> {
        scheduler.round(now_ms).into_iter().map(|placement| placement.attempt.run.0).collect()
    }

    #[test]
    fn jobs_go_by_priority_then_arrival() {
        let mut scheduler = Scheduler::new(vec![machine(100, 2)]);
        for (run, priority) in [(1, 0), (2, 5), (3, 5)] {
            scheduler.enqueue(Job { priority, ..job(run, 1) }, 0);
        }
        assert_eq!(placed(&mut scheduler, 0), [2, 3]);
        assert!(matches!(scheduler.explain(id(1)), Some(Reason::Busy { free_slots: 0, .. })));
        scheduler.withdraw(id(2));
        assert_eq!(placed(&mut scheduler, 0), [1]);
    }

    #[test]
    fn a_large_job_is_not_starved_by_small_ones_behind_it() {
        let mut scheduler = Scheduler::new(vec![machine(10, 100)]);
        scheduler.enqueue(job(1, 6), 0);
        assert_eq!(placed(&mut scheduler, 0), [1]);
        scheduler.enqueue(job(2, 10), 0);
        scheduler.enqueue(job(3, 1), 0);
        assert_eq!(placed(&mut scheduler, 0), Vec::<u64>::new());
        assert_eq!(scheduler.explain(id(3)), Some(Reason::Behind { ahead: 1 }));
        scheduler.withdraw(id(1));
        assert_eq!(placed(&mut scheduler, 0), [2]);
    }

    #[test]
    fn what_can_never_fit_holds_nobody_back_and_says_so() {
        let mut scheduler = Scheduler::new(vec![machine(10, 100)]);
        scheduler.enqueue(job(1, 11), 0);
        scheduler.enqueue(job(2, 10), 0);
        assert_eq!(placed(&mut scheduler, 0), [2]);
        let reason = scheduler.explain(id(1));
        // CPU is shared there: a request above the machine keeps nothing from starting.
        let asked = Resources { cpu_milli: 0, memory_bytes: 11, gpus: 0 };
        let largest = machine(10, 100).capacity;
        assert_eq!(reason, Some(Reason::NoMachineFits { asked, machines: 1, largest }));
    }

    #[test]
    fn a_gang_is_placed_whole_or_not_at_all() {
        let gang = || Some(Gang { id: "g".into(), size: 2 });
        let mut scheduler = Scheduler::new(vec![machine(10, 100)]);
        scheduler.enqueue(job(9, 5), 0);
        assert_eq!(placed(&mut scheduler, 0), [9]);
        scheduler.enqueue(Job { gang: gang(), ..job(1, 4) }, 0);
        assert_eq!(placed(&mut scheduler, 0), Vec::<u64>::new());
        assert_eq!(scheduler.explain(id(1)), Some(Reason::GangIncomplete { have: 1, need: 2 }));
        scheduler.enqueue(Job { gang: gang(), ..job(2, 4) }, 0);
        assert_eq!(placed(&mut scheduler, 0), Vec::<u64>::new(), "4 + 4 of 5 free");
        scheduler.withdraw(id(9));
        assert_eq!(placed(&mut scheduler, 0), [1, 2]);
    }

    #[test]
    fn backoff_holds_a_job_back_until_its_time() {
        let mut scheduler = Scheduler::new(vec![machine(10, 1)]);
        scheduler.enqueue(Job { not_before_ms: 50, ..job(1, 1) }, 0);
        assert_eq!(placed(&mut scheduler, 49), Vec::<u64>::new());
        assert_eq!(scheduler.next_wake_ms(), Some(50));
        assert_eq!(scheduler.explain(id(1)), Some(Reason::Backoff { until_ms: 50 }));
        assert_eq!(placed(&mut scheduler, 50), [1]);
    }

    #[test]
    fn places_are_given_back_once() {
        let mut scheduler = Scheduler::new(vec![machine(10, 1)]);
        scheduler.adopt(id(1), 0, job(1, 10).resources);
        scheduler.adopt(id(1), 0, job(1, 10).resources);
        scheduler.withdraw(id(1));
        scheduler.withdraw(id(1));
        scheduler.enqueue(job(2, 10), 0);
        scheduler.enqueue(job(3, 1), 0);
        assert_eq!(placed(&mut scheduler, 0), [2]);
    }
}
