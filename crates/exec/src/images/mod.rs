//! From image references to what stands for them on this machine.

mod table;
mod tools;

pub use table::{Image, ImageTable, Kind};
pub use tools::multicall;

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where programs are looked up, apart from our own.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Makes `<data>/bin`, which comes first in every `PATH`: links to the tools of this binary, and
/// `python`, which Debian calls `python3` only. The links lead to `../argosy`, which leads to
/// `exe`, so that both can be shown together elsewhere.
///
/// # Errors
/// The system's.
pub(crate) fn make_bin(data_dir: &Path, exe: &Path) -> io::Result<()> {
    let bin = data_dir.join("bin");
    fs::create_dir_all(&bin)?;
    link(exe, &data_dir.join("argosy"))?;
    for tool in tools::NAMES {
        link(Path::new("../argosy"), &bin.join(tool))?;
    }
    match find("python3") {
        Some(python) => link(&python, &bin.join("python")),
        None => Ok(()),
    }
}

/// Makes a link anew, as the program may have moved since the last start.
fn link(target: &Path, path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => symlink(target, path),
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let own = std::env::var("PATH").unwrap_or_default();
    let folders = PATH.split(':').chain(own.split(':'));
    folders.map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}
