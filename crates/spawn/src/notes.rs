//! What a child tells the spawner about itself, over one pipe that all children share.
//!
//! A note is at most `PIPE_BUF` bytes, so it arrives whole, and is written before the child ends,
//! so it is there when the child is reaped. The pipe is closed by the start of the job's program.

use crate::message::{Reason, Report};
use crate::{Decoder, encode};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of a message that fit a note with an id, escaped, in `PIPE_BUF` (4,096).
const MESSAGE_LIMIT: usize = 1_000;

/// An obstacle on the way to the job's program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fault {
    /// Its kind.
    pub reason: Reason,
    /// Its name and the system's error.
    pub message: String,
}

impl Fault {
    /// As told to the server.
    pub fn report(self, id: String) -> Report {
        Report::Refused { id, reason: self.reason, message: self.message }
    }
}

/// Makes a [`Fault`] of a system error.
pub trait Blame<T> {
    /// Says what was being done, in words that the job's owner knows.
    fn blame(self, reason: Reason, what: impl FnOnce() -> String) -> Result<T, Fault>;
}

impl<T, E: Into<io::Error>> Blame<T> for Result<T, E> {
    fn blame(self, reason: Reason, what: impl FnOnce() -> String) -> Result<T, Fault> {
        self.map_err(|error| {
            let error = error.into();
            let passes = Errno::from_io_error(&error).is_some_and(no_room);
            let reason = if passes { Reason::Process } else { reason };
            Fault { reason, message: format!("{}: {error}", what()) }
        })
    }
}

/// Whether there was no room for something, whatever it was: there may be some later.
pub fn no_room(error: Errno) -> bool {
    matches!(error, Errno::AGAIN | Errno::MFILE | Errno::NFILE)
}

/// A message on the pipe.
#[derive(Debug, Serialize, Deserialize)]
pub enum Note {
    /// The program was not run.
    Refused { id: String, fault: Fault },
    /// The job inside a namespace was ended by a signal, which its first process cannot repeat.
    Signalled { id: String, signal: i32 },
}

impl Note {
    /// Makes a note of `fault`, cutting its message to fit.
    pub fn refused(id: &str, mut fault: Fault) -> Self {
        fault.message.truncate(fault.message.floor_char_boundary(MESSAGE_LIMIT));
        Self::Refused { id: id.to_owned(), fault }
    }

    /// The attempt's id.
    pub fn id(&self) -> &str {
        let (Self::Refused { id, .. } | Self::Signalled { id, .. }) = self;
        id
    }

    /// The obstacle, if it tells of one.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::Refused { fault, .. } => Some(fault),
            Self::Signalled { .. } => None,
        }
    }
}

/// The spawner's end.
#[derive(Debug)]
pub struct Notes {
    pipe: PipeReader,
    decoder: Decoder,
}

/// Makes the pipe.
pub fn pipe() -> io::Result<(Notes, PipeWriter)> {
    let (pipe, writer) = io::pipe()?;
    fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
    Ok((Notes { pipe, decoder: Decoder::default() }, writer))
}

/// Sends a note, waiting while the pipe is full.
pub fn send(mut pipe: &PipeWriter, note: &Note) -> io::Result<()> {
    let mut frame = Vec::new();
    encode(note, &mut frame)?;
    pipe.write_all(&frame)
}

impl Notes {
    /// All notes that have come, oldest first.
    pub fn drain(&mut self) -> io::Result<Vec<Note>> {
        let mut notes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(length) => self.decoder.push(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(notes),
                Err(error) => return Err(error),
            }
            while let Some(note) = self.decoder.take()? {
                notes.push(note);
            }
        }
    }
}

impl AsFd for Notes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
