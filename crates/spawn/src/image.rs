//! A program with its arguments and environment, in the form that the kernel takes.

use crate::message::Start;
use crate::{strays, sys};
use std::ffi::{CString, c_char};
use std::io::{self, ErrorKind};

/// Where programs are looked up if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Made before the fork, since a child that shares memory must not allocate.
pub struct Image {
    /// Files to try, in order.
    files: Vec<CString>,
    arguments: Strings,
    environment: Strings,
}

/// Strings, and their addresses with a null at the end.
pub struct Strings {
    /// Never changed, as the addresses point into them.
    _owned: Vec<CString>,
    addresses: Vec<*const c_char>,
}

impl Strings {
    fn new(owned: Vec<CString>) -> Self {
        let mut addresses: Vec<_> = owned.iter().map(|one| one.as_ptr()).collect();
        addresses.push(std::ptr::null());
        Self { _owned: owned, addresses }
    }

    /// A valid null-terminated array of valid strings, as long as `self` lives.
    pub fn as_ptr(&self) -> *const *const c_char {
        self.addresses.as_ptr()
    }
}

impl Image {
    /// The program that `start` orders, its environment with our markers.
    ///
    /// # Errors
    /// `InvalidInput` if a string has a zero byte.
    pub fn of(start: &Start, mark: &str) -> io::Result<Self> {
        let program = start.argv.first().map_or("", String::as_str);
        let ordered = start.env.iter().map(|(name, value)| (&**name, &**value));
        let environment: Vec<_> =
            ordered.chain([(strays::ATTEMPT, &*start.id), (strays::SPAWNER, mark)]).collect();
        let path = environment.iter().find(|(name, _)| *name == "PATH");
        let path = path.map_or(DEFAULT_PATH, |(_, value)| value);
        let files = match program.contains('/') {
            true => vec![CString::new(program)?],
            false => lookup(program, path)?,
        };
        let arguments = start.argv.iter().map(|one| CString::new(&**one));
        let environment =
            environment.iter().map(|(name, value)| CString::new(format!("{name}={value}")));
        Ok(Self {
            files,
            arguments: Strings::new(arguments.collect::<Result<_, _>>()?),
            environment: Strings::new(environment.collect::<Result<_, _>>()?),
        })
    }

    /// Replaces this process; returns only if that fails, with the error that tells most: a file
    /// that is there and cannot be executed, rather than one that is not there.
    pub fn execute(&self) -> io::Error {
        let mut most = io::Error::from_raw_os_error(libc::ENOENT);
        for file in &self.files {
            let error = sys::execute(file, &self.arguments, &self.environment);
            match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => {}
                ErrorKind::PermissionDenied => most = error,
                _ => return error,
            }
        }
        most
    }
}

/// The files that `program` can mean; an empty part of `path` is the working directory.
fn lookup(program: &str, path: &str) -> io::Result<Vec<CString>> {
    let file = |folder: &str| match folder {
        "" => CString::new(program),
        folder => CString::new(format!("{folder}/{program}")),
    };
    Ok(path.split(':').map(file).collect::<Result<_, _>>()?)
}
