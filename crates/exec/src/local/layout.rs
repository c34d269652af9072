//! The folders of an attempt, and how far it has come.

use super::plan::Level;
use super::spares::{self, Spares, TMP};
use crate::logs::{self, Log, Stream};
use argosy_model::AttemptId;
use std::fmt;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Name of the marker in an attempt's folder.
const MARKER: &str = "marker";

/// What is written before an attempt's first process is ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The spawner that its processes are given to.
    pub boot: String,
    /// What they share with the machine.
    pub level: Level,
}

impl Marker {
    fn parse(text: &str) -> Option<Marker> {
        let (level, boot) = text.split_once(' ')?;
        let levels = [Level::None, Level::PrivateTmp, Level::PrivateRoot];
        let level = levels.into_iter().find(|known| known.as_str() == level)?;
        Some(Marker { boot: boot.to_owned(), level })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} {}", self.level.as_str(), self.boot)
    }
}

/// Where an attempt's files are.
#[derive(Clone, Debug)]
pub struct Layout {
    data_dir: PathBuf,
    attempt: AttemptId,
    root: PathBuf,
}

impl Layout {
    pub fn new(data_dir: &Path, attempt: AttemptId) -> Self {
        let AttemptId { run, step, number } = attempt;
        let run = data_dir.join("attempts").join(run.0.to_string());
        let root = run.join(format!("{}.{number}", step.0));
        Self { data_dir: data_dir.to_owned(), attempt, root }
    }

    /// The folder that all its processes see as `/tmp`.
    pub fn tmp(&self) -> PathBuf {
        self.root.join(TMP)
    }

    /// What we show in every process: scripts, and places to show our tools at.
    pub fn own(&self) -> PathBuf {
        self.root.join("own")
    }

    /// Where an input is put together. The input itself is `it` in there.
    pub fn input(&self, index: usize) -> PathBuf {
        self.root.join("in").join(index.to_string())
    }

    /// What a volume holds, unless it is a folder of the machine.
    pub fn volume(&self, index: usize) -> PathBuf {
        self.root.join("volumes").join(index.to_string())
    }

    /// A folder of a process's private root: `upper`, `work` or `merged`.
    pub fn root_part(&self, process: usize, part: &str) -> PathBuf {
        self.root.join("roots").join(process.to_string()).join(part)
    }

    /// A file for what is being packed.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    pub fn log(&self, container: &str, stream: Stream) -> PathBuf {
        let container = container.to_owned();
        Log { attempt: self.attempt, container, stream }.path(&self.data_dir)
    }

    /// Removes the logs of a process. Those of an attempt that has never run are of another one,
    /// which had its number before the database was taken from a backup.
    pub fn clear_logs(&self, container: &str) -> io::Result<()> {
        [Stream::Out, Stream::Err].into_iter().try_for_each(|stream| {
            match fs::remove_file(self.log(container, stream)) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        })
    }

    /// How far the attempt came under an earlier server; `None` if it was not ordered.
    pub fn marker(&self) -> io::Result<Option<Marker>> {
        match fs::read_to_string(self.root.join(MARKER)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            other => Ok(Marker::parse(&other?)),
        }
    }

    /// Not synced: after a loss of power the spawner is another one, and nothing runs. One file
    /// serves all attempts that are marked alike, as a further name for a file is made many times
    /// faster than a file; and it is there whole or not at all.
    pub fn mark(&self, marker: &Marker) -> io::Result<()> {
        let text = marker.to_string();
        let all = self.data_dir.join("attempts");
        let (shared, own) = (all.join(format!("{MARKER} {text}")), self.root.join(MARKER));
        match fs::hard_link(&shared, &own) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let new = all.join(format!("{MARKER}.new"));
                fs::write(&new, &text)?;
                fs::rename(&new, &shared)?;
                fs::hard_link(&shared, &own)
            }
            // It has as many names as a file can have.
            Err(error) if error.kind() == ErrorKind::TooManyLinks => {
                fs::remove_file(&shared)?;
                self.mark(marker)
            }
            // A file system may know no second names.
            Err(_) => fs::write(&own, &text),
            Ok(()) => Ok(()),
        }
    }

    /// Removes the markers of earlier spawners.
    pub fn remove_shared_markers(data_dir: &Path) {
        for entry in fs::read_dir(data_dir.join("attempts")).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(MARKER.as_bytes()) {
                // A name that is left over is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Makes the folders that an attempt of this level has, afresh.
    pub fn make(&self, level: Level, spares: &Spares) -> io::Result<()> {
        loop {
            match spares::make(spares, &self.root) {
                Ok(()) => break,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.remove()?,
                // The end of the run's last attempt may have removed the run's folder meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => self.make_parents()?,
                Err(error) => return Err(error),
            }
        }
        match level {
            Level::None => Ok(()),
            // As everywhere: anybody writes, and removes but their own.
            _ => fs::set_permissions(self.tmp(), Permissions::from_mode(0o1777)),
        }
    }

    fn make_parents(&self) -> io::Result<()> {
        if !self.data_dir.exists() {
            return Err(ErrorKind::NotFound.into());
        }
        make_folder(&logs::folder(&self.data_dir, self.attempt.run))?;
        self.root.parent().map_or(Ok(()), make_folder)
    }

    /// Makes what our tools are shown at.
    pub fn make_own(&self) -> io::Result<()> {
        make_folder(&self.own().join("bin"))?;
        fs::write(self.own().join("argosy"), "")
    }

    /// Passes the folders on if nothing is left in them, or removes them.
    pub fn leave(&self, spares: &Spares) -> io::Result<()> {
        let unmarked = fs::remove_file(self.root.join(MARKER));
        if unmarked.is_ok() && spares.give(&self.root) {
            self.remove_parent();
            return Ok(());
        }
        self.remove()
    }

    /// Removes everything but the logs.
    pub fn remove(&self) -> io::Result<()> {
        if self.remove_bare().is_ok() {
            return Ok(());
        }
        for root in fs::read_dir(self.root.join("roots")).into_iter().flatten().flatten() {
            argosy_spawn::release(&root.path().join("work"));
        }
        let removed = match fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                unlock(&self.root)?;
                fs::remove_dir_all(&self.root)
            }
            other => other,
        };
        self.remove_parent();
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Removes what is all that most attempts have, without looking.
    fn remove_bare(&self) -> io::Result<()> {
        fs::remove_dir(self.tmp())?;
        // If it is there at all; if it stays, so does its folder.
        let _ = fs::remove_file(self.root.join(MARKER));
        fs::remove_dir(&self.root)?;
        self.remove_parent();
        Ok(())
    }

    /// The last attempt of a run takes the run's folder with it.
    fn remove_parent(&self) {
        // Others are in it, but for the last one.
        let _ = self.root.parent().map(fs::remove_dir);
    }
}

