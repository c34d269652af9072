//! The spawner's loop: one thread, one poll.

use crate::child::Parent;
use crate::isolate::User;
use crate::jobs::Jobs;
use crate::message::{Order, PROTOCOL, Report};
use crate::outputs::Outputs;
use crate::sys::Stack;
use crate::{Decoder, MAX_FRAME, encode, notes, probe, strays, sys};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{
    PidfdFlags, Resource, Rlimit, getpid, getrlimit, pidfd_open, set_child_subreaper, setrlimit,
    setsid,
};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const LOCK_FILE: &str = "spawner.lock";
pub const LOG_FILE: &str = "spawner.log";
pub const SOCKET_FILE: &str = "spawner.sock";

/// How long a spawner without client and jobs waits for one.
pub const IDLE: Duration = Duration::from_secs(10);

/// How often a spawner without client sees to it that it can be reached.
const LOOK: Duration = Duration::from_secs(1);

/// Orders carried out before reports are sent and the ended are reaped again: forking takes long
/// enough that a large batch would hold up both.
const ORDERS_A_TURN: usize = 16;

/// Runs a spawner for `data_dir` in a background process of its own session; the calling process
/// ends at once. A byte on standard output says that it serves. It ends by itself once it has had
/// neither client nor jobs for `idle`.
///
/// To be called from `main` before any thread is started.
///
/// # Errors
/// The system's while it starts, `ResourceBusy` if another spawner serves the directory, or later
/// if it cannot go on. Its jobs die with it.
pub fn run(data_dir: &Path, idle: Duration) -> io::Result<()> {
    if sys::fork(0)?.is_some() {
        return Ok(());
    }
    setsid()?;
    // Whatever whoever started the server had open is nothing for jobs.
    sys::close_on_execute()?;
    sys::take_signals()?;
    // What jobs inherit.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let data_dir = data_dir.canonicalize()?;
    fs::set_permissions(&data_dir, Permissions::from_mode(0o700))?;
    // The socket's address is relative, as it may have 107 bytes only.
    std::env::set_current_dir(&data_dir)?;
    let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(LOCK_FILE)?;
    // A lock of this process alone: children that are copies of it do not hold it.
    fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| io::Error::new(ErrorKind::ResourceBusy, "another spawner serves here"))?;
    let mut spawner = Spawner::new(data_dir)?;
    // Whoever started it may be gone.
    let _ = io::stdout().write_all(b"\n").and_then(|()| io::stdout().flush());
    let result = spawner.serve(idle);
    // Before the lock goes, so that nobody removes a successor's socket.
    fs::remove_file(SOCKET_FILE).and(result)
}

struct Spawner {
    data_dir: PathBuf,
    boot: String,
    signals: OwnedFd,
    listener: UnixListener,
    client: Option<Client>,
    jobs: Jobs,
    /// How long nothing has happened, as far as it matters.
    quiet: Duration,
}

struct Client {
    stream: UnixStream,
    decoder: Decoder,
    /// Orders have come that are not yet carried out.
    behind: bool,
    out: Vec<u8>,
}

/// What poll has found.
#[derive(Default)]
struct Ready {
    signals: bool,
    notes: bool,
    outputs: bool,
    listener: bool,
    client: bool,
}

