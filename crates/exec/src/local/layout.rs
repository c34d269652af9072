//! The folders of an attempt, and how far it has come.

use super::plan::Level;
use crate::logs::{self, Log, Stream};
use argosy_model::AttemptId;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What is written before an attempt's first process is ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The spawner that its processes are given to.
    pub boot: String,
    /// What they share with the machine.
    pub level: Level,
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
        self.root.join("tmp")
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

    /// How far the attempt came under an earlier server; `None` if it was not ordered, as it
    /// was not if its marker was never finished.
    pub fn marker(&self) -> io::Result<Option<Marker>> {
        match fs::read(self.root.join("marker")) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            other => Ok(serde_json::from_slice(&other?).ok()),
        }
    }

    /// Not synced: after a loss of power the spawner is another one, and nothing runs.
    pub fn mark(&self, marker: &Marker) -> io::Result<()> {
        fs::write(self.root.join("marker"), serde_json::to_vec(marker)?)
    }

    /// Makes the folders that an attempt of this level has, afresh.
    pub fn make(&self, level: Level) -> io::Result<()> {
        if self.root.exists() {
            self.remove()?;
        }
        make_folder(&logs::folder(&self.data_dir, self.attempt.run))?;
        // The end of the run's last attempt may have removed the run's folder meanwhile.
        while let Err(error) = make_folder(&self.tmp()) {
            if error.kind() != ErrorKind::NotFound || !self.data_dir.exists() {
                return Err(error);
            }
        }
        make_folder(&self.own())?;
        if level == Level::None {
            return Ok(());
        }
        // Tools are shown at these.
        make_folder(&self.own().join("bin"))?;
        fs::write(self.own().join("argosy"), "")?;
        // As everywhere: anybody writes, and removes but their own.
        fs::set_permissions(self.tmp(), Permissions::from_mode(0o1777))
    }

    /// Removes everything but the logs.
    pub fn remove(&self) -> io::Result<()> {
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
        // The last attempt of a run takes the run's folder with it.
        let _ = self.root.parent().map(fs::remove_dir);
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
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
        std::thread::scope(|scope| {
            for number in 0..4 {
                let attempt = AttemptId { run: RunId(1), step: StepKey(2), number };
                let layout = Layout::new(data.path(), attempt);
                scope.spawn(move || {
                    for _ in 0..100 {
                        layout.make(Level::None).unwrap();
                        layout.remove().unwrap();
                    }
                });
            }
        });
        assert_eq!(found(data.path()), []);
    }

    #[test]
    fn an_attempt_counts_as_ordered_once_its_marker_is_whole() {
        let data = tempfile::tempdir().unwrap();
        let attempt = AttemptId { run: RunId(1), step: StepKey(2), number: 3 };
        let layout = Layout::new(data.path(), attempt);
        assert_eq!(layout.marker().unwrap(), None);
        layout.make(Level::PrivateRoot).unwrap();
        assert_eq!(found(data.path()), [attempt]);
        for cut in ["", "{\"boot\":\"b\""] {
            fs::write(data.path().join("attempts/1/2.3/marker"), cut).unwrap();
            assert_eq!(layout.marker().unwrap(), None, "{cut}");
        }
        let marker = Marker { boot: "b".into(), level: Level::PrivateTmp };
        layout.mark(&marker).unwrap();
        assert_eq!(layout.marker().unwrap(), Some(marker));
        layout.make(Level::None).unwrap();
        assert_eq!(layout.marker().unwrap(), None, "it is made afresh");
        layout.remove().unwrap();
        layout.remove().unwrap();
        assert!(!data.path().join("attempts/1").exists());
        assert!(logs::folder(data.path(), attempt.run).exists());
    }
}
