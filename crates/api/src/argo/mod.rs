//! The door of Argo Workflows' clients: manifests become runs.
//!
//! [`load()`] reads a file and refuses by name and place what nobody here would carry out;
//! [`to_run`] resolves a workflow and all that it refers to, validates the result, and gives a run
//! that stands alone. Nothing here reads a file, a clock or a random source.

mod library;
mod lint;
mod load;
mod metadata;
mod resolve;
pub mod schema;
mod sink;
mod validate;
pub mod yaml;

pub use library::{Library, Shelf};
pub use lint::lint;
pub use load::{Kind, Loaded, Object, load};
pub use metadata::check_space;
pub(crate) use resolve::names;
pub use resolve::{SubmitOptions, to_run};
