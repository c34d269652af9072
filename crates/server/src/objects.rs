//! Stored objects in memory: every submit looks at them, and few ever change.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use argosy_store::Object;

/// Objects by owner and kind, as the store has them.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    known: HashMap<(String, String), Vec<Object>>,
    /// Rises with every change, so that what was read before one is not kept after it.
    generation: u64,
}

impl Objects {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known, or the generation under which it may be [`Objects::keep`]t once it is read.
    pub(crate) fn get(&self, space: &str, kind: &str) -> Result<Vec<Object>, u64> {
        let inside = self.inside();
        let key = (space.to_owned(), kind.to_owned());
        inside.known.get(&key).cloned().ok_or(inside.generation)
    }

    /// Keeps what was read, unless something has changed meanwhile.
    pub(crate) fn keep(&self, generation: u64, space: &str, kind: &str, objects: &[Object]) {
        let mut inside = self.inside();
        if inside.generation == generation {
            inside.known.insert((space.to_owned(), kind.to_owned()), objects.to_vec());
        }
    }

    /// Something changes: nothing that is known counts any more.
    pub(crate) fn forget(&self) {
        let mut inside = self.inside();
        inside.generation += 1;
        inside.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_change_is_not_kept_after_it() {
        let objects = Objects::default();
        let generation = objects.get("s", "k").unwrap_err();
        objects.forget();
        objects.keep(generation, "s", "k", &[]);
        let generation = objects.get("s", "k").unwrap_err();
        objects.keep(generation, "s", "k", &[]);
        assert_eq!(objects.get("s", "k"), Ok(Vec::new()));
    }
}
