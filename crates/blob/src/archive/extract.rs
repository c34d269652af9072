//! Makes the entries of an archive, whatever they try.
//!
//! Refused are: names that are absolute, climb (`..`), are too long, not UTF-8 or hold NUL; names
//! that come twice, other than folders; names that lead through a link; links that leave the
//! folder; hard links to anything but a regular file of the archive; devices and pipes. Taken away
//! are setuid, setgid and sticky bits. So a link that was made cannot be used by a later entry, and
//! wherever one points lies inside.

use super::{hostile, not_made};
use argosy_model::{Diagnostic, limits};
use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The folder that is unpacked to.
pub struct Target {
    root: OwnedFd,
    /// Entries that may follow.
    left: u64,
    /// The folder of the last entry, since most archives list one after the other.
    last: Option<(String, OwnedFd)>,
}

/// The name of an entry without what does not matter.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    segments: Vec<String>,
}

impl Name {
    /// Checks a name.
    pub fn parse(name: &[u8]) -> Result<Self, Diagnostic> {
        let refuse =
            |why: &str| Err(hostile(format!("the name {:?} {why}", String::from_utf8_lossy(name))));
        let Ok(text) = std::str::from_utf8(name) else { return refuse("is not UTF-8") };
        let start: String = text.chars().take(40).collect();
        limits::ARCHIVE_NAME_BYTES
            .check(name.len() as u64, &format!("the name {start}..."))
            .map_err(|long| hostile(long.what))?;
        if text.starts_with('/') {
            return refuse("is absolute");
        }
        if text.contains('\0') {
            return refuse("holds a zero byte");
        }
        let segments: Vec<_> =
            text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
        if segments.iter().any(|part| part == "..") {
            return refuse("climbs out of its folder");
        }
        limits::ARCHIVE_DEPTH
            .check(segments.len() as u64, &format!("the name {start}..."))
            .map_err(|deep| hostile(deep.what))?;
        Ok(Self { segments })
    }

    /// Folder and last segment; none of the target itself.
    fn split(&self) -> Option<(&[String], &str)> {
        self.segments.split_last().map(|(last, folder)| (folder, &**last))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.segments.join("/"))
    }
}

