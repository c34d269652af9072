//! Bytes under keys, the embedded S3 endpoint and safe archives.
//!
//! Invariants:
//! - an object is whole under its key, or not there: a reader never sees half of a put;
//! - once a put has returned, its object survives a loss of power;
//! - no key, and no name in an archive, reaches a file outside its own folder;
//! - nothing outside this crate unpacks an archive.

pub mod archive;
mod folder;
mod key;
mod part;
mod remote;
pub mod s3;
mod store;
pub mod tree;

pub use folder::Folder;
pub use key::{Address, Space};
pub use part::Part;
pub use remote::Remote;
pub use store::{ByteStream, Listing, Meta, Object, Source, Store};
