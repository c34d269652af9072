//! Locks between runs. What a turn asks for is decided within the same commit; sizes of semaphores
//! are read from configuration maps as they are at that moment.

mod sizes;
mod table;

use std::collections::VecDeque;

use argosy_engine::{Input, Run, names};
use argosy_model::{Code, Diagnostic, RunId, StepKey};

use sizes::Sizes;
use table::{Name, Table, Who};

use super::Core;

/// Locks, and what the runs are still to hear about them.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    table: Table,
    sizes: Sizes,
    /// Heard by the runs in the same commit, but after the turn that led to it: a chain of waiters
    /// needs no stack.
    told: VecDeque<(RunId, Input)>,
}

impl Locks {
    /// Whether a run is still to hear of something.
    pub(super) fn has_news(&self) -> bool {
        !self.told.is_empty()
    }

    fn given(&mut self, given: Vec<Who>) {
        let told = given.into_iter().map(|(run, step)| (run, Input::LocksGiven { step }));
        self.told.extend(told);
    }

    fn kept(&mut self, who: Who) {
        let Some((name, room)) = self.table.kept_by(who) else { return };
        let (lock, shown) = (name.1.clone(), names::lock_name(&name.0, &name.1));
        let message = format!("Waiting for {shown} lock. Lock status: {}/{}", room.free, room.size);
        self.told.push_back((who.0, Input::LocksKept { step: who.1, lock, message }));
    }

    fn refuse(&mut self, name: &Name, code: Code, why: &str) {
        let shown = names::lock_name(&name.0, &name.1);
        for who in self.table.waiters(name) {
            let freed = self.table.remove(who);
            let why = Diagnostic::new(code, format!("the lock {shown} cannot be had: {why}"));
            self.told.push_back((who.0, Input::LocksRefused { step: who.1, why }));
            let given = self.table.give(freed);
            self.given(given);
        }
    }
}

/// What a run asks for by the name of its space.
fn names_of(run: &Run, step: StepKey) -> Option<(Vec<Name>, bool)> {
    let holding = run.locks.get(&step)?;
    let names = holding.locks.iter().map(|lock| (run.spec.space.clone(), lock.clone()));
    Some((names.collect(), holding.taken))
}

impl Core {
    /// A step or a run asks for its locks.
    pub(super) fn acquire(&mut self, run: RunId, step: StepKey) {
        let Some(live) = self.runs.get(&run) else { return };
        let asked = live.read(|run| (names_of(run, step), run.spec.priority));
        let (Some((names, _)), priority) = asked else { return };
        self.locks.table.add((run, step), priority, names.clone(), false);
        self.want_sizes(&names);
        let given = self.locks.table.give(names);
        self.locks.given(given);
        self.locks.kept((run, step));
    }

    /// What a step or a run held is free, or it waits no longer.
    pub(super) fn release(&mut self, run: RunId, step: StepKey) {
        let freed = self.locks.table.remove((run, step));
        let given = self.locks.table.give(freed);
        self.locks.given(given);
    }

    /// Takes in what a loaded run holds and waits for.
    pub(super) fn adopt_locks(&mut self, id: RunId) {
        let Some(live) = self.runs.get(&id) else { return };
        let (all, priority) = live.read(|run| {
            let all = run.locks.keys().filter_map(|step| Some((*step, names_of(run, *step)?)));
            (all.collect::<Vec<_>>(), run.spec.priority)
        });
        for (step, (names, taken)) in all {
            self.locks.table.add((id, step), priority, names, taken);
        }
    }

    /// Once all are loaded: gives what is free.
    pub(super) fn give_free_locks(&mut self) {
        let names = self.locks.table.names();
        self.want_sizes(&names);
        let given = self.locks.table.give(names);
        self.locks.given(given);
    }

    /// Tells the runs what is new; of much that is, a part, so that the loop gets on.
    pub(super) fn tell_of_locks(&mut self) {
        for _ in 0..super::INPUTS {
            let Some((run, input)) = self.locks.told.pop_front() else { return };
            self.turn(run, input, None, true);
        }
    }
}
