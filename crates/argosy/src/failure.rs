//! How a command fails: what is said, and the exit code.

use std::process::ExitCode;

use argosy_model::{Code, Diagnostic};

use crate::out::note;

/// The run failed.
pub(crate) const RUN_FAILED: u8 = 1;
const REFUSED: u8 = 2;
const NOT_FOUND: u8 = 3;
const UNREACHABLE: u8 = 4;
/// As a shell shows a program that a closed pipe has ended.
const CLOSED: u8 = 128 + 13;

/// Why a command ends early; nothing is said where nobody reads any more.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Vec<Diagnostic>);

impl Failure {
    pub(crate) fn other(what: impl Into<String>) -> Failure {
        Failure(vec![Diagnostic::new(Code::BadRequest, what)])
    }

    pub(crate) fn unreachable(what: impl Into<String>, help: &str) -> Failure {
        Failure(vec![Diagnostic::new(Code::Unreachable, what).help(help)])
    }

    /// Whoever read what was printed has gone.
    pub(crate) fn closed() -> Failure {
        Failure(Vec::new())
    }

    /// Whether the server is away.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.exit_code() == UNREACHABLE
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_empty()
    }

    fn exit_code(&self) -> u8 {
        match self.0.first().map(|diagnostic| diagnostic.code) {
            Some(Code::NotFound) => NOT_FOUND,
            Some(Code::Unreachable) => UNREACHABLE,
            Some(_) => REFUSED,
            None => CLOSED,
        }
    }

    /// Says what went wrong, each with what to do below it.
    pub(crate) fn report(self) -> ExitCode {
        for diagnostic in &self.0 {
            say(diagnostic);
        }
        ExitCode::from(self.exit_code())
    }
}

fn say(diagnostic: &Diagnostic) {
    note!("{}", shown(diagnostic));
}

/// An error as people read it: place, code and what was wrong; below it what to do.
pub(crate) fn shown(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    let help = Some(&diagnostic.help).filter(|help| !help.is_empty());
    let help = help.map(|help| format!("\n  {help}")).unwrap_or_default();
    format!("{place}[{}] {}{help}", diagnostic.code, diagnostic.what)
}

/// A warning: on standard error, and nothing else happens.
pub(crate) fn warn(diagnostic: &Diagnostic) {
    note!("warning: {}", diagnostic.line());
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Failure {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Failure(diagnostics)
    }
}

impl From<argosy_store::Error> for Failure {
    fn from(error: argosy_store::Error) -> Self {
        Failure(vec![error.into()])
    }
}
