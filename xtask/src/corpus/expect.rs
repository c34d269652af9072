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
    #[serde(default)]
    pub(super) uses: Vec<String>,
    #[serde(default)]
    pub(super) slow: f64,
    #[serde(default, rename = "note")]
    _note: String,
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
