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
use crate::run::{binary, cargo, expect, output, print};

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

/// Builds with optimisation, measures, and prints the table.
pub(crate) fn bench() -> Task {
    expect(&mut cargo(&["build", "--release", "--package", "argosy"]))?;
    let bench = Bench { binary: binary("release"), dir: crate::run::target().join("bench") };
    let mut rows = Vec::new();
    rows.extend(workflows::measure(&bench)?);
    rows.extend(submits::measure(&bench)?);
    rows.extend(server::measure(&bench)?);
    // The engine is measured in a build with optimisation, which this one is not.
    let mut engine = cargo(&["run", "--release", "--quiet", "--package", "xtask", "--"]);
    let lines = output(engine.args(["bench", "engine"]))?;
    print(&format!("{}{}", table(&rows), lines.lines().skip(2).collect::<Vec<_>>().join("\n")));
    Ok(())
}

/// Measures the engine alone, and prints the table.
pub(crate) fn engine() -> Task {
    if cfg!(debug_assertions) {
        let mut engine = cargo(&["run", "--release", "--quiet", "--package", "xtask", "--"]);
        return expect(engine.args(["bench", "engine"]));
    }
    print(&table(&engine::measure()?));
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
