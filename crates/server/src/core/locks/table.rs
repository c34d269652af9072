//! Who holds which lock, and who is next. Derived from the runs and never written: what a run says
//! of itself is the truth, so a lock lives exactly as long as its holder.
//!
//! One queue a lock, by priority and then by age. A waiter is given its locks when it is the first
//! in the queues of all of them and each has room: all or none. The first waiter of all queues
//! together is the first in each of its own, so queues alone never block each other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use argosy_model::graph::Lock;
use argosy_model::{RunId, StepKey};

/// A step of a run, or with [`StepKey::NONE`] the run.
pub(super) type Who = (RunId, StepKey);

/// A lock of a space.
pub(super) type Name = (String, Lock);

/// A place in a queue: higher priority first, then the older run, then the earlier step.
type Place = (Reverse<i32>, RunId, StepKey);

/// How a lock stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) free: u64,
    pub(super) size: u64,
}

#[derive(Debug, Default)]
struct Entry {
    /// How many may hold it; `None` while that is not known.
    size: Option<u64>,
    holders: BTreeSet<Who>,
    queue: BTreeSet<Place>,
}

#[derive(Debug)]
struct Asked {
    priority: i32,
    names: Vec<Name>,
    taken: bool,
}

/// All locks that somebody holds or waits for.
#[derive(Debug, Default)]
pub(super) struct Table {
    locks: BTreeMap<Name, Entry>,
    asked: BTreeMap<Who, Asked>,
}

impl Table {
    /// Takes in somebody who holds locks, or waits for them. Nothing is given yet.
    pub(super) fn add(&mut self, who: Who, priority: i32, names: Vec<Name>, taken: bool) {
        for name in &names {
            let entry = self.locks.entry(name.clone()).or_default();
            if matches!(name.1, Lock::Mutex { .. }) {
                entry.size = Some(1);
            }
            if taken {
                entry.holders.insert(who);
            } else {
                entry.queue.insert((Reverse(priority), who.0, who.1));
            }
        }
        self.asked.insert(who, Asked { priority, names, taken });
    }

    /// Takes somebody out; the locks that this concerns.
    pub(super) fn remove(&mut self, who: Who) -> Vec<Name> {
        let Some(asked) = self.asked.remove(&who) else { return Vec::new() };
        for name in &asked.names {
            let Some(entry) = self.locks.get_mut(name) else { continue };
            entry.holders.remove(&who);
            entry.queue.remove(&(Reverse(asked.priority), who.0, who.1));
            if entry.holders.is_empty() && entry.queue.is_empty() {
                self.locks.remove(name);
            }
        }
        asked.names
    }

    /// Says how many may hold a lock. Those who hold it keep it.
    pub(super) fn resize(&mut self, name: &Name, size: u64) {
        if let Some(entry) = self.locks.get_mut(name) {
            entry.size = Some(size);
        }
    }

    /// Gives what can be given after something about these locks has changed; to whom.
    pub(super) fn give(&mut self, mut changed: Vec<Name>) -> Vec<Who> {
        let mut given = Vec::new();
        while let Some(name) = changed.pop() {
            let first = self.locks.get(&name).and_then(|entry| entry.queue.first().copied());
            let Some(place) = first.filter(|place| self.can_have(*place)) else { continue };
            let who = (place.1, place.2);
            let Some(asked) = self.asked.get_mut(&who) else { continue };
            asked.taken = true;
            for name in &asked.names {
                if let Some(entry) = self.locks.get_mut(name) {
                    entry.queue.remove(&place);
                    entry.holders.insert(who);
                }
            }
            // Whoever is next may fit as well.
            changed.extend(asked.names.iter().cloned());
            given.push(who);
        }
        given
    }

    fn can_have(&self, place: Place) -> bool {
        let Some(asked) = self.asked.get(&(place.1, place.2)) else { return false };
        asked.names.iter().all(|name| {
            self.locks.get(name).is_some_and(|entry| {
                entry.queue.first() == Some(&place) && entry.room().is_some_and(|r| r.free > 0)
            })
        })
    }

    /// The lock that keeps a waiter: the first without room, else the first where it is not the
    /// next.
    pub(super) fn kept_by(&self, who: Who) -> Option<(&Name, Room)> {
        let asked = self.asked.get(&who).filter(|asked| !asked.taken)?;
        let place = (Reverse(asked.priority), who.0, who.1);
        let entries = || asked.names.iter().filter_map(|name| Some((name, self.locks.get(name)?)));
        let full = entries().find(|(_, entry)| entry.room().is_some_and(|room| room.free == 0));
        let later = || entries().find(|(_, entry)| entry.queue.first() != Some(&place));
        let (name, entry) = full.or_else(later)?;
        Some((name, entry.room()?))
    }

