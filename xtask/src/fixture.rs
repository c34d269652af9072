//! `cargo xtask fixture`: a data directory of today's format, which every later build must open
//! (`crates/argosy/tests/fixtures.rs`).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use argosy_model::FORMAT_VERSION;

use crate::run::{argosy, binary, cargo, expect, say};
use crate::{Task, root};

/// What of a data directory is kept; the rest belongs to processes.
const KEPT: [&str; 4] = ["argosy.db", "argosy.db-wal", "blobs", "logs"];

pub(crate) fn fixture() -> Task {
    let to = root().join(format!("tests/fixtures/data-v{FORMAT_VERSION}"));
    if to.exists() {
        return Err(format!("{} is there, and is never made again", to.display()));
    }
    expect(&mut cargo(&["build", "--package", "argosy"]))?;
    let data = crate::run::target().join("fixture");
    // What is not there needs no removing.
    let _ = std::fs::remove_dir_all(&data);
    fill(&data)?;
    std::fs::create_dir_all(&to).map_err(|error| error.to_string())?;
    for name in KEPT.iter().filter(|name| data.join(name).exists()) {
        expect(Command::new("cp").arg("-r").arg(data.join(name)).arg(&to))?;
    }
    say(&format!("{} is made", to.display()));
    Ok(())
}

/// Runs that have ended, and a server that dies while one waits.
fn fill(data: &Path) -> Task {
    run(data, &["run"], "finished.yaml", 0)?;
    run(data, &["run"], "failed.yaml", 1)?;
    let mut server =
        argosy(&binary("debug"), data, &["up", "--listen", "127.0.0.1:0"].map(OsStr::new))
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
    let filled = submit(data);
    // It dies as in a loss of power, so that a log is left to be read.
    let _ = server.kill();
    let _ = server.wait();
    filled
}

fn submit(data: &Path) -> Task {
    while run(data, &["submit"], "stored.yaml", 0).is_err() {
        // It is not serving yet; when it never does, this is ended by hand.
        std::thread::yield_now();
    }
    run(data, &["submit"], "waiting.yaml", 0)?;
    loop {
        let output = argosy(&binary("debug"), data, &["get", "waiting"].map(OsStr::new)).output();
        let text = output.map_err(|error| error.to_string())?.stdout;
        if String::from_utf8_lossy(&text).contains("approve") {
            return Ok(());
        }
    }
}

fn run(data: &Path, args: &[&str], file: &str, code: i32) -> Task {
    let path: PathBuf = root().join("xtask/fixture").join(file);
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let output = argosy(&binary("debug"), data, &args).arg(path).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.code() == Some(code) {
        return Ok(());
    }
    Err(format!("{file}: {}", String::from_utf8_lossy(&output.stderr)))
}
