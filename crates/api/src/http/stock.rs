//! Stored objects that a manifest refers to, read as they are asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use argosy_model::RunSpec;

use super::error::Answer;
use super::{Door, library};
use crate::argo::{self, Kind, Library, Object, Shelf, SubmitOptions};

/// An object by its kind, space and name.
type Key = (Kind, String, String);

/// What was read so far, for one manifest.
pub(super) struct Stock<'d> {
    door: &'d Door,
    shelf: Shelf,
    /// Objects that were looked for, whether or not there are such.
    asked: BTreeSet<Key>,
}

impl<'d> Stock<'d> {
    pub(super) fn new(door: &'d Door) -> Stock<'d> {
        Stock { door, shelf: Shelf::default(), asked: BTreeSet::new() }
    }

    /// Adds an object, which counts in place of a stored one of its name.
    pub(super) fn add(&mut self, object: Object) {
        self.shelf.add(object);
    }

    /// The run that an object becomes. Which stored objects that takes shows only on the way, as
    /// they refer to others: it is tried until it asks for nothing new.
    pub(super) async fn resolve(
        &mut self,
        object: &Object,
        options: &SubmitOptions,
    ) -> Answer<RunSpec> {
        loop {
            let view = View { stock: self, wanted: Mutex::default() };
            let made = argo::to_run(object, options, &view);
            let wanted = view.wanted.into_inner().unwrap_or_else(PoisonError::into_inner);
            if wanted.is_empty() {
                return Ok(made?);
            }
            for key in wanted {
                self.read(key).await?;
            }
        }
    }

    async fn read(&mut self, key: Key) -> Answer<()> {
        let (kind, space, name) = &key;
        let home = library::home(*kind, space);
        if let Some(stored) = self.door.service.object(&home, kind.as_str(), name).await? {
            for mut object in library::parse(name, &stored.data)? {
                // Its own space is where it is stored, whatever its document says.
                object.namespace = stored.space.clone();
                self.shelf.add(object);
            }
        }
        self.asked.insert(key);
        Ok(())
    }
}

/// The stock while a manifest is resolved, with what was asked of it in vain.
struct View<'s, 'd> {
    stock: &'s Stock<'d>,
    wanted: Mutex<BTreeSet<Key>>,
}

impl Library for View<'_, '_> {
    fn get(&self, kind: Kind, space: &str, name: &str) -> Option<Arc<Object>> {
        let found = self.stock.shelf.get(kind, space, name);
        // Secrets are only ever named.
        if found.is_none() && kind != Kind::Secret {
            let key = (kind, space.to_owned(), name.to_owned());
            if !self.stock.asked.contains(&key) {
                self.wanted.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argo::load;
    use crate::ports::{RunView, Service};
    use argosy_engine::Input;
    use argosy_model::{AttemptId, Cause, Diagnostic, RunId};
    use argosy_store::{ListFilter, Object as Stored, ObjectChange, RunRow};

    type Told<T> = Result<T, Diagnostic>;

    /// Objects by kind and name, and those that were read.
    struct Shop {
        documents: Vec<Object>,
        read: Mutex<Vec<String>>,
    }

    #[async_trait::async_trait]
    impl Service for Shop {
        async fn object(&self, space: &str, kind: &str, name: &str) -> Told<Option<Stored>> {
            self.read.lock().unwrap().push(name.to_owned());
            let is = |known: &&Object| known.kind.as_str() == kind && known.name == name;
            Ok(self.documents.iter().find(is).map(|known| Stored {
                space: space.to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
                version: 1,
                created_ms: 0,
                data: known.json.to_string().into_bytes(),
            }))
        }

        async fn submit(&self, _: RunSpec, _: Cause) -> Told<RunId> {
            unreachable!()
        }
        async fn input(&self, _: RunId, _: Input, _: Cause) -> Told<bool> {
            unreachable!()
        }
        async fn delete(&self, _: RunId) -> Told<()> {
            unreachable!()
        }
        async fn put_objects(&self, _: Vec<ObjectChange>) -> Told<()> {
            unreachable!()
        }
        async fn objects(&self, _: &str, _: &str) -> Told<Vec<Stored>> {
            unreachable!()
        }
        async fn run(&self, _: RunId) -> Told<RunView> {
            unreachable!()
        }
        async fn find(&self, _: &str, _: &str) -> Told<Option<RunRow>> {
            unreachable!()
        }
        async fn list(&self, _: &ListFilter) -> Told<Vec<RunRow>> {
            unreachable!()
        }
        async fn explain(&self, _: AttemptId) -> Told<Option<argosy_scheduler::Reason>> {
            unreachable!()
        }
        fn now_ms(&self) -> i64 {
            0
        }
        fn trouble(&self) -> Option<Diagnostic> {
            None
        }
        fn metrics(&self) -> Vec<(&'static str, &'static str, u64)> {
            Vec::new()
        }
    }

    const OBJECTS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: first}
spec:
  templates:
    - name: main
      steps: [[{name: a, templateRef: {name: second, template: main, clusterScope: true}}]]
---
apiVersion: argoproj.io/v1alpha1
kind: ClusterWorkflowTemplate
metadata: {name: second}
spec: {templates: [{name: main, suspend: {}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: unrelated}
spec: {templates: [{name: main, suspend: {}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map-x}
data: {k: v}
";

    const PLAIN: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: plain}
spec: {entrypoint: main, templates: [{name: main, suspend: {}}]}
";

    const REFERS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: refers}
spec:
  entrypoint: main
  arguments:
    parameters: [{name: p, valueFrom: {configMapKeyRef: {name: map-x, key: k}}}]
  templates:
    - name: main
      steps: [[{name: a, templateRef: {name: first, template: main}}]]
";

    #[tokio::test]
    async fn only_what_a_manifest_refers_to_is_read() {
        for (text, expected) in [(PLAIN, &[][..]), (REFERS, &["first", "map-x", "second"])] {
            let documents = load("-", OBJECTS).unwrap().objects;
            let shop = Arc::new(Shop { documents, read: Mutex::default() });
            let service = Arc::clone(&shop);
            let random = Arc::new(|| (String::new(), String::new()));
            let door = Door { service, data_dir: "".into(), random };
            let object = load("-", text).unwrap().objects.remove(0);
            let options = SubmitOptions { namespace: "s".to_owned(), ..SubmitOptions::default() };
            let mut stock = Stock::new(&door);
            stock.resolve(&object, &options).await.unwrap();
            // A second name is drawn without another look.
            stock.resolve(&object, &options).await.unwrap();
            let mut read = shop.read.lock().unwrap().clone();
            read.sort();
            assert_eq!(read, expected);
        }
    }
}
