//! The limit that a benchmark compares with: processes in private namespaces, and nothing else.

use crate::child::{self, Parent};
use crate::isolate::{self, User};
use crate::message::{Isolation, Limits, Start};
use crate::outputs::Ends;
use crate::{notes, sys};
use rustix::process::{PidfdFlags, Resource, getpid, getrlimit, pidfd_open};
use std::io;
use std::path::Path;

/// Runs `/bin/true` so many times, two at once, each in namespaces and with the mounts of
/// [`Isolation::PrivateTmp`], from a loop without orders, reports, logs or files. The loop is a
/// process of its own, which has ended when this returns.
///
/// To be called while no other thread runs.
///
/// # Errors
/// The system's, or that a process could not be started.
pub fn bare_loop(count: usize, tmp: &Path) -> io::Result<()> {
    let Some(pid) = sys::fork(0)? else {
        std::process::exit(i32::from(repeat(count, tmp).is_err()));
    };
    match sys::reap(pid)?.status {
        0 => Ok(()),
        status => Err(io::Error::other(format!("the loop ended with status {status}"))),
    }
}

fn repeat(count: usize, tmp: &Path) -> io::Result<()> {
    sys::take_signals()?;
    let user = User::current();
    let (_, writer) = notes::pipe()?;
    let pidfd = pidfd_open(getpid(), PidfdFlags::empty())?;
    let parent = Parent {
        pidfd,
        notes: writer,
        mark: String::new(),
        user,
        stack: sys::Stack::new()?,
        files: getrlimit(Resource::Nofile),
    };
    let start = Start {
        id: "bare".to_owned(),
        argv: vec!["/bin/true".to_owned()],
        env: Vec::new(),
        cwd: "/".into(),
        stdout: None,
        stderr: None,
        isolation: Isolation::PrivateTmp { tmp: tmp.to_owned() },
        binds: Vec::new(),
        limits: Limits::default(),
    };
    let mut alive = std::collections::VecDeque::new();
    for _ in 0..count {
        if alive.len() == 2 {
            alive.pop_front().map_or(Ok(()), succeeded)?;
        }
        match sys::fork(isolate::namespaces(user))? {
            Some(pid) => alive.push_back(pid),
            None => child::attend(&start, &parent, Ends::default(), None),
        }
    }
    alive.into_iter().try_for_each(succeeded)
}

fn succeeded(pid: i32) -> io::Result<()> {
    match sys::reap(pid)?.status {
        0 => Ok(()),
        status => Err(io::Error::other(format!("a process ended with status {status}"))),
    }
}