/// The attempts that have a folder, as far as they can be listed.
pub fn found(data_dir: &Path) -> Vec<AttemptId> {
    let names = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let all = data_dir.join("attempts");
    let of_run = |run: String| {
        let attempts = names(&all.join(&run));
        attempts.into_iter().filter_map(move |name| format!("{run}.{name}").parse().ok())
    };
    names(&all).into_iter().flat_map(of_run).collect()
}

/// Makes a folder for the owner alone.
pub fn make_one(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes a folder for the owner alone, and those above it.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Lets the owner into all folders that a job has closed.
fn unlock(folder: &Path) -> io::Result<()> {
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use argosy_model::{RunId, StepKey};

    #[test]
    fn attempts_of_one_run_come_and_go_at_once() {
        let data = tempfile::tempdir().unwrap();
        let spares = Spares::new(data.path());
        std::thread::scope(|scope| {
            for number in 0..4 {
                let attempt = AttemptId { run: RunId(1), step: StepKey(2), number };
                let (layout, spares) = (Layout::new(data.path(), attempt), &spares);
                scope.spawn(move || {
                    for _ in 0..100 {
                        layout.make(Level::None, spares).unwrap();
                        layout.leave(spares).unwrap();
                    }
                });
            }
        });
        assert_eq!(found(data.path()), []);
    }

    #[test]
    fn an_attempt_counts_as_ordered_once_it_is_marked() {
        let data = tempfile::tempdir().unwrap();
        let spares = Spares::new(data.path());
        let attempt = AttemptId { run: RunId(1), step: StepKey(2), number: 3 };
        let layout = Layout::new(data.path(), attempt);
        assert_eq!(layout.marker().unwrap(), None);
        layout.make(Level::PrivateRoot, &spares).unwrap();
        assert_eq!(found(data.path()), [attempt]);
        let marker = Marker { boot: "b".into(), level: Level::PrivateTmp };
        layout.mark(&marker).unwrap();
        assert_eq!(layout.marker().unwrap(), Some(marker));
        layout.make(Level::None, &spares).unwrap();
        assert_eq!(layout.marker().unwrap(), None, "it is made afresh");
        layout.remove().unwrap();
        layout.remove().unwrap();
        assert!(!data.path().join("attempts/1").exists());
        assert!(logs::folder(data.path(), attempt.run).exists());
    }
}
