//! What can go wrong while parsing or evaluating.

/// The result of parsing or evaluating a template.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a template, an expression or a condition has no value.
///
/// `at` is a byte offset into the source that was given to `parse`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that the scope does not know (yet).
    #[error("failed to resolve {{{{{name}}}}}")]
    Unresolved {
        /// The dotted name.
        name: String,
    },
    /// A name whose producer was skipped, so that there is no value to insert.
    #[error(
        "unable to substitute {{{{{name}}}}}: output is an absent optional \
         (its producer was skipped or omitted and there is no default)"
    )]
    Absent {
        /// The dotted name.
        name: String,
    },
    /// A name whose value is longer than a value may be.
    #[error("{{{{{name}}}}} has more than the {most} bytes that a value may have")]
    TooLarge {
        /// The dotted name.
        name: String,
        /// How long it may be, in bytes.
        most: u64,
    },
    /// An expression tag whose result is nil: there is nothing to insert.
    #[error("failed to evaluate expression {source_text:?}: the result is nil")]
    Nil {
        /// The expression as written.
        source_text: String,
    },
    /// The source is not in the language.
    #[error("syntax error at byte {at}: {message}")]
    Syntax {
        /// Byte offset into the source.
        at: usize,
        /// What was found and what was expected.
        message: String,
    },
    /// The source is well formed, its operands do not fit.
    #[error("cannot evaluate at byte {at}: {message}")]
    Evaluation {
        /// Byte offset into the source.
        at: usize,
        /// Which operation failed on which types.
        message: String,
    },
    /// A condition whose result is not a boolean.
    #[error("expected boolean evaluation for {condition:?}, got {got}")]
    NotBoolean {
        /// The condition as written.
        condition: String,
        /// The result, in JSON.
        got: String,
    },
    /// The evaluation took more steps than [`crate::DEFAULT_FUEL`] or the caller allow.
    #[error("the evaluation takes too many steps")]
    OutOfFuel,
    /// The evaluation produced more than [`crate::MAX_OUTPUT_BYTES`] of text.
    #[error("the evaluation produces too much text")]
    OutputTooLarge,
}

impl Error {
    /// The same error, `by` bytes further into the source: for a part of a larger text.
    pub(crate) fn shifted(mut self, by: usize) -> Self {
        if let Self::Syntax { at, .. } | Self::Evaluation { at, .. } = &mut self {
            *at += by;
        }
        self
    }
}

/// An error of an operation that does not know where in the source it stands.
#[derive(Debug)]
pub(crate) enum Fault {
    Message(String),
    OutOfFuel,
    OutputTooLarge,
}

impl Fault {
    /// The error at byte offset `at` of the source.
    pub(crate) fn at(self, at: usize) -> Error {
        match self {
            Self::Message(message) => Error::Evaluation { at, message },
            Self::OutOfFuel => Error::OutOfFuel,
            Self::OutputTooLarge => Error::OutputTooLarge,
        }
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_tag_as_it_is_written() {
        let error = Error::Unresolved { name: "steps.a.ip".into() };
        assert_eq!(error.to_string(), "failed to resolve {{steps.a.ip}}");
    }
}
