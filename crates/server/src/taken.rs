//! Names of runs that may be taken. Most submits bring a new name, and are spared a look into the
//! store.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use argosy_store::{ListFilter, RunRow, Storage};

/// Rows that are read at once.
const PAGE: u32 = 10_000;

/// Hashes of all names that are or were there. That one is known proves nothing, as two names may
/// have one hash and runs are deleted; that it is unknown proves that the name is free.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    hasher: RandomState,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    hashes: HashSet<u64>,
    /// Whether the names in the store are among them.
    complete: bool,
}

impl Taken {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a name, and tells whether it may have been taken before.
    pub(crate) fn take(&self, space: &str, name: &str) -> bool {
        let hash = self.hasher.hash_one((space, name));
        let mut inside = self.inside();
        !inside.hashes.insert(hash) || !inside.complete
    }

    /// Reads all names of the store.
    ///
    /// # Errors
    /// The store's; every name may be taken then.
    pub(crate) async fn fill(&self, store: &dyn Storage) -> argosy_store::Result<()> {
        let mut filter = ListFilter { limit: PAGE, ..ListFilter::default() };
        loop {
            let rows = store.list(&filter).await?;
            self.add(&rows);
            match rows.last() {
                Some(last) => filter.before = Some(last.id),
                None => break,
            }
        }
        self.inside().complete = true;
        Ok(())
    }

    fn add(&self, rows: &[RunRow]) {
        let hashes = rows.iter().map(|row| self.hasher.hash_one((&*row.space, &*row.name)));
        self.inside().hashes.extend(hashes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_free_only_when_all_are_known_and_it_is_not() {
        let taken = Taken::default();
        assert!(taken.take("s", "a"), "the store has not been read");
        taken.inside().complete = true;
        assert!(taken.take("s", "a"));
        assert!(!taken.take("s", "b"));
        assert!(taken.take("s", "b"), "its run may be on its way");
        assert!(!taken.take("t", "b"), "spaces have names of their own");
    }
}
