//! Developer tasks: `cargo xtask <task>`.

mod bench;
mod corpus;
mod demo;
mod docs;
mod fixture;
mod fuzz;
mod python;
mod run;
mod suite;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

/// The result of a task: what went wrong, for a person.
type Task = Result<(), String>;

const TASKS: &str = "\
demo              build, run examples/diamond.yaml and show its result
test              set up what the tests need and run all of them
compat            run unmodified clients against the binary
tidy              check the rules of the house
docs [--check]    write (or check) docs/limits.md and COMPAT.md
corpus argo       run the public manifests and check what they come to (--write: into COMPAT.md;
                  --nobody: as that user; --mutant: with outputs exchanged, which must be noticed)
fixture           make a data directory of today's format, for later builds to open
fuzz [SECONDS] [TARGET...]
                  give parsers inputs that a fuzzer makes up
bench [GROUP...]  measure, each figure beside the raw limit of the same run";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["demo"] => demo::demo(),
        ["test"] => suite::test(),
        ["compat"] => python::compat(),
        ["tidy"] => tidy::tidy(),
        ["docs"] => docs::docs(false),
        ["docs", "--check"] => docs::docs(true),
        ["bench", groups @ ..] => bench::bench(groups),
        ["bench-engine"] => bench::engine(),
        ["fixture"] => fixture::fixture(),
        ["fuzz", rest @ ..] => fuzz::fuzz(rest),
        ["corpus", "argo", rest @ ..] => corpus::argo(rest),
        _ => Err(format!("usage: cargo xtask <task>\n\n{TASKS}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            run::say(&text);
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}
