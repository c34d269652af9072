//! Folders and logs that attempts have left empty, for attempts to come.
//!
//! A file system may take a hundred times as long to make a file as to give one another name, so
//! attempts that leave nothing behind pass on what they were given.

use super::layout::{make_folder, make_one};
use rustix::fs::{CWD, RenameFlags, llistxattr, renameat_with};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many of each are kept.
const LIMIT: usize = 512;

/// The largest empty folder that is as good as a new one: one that once held many names stays
/// large.
const FOLDER_BYTES: u64 = 4096;

/// The name of the folder that a job sees as `/tmp`, in that of its attempt.
pub const TMP: &str = "tmp";

/// What can be used again. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Spares {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    folders: Vec<PathBuf>,
    logs: Vec<PathBuf>,
    next: u64,
}

impl Spares {
    /// Starts with none: what an earlier server has left is removed.
    pub fn new(data_dir: &Path) -> Self {
        let folder = data_dir.join("attempts").join("spare");
        // What cannot be removed is not used.
        let _ = fs::remove_dir_all(&folder);
        Self { folder, state: Arc::default() }
    }

    /// Puts a folder with an empty folder [`TMP`] in it at `root`, if there is one. What an
    /// earlier attempt could have changed is as in a new one, but for the mode of [`TMP`].
    pub fn take_folder(&self, root: &Path) -> io::Result<bool> {
        let Some(spare) = self.state().folders.pop() else { return Ok(false) };
        self.put(spare, root, |state| &mut state.folders)
    }

    /// Puts an empty log at `path`, if there is one, and nothing is there.
    pub fn take_log(&self, path: &Path) -> io::Result<bool> {
        let Some(spare) = self.state().logs.pop() else { return Ok(false) };
        self.put(spare, path, |state| &mut state.logs)
    }

    /// Moves a spare to where it is wanted, or keeps it.
    fn put(
        &self,
        spare: PathBuf,
        to: &Path,
        kind: impl FnOnce(&mut State) -> &mut Vec<PathBuf>,
    ) -> io::Result<bool> {
        match renameat_with(CWD, &spare, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            // Somebody else has removed it.
            Err(_) if fs::symlink_metadata(&spare).is_err() => Ok(false),
            Err(error) => {
                kind(&mut self.state()).push(spare);
                Err(error.into())
            }
        }
    }

    /// Takes the folder of an attempt that is over, and from which our own files were removed,
    /// unless something of the attempt is left in it. `false` leaves it as it is.
    pub fn give_folder(&self, root: &Path) -> bool {
        let tmp = root.join(TMP);
        let fits = self.state().folders.len() < LIMIT
            && fs::symlink_metadata(root).is_ok_and(|it| is_like_new(&it))
            && fs::symlink_metadata(&tmp).is_ok_and(|it| is_like_new(&it))
            && holds(root, &[TMP])
            && holds(&tmp, &[])
            && has_no_attributes(&tmp);
        fits && self.keep(root, |state| &mut state.folders)
    }

    /// Takes the log of an attempt that is over, if it is empty. `false` leaves it as it is.
    pub fn give_log(&self, path: &Path) -> bool {
        let is_new = |it: Metadata| {
            it.is_file() && it.len() == 0 && it.nlink() == 1 && is_ours(&it, &[0o600])
        };
        let fits = self.state().logs.len() < LIMIT
            && fs::symlink_metadata(path).is_ok_and(is_new)
            && has_no_attributes(path);
        fits && self.keep(path, |state| &mut state.logs)
    }

    fn keep(&self, from: &Path, kind: impl FnOnce(&mut State) -> &mut Vec<PathBuf>) -> bool {
        let mut state = self.state();
        let spare = self.folder.join(state.next.to_string());
        state.next += 1;
        drop(state);
        let moved = match fs::rename(from, &spare) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_folder(&self.folder).and_then(|()| fs::rename(from, &spare))
            }
            other => other,
        };
        if moved.is_ok() {
            kind(&mut self.state()).push(spare);
        }
        moved.is_ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a folder with a folder [`TMP`] in it, from a spare one if there is one.
pub fn make(spares: &Spares, root: &Path) -> io::Result<()> {
    match spares.take_folder(root) {
        Ok(true) => {
            return fs::set_permissions(root.join(TMP), Permissions::from_mode(0o700));
        }
        Ok(false) => {}
        // Told as when a new one is made.
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {
            return Err(error);
        }
        // The file system cannot do it.
        Err(_) => {}
    }
    make_one(root)?;
    make_one(&root.join(TMP))
}

/// Whether a folder has the size, the owner and the mode of one that we have made.
fn is_like_new(folder: &Metadata) -> bool {
    folder.is_dir() && folder.len() <= FOLDER_BYTES && is_ours(folder, &[0o700, 0o1777])
}

fn is_ours(file: &Metadata, modes: &[u32]) -> bool {
    file.uid() == geteuid().as_raw() && modes.contains(&(file.mode() & 0o7777))
}

/// Whether a folder holds these names and no others.
fn holds(folder: &Path, names: &[&str]) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let mut found = entries.map(|entry| entry.map(|entry| entry.file_name()));
    found.all(|name| name.is_ok_and(|name| names.iter().any(|known| name == *known)))
}

