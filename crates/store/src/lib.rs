//! The event log, snapshots and projections.
//!
//! One writer commits; everything else reads. A commit is one row of the log, at most one row per
//! changed run, and now and then pieces of snapshots, in one transaction that is synced before
//! [`Store::commit`] returns. Absent from this crate: any decision about what is written.

mod assemble;
mod commit;
mod encode;
mod error;
mod load;
mod objects;
mod open;
mod query;
mod row;
mod storage;
mod write;

pub use assemble::{Assembly, StoredRun};
pub use commit::{Archived, Commit, Garbage, Memo, ObjectChange, Part, Piece, Snapshot};
pub use error::{Error, Result};
pub use load::Loaded;
pub use objects::Object;
pub use open::Store;
pub use query::ListFilter;
pub use row::RunRow;
pub use storage::Storage;
