//! What a server costs by itself.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use super::{Bench, Row, write};
use crate::run::argosy;

/// A running server; it ends with this.
pub(super) struct Up {
    child: Child,
    pub(super) address: String,
}

impl Up {
    pub(super) fn start(bench: &Bench, data: &Path) -> Result<Up, String> {
        let args = ["up", "--listen", "127.0.0.1:0"].map(OsStr::new);
        let mut child = argosy(&bench.binary, data, &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let out = child.stdout.take().ok_or("no output")?;
        let mut address = None;
        for line in BufReader::new(out).lines() {
            let line = line.map_err(|error| error.to_string())?;
            if let Some(found) = line.trim().strip_prefix("http://") {
                address = Some(found.to_owned());
            }
            if line.starts_with("for hera") {
                break;
            }
        }
        let address = address.ok_or("the server does not start")?;
        Ok(Up { child, address })
    }

    fn resident_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 =
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default();
        kib / 1024.0
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const WAITING: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: waiting-}
spec:
  entrypoint: main
  parallelism: 1
  templates:
    - name: main
      steps: [[{name: each, template: leaf, withSequence: {count: "100000"}}]]
    - {name: leaf, container: {image: busybox, command: [sleep, "600"]}}
"#;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>, String> {
    let data = bench.data("server")?;
    let began = Instant::now();
    let up = Up::start(bench, &data)?;
    let serving = began.elapsed();
    let idle = up.resident_mib();
    drop(up);
    let began = Instant::now();
    hello(bench, &bench.data("hello")?)?;
    let first = began.elapsed();
    let size = std::fs::metadata(&bench.binary).map_err(|error| error.to_string())?.len();
    Ok(vec![
        Row::plain(
            "cold start, empty data directory, to serving",
            format!("{serving:.3?}"),
            "0.1 s",
        ),
        Row::plain("cold start to the first result, one command", format!("{first:.3?}"), "0.25 s"),
        Row::plain("idle server", format!("{idle:.1} MiB"), "40 MiB with the spawner"),
        Row::plain(
            "binary (release, not stripped)",
            format!("{} MiB", size >> 20),
            "45 MiB stripped",
        ),
    ])
}

fn hello(bench: &Bench, data: &Path) -> Result<(), String> {
    let file = bench.dir.join("hello.yaml");
    write(&file, &WAITING.replace("100000", "1").replace("sleep, \"600\"", "\"true\""))?;
    let args = ["-o", "name", "run"].map(OsStr::new);
    let output =
        argosy(&bench.binary, data, &args).arg(&file).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// 100,000 live tasks: how much memory they take, and how long a restart does.
pub(super) fn waiting(bench: &Bench) -> Result<Vec<Row>, String> {
    rest(bench, 1, "")
}

/// The same with ten runs of as many.
pub(super) fn million(bench: &Bench) -> Result<Vec<Row>, String> {
    rest(bench, 10, "350 MiB")
}

fn rest(bench: &Bench, runs: usize, goal: &str) -> Result<Vec<Row>, String> {
    let data = bench.data("waiting")?;
    let file = bench.dir.join("waiting.yaml");
    write(&file, WAITING)?;
    let up = Up::start(bench, &data)?;
    for _ in 0..runs {
        let args = ["submit"].map(OsStr::new);
        let output =
            argosy(&bench.binary, &data, &args).arg(&file).output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    let began = Instant::now();
    loop {
        let args = ["-o", "json", "list"].map(OsStr::new);
        let output = argosy(&bench.binary, &data, &args).output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.matches("/100000\"").count() == runs {
            break;
        }
        if began.elapsed().as_secs() > 300 {
            return Err("the runs do not come to 100,000 steps each".to_owned());
        }
    }
    let resident = up.resident_mib();
    drop(up);
    let began = Instant::now();
    let up = Up::start(bench, &data)?;
    let restart = began.elapsed();
    let again = up.resident_mib();
    drop(up);
    let what = format!("{runs}00,000 waiting tasks");
    Ok(vec![
        Row::plain(&what, format!("{resident:.1} MiB"), goal),
        Row::plain(&format!("{what}: after a restart"), format!("{again:.1} MiB"), goal),
        Row::plain(&format!("{what}: restart to serving"), format!("{restart:.3?}"), "2 s"),
    ])
}
