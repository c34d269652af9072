//! `argosy.toml` < `ARGOSY_*` < flags.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use argosy_model::{Code, Diagnostic};
use serde::{Deserialize, Serialize};

use crate::cli::Global;
use crate::failure::Failure;

/// The file in the folder where the command is given.
const FILE: &str = "argosy.toml";

/// What `argosy.toml` may say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    data: Option<PathBuf>,
    server: Option<String>,
    namespace: Option<String>,
    listen: Vec<SocketAddr>,
    allow_host_path: Vec<PathBuf>,
}

/// The configuration in force.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Config {
    /// The data directory.
    pub(crate) data: PathBuf,
    /// A server that was named.
    pub(crate) server: Option<String>,
    /// The space.
    pub(crate) namespace: String,
    /// Where to serve.
    pub(crate) listen: Vec<SocketAddr>,
    /// Folders that manifests may name paths below.
    pub(crate) allow_host_path: Vec<PathBuf>,
}

impl Config {
    /// The configuration of a command.
    pub(crate) fn of(global: &Global) -> Result<Config, Failure> {
        let file = read(Path::new(FILE))?;
        let data = global.data.clone().or(file.data).unwrap_or_else(|| PathBuf::from(".argosy"));
        let data = std::path::absolute(&data)
            .map_err(|error| Failure::other(format!("{}: {error}", data.display())))?;
        let listen = if file.listen.is_empty() {
            vec![SocketAddr::from(([127, 0, 0, 1], 2746))]
        } else {
            file.listen
        };
        Ok(Config {
            data,
            server: global.server.clone().or(file.server),
            namespace: global
                .namespace
                .clone()
                .or(file.namespace)
                .unwrap_or_else(|| "default".to_owned()),
            listen,
            allow_host_path: file.allow_host_path,
        })
    }
}

fn read(path: &Path) -> Result<File, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(Failure::other(format!("{}: {error}", path.display()))),
    };
    toml::from_str(&text).map_err(|error| {
        let what = format!("{}: {}", path.display(), error.message());
        Failure(vec![
            Diagnostic::new(Code::BadValue, what).help("see docs/cli.md for what it may say"),
        ])
    })
}
