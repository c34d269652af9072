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
    #[error("another `argosy run` or `argosy up` owns the data directory {0}")]
    Busy(String),
    /// It cannot be written, and is not in a state in which that is not needed.
    #[error("the data directory {0} cannot be written, and its last server has not closed it")]
    ReadOnly(String),
    /// It is not there any more.
    #[error("the database of {0} was removed, moved or replaced")]
    Gone(String),
    /// It is there, and not for this user.
    #[error("{what} cannot be read: {source}")]
    Unreadable {
        /// The file.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The file of its database has lost what was in it.
    #[error("damaged: the database {0} is empty, and other files of the data directory are there")]
    Empty(String),
    /// What was written cannot be read again.
    #[error("damaged: {0}")]
    Damaged(String),
}

const RESCUE: &str = "keep a copy of the folder; then take it from a backup, or begin with \
                      another --data. Running processes are not harmed";

/// Whether the database says that its file is not what it has written (`SQLITE_CORRUPT`,
/// `SQLITE_NOTADB`).
fn is_damage(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(11 | 26))
}

/// Whether the database lacks a file that it would have to make (`SQLITE_READONLY`,
/// `SQLITE_CANTOPEN`).
pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(8 | 14))
}

/// The result code, whose upper bytes only tell more of it.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<u32>().ok().map(|code| code & 0xff)
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        let (code, help) = match &error {
            Error::Newer { .. } => (Code::NewerData, "use a newer version of argosy"),
            Error::Busy(_) => (
                Code::DataBusy,
                "wait until it ends, or use another --data; to run several at once, \
                 start `argosy up`: `argosy run` then hands its files to that",
            ),
            Error::Unreadable { .. } => (
                Code::DataUnreadable,
                "a data directory is for the user who made it: be that user, or use another --data",
            ),
            Error::Empty(_) => (Code::DataDamaged, RESCUE),
            Error::ReadOnly(_) => (
                Code::DataReadOnly,
                "make it writable, or copy it to where it is; a server that is stopped closes it",
            ),
            Error::Gone(_) => {
                (Code::StoreFailed, "stop the server, put the folder back, and start it again")
            }
            Error::Damaged(_) => (Code::DataDamaged, RESCUE),
            Error::Database(error) if is_damage(error) => (Code::DataDamaged, RESCUE),
            _ => {
                (Code::StoreFailed, "check that the disk is not full and the folder can be written")
            }
        };
        Diagnostic::new(code, error.to_string()).help(help)
    }
}
