//! Locks of a run or of a template.

use argosy_model::Code;
use argosy_model::graph::Lock;

use super::build::Build;
use super::names;
use crate::argo::yaml::Node;

impl Build<'_> {
    /// The locks of a spec or a template, in the newer and the older spelling.
    pub(super) fn locks(&mut self, owner: &Node) -> Vec<Lock> {
        let Some(node) = owner.get("synchronization") else { return Vec::new() };
        let mutexes = node.list("mutexes").iter().chain(node.get("mutex"));
        let mut locks: Vec<Lock> = mutexes
            .map(|mutex| Lock::Mutex { name: self.part(mutex, mutex, "name", names::mutex) })
            .collect();
        for semaphore in node.list("semaphores").iter().chain(node.get("semaphore")) {
            let Some(from) = semaphore.get("configMapKeyRef") else {
                let what = "the semaphore has no `configMapKeyRef`";
                self.sink.refuse(Code::MissingField, semaphore.mark, what);
                continue;
            };
            let config_map = self.part(semaphore, from, "name", names::object);
            locks.push(Lock::Semaphore {
                config_map,
                key: self.part(semaphore, from, "key", names::key),
            });
        }
        locks
    }

    fn part(&mut self, lock: &Node, node: &Node, field: &str, rule: names::Rule) -> String {
        self.check_literal(node, field, rule);
        let text = node.text(field);
        if text.is_empty() {
            self.sink.refuse(Code::MissingField, lock.mark, format!("the lock has no `{field}`"));
        }
        text.to_owned()
    }
}
