//! How large semaphores are: numbers in configuration maps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use argosy_api::argo::Kind;
use argosy_api::http::stored_pairs;
use argosy_model::Code;
use argosy_model::graph::Lock;
use argosy_store::ObjectChange;

use super::super::{Core, Fetched};
use super::table::Name;

/// A configuration map of a space: (space, name).
type Map = (String, String);

/// The numbers of a map by key; what is no number is left out. `None`: there is no such map.
type Numbers = Option<BTreeMap<String, u64>>;

/// The maps that were read or written since the start.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    known: BTreeMap<Map, Numbers>,
    /// Those that are being read.
    asked: BTreeSet<Map>,
}

fn numbers(data: &[u8]) -> Numbers {
    let document = serde_json::from_slice(data).ok()?;
    let pairs = stored_pairs(Kind::ConfigMap, &document).into_iter();
    let numbers = pairs.filter_map(|(key, value)| {
        Some((key, std::str::from_utf8(&value).ok()?.trim().parse().ok()?))
    });
    Some(numbers.collect())
}

impl Core {
    /// Sets the sizes of semaphores, and has those read that are not known.
    pub(super) fn want_sizes(&mut self, names: &[Name]) {
        for (space, lock) in names {
            let Lock::Semaphore { config_map, .. } = lock else { continue };
            let map = (space.clone(), config_map.clone());
            if self.locks.sizes.known.contains_key(&map) {
                self.apply_size((space.clone(), lock.clone()), &map);
            } else if self.locks.sizes.asked.insert(map.clone()) {
                self.read_map(map);
            }
        }
    }

    fn read_map(&self, map: Map) {
        let (store, fetched) = (Arc::clone(&self.store), self.fetched.clone());
        tokio::spawn(async move {
            let found = store.object(&map.0, Kind::ConfigMap.as_str(), &map.1).await;
            let found = found.unwrap_or_else(|error| {
                tracing::error!(%error, "a configuration map cannot be read");
                None
            });
            // The loop is gone only when the process is stopping.
            let _ = fetched.send(Fetched::Map(map.0, map.1, found.map(|object| object.data)));
        });
    }

    /// A map was read. What was written in the meantime is newer.
    pub(in crate::core) fn on_map_read(
        &mut self,
        space: String,
        name: String,
        data: Option<&[u8]>,
    ) {
        let map = (space, name);
        if self.locks.sizes.asked.remove(&map) {
            self.locks.sizes.known.entry(map.clone()).or_insert(data.and_then(numbers));
            self.apply_sizes(&map);
        }
    }

    /// A map was written.
    pub(in crate::core) fn on_object_change(&mut self, change: &ObjectChange) {
        if change.kind == Kind::ConfigMap.as_str() {
            let map = (change.space.clone(), change.name.clone());
            let data = change.data.as_deref().and_then(numbers);
            self.locks.sizes.known.insert(map.clone(), data);
            self.apply_sizes(&map);
        }
    }

    /// Gives every semaphore of a map its size, and whoever fits then its locks.
    fn apply_sizes(&mut self, map: &Map) {
        for name in self.locks.table.of_map(&map.0, &map.1) {
            self.apply_size(name.clone(), map);
            let given = self.locks.table.give(vec![name.clone()]);
            self.locks.given(given);
            for who in self.locks.table.waiters(&name) {
                self.locks.kept(who);
            }
        }
    }

    fn apply_size(&mut self, name: Name, map: &Map) {
        let Lock::Semaphore { key, .. } = &name.1 else { return };
        let numbers = self.locks.sizes.known.get(map).and_then(Option::as_ref);
        match numbers.map(|numbers| numbers.get(key).copied()) {
            Some(Some(size)) => self.locks.table.resize(&name, size),
            Some(None) => {
                let why = "its key is no number in the ConfigMap";
                self.locks.refuse(&name, Code::BadValue, why);
            }
            None => self.locks.refuse(&name, Code::NotFound, "there is no such ConfigMap"),
        }
    }
}
