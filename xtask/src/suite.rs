//! All tests.

use crate::run::{cargo, expect, say};
use crate::{Task, docs, python, tidy};

/// The rules of the house, generated documents, and every test there is.
pub(crate) fn test() -> Task {
    tidy::tidy()?;
    docs::docs(true)?;
    say("tests of the workspace");
    expect(&mut cargo(&["test", "--workspace", "--quiet"]))?;
    say("tests that kill the server at named points");
    let kills = ["test", "--package", "argosy", "--features", "test-hooks", "--test", "kill"];
    expect(&mut cargo(&kills))?;
    python::compat()
}
