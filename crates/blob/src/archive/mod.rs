//! Packs what processes leave, and unpacks what anybody has packed.
//!
//! The rules of Argo's executor: a path is packed under its base name, and an archive that holds
//! exactly one entry becomes the path that it is unpacked to. What comes in is hostile until read:
//! see module `extract` for what is refused.

mod extract;
mod pack;
mod read_tar;
mod read_zip;
mod unpack;

pub use pack::{NAMELESS, SPECIAL, pack};
pub use unpack::{Limits, unpack};

use argosy_model::{Code, Diagnostic};
use std::fmt::Display;
use std::io;

/// An archive that is refused.
fn hostile(what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::HostileArchive, what)
}

/// An archive whose bytes make no sense, or cannot be read.
fn damaged(error: impl Display) -> Diagnostic {
    hostile(format!("the archive cannot be read: {error}"))
}

/// An entry that cannot be made on this machine.
fn not_made(name: &str, error: impl Into<io::Error>) -> Diagnostic {
    let error = error.into();
    Diagnostic::new(Code::StoreFailed, format!("cannot unpack {name:?}: {error}"))
}
