//! Whole workflows of processes.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use super::raw::{self, Cost};
use super::{Bench, Row, write};
use crate::run::argosy;

const FAN_OUT: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: fan-out-}
spec:
  entrypoint: main
  templates:
    - name: main
      steps:
        - - {name: each, template: leaf, withSequence: {count: "COUNT"}}
        - - {name: join, template: leaf}
    - {name: leaf, container: {image: busybox, command: [/bin/true]}}
"#;

/// A chain of steps, each after the one before.
fn chain(count: usize) -> String {
    let calls: String =
        (0..count).map(|at| format!("        - - {{name: s{at}, template: leaf}}\n")).collect();
    FAN_OUT.lines().filter(|line| !line.contains("- - {name")).fold(
        String::new(),
        |mut text, line| {
            text.push_str(line);
            text.push('\n');
            if line.trim() == "steps:" {
                text.push_str(&calls);
            }
            text
        },
    )
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (isolation, goal) in
        [("none", "wall 1.5, CPU 2.0"), ("private-tmp", "1.5 and 2.0 of a loop with namespaces")]
    {
        let raw = raw::spawns(1_000)?;
        let ours = run(bench, isolation, &FAN_OUT.replace("COUNT", "1000"))?;
        let ms = |cost: std::time::Duration| cost.as_secs_f64();
        rows.push(Row::ratio(
            &format!("1,000 processes and a join, {isolation}: wall"),
            "s",
            ms(ours.wall),
            ms(raw.wall),
            goal,
        ));
        rows.push(Row::ratio(
            &format!("1,000 processes and a join, {isolation}: CPU"),
            "s",
            ms(ours.cpu),
            ms(raw.cpu),
            goal,
        ));
    }
    let sync = raw::sync(&bench.dir)?.as_secs_f64() * 1e3;
    let raw = raw::chain(100)?.wall.as_secs_f64() * 10.0;
    let ours = run(bench, "none", &chain(100))?.wall.as_secs_f64() * 10.0;
    let goal = format!("{:.3} ms (raw + 1.5 syncs of {sync:.3} + 0.5)", raw + 1.5 * sync + 0.5);
    rows.push(Row::ratio("chain of 100: a step", "ms", ours, raw, &goal));
    Ok(rows)
}

/// Runs a manifest in a process of its own.
fn run(bench: &Bench, isolation: &str, manifest: &str) -> Result<Cost, String> {
    let data = bench.data("workflow")?;
    let file = bench.dir.join("bench.yaml");
    write(&file, manifest)?;
    // A first run starts the spawner, which is no part of what is measured.
    let warm = bench.dir.join("warm.yaml");
    write(&warm, &chain(1))?;
    go(bench, &data, isolation, &warm)?;
    let spawner = spawner(&data)?;
    let (began, own, theirs) = (Instant::now(), raw::cpu_of("self"), raw::cpu_of(&spawner));
    go(bench, &data, isolation, &file)?;
    let cpu = raw::cpu_of("self") - own + (raw::cpu_of(&spawner) - theirs);
    Ok(Cost { wall: began.elapsed(), cpu })
}

fn go(bench: &Bench, data: &Path, isolation: &str, file: &Path) -> Result<(), String> {
    let args = ["-o", "name", "run", "--isolation", isolation].map(OsStr::new);
    let output =
        argosy(&bench.binary, data, &args).arg(file).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// The process that owns the attempts of a data directory.
fn spawner(data: &Path) -> Result<String, String> {
    let wanted = data.display().to_string();
    let entries = std::fs::read_dir("/proc").map_err(|error| error.to_string())?;
    for entry in entries.flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.contains("__spawner") && line.contains(&wanted) {
            return Ok(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Err("no spawner is alive".to_owned())
}
