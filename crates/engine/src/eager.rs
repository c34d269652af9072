//! `any` and `atLeast`, decided as the tasks that they name end, one by one: an end is told to the
//! places where its task is named and to what is around those, not to the whole text.
//!
//! The rule is that of [`Depends::value`].

use crate::depends::{Condition, Depends};

/// A `depends` with every part at a position, each in front of its own parts.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    parts: Vec<Part>,
    /// Where each task is named, by task: (task, what must be true of it, position).
    leaves: Vec<(u32, Condition, u32)>,
}

#[derive(Debug)]
struct Part {
    /// The part that it is a part of. The whole is its own.
    around: u32,
    /// How many parts it has.
    count: u32,
    joins: Joins,
}

#[derive(Clone, Copy, Debug)]
enum Joins {
    Task,
    All,
    One,
    Not,
    AtLeast(u32),
}

/// What is known of a part.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// How many of its parts are decided, and how many of those hold.
    decided: u32,
    held: u32,
    value: Option<bool>,
}

/// What is known of every part.
#[derive(Clone, Debug, Default)]
pub(crate) struct State(Vec<Known>);

fn short(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Plan {
    pub(crate) fn new(depends: &Depends<u32>) -> Plan {
        let mut plan = Plan::default();
        plan.add(0, depends);
        plan.leaves.sort_by_key(|(task, ..)| *task);
        plan
    }

    fn add(&mut self, around: u32, depends: &Depends<u32>) {
        let at = short(self.parts.len());
        let (joins, parts) = match depends {
            Depends::Task(task, condition) => {
                self.leaves.push((*task, *condition, at));
                (Joins::Task, &[][..])
            }
            Depends::And(parts) => (Joins::All, &parts[..]),
            Depends::Or(parts) => (Joins::One, &parts[..]),
            Depends::Not(inner) => (Joins::Not, std::slice::from_ref(&**inner)),
            Depends::AtLeast(wanted, parts) => (Joins::AtLeast(short(*wanted)), &parts[..]),
        };
        self.parts.push(Part { around, count: short(parts.len()), joins });
        parts.iter().for_each(|part| self.add(at, part));
    }

    /// Nothing has ended yet.
    pub(crate) fn begin(&self) -> State {
        State(vec![Known::default(); self.parts.len()])
    }

    /// A task has ended, for good: whether that decides the whole, now or before.
    pub(crate) fn tell(
        &self,
        state: &mut State,
        task: u32,
        holds: impl Fn(Condition) -> bool,
    ) -> bool {
        let from = self.leaves.partition_point(|(named, ..)| *named < task);
        for (_, condition, at) in
            self.leaves[from..].iter().take_while(|(named, ..)| *named == task)
        {
            self.decide(state, *at, holds(*condition));
        }
        state.0.first().is_some_and(|whole| whole.value.is_some())
    }

    /// A part has a value, and with it perhaps what is around it.
    fn decide(&self, state: &mut State, mut at: u32, mut value: bool) {
        while let Some(known) = state.0.get_mut(at as usize)
            && known.value.is_none()
        {
            known.value = Some(value);
            let Some(part) = self.parts.get(at as usize) else { return };
            if part.around == at {
                return;
            }
            at = part.around;
            let (Some(part), Some(known)) =
                (self.parts.get(at as usize), state.0.get_mut(at as usize))
            else {
                return;
            };
            known.decided += 1;
            known.held += u32::from(value);
            match part.value(known) {
                Some(decided) => value = decided,
                None => return,
            }
        }
    }
}

impl Part {
    fn value(&self, known: &Known) -> Option<bool> {
        let all = known.decided == self.count;
        match self.joins {
            Joins::AtLeast(wanted) if known.held >= wanted => Some(true),
            Joins::AtLeast(wanted) if known.held + (self.count - known.decided) < wanted => {
                Some(false)
            }
            Joins::Task | Joins::AtLeast(_) => None,
            Joins::All => all.then_some(known.held == self.count),
            Joins::One => all.then_some(known.held > 0),
            Joins::Not => all.then_some(known.held == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of numbers: the same in every run.
    fn next(seed: &mut u32) -> u32 {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *seed >> 16
    }

    fn random(seed: &mut u32, depth: u32) -> Depends<u32> {
        let conditions = [Condition::Succeeded, Condition::Failed];
        if depth == 0 {
            return Depends::Task(next(seed) % 5, conditions[next(seed) as usize % 2]);
        }
        let mut parts: Vec<_> = (0..=next(seed) % 3).map(|_| random(seed, depth - 1)).collect();
        match next(seed) % 5 {
            0 => Depends::And(parts),
            1 => Depends::Or(parts),
            2 => Depends::Not(Box::new(parts.remove(0))),
            _ => Depends::AtLeast(1 + next(seed) as usize % parts.len(), parts),
        }
    }

    #[test]
    fn it_is_decided_with_the_same_end_as_the_whole_text() {
        let seed = &mut 7;
        for _ in 0..2_000 {
            let depends = random(seed, 4);
            let plan = Plan::new(&depends);
            let mut state = plan.begin();
            let succeeds: Vec<bool> = (0..5).map(|_| next(seed).is_multiple_of(2)).collect();
            for ended in 0..5 {
                let holds = |task: u32, condition| {
                    succeeds[task as usize] == (condition == Condition::Succeeded)
                };
                let decided = plan.tell(&mut state, ended, |condition| holds(ended, condition));
                let value = depends.value(&mut |task, condition| {
                    (*task <= ended).then(|| holds(*task, condition))
                });
                assert_eq!(decided, value.is_some(), "{depends:?} after {ended} of {succeeds:?}");
                assert_eq!(state.0[0].value, value);
            }
        }
    }
}
