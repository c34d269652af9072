//! `cargo xtask bench`: every figure beside the raw limit of the same run.
//!
//! Absolute times depend on the machine and on what else it does; the ratios are what is compared
//! with the goals.

mod engine;
mod raw;
mod server;
mod submits;
mod workflows;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::Task;
use crate::run::{binary, cargo, expect, print};

/// One line of the table.
struct Row {
    what: String,
    ours: String,
    raw: String,
    ratio: String,
    goal: String,
}

impl Row {
    /// A figure beside its limit.
    fn ratio(what: &str, unit: &str, ours: f64, raw: f64, goal: &str) -> Row {
        Row {
            what: what.to_owned(),
            ours: format!("{ours:.3} {unit}"),
            raw: format!("{raw:.3} {unit}"),
            ratio: format!("{:.2}", ours / raw),
            goal: goal.to_owned(),
        }
    }

    /// A figure with a goal of its own.
    fn plain(what: &str, ours: String, goal: &str) -> Row {
        Row {
            what: what.to_owned(),
            ours,
            raw: String::new(),
            ratio: String::new(),
            goal: goal.to_owned(),
        }
    }
}

/// What all measurements need.
struct Bench {
    binary: PathBuf,
    dir: PathBuf,
}

impl Bench {
    /// A fresh data directory.
    fn data(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.dir.join(name);
        // What is not there needs no removing.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&self.dir).map_err(|error| error.to_string())?;
        Ok(path)
    }
}

/// A group of measurements.
type Measure = fn(&Bench) -> Result<Vec<Row>, String>;

/// The groups by name.
const GROUPS: &[(&str, Measure)] = &[
    ("engine", engine::measure),
    ("processes", workflows::processes),
    ("isolated", workflows::isolated),
    ("chain", workflows::chain),
    ("many", workflows::many),
    ("hello", submits::hello),
    ("submits", submits::measure),
    ("server", server::measure),
    ("waiting", server::waiting),
    ("million", server::million),
];

/// Builds with optimisation, measures, and prints the table: of all groups, or of those named.
pub(crate) fn bench(named: &[&str]) -> Task {
    let known = |name: &&&str| !GROUPS.iter().any(|(group, _)| group == *name);
    if let Some(unknown) = named.iter().find(known) {
        let groups: Vec<&str> = GROUPS.iter().map(|(group, _)| *group).collect();
        return Err(format!("{unknown} is none of {}", groups.join(", ")));
    }
    expect(&mut cargo(&["build", "--release", "--package", "argosy"]))?;
    let bench = Bench { binary: binary("release"), dir: crate::run::target().join("bench") };
    let mut rows = Vec::new();
    for (group, measure) in GROUPS {
        if named.is_empty() || named.contains(group) {
            rows.extend(measure(&bench)?);
        }
    }
    print(&table(&rows));
    Ok(())
}

/// The group `engine`, in the build that this is: `xtask` calls itself in one with optimisation.
pub(crate) fn engine() -> Task {
    for Row { what, ours, goal, .. } in engine::here()? {
        print(&format!("{what}\t{ours}\t{goal}"));
    }
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let mut text =
        String::from("| what | ours | raw | ratio | goal |\n| --- | ---: | ---: | ---: | --- |\n");
    for Row { what, ours, raw, ratio, goal } in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {what} | {ours} | {raw} | {ratio} | {goal} |");
    }
    text
}

/// A text file.
fn write(path: &Path, text: &str) -> Task {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
