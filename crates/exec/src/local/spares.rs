//! Folders that attempts have left empty, for attempts to come.
//!
//! A file system may take a hundred times as long to make a folder as to give one another name, so
//! attempts that leave nothing behind pass on what they were given.

use super::layout::{make_folder, make_one};
use rustix::fs::{
    AtFlags, CWD, FileType, IFlags, Mode, OFlags, RenameFlags, Statx, StatxFlags, ioctl_getflags,
    llistxattr, open, renameat_with, statx,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many are kept.
const LIMIT: usize = 512;

/// The largest empty folder that is as good as a new one: one that once held many names stays
/// large.
const FOLDER_BYTES: u64 = 4096;

/// Flags of ext4's own (`FS_*_FL` of `linux/fs.h`).
const EXTENTS: u32 = 0x0008_0000;
const INDEX: u32 = 0x0000_1000;
const INLINE_DATA: u32 = 0x1000_0000;

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
    pub fn take(&self, root: &Path) -> io::Result<bool> {
        let Some(spare) = self.state().folders.pop() else { return Ok(false) };
        match renameat_with(CWD, &spare, CWD, root, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            // Somebody else has removed it.
            Err(_) if fs::symlink_metadata(&spare).is_err() => Ok(false),
            Err(error) => {
                self.state().folders.push(spare);
                Err(error.into())
            }
        }
    }

    /// Takes the folder of an attempt that is over, and from which our own files were removed,
    /// unless something of the attempt is left in it. `false` leaves it as it is.
    pub fn give(&self, root: &Path) -> bool {
        let tmp = root.join(TMP);
        let fits = self.state().folders.len() < LIMIT
            && [root, &tmp].into_iter().all(is_like_new)
            && holds(root, &[TMP])
            && holds(&tmp, &[]);
        fits && self.keep(root)
    }

    fn keep(&self, root: &Path) -> bool {
        let mut state = self.state();
        let spare = self.folder.join(state.next.to_string());
        state.next += 1;
        drop(state);
        let moved = match fs::rename(root, &spare) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_folder(&self.folder).and_then(|()| fs::rename(root, &spare))
            }
            other => other,
        };
        if moved.is_ok() {
            self.state().folders.push(spare);
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
    match spares.take(root) {
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

/// Whether a folder is as we have made it: in size, owner and mode, and with nothing attached to
/// it or mounted on it.
fn is_like_new(folder: &Path) -> bool {
    let looks_new = |it: Statx| {
        FileType::from_raw_mode(it.stx_mode.into()).is_dir()
            && it.stx_attributes.is_empty()
            && it.stx_size <= FOLDER_BYTES
            && it.stx_uid == geteuid().as_raw()
            && matches!(it.stx_mode & 0o7777, 0o700 | 0o1777)
    };
    statx(CWD, folder, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS).is_ok_and(looks_new)
        && has_usual_flags(folder)
        && has_no_attributes(folder)
}

/// Whether no flag is set as `chattr` does. Some tell how the file system stores the folder.
fn has_usual_flags(folder: &Path) -> bool {
    let usual = IFlags::from_bits_retain(EXTENTS | INDEX | INLINE_DATA);
    let options = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match open(folder, options, Mode::empty()).and_then(ioctl_getflags) {
        Ok(flags) => usual.contains(flags),
        Err(error) => matches!(error, Errno::NOTTY | Errno::OPNOTSUPP),
    }
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
            let number = inode(&root);
            job(&root);
            let given = self.spares.give(&root);
            assert_eq!(given, !root.exists());
            let next = self.path("attempts/b");
            make(&self.spares, &next).unwrap();
            let again = inode(&next) == number;
            assert_eq!(given, again);
            let mode = fs::metadata(next.join(TMP)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o700, "whatever it was");
            assert_eq!(fs::read_dir(next.join(TMP)).unwrap().count(), 0);
            fs::remove_dir_all(next).unwrap();
            let _ = fs::remove_dir_all(root);
            given
        }
    }

    fn inode(path: &Path) -> u64 {
        std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
    }

    fn chmod(path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Sets a flag as `chattr +A` does, or removes the folder where there are none.
    fn flag(folder: &Path) {
        let file = fs::File::open(folder).unwrap();
        let set = ioctl_getflags(&file)
            .and_then(|flags| rustix::fs::ioctl_setflags(&file, flags | IFlags::NOATIME));
        if set.is_err() {
            fs::remove_dir(folder).unwrap();
        }
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
        assert!(!ground.is_used_again(|root| attach(root)));
        assert!(!ground.is_used_again(|root| flag(&root.join(TMP))));
        assert!(!ground.is_used_again(|root| fs::remove_dir(root.join(TMP)).unwrap()));
        assert!(!ground.is_used_again(|root| {
            fs::remove_dir(root.join(TMP)).unwrap();
            std::os::unix::fs::symlink("/tmp", root.join(TMP)).unwrap();
        }));
    }

    #[test]
    fn nothing_is_replaced_by_a_spare() {
        let ground = Ground::new();
        let (spare, taken) = (ground.path("attempts/a"), ground.path("attempts/b"));
        make(&ground.spares, &spare).unwrap();
        assert!(ground.spares.give(&spare));
        fs::create_dir(&taken).unwrap();
        let error = ground.spares.take(&taken).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(ground.spares.take(&ground.path("attempts/c")).unwrap(), "it is kept");
    }

    #[test]
    fn spares_that_somebody_has_removed_are_not_waited_for() {
        let ground = Ground::new();
        let root = ground.path("attempts/a");
        make(&ground.spares, &root).unwrap();
        assert!(ground.spares.give(&root));
        fs::remove_dir_all(ground.path("attempts/spare")).unwrap();
        make(&ground.spares, &root).unwrap();
        assert!(root.join(TMP).is_dir());
    }
}
