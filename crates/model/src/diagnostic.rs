//! Errors that a person meets: a code, a place, what was wrong, what to do.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($name:ident = $text:literal, $title:literal;)*) => {
        /// The code of an error. Each has a page of the same name under `docs/errors/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = $title] #[serde(rename = $text)] $name,)*
        }

        impl Code {
            /// Every code there is, in the order of their text.
            pub const ALL: &[Code] = &[$(Code::$name,)*];

            /// The code as people see it: `E0101`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// One line on what it means.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }
        }
    };
}

codes! {
    NotYaml = "E0101", "the file is not YAML";
    UnknownKind = "E0102", "the document is of no kind that is known here";
    UnknownField = "E0103", "a field that its object does not have";
    WrongType = "E0104", "a field holds another type than it takes";
    MissingField = "E0105", "a field that must be there is missing";
    DuplicateKey = "E0106", "a key stands twice in one object";
    TooLarge = "E0107", "a limit is exceeded";
    BadText = "E0108", "a text holds bytes that cannot be kept";
    BadName = "E0109", "a name breaks the rules for names";
    DuplicateName = "E0110", "two things of one list have the same name";
    TemplateNotFound = "E0201", "a template is called that does not exist";
    Cycle = "E0202", "tasks depend on each other in a circle";
    BadExpression = "E0203", "an expression or a tag cannot be read";
    Unresolved = "E0204", "a tag names something that nothing provides";
    BadDepends = "E0205", "a depends expression cannot be read";
    TooDeep = "E0206", "templates call each other deeper than the limit";
    BadFanOut = "E0207", "the items of a loop cannot be used";
    MissingArgument = "E0208", "an input has no value";
    NotInEnum = "E0209", "a value is not among the allowed ones";
    Conflict = "E0210", "two fields exclude each other";
    Unsupported = "E0211", "a feature that is not built yet";
    HostPath = "E0212", "a hostPath outside the allowed folders";
    BadValue = "E0213", "a value is not of the form that its field takes";
    HostileArchive = "E0301", "an archive tries to reach outside its folder, or is too large";
    ArtifactMissing = "E0302", "an artifact is not there";
    CannotStart = "E0303", "the program could not be started";
    OutputMissing = "E0304", "a declared output was not written";
    AttemptLost = "E0305", "an attempt was lost with the process that watched over it";
    EvaluationFailed = "E0306", "an expression failed while the run was going on";
    NotFound = "E0401", "there is nothing of that name";
    AlreadyExists = "E0402", "the name is taken";
    NotInState = "E0403", "the run is not in a state that allows it";
    Unreachable = "E0404", "the server cannot be reached";
    NewerData = "E0405", "the data directory was written by a newer version";
    DataBusy = "E0406", "another process owns the data directory";
    ListenRefused = "E0407", "an address beyond loopback needs authentication";
    StoreFailed = "E0408", "the data directory cannot be written";
    BadRequest = "E0409", "the request cannot be understood";
    NotPrinted = "E0410", "what a command has to say cannot be written";
    DataDamaged = "E0411", "the data directory is damaged";
    DataReadOnly = "E0412", "the data directory cannot be read without writing to it";
    DataUnreadable = "E0413", "something in the data directory cannot be read";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file as the user named it, `-` for standard input.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An error with all that a person needs to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", self.line())]
pub struct Diagnostic {
    /// Its code.
    pub code: Code,
    /// Where it is, when it is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What was wrong: lower case, no full stop.
    pub what: String,
    /// What to do; empty when `what` says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}

impl Diagnostic {
    /// An error without a place.
    #[must_use]
    pub fn new(code: Code, what: impl Into<String>) -> Diagnostic {
        Diagnostic { code, place: None, what: what.into(), help: String::new() }
    }

    /// The same, with what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = help.into();
        self
    }

    /// The same, told of a part of something larger.
    #[must_use]
    pub fn within(mut self, whole: &str) -> Diagnostic {
        self.what = format!("{whole}: {}", self.what);
        self
    }

    /// The same, with its place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Diagnostic {
        self.place = Some(place);
        self
    }

    /// `place: [code] what; help` on one line.
    #[must_use]
    pub fn line(&self) -> String {
        let place = self.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let help = if self.help.is_empty() { String::new() } else { format!("; {}", self.help) };
        format!("{place}[{}] {}{help}", self.code, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ordered() {
        let texts: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let mut sorted = texts.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(texts, sorted);
    }

    #[test]
    fn a_diagnostic_reads_place_code_what_help() {
        let place = Place { file: "a.yaml".into(), line: 3, column: 7 };
        let shown = Diagnostic::new(Code::UnknownField, "unknown field `comand`")
            .help("did you mean `command`?")
            .at(place)
            .line();
        assert_eq!(shown, "a.yaml:3:7: [E0103] unknown field `comand`; did you mean `command`?");
    }
}
