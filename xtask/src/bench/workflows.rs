//! Whole workflows of processes.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

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
fn steps(count: usize) -> String {
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

/// 1,000 processes and a join, as they are.
pub(super) fn processes(bench: &Bench) -> Result<Vec<Row>, String> {
    let raw = raw::spawns(1_000)?;
    let ours = run(bench, "none", &FAN_OUT.replace("COUNT", "1000"))?;
    Ok(beside("1,000 processes and a join", ours, raw))
}

/// The same, each with namespaces of its own.
pub(super) fn isolated(bench: &Bench) -> Result<Vec<Row>, String> {
    std::fs::create_dir_all(&bench.dir).map_err(|error| error.to_string())?;
    let raw = raw::isolated(1_000, &bench.dir)?;
    let ours = run(bench, "private-tmp", &FAN_OUT.replace("COUNT", "1000"))?;
    Ok(beside("1,000 processes with a private /tmp", ours, raw))
}

fn beside(what: &str, ours: Cost, raw: Cost) -> Vec<Row> {
    let row = |name: &str, ours: Duration, raw: Duration, goal| {
        let what = format!("{what}: {name}");
        Row::ratio(&what, "s", ours.as_secs_f64(), raw.as_secs_f64(), goal)
    };
    vec![row("wall", ours.wall, raw.wall, "1.5"), row("CPU", ours.cpu, raw.cpu, "2.0")]
}

/// A hundred times as many processes: what each costs must not rise.
pub(super) fn many(bench: &Bench) -> Result<Vec<Row>, String> {
    let few = run(bench, "none", &FAN_OUT.replace("COUNT", "1000"))?;
    let many = run(bench, "none", &FAN_OUT.replace("COUNT", "100000"))?;
    let row = |name: &str, many: Duration, few: Duration| {
        let what = format!("100,000 processes, each beside each of 1,000: {name}");
        Row::ratio(&what, "ms", many.as_secs_f64() / 100.0, few.as_secs_f64(), "1.2")
    };
    Ok(vec![row("wall", many.wall, few.wall), row("CPU", many.cpu, few.cpu)])
}

/// Steps one after the other. What the command itself takes to begin and to end is no part of a
/// step, so it is the difference between a chain and one three times as long that counts.
pub(super) fn chain(bench: &Bench) -> Result<Vec<Row>, String> {
    let sync = raw::sync(&bench.dir)?.as_secs_f64() * 1e3;
    let raw = raw::chain(200)?.wall.as_secs_f64() * 5.0;
    let short = run(bench, "none", &steps(100))?.wall;
    let long = run(bench, "none", &steps(300))?.wall;
    let ours = long.saturating_sub(short).as_secs_f64() * 5.0;
    let goal = format!("{:.3} ms (raw + 1.5 syncs of {sync:.3} + 0.5)", raw + 1.5 * sync + 0.5);
    let whole = short.as_secs_f64() * 10.0;
    Ok(vec![
        Row::ratio(
            "chain of 100, with the command's start and end: a step",
            "ms",
            whole,
            raw,
            &goal,
        ),
        Row::ratio("chain of 300: a step beyond 100", "ms", ours, raw, &goal),
    ])
}

/// Runs a manifest in a process of its own.
fn run(bench: &Bench, isolation: &str, manifest: &str) -> Result<Cost, String> {
    // A new folder each time: the spawner of the last one lives on for a while.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let data = bench.data(&format!("workflow-{number}"))?;
    let file = bench.dir.join("bench.yaml");
    write(&file, manifest)?;
    // A first run starts the spawner, which is no part of what is measured.
    let warm = bench.dir.join("warm.yaml");
    write(&warm, &steps(1))?;
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
    let data = data.canonicalize().map_err(|error| error.to_string())?;
    let entries = std::fs::read_dir("/proc").map_err(|error| error.to_string())?;
    for entry in entries.flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_spawner = String::from_utf8_lossy(&line).contains("__spawner");
        // That of a folder that is gone may live on for a while, under the same name.
        let folder = std::fs::read_link(entry.path().join("cwd"));
        if is_spawner && folder.is_ok_and(|folder| folder == data) {
            return Ok(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Err("no spawner is alive".to_owned())
}
