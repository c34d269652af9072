//! Words that belong into one room only.

use super::Source;

/// A text, the crates in which it may stand, and what the rule is.
const RULES: [(&[&str], &[&str], &str); 5] = [
    (
        &["INSERT INTO", "SELECT ", "DELETE FROM", "UPDATE runs"],
        &["store", "xtask"],
        "only `store` has SQL",
    ),
    (
        &["Command::new(", "CommandExt"],
        &["spawn", "exec", "xtask"],
        "only `spawn` and `exec` start processes",
    ),
    (
        &["tar::Archive", "ZipArchive", "GzDecoder"],
        &["blob", "xtask"],
        "only `blob` unpacks archives",
    ),
    (&["unsafe {", "unsafe fn", "unsafe impl"], &["spawn", "xtask"], "only `spawn` has `unsafe`"),
    (&["todo!(", "unimplemented!(", "dbg!("], &["xtask"], "nothing unfinished lands"),
];

/// Calls that a pure crate never makes.
const IMPURE: [&str; 7] = [
    "SystemTime::now",
    "Instant::now",
    "std::fs::",
    "std::net::",
    "std::env::var",
    "thread::sleep",
    "std::thread::",
];

const PURE: [&str; 4] = ["model", "template", "engine", "scheduler"];

pub(super) fn check(sources: &[Source]) -> Vec<String> {
    let mut broken = Vec::new();
    for source in sources {
        let owner = source.owner();
        for (at, line) in source.code() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            let mut refuse =
                |rule: &str| broken.push(format!("{}:{at}: {rule}", source.path.display()));
            for (words, rooms, rule) in &RULES {
                if !rooms.contains(&owner) && words.iter().any(|word| line.contains(word)) {
                    refuse(rule);
                }
            }
            if PURE.contains(&owner) && IMPURE.iter().any(|word| line.contains(word)) {
                refuse("pure crates touch no clock, file, network, thread or variable");
            }
        }
    }
    broken
}
