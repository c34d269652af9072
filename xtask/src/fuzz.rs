//! `cargo xtask fuzz [SECONDS] [TARGET...]`: every parser of what comes from outside, against
//! inputs that a fuzzer makes up.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use crate::run::{cargo, expect, say, target};
use crate::{Task, root};

/// The parsers.
const TARGETS: &[&str] = &["yaml", "expressions", "tags", "archives"];

/// How long each is tried, in seconds.
const SECONDS: u64 = 600;

/// What makes the compiler count which code was reached (LLVM's SanitizerCoverage).
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing";

pub(crate) fn fuzz(args: &[&str]) -> Task {
    let (seconds, named) = match args.split_first() {
        Some((first, rest)) if first.parse::<u64>().is_ok() => {
            (first.parse().unwrap_or(SECONDS), rest)
        }
        _ => (SECONDS, args),
    };
    if let Some(unknown) = named.iter().find(|name| !TARGETS.contains(name)) {
        return Err(format!("{unknown} is none of {}", TARGETS.join(", ")));
    }
    let built = target().join("fuzz");
    let triple = host()?;
    expect(
        cargo(&["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", &triple])
            .env("CARGO_TARGET_DIR", &built)
            .env("RUSTFLAGS", COVERAGE),
    )?;
    let binaries = built.join(&triple).join("release");
    let wanted = |name: &&&str| named.is_empty() || named.contains(name);
    let targets: Vec<&str> = TARGETS.iter().filter(wanted).copied().collect();
    // Each keeps one core busy.
    let at_once = available_parallelism().map_or(1, usize::from);
    targets.chunks(at_once).try_for_each(|targets| together(targets, &binaries, &built, seconds))
}

/// Runs targets at the same time.
fn together(targets: &[&str], binaries: &Path, built: &Path, seconds: u64) -> Task {
    let run = |name: &&str| run(&binaries.join(name), built, name, seconds);
    std::thread::scope(|scope| {
        let running: Vec<_> = targets.iter().map(|name| scope.spawn(move || run(name))).collect();
        // All of them end before the first fault is told.
        let ended = running.into_iter().map(|one| one.join().map_err(|_| "a panic".to_owned())?);
        ended.collect::<Vec<Task>>().into_iter().collect()
    })
}

/// The machine's own triple. It is named so that build scripts are not instrumented.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc does not say what machine this is".to_owned())
}

/// Runs one target. What it finds interesting is kept for the next time, beside the seeds.
fn run(binary: &Path, built: &Path, name: &str, seconds: u64) -> Task {
    say(&format!("fuzzing {name} for {seconds} s"));
    let corpus = built.join("corpus").join(name);
    let found = built.join("found");
    for folder in [&corpus, &found] {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    let mut command = Command::new(binary);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/{name}-", found.display()));
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=16384"]);
    command.args(["-verbosity=0", "-print_funcs=0", "-print_final_stats=1"]).arg(&corpus);
    command.args(seeds(name, built)?);
    expect(&mut command)
}

/// Folders with inputs to begin with.
fn seeds(name: &str, built: &Path) -> Result<Vec<PathBuf>, String> {
    match name {
        "yaml" => {
            let public = root().join("../shared/corpus/argo/examples");
            Ok([root().join("examples"), public].into_iter().filter(|it| it.is_dir()).collect())
        }
        "archives" => {
            let folder = built.join("seeds");
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            for (module, file) in [("tarfile", "a.tar"), ("tarfile", "a.tgz"), ("zipfile", "a.zip")]
            {
                let mut python = Command::new("python3");
                python.current_dir(root()).args(["-m", module, "-c"]).arg(folder.join(file));
                expect(python.args(["README.md", "examples"]))?;
            }
            Ok(vec![folder])
        }
        _ => Ok(Vec::new()),
    }
}
