//! One connection to one spawner.

use argosy_spawn::{Decoder, PROTOCOL, Report};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

/// How long a spawner may take to accept and greet.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

/// Pause while a spawner that is about to end makes room for the next.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// Bytes that are read at once.
const READ_SIZE: usize = 64 << 10;

/// A spawner that has greeted.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    decoder: Decoder,
    buffer: Box<[u8]>,
    /// Bytes still to be written.
    pub out: Vec<u8>,
    /// The spawner's instance.
    pub boot: String,
    /// Last reports of the jobs that it knew when it greeted.
    pub known: Vec<Report>,
}

impl Connection {
    /// Reaches the spawner of `data_dir`, starting it where none serves.
    pub async fn open(data_dir: &Path, exe: &Path) -> io::Result<Self> {
        let opened = timeout(GREETING_LIMIT, async {
            loop {
                match Self::try_open(data_dir, exe).await {
                    Err(error) if is_passing(&error) => sleep(RETRY_PAUSE).await,
                    result => return result,
                }
            }
        });
        let late = || {
            let what = "the spawner of the data directory does not answer: see whether the process \
                        `argosy __spawner` is stopped (`kill -CONT`); killing it ends all its jobs";
            io::Error::new(ErrorKind::TimedOut, what)
        };
        opened.await.unwrap_or_else(|_| Err(late()))
    }

    async fn try_open(data_dir: &Path, exe: &Path) -> io::Result<Self> {
        let (data_dir, exe) = (data_dir.to_owned(), exe.to_owned());
        let reach = move || {
            // Its errors are final; only those of the connection may pass.
            argosy_spawn::launch(&data_dir, &exe).map_err(io::Error::other)?;
            argosy_spawn::connect(&data_dir)
        };
        let stream = tokio::task::spawn_blocking(reach).await.map_err(io::Error::other)??;
        stream.set_nonblocking(true)?;
        let mut connection = Self {
            stream: UnixStream::from_std(stream)?,
            decoder: Decoder::default(),
            buffer: vec![0; READ_SIZE].into(),
            out: Vec::new(),
            boot: String::new(),
            known: Vec::new(),
        };
        connection.await_greeting().await?;
        Ok(connection)
    }

    async fn await_greeting(&mut self) -> io::Result<()> {
        loop {
            match self.next_report()? {
                Some(Report::Welcome { version: PROTOCOL, boot, .. }) => self.boot = boot,
                Some(Report::Welcome { version, .. }) => {
                    let message = format!(
                        "the running spawner speaks version {version}, this binary {PROTOCOL}: \
                         end its jobs and it, then start again"
                    );
                    return Err(io::Error::other(message));
                }
                Some(Report::Listed) => return Ok(()),
                Some(report) => self.known.push(report),
                None => drop(self.exchange().await?),
            }
        }
    }

    /// The next report that has been read.
    pub fn next_report(&mut self) -> io::Result<Option<Report>> {
        self.decoder.take()
    }

    /// Waits until something can be written or read, and does so; whether anything was read.
    /// Nothing is lost if it is cancelled.
    pub async fn exchange(&mut self) -> io::Result<bool> {
        let writing = if self.out.is_empty() { Interest::READABLE } else { Interest::WRITABLE };
        let ready = self.stream.ready(Interest::READABLE | writing).await?;
        if ready.is_writable() && !self.out.is_empty() {
            self.write()?;
        }
        if ready.is_readable() { self.read() } else { Ok(false) }
    }

    fn write(&mut self) -> io::Result<()> {
        match self.stream.try_write(&self.out) {
            Ok(length) => drop(self.out.drain(..length)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<bool> {
        match self.stream.try_read(&mut self.buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.decoder.push(&self.buffer[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether this is what a spawner that is ending looks like.
fn is_passing(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    matches!(
        error.kind(),
        NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | UnexpectedEof
    )
}
