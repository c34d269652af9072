//! Namespaces and mounts of the isolation levels, built by the first process inside.
//!
//! All host paths are opened as detached mounts before the view changes and attached after, so a
//! source may lie under a directory that the isolation hides, and a target's symbolic links are
//! those of the inside.

use crate::message::{Bind, Isolation, Reason, Start};
use crate::notes::{Blame, Fault};
use crate::root::{self, Layers};
use crate::sys;
use rustix::fs::{CWD, FileType, fstat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The spawner's user, as the host knows it.
#[derive(Debug, Clone, Copy)]
pub struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// The user that runs this process.
    pub fn current() -> Self {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        Self { uid: uid.as_raw(), gid: gid.as_raw() }
    }

    /// Root needs no user namespace, in which nothing but its own user would be mapped.
    pub fn is_root(self) -> bool {
        self.uid == 0
    }
}

/// The namespaces that an isolated job's first process is to be forked into.
pub fn namespaces(user: User) -> i32 {
    let mounts_and_processes = libc::CLONE_NEWNS | libc::CLONE_NEWPID;
    if user.is_root() { mounts_and_processes } else { mounts_and_processes | libc::CLONE_NEWUSER }
}

/// Gives this process, the first in its namespaces, the view of the host that the job asks for.
pub fn enter(start: &Start, user: User) -> Result<(), Fault> {
    let private_root = matches!(start.isolation, Isolation::PrivateRoot { .. });
    if !user.is_root() {
        map_user(user, private_root)
            .blame(Reason::Namespace, || "cannot map the user into its namespace".into())?;
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .blame(Reason::Namespace, || "cannot make the mounts private".into())?;
    let grafts = grafts(start)?;
    if let Isolation::PrivateRoot { lower, upper, work, merged, .. } = &start.isolation {
        root::enter(Layers { lower, upper, work }, merged, user)?;
    }
    if private_root {
        fs::create_dir_all("/proc").blame(Reason::Namespace, || "cannot make /proc".into())?;
    }
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", quiet, None)
        .blame(Reason::Namespace, || "cannot mount /proc".into())?;
    for graft in grafts {
        graft.attach(private_root)?;
    }
    if private_root {
        // The host's root, which pivot_root has put on top.
        unmount(".", UnmountFlags::DETACH)
            .blame(Reason::Namespace, || "cannot leave the host's root".into())?;
    }
    Ok(())
}

fn map_user(user: User, as_root: bool) -> io::Result<()> {
    let User { uid, gid } = user;
    let inside = |id| if as_root { 0 } else { id };
    // Without this the kernel does not let an unprivileged process map its group.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {uid} 1", inside(uid)))?;
    fs::write("/proc/self/gid_map", format!("{} {gid} 1", inside(gid)))
}

/// A piece of the host that is to be seen inside.
pub struct Graft {
    /// The mount, not attached anywhere.
    pub tree: OwnedFd,
    target: PathBuf,
    /// Left out where the target does not exist and cannot be made.
    optional: bool,
}

/// Opens everything that will be attached, in order.
fn grafts(start: &Start) -> Result<Vec<Graft>, Fault> {
    let mut grafts = Vec::new();
    let (tmp, system): (_, &[&str]) = match &start.isolation {
        Isolation::None => return Ok(grafts),
        Isolation::PrivateTmp { tmp } => (tmp, &[]),
        Isolation::PrivateRoot { tmp, .. } => (tmp, &["/dev", "/sys"]),
    };
    for path in system {
        grafts.push(Graft::open(Path::new(path), path.into(), true)?);
    }
    for target in ["/tmp", "/var/tmp"] {
        grafts.push(Graft::open(tmp, target.into(), true)?);
    }
    for Bind { source, target, read_only } in &start.binds {
        let graft = Graft::open(source, target.clone(), false)?;
        if *read_only {
            sys::set_read_only(&graft.tree)
                .blame(Reason::Mount, || format!("cannot protect {}", source.display()))?;
        }
        grafts.push(graft);
    }
    Ok(grafts)
}

impl Graft {
    /// Opens `source` with all that is mounted below.
    pub fn open(source: &Path, target: PathBuf, optional: bool) -> Result<Self, Fault> {
        // Recursive, as a user namespace does not let go of what is mounted below.
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let tree = open_tree(CWD, source, flags)
            .blame(Reason::Mount, || format!("cannot bind {}", source.display()))?;
        Ok(Self { tree, target, optional })
    }

    /// Shows it at the target, which is made where that is private.
    pub fn attach(&self, private_root: bool) -> Result<(), Fault> {
        let blame = || format!("cannot bind to {}", self.target.display());
        let private =
            private_root || self.target.starts_with("/tmp") || self.target.starts_with("/var/tmp");
        if private && !self.target.exists() {
            self.make_target().blame(Reason::Mount, blame)?;
        }
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
        match move_mount(&self.tree, "", CWD, &self.target, flags) {
            Err(rustix::io::Errno::NOENT) if self.optional => Ok(()),
            other => other.blame(Reason::Mount, blame),
        }
    }

    fn make_target(&self) -> io::Result<()> {
        if FileType::from_raw_mode(fstat(&self.tree)?.st_mode) == FileType::Directory {
            return fs::create_dir_all(&self.target);
        }
        self.target.parent().map_or(Ok(()), fs::create_dir_all)?;
        match fs::File::create_new(&self.target) {
            // Another job that has the same `/tmp` was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other.map(drop),
        }
    }
}
