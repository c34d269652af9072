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
    let mut rows = vec![
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
    ];
    rows.extend(waiting(bench)?);
    Ok(rows)
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
fn waiting(bench: &Bench) -> Result<Vec<Row>, String> {
    let data = bench.data("waiting")?;
    let file = bench.dir.join("waiting.yaml");
    write(&file, WAITING)?;
    let up = Up::start(bench, &data)?;
    let args = ["submit"].map(OsStr::new);
    let output =
        argosy(&bench.binary, &data, &args).arg(&file).output().map_err(|e| e.to_string())?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let began = Instant::now();
    loop {
        let args = ["-o", "json", "list"].map(OsStr::new);
        let output = argosy(&bench.binary, &data, &args).output().map_err(|e| e.to_string())?;
        if String::from_utf8_lossy(&output.stdout).contains("/100000\"") {
            break;
        }
        if began.elapsed().as_secs() > 120 {
            return Err(format!("{name} does not come to 100,000 steps"));
        }
    }
    let resident = up.resident_mib();
    drop(up);
    let began = Instant::now();
    let up = Up::start(bench, &data)?;
    let restart = began.elapsed();
    let again = up.resident_mib();
    drop(up);
    Ok(vec![
        Row::plain(
            "100,000 waiting tasks",
            format!("{resident:.1} MiB"),
            "35 MiB and the idle server",
        ),
        Row::plain("the same after a restart", format!("{again:.1} MiB"), ""),
        Row::plain("restart with 100,000 live tasks, to serving", format!("{restart:.3?}"), "2 s"),
    ])
}
