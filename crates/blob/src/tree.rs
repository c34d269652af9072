//! Files that a process has left, read without being led astray by it.
//!
//! Every open goes from the root's descriptor down, below it and through no symbolic link, and
//! nothing but a regular file is ever opened for reading: a pipe would block, a device might act.

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What overlayfs calls a folder that hides those below it, with privileges and without.
const OPAQUE: [&str; 2] = ["trusted.overlay.opaque", "user.overlay.opaque"];

/// A folder, or several on top of each other as overlayfs shows them.
#[derive(Debug)]
pub struct Tree {
    /// The topmost first.
    layers: Vec<OwnedFd>,
}

/// What is at a path of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// Something in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Unix s of the last change.
    pub modified_s: i64,
    /// Bytes, of a file.
    pub size: u64,
    /// The layer that shows it.
    layer: usize,
    whiteout: bool,
}

impl Tree {
    /// The tree of these folders, the topmost first. Their own paths are trusted.
    ///
    /// # Errors
    /// The system's, also if one is no folder.
    pub fn open<'a>(layers: impl IntoIterator<Item = &'a Path>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let layers = layers.into_iter().map(|path| sys::open(path, flags, Mode::empty()));
        Ok(Self { layers: layers.collect::<Result<_, _>>()? })
    }

    /// What is at a relative path (empty for the root); `None` if there is nothing, or if the path
    /// leads through something that is no folder.
    ///
    /// # Errors
    /// The system's.
    pub fn entry(&self, path: &Path) -> io::Result<Option<Entry>> {
        for layer in 0..self.layers.len() {
            match self.entry_in(layer, path)? {
                Some(entry) if entry.whiteout => return Ok(None),
                Some(entry) => return Ok(Some(entry)),
                None if self.is_hidden_below(layer, path)? => return Ok(None),
                None => {}
            }
        }
        Ok(None)
    }

    /// The names in a folder, sorted by their bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let mut names = BTreeMap::new();
        for layer in 0..self.layers.len() {
            let Some(entry) = self.entry_in(layer, path)? else {
                if self.is_hidden_below(layer, path)? {
                    break;
                }
                continue;
            };
            if entry.whiteout || entry.kind != Kind::Folder {
                break;
            }
            let folder = self.open_in(layer, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
            for found in sys::Dir::read_from(&folder)? {
                let name = OsString::from_vec(found?.file_name().to_bytes().to_vec());
                if name != "." && name != ".." {
                    let there = self.entry_in(layer, &path.join(&name))?;
                    let shown = there.is_some_and(|entry| !entry.whiteout);
                    names.entry(name).or_insert(shown);
                }
            }
            if is_opaque(&folder) {
                break;
            }
        }
        Ok(names.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| name).collect())
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// The system's; `InvalidInput` if it is anything else.
    pub fn read(&self, path: &Path) -> io::Result<File> {
        let entry = self.entry(path)?.ok_or(io::ErrorKind::NotFound)?;
        let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        if entry.kind != Kind::File {
            return Err(refuse());
        }
        // It may have been changed to a pipe meanwhile.
        let file =
            File::from(self.open_in(entry.layer, path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
    }

    /// Where a symbolic link points to.
    ///
    /// # Errors
    /// The system's, also if it is no link.
    pub fn link(&self, path: &Path) -> io::Result<PathBuf> {
        let entry = self.entry(path)?.ok_or(io::ErrorKind::NotFound)?;
        let link = self.open_in(entry.layer, path, OFlags::PATH | OFlags::NOFOLLOW)?;
        let target = sys::readlinkat(&link, "", Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    fn open_in(&self, layer: usize, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let root = self.layers.get(layer).ok_or(io::ErrorKind::NotFound)?;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // With `PATH | NOFOLLOW` the last part may be a link, all the same.
        Ok(sys::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), how)?)
    }

    fn entry_in(&self, layer: usize, path: &Path) -> io::Result<Option<Entry>> {
        let found = match self.open_in(layer, path, OFlags::PATH | OFlags::NOFOLLOW) {
            Err(error) if leads_nowhere(&error) => return Ok(None),
            other => other?,
        };
        let stat = sys::statat(&found, "", AtFlags::EMPTY_PATH)?;
        let file_type = FileType::from_raw_mode(stat.st_mode);
        let kind = match file_type {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        Ok(Some(Entry {
            kind,
            mode: stat.st_mode & 0o7777,
            modified_s: stat.st_mtime,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            layer,
            whiteout: file_type == FileType::CharacterDevice && stat.st_rdev == 0,
        }))
    }

    /// Whether what lower layers have at a path is not shown, though this layer has nothing there:
    /// because a folder on the way hides them, or is no folder here.
    fn is_hidden_below(&self, layer: usize, path: &Path) -> io::Result<bool> {
        if layer + 1 == self.layers.len() {
            return Ok(true);
        }
        for part in path.ancestors().skip(1) {
            let Some(entry) = self.entry_in(layer, part)? else { continue };
            if entry.kind != Kind::Folder {
                return Ok(true);
            }
            let folder = self.open_in(layer, part, OFlags::RDONLY | OFlags::DIRECTORY)?;
            if is_opaque(&folder) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn leads_nowhere(error: &io::Error) -> bool {
    // The first of a file, the second of a link on the way.
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

fn is_opaque(folder: &OwnedFd) -> bool {
    OPAQUE.iter().any(|name| {
        let mut value = [0; 1];
        sys::fgetxattr(folder, *name, &mut value).is_ok() && value == *b"y"
    })
}

/// Whether a name can stand in an archive or a key.
pub(crate) fn text(name: &OsStr) -> io::Result<&str> {
    std::str::from_utf8(name.as_bytes()).map_err(|_| {
        let message = format!("the name {name:?} is not UTF-8");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn list(tree: &Tree, path: &str) -> Vec<String> {
        let names = tree.list(Path::new(path)).unwrap();
        names.into_iter().map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn nothing_is_read_through_a_link_or_from_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("inside")).unwrap();
        fs::write(at("inside/file"), "text").unwrap();
        symlink("/etc/passwd", at("absolute")).unwrap();
        symlink("inside", at("relative")).unwrap();
        sys::mknodat(sys::CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let tree = Tree::open([folder.path()]).unwrap();
        let kind = |path: &str| tree.entry(Path::new(path)).unwrap().map(|entry| entry.kind);
        for (path, expected) in [
            ("", Some(Kind::Folder)),
            ("inside", Some(Kind::Folder)),
            ("inside/file", Some(Kind::File)),
            ("inside/none", None),
            ("inside/file/none", None),
            ("absolute", Some(Kind::Link)),
            ("relative", Some(Kind::Link)),
            ("relative/file", None),
            ("pipe", Some(Kind::Other)),
        ] {
            assert_eq!(kind(path), expected, "{path}");
            let read = tree.read(Path::new(path));
            assert_eq!(read.is_ok(), expected == Some(Kind::File), "{path}");
        }
        assert!(tree.entry(Path::new("../x")).is_err());
        assert!(tree.entry(Path::new("/etc")).is_err());
        assert_eq!(tree.link(Path::new("relative")).unwrap(), Path::new("inside"));
        assert_eq!(list(&tree, ""), ["absolute", "inside", "pipe", "relative"]);
    }

    #[test]
    fn layers_are_shown_as_overlayfs_shows_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for path in ["upper/both", "upper/opaque", "lower/both", "lower/opaque/deep", "lower/file"]
        {
            fs::create_dir_all(at(path)).unwrap();
        }
        for path in ["upper/both/new", "upper/file", "lower/both/old", "lower/both/gone"] {
            fs::write(at(path), path).unwrap();
        }
        let opaque = fs::File::open(at("upper/opaque")).unwrap();
        sys::fsetxattr(&opaque, OPAQUE[1], b"y", sys::XattrFlags::empty()).unwrap();
        let tree = Tree::open([&*at("upper"), &*at("lower")]).unwrap();
        assert_eq!(list(&tree, ""), ["both", "file", "opaque"]);
        assert_eq!(list(&tree, "both"), ["gone", "new", "old"]);
        assert_eq!(list(&tree, "opaque"), [""; 0]);
        assert_eq!(tree.entry(Path::new("opaque/deep")).unwrap(), None);
        assert_eq!(tree.entry(Path::new("file")).unwrap().unwrap().kind, Kind::File);
        let text = io::read_to_string(tree.read(Path::new("both/old")).unwrap()).unwrap();
        assert_eq!(text, "lower/both/old");
        if rustix::process::geteuid().is_root() {
            let (device, mode) = (FileType::CharacterDevice, Mode::empty());
            sys::mknodat(sys::CWD, at("upper/both/gone"), device, mode, 0).unwrap();
            assert_eq!(list(&tree, "both"), ["new", "old"]);
            assert_eq!(tree.entry(Path::new("both/gone")).unwrap(), None);
        }
    }
}
