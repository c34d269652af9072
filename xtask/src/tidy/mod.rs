//! The rules of the house that a machine can hold.

mod layers;
mod sizes;
mod words;

use std::fs;
use std::path::PathBuf;

use walkdir::WalkDir;

use crate::{Task, root};

/// A source file of the project.
struct Source {
    /// Relative to the root.
    path: PathBuf,
    text: String,
}

impl Source {
    /// The lines before the file's tests.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.path.components().any(|part| part.as_os_str() == "tests")
            || self.path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
        let lines = self.text.lines().enumerate().map(|(at, line)| (at + 1, line));
        lines.take_while(move |(_, line)| !is_test && *line != "#[cfg(test)]")
    }

    /// The crate that it belongs to, `xtask` included.
    fn owner(&self) -> &str {
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        match (parts.next(), parts.next()) {
            (Some("crates"), Some(name)) => name,
            (Some(name), _) => name,
            _ => "",
        }
    }
}

/// Checks every rule and lists all that breaks one.
pub(crate) fn tidy() -> Task {
    let sources = sources()?;
    let mut broken = Vec::new();
    broken.extend(sizes::check(&sources));
    broken.extend(words::check(&sources));
    broken.extend(layers::check()?);
    if broken.is_empty() {
        return Ok(());
    }
    Err(format!("{}\ntidy: {} rules broken", broken.join("\n"), broken.len()))
}

fn sources() -> Result<Vec<Source>, String> {
    let root = root();
    let mut sources = Vec::new();
    for folder in ["crates", "xtask"] {
        for entry in WalkDir::new(root.join(folder)).sort_by_file_name() {
            let entry = entry.map_err(|error| error.to_string())?;
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
            let path = path.strip_prefix(&root).unwrap_or(path).to_owned();
            sources.push(Source { path, text });
        }
    }
    Ok(sources)
}
