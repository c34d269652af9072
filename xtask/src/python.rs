//! The Python environment of the tests of `tests/compat`, and running them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::run::{binary, cargo, expect, say, target};
use crate::{Task, root};

/// What the environment is made of, below the root.
const REQUIREMENTS: &str = "tests/compat/requirements.txt";

/// Builds the binary and runs unmodified clients against it.
pub(crate) fn compat() -> Task {
    expect(&mut cargo(&["build", "--package", "argosy"]))?;
    clients()
}

/// Runs unmodified clients against the binary that was built last.
pub(crate) fn clients() -> Task {
    let environment = environment()?;
    say("tests with unmodified clients");
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.current_dir(root()).args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    expect(pytest.arg("tests/compat").env("ARGOSY_BIN", binary("debug")))
}

/// The environment, made where it is not there or was made of something else.
fn environment() -> Result<PathBuf, String> {
    let requirements = root().join(REQUIREMENTS);
    let wanted = fs::read(&requirements).map_err(|error| format!("{REQUIREMENTS}: {error}"))?;
    let environment = target().join("python");
    // Written last, so that half an environment is none.
    let made_of = environment.join("made-of.txt");
    if fs::read(&made_of).is_ok_and(|there| there == wanted) {
        return Ok(environment);
    }
    say("a Python environment for tests/compat");
    let mut venv = Command::new("python3");
    expect(venv.args(["-m", "venv", "--clear"]).arg(&environment))?;
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    expect(pip.arg(&requirements))?;
    fs::write(&made_of, wanted).map_err(|error| format!("{}: {error}", made_of.display()))?;
    Ok(environment)
}