/// Whether nobody has attached anything to a file, as access lists are. What the machine itself
/// attaches to all files is no job's to change.
fn has_no_attributes(path: &Path) -> bool {
    let mut names = [0_u8; 256];
    let length = match llistxattr(path, &mut names) {
        Err(Errno::NOTSUP) => 0,
        Err(_) => return false,
        Ok(length) => length,
    };
    let mut names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.all(|name| name.starts_with(b"security."))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ground {
        data: tempfile::TempDir,
        spares: Spares,
    }

    impl Ground {
        fn new() -> Self {
            let data = tempfile::tempdir().unwrap();
            make_folder(&data.path().join("attempts")).unwrap();
            let spares = Spares::new(data.path());
            Self { data, spares }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.data.path().join(name)
        }

        /// Makes a folder, has an attempt do something in it, and says whether it is used again.
        fn is_used_again(&self, job: impl FnOnce(&Path)) -> bool {
            let root = self.path("attempts/a");
            make(&self.spares, &root).unwrap();
            let inode = fs::metadata(&root).unwrap().ino();
            job(&root);
            let given = self.spares.give_folder(&root);
            assert_eq!(given, !root.exists());
            let next = self.path("attempts/b");
            make(&self.spares, &next).unwrap();
            let again = fs::metadata(&next).unwrap().ino() == inode;
            assert_eq!(given, again);
            let mode = fs::metadata(next.join(TMP)).unwrap().mode();
            assert_eq!(mode & 0o7777, 0o700, "whatever it was");
            assert_eq!(fs::read_dir(next.join(TMP)).unwrap().count(), 0);
            fs::remove_dir_all(next).unwrap();
            let _ = fs::remove_dir_all(root);
            given
        }

        fn is_log_used_again(&self, job: impl FnOnce(&Path)) -> bool {
            let log = self.path("log");
            fs::write(&log, "").unwrap();
            fs::set_permissions(&log, Permissions::from_mode(0o600)).unwrap();
            job(&log);
            let given = self.spares.give_log(&log);
            assert_eq!(given, !log.exists());
            assert_eq!(self.spares.take_log(&self.path("next")).unwrap(), given);
            let _ = fs::remove_file(self.path("next"));
            let _ = fs::remove_file(log);
            given
        }
    }

    fn chmod(path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Attaches something to a file, or removes it where the file system attaches nothing.
    fn attach(path: impl AsRef<Path>) {
        let flags = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(path.as_ref(), "user.a", b"b", flags) {
            Err(Errno::NOTSUP) => {
                fs::remove_dir(&path).or_else(|_| fs::remove_file(&path)).unwrap()
            }
            other => other.unwrap(),
        }
    }

    #[test]
    fn a_folder_is_used_again_only_if_nothing_is_left_in_it() {
        let ground = Ground::new();
        assert!(ground.is_used_again(|_| ()));
        assert!(ground.is_used_again(|root| chmod(root.join(TMP), 0o1777)));
        assert!(ground.is_used_again(|root| {
            fs::write(root.join("tmp/gone"), "").unwrap();
            fs::remove_file(root.join("tmp/gone")).unwrap();
        }));
        assert!(!ground.is_used_again(|root| fs::write(root.join("tmp/.left"), "").unwrap()));
        assert!(!ground.is_used_again(|root| fs::write(root.join("left"), "").unwrap()));
        assert!(!ground.is_used_again(|root| chmod(root.join(TMP), 0o755)));
        assert!(!ground.is_used_again(|root| chmod(root, 0o755)));
        assert!(!ground.is_used_again(|root| attach(root.join(TMP))));
        assert!(!ground.is_used_again(|root| fs::remove_dir(root.join(TMP)).unwrap()));
        assert!(!ground.is_used_again(|root| {
            fs::remove_dir(root.join(TMP)).unwrap();
            std::os::unix::fs::symlink("/tmp", root.join(TMP)).unwrap();
        }));
    }

    #[test]
    fn a_log_is_used_again_only_if_it_is_as_it_was_made() {
        let ground = Ground::new();
        let other = ground.path("other");
        assert!(ground.is_log_used_again(|_| ()));
        assert!(!ground.is_log_used_again(|log| fs::write(log, "a").unwrap()));
        assert!(!ground.is_log_used_again(|log| chmod(log, 0o666)));
        assert!(!ground.is_log_used_again(|log| fs::hard_link(log, &other).unwrap()));
        assert!(!ground.is_log_used_again(|log| attach(log)));
        assert!(!ground.is_log_used_again(|log| {
            fs::remove_file(log).unwrap();
            fs::hard_link("/dev/null", log).or_else(|_| fs::create_dir(log)).unwrap();
        }));
    }

    #[test]
    fn nothing_is_replaced_by_a_spare() {
        let ground = Ground::new();
        let (spare, taken) = (ground.path("spare"), ground.path("taken"));
        fs::write(&spare, "").unwrap();
        chmod(&spare, 0o600);
        assert!(ground.spares.give_log(&spare));
        fs::write(&taken, "a").unwrap();
        let error = ground.spares.take_log(&taken).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&taken).unwrap(), b"a");
        assert!(ground.spares.take_log(&ground.path("free")).unwrap(), "it is kept");
    }

    #[test]
    fn spares_that_somebody_has_removed_are_not_waited_for() {
        let ground = Ground::new();
        let (log, root) = (ground.path("log"), ground.path("attempts/a"));
        fs::write(&log, "").unwrap();
        chmod(&log, 0o600);
        make(&ground.spares, &root).unwrap();
        assert!(ground.spares.give_log(&log) && ground.spares.give_folder(&root));
        fs::remove_dir_all(ground.path("attempts/spare")).unwrap();
        assert!(!ground.spares.take_log(&log).unwrap());
        make(&ground.spares, &root).unwrap();
        assert!(root.join(TMP).is_dir());
    }
}
