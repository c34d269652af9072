//! All tests.

use crate::run::{cargo, expect, say};
use crate::{Task, docs, python, tidy};

/// The rules of the house, generated documents, and every test there is.
pub(crate) fn test() -> Task {
    tidy::tidy()?;
    docs::docs(true)?;
    // One build for all: a second set of features would compile every dependency again.
    say("tests of the workspace, those that kill the server at named points included");
    expect(&mut cargo(&["test", "--workspace", "--features", "argosy/test-hooks", "--quiet"]))?;
    python::clients()
}
