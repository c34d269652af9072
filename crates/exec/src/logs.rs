//! Logs: what each process of each attempt wrote, kept after the process is gone.
//!
//! `<data>/logs/<run>/<step>.<number>.<container>.{out,err}`, byte for byte. A stream on which
//! nothing was written has no file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use argosy_model::{AttemptId, RunId, StepKey};

/// One of a process's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    fn suffix(self) -> &'static str {
        match self {
            Stream::Out => "out",
            Stream::Err => "err",
        }
    }
}

/// What one process wrote on one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The attempt.
    pub attempt: AttemptId,
    /// The process.
    pub container: String,
    /// The stream.
    pub stream: Stream,
    /// The file.
    pub path: PathBuf,
}

/// The folder of a run's logs.
#[must_use]
pub fn folder(data_dir: &Path, run: RunId) -> PathBuf {
    data_dir.join("logs").join(run.0.to_string())
}

/// The file of one stream of one process.
#[must_use]
pub fn path(data_dir: &Path, attempt: AttemptId, container: &str, stream: Stream) -> PathBuf {
    let AttemptId { run, step, number } = attempt;
    folder(data_dir, run).join(format!("{}.{number}.{container}.{}", step.0, stream.suffix()))
}

/// The logs of a run that are there, in the order of steps, attempts, processes and streams.
///
/// # Errors
/// Whatever the disk says; a run without logs has none.
pub fn list(data_dir: &Path, run: RunId) -> io::Result<Vec<LogFile>> {
    let entries = match fs::read_dir(folder(data_dir, run)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        files.extend(parse(run, &path));
    }
    files.sort_by(|a: &LogFile, b| {
        (a.attempt, &a.container, a.stream).cmp(&(b.attempt, &b.container, b.stream))
    });
    Ok(files)
}

fn parse(run: RunId, path: &Path) -> Option<LogFile> {
    let name = path.file_name()?.to_str()?;
    let (rest, suffix) = name.rsplit_once('.')?;
    let stream = [Stream::Out, Stream::Err].into_iter().find(|s| s.suffix() == suffix)?;
    let mut parts = rest.splitn(3, '.');
    let step = StepKey(parts.next()?.parse().ok()?);
    let number = parts.next()?.parse().ok()?;
    let container = parts.next()?.to_owned();
    Some(LogFile {
        attempt: AttemptId { run, step, number },
        container,
        stream,
        path: path.to_owned(),
    })
}

/// At most `max` bytes from `offset` on; none at the end, or when the file is not there.
///
/// # Errors
/// Whatever the disk says.
pub fn read(path: &Path, offset: u64, max: usize) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_listed_and_read_again() {
        let data = tempfile::tempdir().unwrap();
        let attempt = AttemptId { run: RunId(3), step: StepKey(7), number: 1 };
        let file = path(data.path(), attempt, "side.car", Stream::Err);
        assert_eq!(list(data.path(), RunId(3)).unwrap(), []);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, b"a\xffb").unwrap();
        fs::write(file.with_file_name("nonsense"), b"").unwrap();
        let expected = LogFile {
            attempt,
            container: "side.car".into(),
            stream: Stream::Err,
            path: file.clone(),
        };
        assert_eq!(list(data.path(), RunId(3)).unwrap(), [expected]);
        assert_eq!(read(&file, 1, 10).unwrap(), b"\xffb");
        assert_eq!(read(&file, 9, 10).unwrap(), b"");
        assert_eq!(read(&data.path().join("none"), 0, 10).unwrap(), b"");
    }
}
