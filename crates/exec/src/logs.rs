//! What processes wrote: files below the data directory, kept when their attempt is forgotten.
//!
//! `logs/<run>/<step>.<number>.<container>.out` and `.err`, each made with its first byte.

use argosy_model::{AttemptId, RunId, StepKey};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One of a process's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The log of one output of one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Log {
    /// Whose it is.
    pub attempt: AttemptId,
    /// The process in it.
    pub container: String,
    /// Which output.
    pub stream: Stream,
}

impl Log {
    /// Its file below a data directory, whether it is there or not.
    #[must_use]
    pub fn path(&self, data_dir: &Path) -> PathBuf {
        let AttemptId { run, step, number } = self.attempt;
        let end = match self.stream {
            Stream::Out => "out",
            Stream::Err => "err",
        };
        folder(data_dir, run).join(format!("{}.{number}.{}.{end}", step.0, self.container))
    }

    fn parse(run: RunId, name: &str) -> Option<Self> {
        let (step, rest) = name.split_once('.')?;
        let (number, rest) = rest.split_once('.')?;
        let (container, end) = rest.rsplit_once('.')?;
        let stream = match end {
            "out" => Stream::Out,
            "err" => Stream::Err,
            _ => return None,
        };
        let step = StepKey(step.parse().ok()?);
        let attempt = AttemptId { run, step, number: number.parse().ok()? };
        Some(Self { attempt, container: container.to_owned(), stream })
    }
}

/// The folder of a run's logs.
#[must_use]
pub fn folder(data_dir: &Path, run: RunId) -> PathBuf {
    data_dir.join("logs").join(run.0.to_string())
}

/// The logs of a run, sorted by attempt, container and stream.
///
/// # Errors
/// The system's; that there are none is no error.
pub fn list(data_dir: &Path, run: RunId) -> io::Result<Vec<Log>> {
    let entries = match fs::read_dir(folder(data_dir, run)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut logs = Vec::new();
    for entry in entries {
        logs.extend(entry?.file_name().to_str().and_then(|name| Log::parse(run, name)));
    }
    logs.sort_unstable();
    Ok(logs)
}

/// At most `limit` bytes of a log from `offset` on, exactly as they were written; none if it has no
/// more, or is not there. To follow a log, read from where the last read has ended.
///
/// # Errors
/// The system's.
pub fn read(data_dir: &Path, log: &Log, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let file = match File::open(log.path(data_dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let left = file.metadata()?.len().saturating_sub(offset);
    let mut bytes = vec![0; limit.min(usize::try_from(left).unwrap_or(usize::MAX))];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(length) => filled += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(step: u32, container: &str, stream: Stream) -> Log {
        let attempt = AttemptId { run: RunId(7), step: StepKey(step), number: 0 };
        Log { attempt, container: container.into(), stream }
    }

    #[test]
    fn logs_are_listed_in_order_and_read_byte_by_byte() {
        let data = tempfile::tempdir().unwrap();
        let logs =
            [log(2, "main", Stream::Out), log(2, "main", Stream::Err), log(10, "a.b", Stream::Out)];
        assert_eq!(list(data.path(), RunId(7)).unwrap(), []);
        fs::create_dir_all(folder(data.path(), RunId(7))).unwrap();
        for log in &logs {
            fs::write(log.path(data.path()), b"a\xff\nb").unwrap();
        }
        fs::write(folder(data.path(), RunId(7)).join("other"), "").unwrap();
        assert_eq!(list(data.path(), RunId(7)).unwrap(), logs);
        for (offset, limit, expected) in
            [(0, 9, &b"a\xff\nb"[..]), (1, 2, b"\xff\n"), (4, 9, b""), (9, 9, b"")]
        {
            assert_eq!(read(data.path(), &logs[0], offset, limit).unwrap(), expected);
        }
        assert_eq!(read(data.path(), &log(3, "main", Stream::Out), 0, 9).unwrap(), b"");
    }
}
