//! Opening a data directory.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use argosy_model::FORMAT_VERSION;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection, Row, SqliteConnection, SqliteExecutor};
use tokio::sync::Mutex;

use crate::error::{Error, Result, is_read_only};

/// Locked by the process that writes.
const LOCK: &str = "server.lock";

/// The file of the database, and the one beside it while it is made.
const DATABASE: &str = "argosy.db";
const JOURNAL: &str = "argosy.db-journal";

/// Connections for readers.
const READERS: u32 = 4;

/// Pages (of 4 KiB) in the write-ahead log before they are copied into the database, which takes
/// two syncs more.
const CHECKPOINT_PAGES: &str = "4000";

/// An open data directory.
#[derive(Debug)]
pub struct Store {
    pub(crate) readers: SqlitePool,
    pub(crate) writer: Option<Mutex<Writer>>,
    dir: PathBuf,
    /// Device and number of the database's file, where this process writes to it.
    written: Option<(u64, u64)>,
    /// Held for as long as this process may write.
    _lock: Option<File>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) connection: SqliteConnection,
    /// Number of the last commit.
    pub(crate) seq: u64,
}

impl Store {
    /// Opens a data directory for writing, and makes it when it is not there.
    ///
    /// # Errors
    /// [`Error::Busy`] when another process writes to it, [`Error::Newer`] when a later version
    /// wrote it, [`Error::Empty`] when its database was emptied, and whatever the disk says.
    pub async fn open(dir: &Path) -> Result<Store> {
        let io = |what: &str| {
            let what = format!("{what} {}", dir.display());
            move |source| Error::Io { what, source }
        };
        fs::create_dir_all(dir).map_err(io("creating"))?;
        let lock = lock(dir)?;
        let file = database(dir);
        check_contents(dir)?;
        let options = options(&file).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        check_format(&mut connection).await?;
        sqlx::migrate!().run_direct(None, &mut connection, false).await?;
        write_format(&mut connection).await?;
        let row = sqlx::query("SELECT COALESCE(MAX(seq), 0) AS seq FROM log")
            .fetch_one(&mut connection)
            .await?;
        let last: i64 = row.try_get("seq")?;
        let floor = floor(&mut connection).await?;
        let seq = last.cast_unsigned().max(floor);
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .connect_lazy_with(self::options(&file).read_only(true));
        let writer = Some(Mutex::new(Writer { connection, seq }));
        let written = Some(identity(&file).map_err(io("looking into"))?);
        Ok(Store { readers, writer, dir: dir.to_owned(), written, _lock: Some(lock) })
    }

    /// Opens a data directory for reading, also while a server writes to it.
    ///
    /// # Errors
    /// [`Error::Newer`], [`Error::ReadOnly`] for a folder that cannot be written and was not closed,
    /// [`Error::Empty`] when its database was emptied, and an error when there is none.
    pub async fn read(dir: &Path) -> Result<Store> {
        check_contents(dir)?;
        let how = match look(&options(&database(dir)).read_only(true)).await {
            Err(Error::Database(refused)) if is_read_only(&refused) => {
                let how = closed(dir)?;
                look(&how).await?;
                how
            }
            other => other.map(|()| options(&database(dir)).read_only(true))?,
        };
        let readers = SqlitePoolOptions::new().max_connections(READERS).connect_lazy_with(how);
        Ok(Store { readers, writer: None, dir: dir.to_owned(), written: None, _lock: None })
    }

    /// Moves what stands in the log beside the database into it, so that it can be read where
    /// nothing can be written. Left to the next start where that fails.
    pub async fn close(&self) {
        self.readers.close().await;
        let Some(writer) = &self.writer else { return };
        let mut writer = writer.lock().await;
        let moved = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
        let _ = moved.execute(&mut writer.connection).await;
    }

    /// Whether the database is still where it was opened. What is written into a file that has
    /// lost its name is lost with the process.
    ///
    /// # Errors
    /// [`Error::Gone`] if it is not.
    pub(crate) fn is_in_place(&self) -> Result<()> {
        match identity(&database(&self.dir)) {
            Ok(found) if Some(found) == self.written => Ok(()),
            _ => Err(Error::Gone(self.dir.display().to_string())),
        }
    }