impl Spawner {
    fn new(data_dir: PathBuf) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let mark = strays::mark(&data_dir)?;
        strays::kill_left_behind(&mark)?;
        let (notes, writer) = notes::pipe()?;
        let pidfd = pidfd_open(getpid(), PidfdFlags::empty())?;
        let parent = Parent {
            pidfd,
            notes: writer,
            mark,
            user: User::current(),
            stack: Stack::new()?,
            files: raise_open_files()?,
        };
        match fs::remove_file(SOCKET_FILE) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = listen()?;
        Ok(Self {
            boot: fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim_end().to_owned(),
            signals: sys::signal_fd(&[libc::SIGCHLD, libc::SIGTERM])?,
            listener,
            client: None,
            jobs: Jobs::new(parent, notes, Outputs::new()?),
            quiet: Duration::ZERO,
            data_dir,
        })
    }

    fn serve(&mut self, idle: Duration) -> io::Result<()> {
        while !self.jobs.is_over() {
            let Some(ready) = self.wait(idle)? else { return Ok(()) };
            if ready.signals && sys::read_signals(&self.signals).contains(&libc::SIGTERM) {
                return Ok(());
            }
            if ready.notes {
                self.jobs.take_notes()?;
            }
            if ready.outputs {
                self.jobs.take_outputs()?;
            }
            if ready.signals {
                let client = &mut self.client;
                self.jobs.reap(|report| tell(client, &report))?;
            }
            if ready.listener {
                self.accept()?;
            }
            if self.attend(ready.client).is_err() {
                // Gone, or not one of ours. What it has missed is repeated to the next.
                self.client = None;
            }
        }
        // The last reports, as far as the client takes them.
        let _ = self.client.as_mut().map(Client::flush);
        Ok(())
    }

    /// Waits for something to do; `None` if there has been nothing for too long.
    fn wait(&mut self, idle: Duration) -> io::Result<Option<Ready>> {
        loop {
            let limit = match &self.client {
                Some(client) => client.behind.then_some(Duration::ZERO),
                None if self.jobs.is_empty() => Some(LOOK.min(idle)),
                None => Some(LOOK),
            };
            let ready = self.poll(limit)?;
            if let Some(ready) = ready.or_else(|| self.client.is_some().then(Ready::default)) {
                self.quiet = Duration::ZERO;
                return Ok(Some(ready));
            }
            self.quiet += limit.unwrap_or_default();
            if self.jobs.is_empty() && self.quiet >= idle {
                return Ok(None);
            }
            // Somebody may have tidied up.
            if fs::metadata(SOCKET_FILE).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                match listen() {
                    Ok(listener) => self.listener = listener,
                    // The whole directory: nobody will ever ask for what runs here.
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                    Err(_) => {}
                }
            }
        }
    }

    /// What there is to do; `None` if nothing comes for so long.
    fn poll(&self, limit: Option<Duration>) -> io::Result<Option<Ready>> {
        let mut polled = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(self.jobs.notes(), PollFlags::IN),
            PollFd::new(self.jobs.outputs(), PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        if let Some(client) = &self.client {
            polled.push(PollFd::new(&client.stream, client.interest()));
        }
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        if poll(&mut polled, limit.as_ref())? == 0 {
            return Ok(None);
        }
        let mut found = polled.iter().map(|one| !one.revents().is_empty());
        let mut next = || found.next().unwrap_or_default();
        Ok(Some(Ready {
            signals: next(),
            notes: next(),
            outputs: next(),
            listener: next(),
            client: next(),
        }))
    }

    fn accept(&mut self) -> io::Result<()> {
        // A client that could not be accepted tries again; jobs must not suffer.
        let Ok((stream, _)) = self.listener.accept() else { return Ok(()) };
        stream.set_nonblocking(true)?;
        let decoder = Decoder::default();
        self.client = Some(Client { stream, decoder, behind: false, out: Vec::new() });
        let (version, boot) = (PROTOCOL, self.boot.clone());
        tell(&mut self.client, &Report::Welcome { version, spawner_pid: std::process::id(), boot });
        self.list();
        Ok(())
    }

    /// Reads, carries out and answers the client's orders.
    fn attend(&mut self, ready: bool) -> io::Result<()> {
        for _ in 0..ORDERS_A_TURN {
            let Some(client) = &mut self.client else { return Ok(()) };
            let Some(order) = client.next_order(ready)? else { break };
            self.carry_out(order)?;
        }
        self.client.as_mut().map_or(Ok(()), Client::flush)
    }

    fn carry_out(&mut self, order: Order) -> io::Result<()> {
        let report = match order {
            Order::Start(start) => Some(self.jobs.start(&start)),
            Order::Kill { id, signal } => self.jobs.kill(&id, signal),
            Order::Probe => Some(Report::Probed(probe::probe(&self.data_dir, &mut self.jobs)?)),
            Order::Forget { id } => {
                self.jobs.forget(&id);
                None
            }
            Order::List => {
                self.list();
                None
            }
            Order::Stop => {
                self.jobs.stop();
                None
            }
        };
        if let Some(report) = report {
            tell(&mut self.client, &report);
        }
        Ok(())
    }

    fn list(&mut self) {
        for report in self.jobs.reports() {
            tell(&mut self.client, &report);
        }
        tell(&mut self.client, &Report::Listed);
    }
}

/// The socket, where servers look for it.
fn listen() -> io::Result<UnixListener> {
    let listener = UnixListener::bind(SOCKET_FILE)?;
    fs::set_permissions(SOCKET_FILE, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Lets the spawner open as many files as it may: it has some for each job. What jobs may open is
/// as it was, which is returned.
fn raise_open_files() -> io::Result<Rlimit> {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before })?;
    Ok(before)
}

/// Queues a report. No report comes near the limit of a frame.
fn tell(client: &mut Option<Client>, report: &Report) {
    if let Some(client) = client
        && encode(report, &mut client.out).is_err()
    {
        debug_assert!(false, "a report larger than a frame");
    }
}

impl Client {
    /// A client that does not take its reports is not read from.
    fn interest(&self) -> PollFlags {
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::OUT, !self.out.is_empty());
        interest.set(PollFlags::IN, !self.behind && self.out.len() < MAX_FRAME);
        interest
    }

    /// The next order, read if `ready` and none is left of the last read.
    fn next_order(&mut self, ready: bool) -> io::Result<Option<Order>> {
        let mut order = self.decoder.take()?;
        if order.is_none() && ready && self.out.len() < MAX_FRAME && self.read()? {
            order = self.decoder.take()?;
        }
        self.behind = order.is_some();
        Ok(order)
    }

    /// Whether anything has come.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 64 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.decoder.push(&buffer[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends as much as the client takes.
    fn flush(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.out.len() {
            match self.stream.write(&self.out[sent..]) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.out.drain(..sent);
        Ok(())
    }
}