    /// Everybody who waits for a lock.
    pub(super) fn waiters(&self, name: &Name) -> Vec<Who> {
        let queue = self.locks.get(name).map(|entry| &entry.queue);
        queue.into_iter().flatten().map(|place| (place.1, place.2)).collect()
    }

    /// Semaphores whose sizes are kept in a map.
    pub(super) fn of_map(&self, space: &str, map: &str) -> Vec<Name> {
        let is = |name: &&Name| {
            name.0 == space
                && matches!(&name.1, Lock::Semaphore { config_map, .. } if config_map == map)
        };
        self.locks.keys().filter(is).cloned().collect()
    }

    /// All locks that there are.
    pub(super) fn names(&self) -> Vec<Name> {
        self.locks.keys().cloned().collect()
    }

    /// Who holds a lock.
    #[cfg(test)]
    fn holders(&self, name: &Name) -> Vec<Who> {
        self.locks.get(name).map(|e| e.holders.iter().copied().collect()).unwrap_or_default()
    }
}

impl Entry {
    fn room(&self) -> Option<Room> {
        let size = self.size?;
        Some(Room { free: size.saturating_sub(self.holders.len() as u64), size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutex(name: &str) -> Name {
        ("s".to_owned(), Lock::Mutex { name: name.into() })
    }

    fn who(run: u64) -> Who {
        (RunId(run), StepKey::NONE)
    }

    /// Asks as the loop does.
    fn ask(table: &mut Table, run: u64, priority: i32, names: &[&str]) -> Vec<Who> {
        let names: Vec<Name> = names.iter().map(|name| mutex(name)).collect();
        table.add(who(run), priority, names.clone(), false);
        table.give(names)
    }

    fn release(table: &mut Table, run: u64) -> Vec<Who> {
        let names = table.remove(who(run));
        table.give(names)
    }

    #[test]
    fn a_lock_goes_to_the_higher_priority_and_then_to_the_older() {
        let mut table = Table::default();
        assert_eq!(ask(&mut table, 1, 0, &["a"]), [who(1)]);
        for (run, priority) in [(4, 0), (3, 0), (5, 9)] {
            assert_eq!(ask(&mut table, run, priority, &["a"]), []);
        }
        let order: Vec<_> = [1, 5, 3, 4].into_iter().map(|run| release(&mut table, run)).collect();
        assert_eq!(order, [vec![who(5)], vec![who(3)], vec![who(4)], vec![]]);
        assert!(table.locks.is_empty() && table.asked.is_empty());
    }

    #[test]
    fn several_locks_are_given_all_or_none_and_nobody_overtakes() {
        let mut table = Table::default();
        assert_eq!(ask(&mut table, 1, 0, &["a"]), [who(1)]);
        assert_eq!(ask(&mut table, 2, 0, &["a", "b"]), []);
        assert_eq!(table.holders(&mutex("b")), []);
        // 2 is before it, though b is free.
        assert_eq!(ask(&mut table, 3, 0, &["b"]), []);
        assert_eq!(table.kept_by(who(2)).unwrap().0, &mutex("a"));
        let (name, room) = table.kept_by(who(3)).unwrap();
        assert_eq!((name, room), (&mutex("b"), Room { free: 1, size: 1 }));
        assert_eq!(release(&mut table, 1), [who(2)]);
        assert_eq!(release(&mut table, 2), [who(3)]);
    }

    #[test]
    fn a_waiter_that_leaves_makes_way() {
        let mut table = Table::default();
        assert_eq!(ask(&mut table, 1, 0, &["a"]), [who(1)]);
        assert_eq!(ask(&mut table, 2, 0, &["a", "b"]), []);
        assert_eq!(ask(&mut table, 3, 0, &["b"]), []);
        assert_eq!(release(&mut table, 2), [who(3)]);
    }

    #[test]
    fn a_semaphore_has_as_many_holders_as_it_is_large() {
        let name = |key: &str| {
            let lock = Lock::Semaphore { config_map: "m".into(), key: key.into() };
            ("s".to_owned(), lock)
        };
        let mut table = Table::default();
        for run in 1..=4 {
            table.add(who(run), 0, vec![name("k")], false);
            // Its size is not known yet.
            assert_eq!(table.give(vec![name("k")]), []);
        }
        assert_eq!(table.kept_by(who(1)), None);
        for (size, given) in [(2, vec![who(1), who(2)]), (3, vec![who(3)]), (1, vec![])] {
            table.resize(&name("k"), size);
            assert_eq!(table.give(vec![name("k")]), given, "{size}");
        }
        // It shrank: two have to leave before there is room again.
        for (run, given) in [(1, vec![]), (2, vec![]), (3, vec![who(4)])] {
            assert_eq!(release(&mut table, run), given, "{run}");
        }
        assert_eq!(table.of_map("s", "m"), [name("k")]);
        assert_eq!(table.waiters(&name("k")), []);
    }
}