impl Target {
    /// Opens an empty folder, whose own path is trusted.
    pub fn open(folder: &Path, entries: u64) -> Result<Self, Diagnostic> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = sys::open(folder, flags, Mode::empty());
        let root = root.map_err(|error| not_made(&folder.to_string_lossy(), error))?;
        Ok(Self { root, left: entries, last: None })
    }

    /// Counts an entry, of whatever kind.
    pub fn count(&mut self) -> Result<(), Diagnostic> {
        let name = limits::ARCHIVE_ENTRIES.name;
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| hostile(format!("it has more entries than `{name}` allows")))?;
        Ok(())
    }

    /// Makes a folder; one that is there already gets these permissions.
    pub fn folder(&mut self, name: &Name, mode: u32) -> Result<(), Diagnostic> {
        let Some((parent, last)) = name.split() else { return Ok(()) };
        let folder = self.folder_of(parent, name)?;
        // The owner goes on to write in it.
        let mode = permissions(mode | 0o700);
        match sys::mkdirat(folder, last, mode) {
            Err(Errno::EXIST) => {
                let path = name.segments.join("/");
                let there = self.enter(&path, name)?;
                sys::chmod(proc_path(&there), mode).map_err(|error| not_made(&path, error))
            }
            other => other.map_err(|error| not_made(last, error)),
        }
    }

    /// Makes a regular file: the bytes that were written.
    pub fn file(
        &mut self,
        name: &Name,
        mode: u32,
        bytes: &mut impl Read,
    ) -> Result<u64, Diagnostic> {
        let (folder, last) = self.place(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let made = sys::openat(folder, last, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(made.map_err(|error| refused(name, error))?);
        let written = copy(bytes, &mut file, name)?;
        sys::fchmod(&file, permissions(mode | 0o600)).map_err(|error| not_made(last, error))?;
        Ok(written)
    }

    /// Makes a symbolic link that points to somewhere inside.
    pub fn symlink(&mut self, name: &Name, target: &[u8]) -> Result<(), Diagnostic> {
        let depth = name.segments.len().saturating_sub(1);
        let points_inside = std::str::from_utf8(target).is_ok_and(|text| stays(text, depth));
        if !points_inside {
            let target = String::from_utf8_lossy(target);
            return Err(hostile(format!("{name}: a link to {target:?} could lead outside")));
        }
        let (folder, last) = self.place(name)?;
        sys::symlinkat(target, folder, last).map_err(|error| refused(name, error))
    }

    /// Makes a hard link to a file that is there.
    pub fn hardlink(&mut self, name: &Name, target: &[u8]) -> Result<(), Diagnostic> {
        let target = Name::parse(target)?;
        let refuse = || hostile(format!("{name}: a hard link to {target}, which is no file here"));
        let (parent, file) = target.split().ok_or_else(refuse)?;
        let from = self.enter(&parent.join("/"), name)?;
        let stat = sys::statat(&from, file, AtFlags::SYMLINK_NOFOLLOW).map_err(|_| refuse())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(refuse());
        }
        let (folder, last) = self.place(name)?;
        sys::linkat(&from, file, folder, last, AtFlags::empty())
            .map_err(|error| refused(name, error))
    }

    fn place<'a>(&mut self, name: &'a Name) -> Result<(&OwnedFd, &'a str), Diagnostic> {
        let (parent, last) =
            name.split().ok_or_else(|| hostile("an entry takes the place of the folder itself"))?;
        Ok((self.folder_of(parent, name)?, last))
    }

    /// The folder of an entry, made as far as it is not there.
    fn folder_of(&mut self, parent: &[String], name: &Name) -> Result<&OwnedFd, Diagnostic> {
        let path = parent.join("/");
        if self.last.as_ref().is_none_or(|(last, _)| *last != path) {
            let folder = match self.find(&path) {
                Err(Errno::NOENT) => self.make(parent, name)?,
                other => other.map_err(|error| refused(name, error))?,
            };
            self.last = Some((path, folder));
        }
        match &self.last {
            Some((_, folder)) => Ok(folder),
            None => Ok(&self.root),
        }
    }

    fn make(&self, parent: &[String], name: &Name) -> Result<OwnedFd, Diagnostic> {
        let mut path = String::new();
        let mut folder = self.find("").map_err(|error| refused(name, error))?;
        for segment in parent {
            match sys::mkdirat(&folder, segment, permissions(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(not_made(segment, error)),
            }
            path.push_str(segment);
            folder = self.enter(&path, name)?;
            path.push('/');
        }
        Ok(folder)
    }

    fn enter(&self, path: &str, name: &Name) -> Result<OwnedFd, Diagnostic> {
        self.find(path).map_err(|error| refused(name, error))
    }

    fn find(&self, path: &str) -> rustix::io::Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        sys::openat2(&self.root, path, flags, Mode::empty(), how)
    }
}

fn refused(name: &Name, error: Errno) -> Diagnostic {
    match error {
        Errno::EXIST => hostile(format!("{name} comes twice")),
        Errno::LOOP | Errno::NOTDIR | Errno::NOENT => {
            hostile(format!("{name} leads through something that is no folder"))
        }
        _ => not_made(&name.to_string(), error),
    }
}

fn copy(bytes: &mut impl Read, file: &mut File, name: &Name) -> Result<u64, Diagnostic> {
    let mut failed_write = None;
    let mut to = Watched { file, failed: &mut failed_write };
    let copied = io::copy(bytes, &mut to);
    match failed_write {
        Some(error) => Err(not_made(&name.to_string(), error)),
        None => copied.map_err(super::damaged),
    }
}

/// Tells errors of writing from those of reading.
struct Watched<'a> {
    file: &'a mut File,
    failed: &'a mut Option<io::ErrorKind>,
}

impl io::Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                *self.failed = Some(error.kind());
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a link so deep stays inside, whatever other links there are: it climbs only at its
/// beginning, where it is sure to pass folders, and not further than to the top.
fn stays(target: &str, depth: usize) -> bool {
    let mut parts = target.split('/').filter(|part| !matches!(*part, "" | ".")).peekable();
    let mut climbed = 0;
    while parts.next_if_eq(&"..").is_some() {
        climbed += 1;
    }
    let sound = !target.is_empty() && !target.starts_with('/') && !target.contains('\0');
    sound && climbed <= depth && parts.all(|part| part != "..")
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o777)
}

/// A path of an open file, since a descriptor that is only a path cannot be changed itself.
fn proc_path(file: &OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
