//! Why a step cannot be carried out. Such an error is ours, and has a code: its line is what the step
//! is told. What a process, a time limit or a shutdown did to a step is no such error.

use argosy_model::{Code, Diagnostic};
use argosy_template::Error;

/// A text or an expression that has no value.
pub(crate) fn evaluation(error: Error) -> Diagnostic {
    let code = match error {
        Error::TooLarge { .. } => Code::TooLarge,
        _ => Code::EvaluationFailed,
    };
    Diagnostic::new(code, error.to_string())
}

/// A text that is not of the form that its field takes.
pub(crate) fn bad_value(what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::BadValue, what)
}
