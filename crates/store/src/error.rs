//! What can go wrong with a data directory.

use argosy_model::{Code, Diagnostic};

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused, or the disk did.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("the schema could not be brought up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// A file or folder could not be used.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Written by a later version.
    #[error("the data directory has format {found}, and this version knows formats up to {known}")]
    Newer {
        /// Its format.
        found: u32,
        /// The newest format that is known here.
        known: u32,
    },
    /// Another process writes to it.
    #[error("another server owns the data directory {0}")]
    Busy(String),
    /// What was written cannot be read again.
    #[error("damaged: {0}")]
    Damaged(String),
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        let (code, help) = match &error {
            Error::Newer { .. } => (Code::NewerData, "use a newer version of argosy"),
            Error::Busy(_) => {
                (Code::DataBusy, "stop it, talk to it with --server, or use another --data")
            }
            _ => {
                (Code::StoreFailed, "check that the disk is not full and the folder can be written")
            }
        };
        Diagnostic::new(code, error.to_string()).help(help)
    }
}
