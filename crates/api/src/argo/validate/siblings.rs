//! Which calls of a template have ended when another is evaluated.

use std::collections::HashMap;

use argosy_engine::depends::Depends;
use argosy_model::graph::{Body, Call, Template};

/// How much is searched for one graph. Beyond it a call is taken to have ended; if it has not, the
/// run says so.
const MAX_SEARCHED: usize = 2_000_000;

/// What a text can know of a call.
pub(super) enum Seen<'g> {
    /// It has ended.
    Ended(&'g Call),
    /// It may not have.
    Open,
    /// There is none of that name.
    Unknown,
}

/// The calls of a template by name.
#[derive(Default)]
pub(super) struct Siblings<'g> {
    all: Vec<&'g Call>,
    by_name: HashMap<&'g str, usize>,
    /// For steps, the group of each.
    group: Vec<usize>,
    /// For tasks, what each waits for.
    needs: Vec<Vec<usize>>,
}

impl<'g> Siblings<'g> {
    pub(super) fn of(template: &'g Template) -> Siblings<'g> {
        let mut found = Siblings::default();
        match &template.body {
            Body::Steps(groups) => {
                for (at, group) in groups.iter().enumerate() {
                    found.all.extend(group);
                    found.group.extend(group.iter().map(|_| at));
                }
            }
            Body::Dag(dag) => found.all.extend(&dag.tasks),
            _ => {}
        }
        found.by_name =
            found.all.iter().enumerate().map(|(at, call)| (call.name.as_str(), at)).collect();
        if let Body::Dag(dag) = &template.body {
            found.needs = dag.tasks.iter().map(|task| found.needs_of(task)).collect();
        }
        found
    }

    fn needs_of(&self, task: &Call) -> Vec<usize> {
        let depends = task.depends.as_deref().and_then(|text| Depends::parse(text).ok());
        let names = depends.iter().flat_map(Depends::tasks);
        names.filter_map(|name| self.by_name.get(name).copied()).collect()
    }

    /// What `from` can know of the call `name`; without `from`, what is known in the end.
    pub(super) fn see(&self, from: Option<&Call>, name: &str, searched: &mut usize) -> Seen<'g> {
        let Some(at) = self.by_name.get(name).copied() else { return Seen::Unknown };
        let Some(call) = self.all.get(at).copied() else { return Seen::Unknown };
        let from = from.and_then(|from| self.by_name.get(from.name.as_str()).copied());
        let ended = match from {
            None => true,
            Some(from) if self.needs.is_empty() => self.group.get(at) < self.group.get(from),
            Some(from) => self.waits(from, at, searched),
        };
        if ended { Seen::Ended(call) } else { Seen::Open }
    }

    /// Whether a task waits for another, directly or not.
    fn waits(&self, from: usize, to: usize, searched: &mut usize) -> bool {
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for need in self.needs.get(at).into_iter().flatten().copied() {
                *searched += 1;
                if need == to || *searched > MAX_SEARCHED {
                    return true;
                }
                if seen.insert(need) {
                    open.push(need);
                }
            }
        }
        false
    }

    /// Names of all calls.
    pub(super) fn names(&self) -> impl Iterator<Item = &'g String> {
        self.all.iter().map(|call| &call.name)
    }
}
