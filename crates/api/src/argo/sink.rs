//! What was found wrong, in the order in which it was found.

use std::sync::Arc;

use argosy_model::{Code, Diagnostic};

use super::yaml::Mark;

/// How many errors (and how many warnings) are told; nobody reads more.
const MAX_TOLD: usize = 1_000;

/// Gathers errors and warnings about files.
#[derive(Debug)]
pub(crate) struct Sink {
    /// The files that marks mean, by their numbers.
    files: Vec<Arc<str>>,
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
    /// What is not told any more.
    spilled: Option<Diagnostic>,
}

impl Sink {
    /// A sink for one file, number 0.
    pub(crate) fn new(file: &Arc<str>) -> Sink {
        Sink {
            files: vec![Arc::clone(file)],
            errors: Vec::new(),
            warnings: Vec::new(),
            spilled: None,
        }
    }

    /// The number of a file.
    pub(crate) fn file(&mut self, file: &Arc<str>) -> u32 {
        let known = self.files.iter().position(|known| known == file);
        let at = known.unwrap_or_else(|| {
            self.files.push(Arc::clone(file));
            self.files.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Adds an error, to which help may be added.
    pub(crate) fn refuse(
        &mut self,
        code: Code,
        mark: Mark,
        what: impl Into<String>,
    ) -> &mut Diagnostic {
        let found = self.diagnostic(code, mark, what);
        push(&mut self.errors, &mut self.spilled, found)
    }

    /// Whether no more errors are told.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_TOLD
    }

    /// Adds a warning, to which help may be added.
    pub(crate) fn warn(
        &mut self,
        code: Code,
        mark: Mark,
        what: impl Into<String>,
    ) -> &mut Diagnostic {
        let found = self.diagnostic(code, mark, what);
        push(&mut self.warnings, &mut self.spilled, found)
    }

    fn diagnostic(&self, code: Code, mark: Mark, what: impl Into<String>) -> Diagnostic {
        let file = self.files.get(mark.file as usize).map_or("", |file| file);
        Diagnostic::new(code, what).at(mark.in_file(file))
    }
}

fn push<'s>(
    list: &'s mut Vec<Diagnostic>,
    spilled: &'s mut Option<Diagnostic>,
    found: Diagnostic,
) -> &'s mut Diagnostic {
    if list.len() >= MAX_TOLD {
        return spilled.insert(found);
    }
    let at = list.len();
    list.push(found);
    &mut list[at]
}
