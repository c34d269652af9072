//! What processes wrote: files below the data directory, kept when their attempt is forgotten.
//!
//! `logs/<run>/<step>.<number>.<container>.out` and `.err`, each made with its first byte.

use argosy_model::{AttemptId, RunId, StepKey};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are looked at together from the end of a log.
const TAIL: usize = 256 << 10;

/// One of a process's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The log of one output of one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A log for reading; `None` where it is not there.
///
/// # Errors
/// The system's.
pub fn open(data_dir: &Path, log: &Log) -> io::Result<Option<File>> {
    match File::open(log.path(data_dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// At most `limit` bytes of a log from `offset` on, exactly as they were written; none if it has no
/// more. To follow a log, read from where the last read has ended.
///
/// # Errors
/// The system's.
pub fn read(file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
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

/// Where the last lines of a log begin, `count` of them at most, and how many they are. It is read
/// from its end, so that neither its length nor that of its lines matters to memory.
///
/// # Errors
/// The system's.
pub fn tail(file: &File, count: u64) -> io::Result<(u64, u64)> {
    let end = file.metadata()?.len();
    let (mut at, mut lines) = (end, 0);
    while at > 0 {
        let from = at.saturating_sub(TAIL as u64);
        let bytes = read(file, from, usize::try_from(at - from).unwrap_or(TAIL))?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (index, byte) in bytes.iter().enumerate().rev() {
            let behind = from + index as u64 + 1;
            // The last line may have its end, or not.
            if behind == end || *byte == b'\n' {
                if lines == count {
                    return Ok((behind, lines));
                }
                lines += 1;
            }
        }
        at = from;
    }
    Ok((0, lines))
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
            let file = open(data.path(), &logs[0]).unwrap().unwrap();
            assert_eq!(read(&file, offset, limit).unwrap(), expected);
        }
        assert!(open(data.path(), &log(3, "main", Stream::Out)).unwrap().is_none());
    }

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("log");
        for (text, count, from, lines) in [
            (&b""[..], 3, 0, 0),
            (b"a\nb\nc\n", 0, 6, 0),
            (b"a\nb\nc\n", 1, 4, 1),
            (b"a\nb\nc\n", 2, 2, 2),
            (b"a\nb\nc\n", 3, 0, 3),
            (b"a\nb\nc\n", 9, 0, 3),
            (b"a\nb\nc", 1, 4, 1),
            (b"\n\n\n", 2, 1, 2),
            (b"abc", 1, 0, 1),
        ] {
            fs::write(&path, text).unwrap();
            let found = tail(&File::open(&path).unwrap(), count).unwrap();
            assert_eq!(found, (from, lines), "{count} of {text:?}");
        }
        // A line that is longer than what is looked at together.
        let long = [&b"a\n"[..], &vec![b'x'; 2 * TAIL + 1], b"\n"].concat();
        fs::write(&path, &long).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!((tail(&file, 1).unwrap(), tail(&file, 2).unwrap()), ((2, 1), (0, 2)));
        assert!(tail(&File::open(data.path()).unwrap(), 1).is_err(), "a folder is no log");
    }
}
