//! The private root: what the job writes lands in one directory, whatever the kernel allows.
//!
//! With privileges it is one overlay. A user namespace may not overlay a tree that has other file
//! systems mounted in it, as `/` has; then `upper` itself is the root and each directory of the
//! lower root gets an overlay of its own, with its part of `upper`, so that what is written is
//! found in the same place. A directory with further mounts in it is shown read-only.

use crate::isolate::{Graft, User};
use crate::message::Reason;
use crate::notes::{Blame, Fault};
use crate::sys;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use std::ffi::CString;
use std::fs::{self, DirEntry, FileType, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The largest option string that mount takes: a page.
const MOUNT_OPTIONS_LIMIT: usize = 4_095;

/// Entries of a root that are mounted from elsewhere.
const MOUNTED: [&str; 4] = ["proc", "dev", "sys", "tmp"];

/// The directories that a private root is made of.
#[derive(Clone, Copy)]
pub struct Layers<'a> {
    pub lower: &'a Path,
    pub upper: &'a Path,
    pub work: &'a Path,
}

/// Mounts a private root on `merged` and makes it the root, leaving the host's root on top.
pub fn enter(layers: Layers<'_>, merged: &Path, user: User) -> Result<(), Fault> {
    let Layers { lower, .. } = layers;
    let what = || format!("cannot mount an overlay of {} on {}", lower.display(), merged.display());
    match overlay(layers, merged, user) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) && !user.is_root() => {
            assemble(layers, merged, user)?;
        }
        other => other.blame(Reason::Overlay, what)?,
    }
    let pivot = || {
        rustix::process::chdir(merged)?;
        rustix::process::pivot_root(".", ".")
    };
    pivot().blame(Reason::Namespace, || "cannot change the root".into())
}

fn overlay(layers: Layers<'_>, target: &Path, user: User) -> io::Result<()> {
    let options = options(layers, user)?;
    mount("overlay", target, "overlay", MountFlags::empty(), Some(&*options))?;
    Ok(())
}

fn options(layers: Layers<'_>, user: User) -> io::Result<CString> {
    let Layers { lower, upper, work } = layers;
    let mut options = Vec::new();
    for (name, path) in [("lowerdir=", lower), ("upperdir=", upper), ("workdir=", work)] {
        options.extend_from_slice(name.as_bytes());
        for byte in path.as_os_str().as_bytes() {
            if matches!(byte, b',' | b':' | b'\\') {
                options.push(b'\\');
            }
            options.push(*byte);
        }
        options.push(b',');
    }
    // What the job writes is read from `upper` without the overlay, so files and directories must
    // be whole there; a user namespace forces the same. `volatile`: nothing needs to be synced,
    // since an attempt that a power loss interrupts is lost anyway.
    let rest = if user.is_root() { "redirect_dir=off,metacopy=off,index=off" } else { "userxattr" };
    options.extend_from_slice(rest.as_bytes());
    options.extend_from_slice(b",volatile");
    if options.len() > MOUNT_OPTIONS_LIMIT {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the paths are too long"));
    }
    CString::new(options).map_err(io::Error::from)
}

fn assemble(layers: Layers<'_>, merged: &Path, user: User) -> Result<(), Fault> {
    // `merged` must be a mount to become the root.
    Graft::open(layers.upper, merged.into(), false)?.attach(false)?;
    let what = || format!("cannot list {}", layers.lower.display());
    for entry in fs::read_dir(layers.lower).blame(Reason::Overlay, what)? {
        let entry = entry.blame(Reason::Overlay, what)?;
        if MOUNTED.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let kind = entry.file_type().blame(Reason::Overlay, what)?;
        add(&entry, kind, layers, merged, user)?;
    }
    Ok(())
}

/// Shows one entry of the lower root.
fn add(
    entry: &DirEntry,
    kind: FileType,
    layers: Layers<'_>,
    merged: &Path,
    user: User,
) -> Result<(), Fault> {
    let (name, lower) = (entry.file_name(), entry.path());
    let upper = layers.upper.join(&name);
    // The whole's overlay may have left a directory `work`.
    let work = layers.work.join(Path::new("of").join(&name));
    let what = || format!("cannot show {}", lower.display());
    if kind.is_symlink() {
        let link = || std::os::unix::fs::symlink(fs::read_link(&lower)?, &upper);
        return link().blame(Reason::Overlay, what);
    }
    if kind.is_dir() {
        let parts = || fs::create_dir(&upper).and_then(|()| fs::create_dir_all(&work));
        parts().blame(Reason::Overlay, what)?;
        let part = Layers { lower: &lower, upper: &upper, work: &work };
        match overlay(part, &merged.join(&name), user) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {}
            other => return other.blame(Reason::Overlay, what),
        }
    } else if kind.is_file() {
        fs::File::create_new(&upper).blame(Reason::Overlay, what)?;
    } else {
        return Ok(());
    }
    let graft = Graft::open(&lower, merged.join(&name), false)?;
    sys::set_read_only(&graft.tree).blame(Reason::Overlay, what)?;
    graft.attach(false)
}

/// Lets the owner remove the directories that overlayfs has made in a private root's `work`, which
/// have no permissions. To be called before removing what a job left, as far as that matters:
/// nothing is said of directories that do not exist.
pub fn release(work: &Path) {
    let parts = fs::read_dir(work.join("of")).into_iter().flatten().flatten();
    for part in parts.map(|part| part.path()).chain([work.to_owned()]) {
        for made in ["work", "work/incompat", "work/incompat/volatile"] {
            let _ = fs::set_permissions(part.join(made), Permissions::from_mode(0o700));
        }
    }
}
