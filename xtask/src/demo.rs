//! The main job on a shipped example.

use std::ffi::OsStr;

use crate::run::{argosy, binary, cargo, expect, print};
use crate::{Task, root};

/// Builds, runs `examples/diamond.yaml`, and shows its result and its logs.
pub(crate) fn demo() -> Task {
    expect(&mut cargo(&["build", "--package", "argosy"]))?;
    let data = root().join("target/demo");
    let binary = binary("debug");
    let example = root().join("examples/diamond.yaml");
    let step = |args: &[&str]| {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        argosy(&binary, &data, &args)
    };
    print("$ argosy run --watch examples/diamond.yaml");
    expect(step(&["run", "--watch"]).arg(&example))?;
    print("\n$ argosy logs @latest");
    expect(&mut step(&["logs", "@latest"]))?;
    print("\nEverything is kept: argosy --data target/demo list");
    expect(&mut step(&["list"]))
}
