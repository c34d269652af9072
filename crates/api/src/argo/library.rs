//! Objects that a manifest may refer to.

use std::sync::Arc;

use super::load::{Kind, Object};

/// Stored objects.
pub trait Library {
    /// The object of a kind under a name, in a space where the kind belongs to one.
    fn get(&self, kind: Kind, space: &str, name: &str) -> Option<Arc<Object>>;
}

/// Objects in memory, as a command line without a server has them. Of two with the same name the
/// later one counts. An object that names no space is in all.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    objects: Vec<Arc<Object>>,
}

impl Shelf {
    /// Adds an object.
    pub fn add(&mut self, object: Object) {
        self.objects.push(Arc::new(object));
    }
}

impl Library for Shelf {
    fn get(&self, kind: Kind, space: &str, name: &str) -> Option<Arc<Object>> {
        let fits = |object: &&Arc<Object>| {
            let anywhere = kind == Kind::ClusterWorkflowTemplate || object.namespace.is_empty();
            object.kind == kind && object.name == name && (anywhere || object.namespace == space)
        };
        self.objects.iter().rev().find(fits).cloned()
    }
}
