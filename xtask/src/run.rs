//! Starting programs and saying things.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Task, root};

/// Prints a line on standard error.
pub(crate) fn say(text: &str) {
    // Nobody is left to tell when this fails.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints on standard output.
pub(crate) fn print(text: &str) {
    // Nobody is left to tell when this fails.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// A cargo command in the root of the repository, with the cargo that runs this.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo says of this package would make build scripts of others run again that read it,
    // and compile all that depends on them.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command.current_dir(root()).args(args);
    command
}

/// Runs a command and expects it to succeed.
pub(crate) fn expect(command: &mut Command) -> Task {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// Runs a command that is expected to succeed, and gives what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The folder in which cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The argosy binary of a profile's folder.
pub(crate) fn binary(folder: &str) -> PathBuf {
    target().join(folder).join("argosy")
}

/// An argosy command on a data directory of its own.
pub(crate) fn argosy(binary: &Path, data: &Path, args: &[&OsStr]) -> Command {
    let mut command = Command::new(binary);
    without_settings(&mut command);
    command.arg("--data").arg(data).args(args);
    command
}

/// Keeps what the surroundings say of argosy from a command.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ARGOSY_") {
            command.env_remove(name);
        }
    }
}
