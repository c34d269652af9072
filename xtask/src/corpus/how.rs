//! How the corpus is run: by whom, with which build.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{binary, cargo, expect, target, without_settings};

/// A user without rights and without a home.
const NOBODY: &str = "65534";

/// Makes the server exchange outputs (`server/src/hooks.rs`).
const MUTANT: &str = "ARGOSY_TEST_SWAP_OUTPUTS";

/// Who runs what.
pub(super) struct How {
    binary: PathBuf,
    /// A folder for data directories.
    place: PathBuf,
    /// Whether as user `nobody`, which sees neither the checkout nor the target folder.
    nobody: bool,
    /// Whether with a server that exchanges outputs.
    pub(super) mutant: bool,
}

impl How {
    /// Builds, and makes the place.
    pub(super) fn new(nobody: bool, mutant: bool) -> Result<How, String> {
        let mut build = vec!["build", "--package", "argosy"];
        if mutant {
            build.extend(["--features", "test-hooks"]);
        }
        expect(&mut cargo(&build))?;
        let failed = |error: std::io::Error| error.to_string();
        let place = match nobody {
            true => PathBuf::from("/var/tmp/argosy-corpus-nobody"),
            false => target().join("corpus"),
        };
        std::fs::create_dir_all(&place).map_err(failed)?;
        let mut how = How { binary: binary("debug"), place, nobody, mutant };
        if nobody {
            let everybody = std::fs::Permissions::from_mode(0o1777);
            std::fs::set_permissions(&how.place, everybody).map_err(failed)?;
            how.binary = how.lend(&binary("debug"), "argosy")?;
        }
        Ok(how)
    }

    /// A file as the one who runs can read it.
    pub(super) fn lend(&self, file: &Path, name: &str) -> Result<PathBuf, String> {
        if !self.nobody {
            return Ok(file.to_owned());
        }
        let to = self.place.join(name);
        // A program that still runs cannot be written over. What is not there needs no removing.
        let _ = std::fs::remove_file(&to);
        let copied = std::fs::copy(file, &to)
            .and_then(|_| std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755)));
        copied.map(|()| to).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// A file of our own, which the one who runs can read.
    pub(super) fn make(&self, text: &str, name: &str) -> Result<PathBuf, String> {
        let to = self.place.join(name);
        let made = std::fs::write(&to, text)
            .and_then(|()| std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755)));
        made.map(|()| to).map_err(|error| format!("{name}: {error}"))
    }

    /// An empty data directory of a worker.
    pub(super) fn data(&self, worker: usize) -> PathBuf {
        let data = self.place.join(worker.to_string());
        // What is not there needs no removing.
        let _ = std::fs::remove_dir_all(&data);
        data
    }

    /// A command that may not take for ever.
    pub(super) fn argosy(&self, data: &Path, seconds: u64, args: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.arg(seconds.to_string());
        if self.nobody {
            let user = format!("--reuid={NOBODY}");
            let group = format!("--regid={NOBODY}");
            command.args(["setpriv", &user, &group, "--clear-groups"]).current_dir("/");
        }
        command.arg(&self.binary).arg("--data").arg(data).args(args.iter().map(OsStr::new));
        without_settings(&mut command);
        if self.nobody {
            command.env("HOME", "/nonexistent");
        }
        if self.mutant {
            command.env(MUTANT, "1");
        }
        command
    }
}
