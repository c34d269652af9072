//! The kernel calls that have no safe wrapper elsewhere: all of the product's `unsafe`.

use crate::image::Strings;
use std::ffi::CStr;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A reaped child's status and use of resources.
pub struct Reaped {
    /// The raw wait status.
    pub status: i32,
    /// Of the child and the children it waited for.
    pub usage: libc::rusage,
}

fn checked<T: Default + PartialOrd>(result: T) -> io::Result<T> {
    if result < T::default() { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Copies the process, into new namespaces where `flags` has `CLONE_NEW*`. `None` in the copy.
///
/// The caller must be single-threaded; the spawner always is.
pub fn fork(flags: i32) -> io::Result<Option<i32>> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    let zero: libc::c_long = 0;
    // SAFETY: without CLONE_VM, and with no new stack, clone has the memory effects of fork, and
    // no other thread exists whose locks the copy could find held.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) })?;
    Ok((pid != 0).then_some(i32::try_from(pid).unwrap_or(i32::MAX)))
}

/// Memory for the stack of a child that shares this process's memory.
#[derive(Debug)]
pub struct Stack(*mut libc::c_void);

/// Of a [`Stack`], in bytes.
const STACK_SIZE: usize = 256 << 10;

impl Stack {
    /// Maps it. It lives as long as the process.
    pub fn new() -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), STACK_SIZE, access, kind, -1, 0) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(start)) }
    }
}

/// Runs `child` in a child that shares this process's memory but not its files or directories, on
/// a stack of its own, while this process waits until the child executes a program or `child`
/// returns, which ends it with code 127.
pub fn fork_shared<F: FnMut()>(stack: &Stack, child: &mut F) -> io::Result<i32> {
    extern "C" fn enter<F: FnMut()>(child: *mut libc::c_void) -> i32 {
        // SAFETY: this is the address given to clone below, whose caller lends it and waits.
        unsafe { (*child.cast::<F>())() };
        127
    }
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the mapping has STACK_SIZE bytes and is aligned to a page.
    let top = unsafe { stack.0.byte_add(STACK_SIZE) };
    // SAFETY: the stack is used by one child at a time, as this process, which has one thread,
    // goes on only when the child no longer runs on it; nor is `child` used meanwhile.
    checked(unsafe { libc::clone(enter::<F>, top, flags, (&raw mut *child).cast()) })
}

/// Replaces this process by a program; returns only if that fails.
pub fn execute(file: &CStr, arguments: &Strings, environment: &Strings) -> io::Error {
    // SAFETY: the file and both arrays are valid for the call, the arrays end with null.
    unsafe { libc::execve(file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Blocks every signal and resets every disposition: signals are read from [`signal_fd`] or by
/// [`wait_signal`], and programs started later inherit default dispositions.
pub fn take_signals() -> io::Result<()> {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL runs no code of ours. Errors for signals that cannot be changed are of
        // no consequence.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    block(&signal_set(1..=64))
}

/// Blocks no signal any more, for a program that is about to start.
pub fn release_signals() -> io::Result<()> {
    block(&signal_set([]))
}

fn block(set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: both pointers are valid for the call, the second one may be null.
    checked(unsafe { libc::sigprocmask(libc::SIG_SETMASK, set, std::ptr::null_mut()) }).map(drop)
}

fn signal_set(signals: impl IntoIterator<Item = i32>) -> libc::sigset_t {
    // SAFETY: all bytes zero are a valid set, and on Linux the empty one.
    let mut set: libc::sigset_t = unsafe { zeroed() };
    for signal in signals {
        // SAFETY: the set is valid; a number that is no signal is refused.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// A descriptor that is readable while one of the (blocked) `signals` is pending.
pub fn signal_fd(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = signal_set(signals.iter().copied());
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the set is valid for the call.
    let fd = checked(unsafe { libc::signalfd(-1, &raw const set, flags) })?;
    // SAFETY: the kernel just made the descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The next signals read from a [`signal_fd`], by number; empty when none is pending.
pub fn read_signals(fd: &OwnedFd) -> Vec<i32> {
    const SIZE: usize = size_of::<libc::signalfd_siginfo>();
    let mut buffer = [0u8; SIZE * 8];
    let length = rustix::io::read(fd, &mut buffer).unwrap_or(0);
    let number = |one: &[u8]| one.first_chunk().map(|head| i32::from_ne_bytes(*head));
    buffer[..length].chunks_exact(SIZE).filter_map(number).collect()
}

/// Waits for any (blocked) signal and returns its number. That it was stopped and continued
/// meanwhile ends the call in the kernel (signal(7)), but not the wait.
pub fn wait_signal() -> io::Result<i32> {
    let all = signal_set(1..=64);
    loop {
        // SAFETY: the set is valid for the call; the information may be null.
        match checked(unsafe { libc::sigwaitinfo(&raw const all, std::ptr::null_mut()) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// A child that has ended and is not reaped, which it stays: its id cannot be reused meanwhile.
pub fn ended_child() -> Option<i32> {
    // SAFETY: all bytes zero are a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the information is valid for the call.
    let result = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, options) };
    // SAFETY: waitid has filled in the fields of SIGCHLD, or left the process id zero.
    let pid = unsafe { info.si_pid() };
    (result == 0 && pid != 0).then_some(pid)
}

/// Reaps the child `pid`, waiting for its end if it has not come.
pub fn reap(pid: i32) -> io::Result<Reaped> {
    let mut status = 0;
    // SAFETY: all bytes zero are a valid rusage.
    let mut usage = unsafe { zeroed() };
    // SAFETY: both pointers are valid for the call.
    checked(unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) })?;
    Ok(Reaped { status, usage })
}

/// Sends a signal: to a process, a group (negative) or all that can be seen (-1).
pub fn kill(target: i32, signal: i32) -> io::Result<()> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::kill(target, signal) }).map(drop)
}

/// Refuses writes through a mount that was opened as a tree, and through those below it.
pub fn set_read_only(tree: impl AsFd) -> io::Result<()> {
    // SAFETY: all bytes zero are a valid mount_attr: change nothing.
    let mut attributes: libc::mount_attr = unsafe { zeroed() };
    attributes.attr_set = libc::MOUNT_ATTR_RDONLY;
    let fd = tree.as_fd().as_raw_fd();
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    let size = size_of::<libc::mount_attr>();
    // SAFETY: path and attributes are valid for the call, and `size` is the latter's.
    let result = unsafe {
        libc::syscall(libc::SYS_mount_setattr, fd, c"".as_ptr(), flags, &raw mut attributes, size)
    };
    checked(result).map(drop)
}

/// Has every descriptor but the standard ones closed when a program is executed.
pub fn close_on_execute() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: takes no pointer, and closes nothing now.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, flags) };
    checked(result).map(drop)
}

/// Closes every descriptor but the standard ones and those that are kept.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) {
    let mut kept: Vec<u32> = kept.iter().map(|fd| fd.as_raw_fd().unsigned_abs()).collect();
    kept.sort_unstable();
    let mut first = 3;
    for (last, next) in kept.iter().map(|fd| (fd - 1, fd + 1)).chain([(u32::MAX, u32::MAX)]) {
        if first <= last {
            // SAFETY: only children that live by themselves call this, and they end without
            // dropping an owner of one of these descriptors.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
        first = next;
    }
}
