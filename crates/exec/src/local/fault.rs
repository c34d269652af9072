//! Why an attempt cannot be carried out: errors of ours, whose line is what the step is told.

use argosy_model::{Code, Diagnostic};

/// The program, or what it needs, cannot be put in place.
pub fn cannot_start(what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::CannotStart, what)
}

/// An output is not there, or cannot be read.
pub fn no_output(what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::OutputMissing, what)
}

/// What a process has left cannot be kept.
pub fn not_kept(what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::StoreFailed, what)
}

/// The processes went with whoever watched over them.
pub fn lost() -> Diagnostic {
    let what = "the process that watched over it is gone, and it with it";
    Diagnostic::new(Code::AttemptLost, what)
}

/// There was no room for a process: there may be some for the next attempt.
pub fn no_room(what: String) -> Diagnostic {
    Diagnostic::new(Code::AttemptLost, what)
}

/// Several of them as one, with the code of the first.
pub fn all(many: Vec<Diagnostic>) -> Option<Diagnostic> {
    many.into_iter().reduce(|mut first, next| {
        first.what = format!("{}; {}", first.what, next.what);
        first
    })
}