    /// A connection for writing.
    pub(crate) async fn connect(&self) -> Result<SqliteConnection> {
        Ok(SqliteConnection::connect_with(&options(&database(&self.dir))).await?)
    }

    /// Whether there is a data directory to read.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when that cannot be told, or it is not for this user.
    pub fn exists(dir: &Path) -> Result<bool> {
        let file = database(dir);
        match File::open(&file) {
            Ok(_) => Ok(!is_empty(&file) || check_contents(dir).is_err()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::Unreadable { what: file.display().to_string(), source }),
        }
    }

    /// Whether a process owns a data directory for writing.
    #[must_use]
    pub fn is_owned(dir: &Path) -> bool {
        let Ok(file) = File::open(dir.join(LOCK)) else { return false };
        matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn identity(file: &Path) -> std::io::Result<(u64, u64)> {
    fs::metadata(file).map(|metadata| (metadata.dev(), metadata.ino()))
}

fn database(dir: &Path) -> PathBuf {
    dir.join(DATABASE)
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10))
        .foreign_keys(false)
        .pragma("cache_size", "-8192")
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
}

/// Whether a database can be read.
async fn look(how: &SqliteConnectOptions) -> Result<()> {
    let mut connection = SqliteConnection::connect_with(how).await?;
    check_format(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// A database in a folder that cannot be written: without a log beside it nobody can change it.
fn closed(dir: &Path) -> Result<SqliteConnectOptions> {
    let log = dir.join("argosy.db-wal");
    if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        return Err(Error::ReadOnly(dir.display().to_string()));
    }
    let how = SqliteConnectOptions::new().filename(database(dir));
    Ok(how.read_only(true).immutable(true).pragma("cache_size", "-8192"))
}

/// Refuses a data directory whose database has become empty. An empty file alone is what a process
/// leaves that is killed while it makes a data directory.
fn check_contents(dir: &Path) -> Result<()> {
    let file = database(dir);
    if !is_empty(&file) {
        return Ok(());
    }
    let unreadable = |source| Error::Unreadable { what: dir.display().to_string(), source };
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        if name != LOCK && name != DATABASE && name != JOURNAL {
            return Err(Error::Empty(file.display().to_string()));
        }
    }
    Ok(())
}

fn is_empty(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.len() == 0)
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    let io = |source| Error::Io { what: format!("opening {}", path.display()), source };
    let file = File::options().create(true).append(true).open(&path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Busy(dir.display().to_string())),
        Err(fs::TryLockError::Error(source)) => {
            Err(Error::Io { what: format!("locking {}", path.display()), source })
        }
    }
}

/// Refuses what a later version wrote.
async fn check_format(connection: &mut SqliteConnection) -> Result<()> {
    let known = sqlx::query("SELECT 1 FROM sqlite_master WHERE name = 'meta'")
        .fetch_optional(&mut *connection)
        .await?;
    if known.is_none() {
        return Ok(());
    }
    let row = sqlx::query("SELECT value FROM meta WHERE name = 'format'")
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(()) };
    let value: String = row.try_get("value")?;
    let found: u32 = value.parse().map_err(|_| Error::Damaged(format!("format {value:?}")))?;
    if found > FORMAT_VERSION {
        return Err(Error::Newer { found, known: FORMAT_VERSION });
    }
    Ok(())
}

async fn write_format(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::query(
        "INSERT INTO meta (name, value) VALUES ('format', $1)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value
         WHERE meta.value <> excluded.value",
    )
    .bind(FORMAT_VERSION.to_string())
    .execute(connection)
    .await?;
    Ok(())
}

/// The number that the next commit must be above, although the log has been cut.
async fn floor(connection: &mut SqliteConnection) -> Result<u64> {
    number(connection, "cut").await
}

/// A number that is noted under a name; 0 where none is.
pub async fn number(on: impl SqliteExecutor<'_>, name: &str) -> Result<u64> {
    let row = sqlx::query("SELECT value FROM meta WHERE name = $1").bind(name);
    let Some(row) = row.fetch_optional(on).await? else { return Ok(0) };
    let value: String = row.try_get("value")?;
    value.parse().map_err(|_| Error::Damaged(format!("{name} {value:?}")))
}
