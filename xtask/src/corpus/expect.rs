//! What reading the manifests says. The format is explained at the head of the file.

use std::path::Path;

use serde::Deserialize;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    pub(super) path: String,
    pub(super) phase: String,
    #[serde(default)]
    pub(super) gate: bool,
    #[serde(default)]
    pub(super) root: bool,
    #[serde(default)]
    pub(super) own: Vec<String>,
    #[serde(default)]
    pub(super) needs: Vec<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) logs: Vec<Line>,
    #[serde(default)]
    pub(super) absent: Vec<Line>,
    #[serde(default)]
    pub(super) params: Vec<Parameter>,
    #[serde(default)]
    pub(super) phases: Vec<NodePhase>,
    #[serde(default)]
    pub(super) one_of: Vec<Vec<Line>>,
    /// The code with which the loader refuses the file.
    #[serde(default)]
    pub(super) refused: String,
    /// What else than workflows the file holds, as the command says it has stored it.
    #[serde(default)]
    pub(super) stored: Vec<String>,
    /// The stored template that is run, as the file holds no workflow itself.
    pub(super) from: Option<Stored>,
    #[serde(default)]
    pub(super) acts: Vec<Act>,
    #[serde(default, rename = "uses")]
    _uses: Vec<String>,
    #[serde(default)]
    pub(super) slow: f64,
    #[serde(default, rename = "note")]
    _note: String,
}

/// A stored template.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    pub(super) name: String,
    #[serde(default)]
    pub(super) cluster: bool,
}

/// What somebody does once a step runs, or once it has printed a line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    pub(super) step: String,
    #[serde(default)]
    pub(super) line: Option<String>,
    /// The verb of the command line, and behind the run's name what else it is given.
    pub(super) verb: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
}

/// A line of a step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) step: String,
    pub(super) line: String,
}

/// An output parameter of a step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    pub(super) step: String,
    pub(super) name: String,
    pub(super) value: String,
}

/// A node's phase.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodePhase {
    pub(super) step: String,
    pub(super) phase: String,
}

#[derive(Deserialize)]
struct File {
    file: Vec<Expected>,
}

/// Reads the expectations.
pub(super) fn read(path: &Path) -> Result<Vec<Expected>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(file.file)
}
