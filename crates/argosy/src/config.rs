//! `argosy.toml` < `ARGOSY_*` < flags.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use argosy_model::{Code, Diagnostic};
use serde::{Deserialize, Serialize};

use crate::cli::Global;
use crate::failure::Failure;
use crate::input;

/// The file in the folder where the command is given.
const FILE: &str = "argosy.toml";

/// The variable for [`Blob::url`].
const BLOB_URL: &str = "ARGOSY_BLOB_URL";

/// The variable for [`Config::namespace`]. A default, other than `--namespace`.
const NAMESPACE: &str = "ARGOSY_NAMESPACE";

/// What `argosy.toml` may say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    data: Option<PathBuf>,
    server: Option<String>,
    namespace: Option<String>,
    listen: Vec<SocketAddr>,
    s3_listen: Option<SocketAddr>,
    allow_host_path: Vec<PathBuf>,
    blob: Blob,
}

/// Where blobs are kept.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Blob {
    /// `s3://BUCKET/PREFIX`; none is the data directory.
    pub(crate) url: Option<String>,
    /// `http(s)://HOST:PORT` of an S3 that is not Amazon's.
    pub(crate) endpoint: Option<String>,
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
    /// Whether the command itself names the space, which then holds for manifests too.
    #[serde(skip)]
    pub(crate) namespace_is_given: bool,
    /// Where to serve.
    pub(crate) listen: Vec<SocketAddr>,
    /// Where to serve blobs to S3 clients.
    pub(crate) s3_listen: Option<SocketAddr>,
    /// Folders that manifests may name paths below.
    pub(crate) allow_host_path: Vec<PathBuf>,
    /// Where blobs are kept.
    pub(crate) blob: Blob,
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
        let of_surroundings = || variable(NAMESPACE).or(file.namespace);
        let namespace = global.namespace.clone().or_else(of_surroundings);
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        argosy_api::argo::check_space(&namespace)?;
        Ok(Config {
            data,
            server: global.server.clone().or(file.server),
            namespace,
            namespace_is_given: global.namespace.is_some(),
            listen,
            s3_listen: file.s3_listen,
            allow_host_path: file.allow_host_path,
            blob: Blob { url: variable(BLOB_URL).or(file.blob.url), endpoint: file.blob.endpoint },
        })
    }
}

/// A variable that says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read(path: &Path) -> Result<File, Failure> {
    let text = match input::text(path) {
        Ok(text) => text,
        Err(absent) if absent.code == Code::NotFound => return Ok(File::default()),
        Err(refused) => return Err(refused.into()),
    };
    toml::from_str(&text).map_err(|error| {
        let what = format!("{}: {}", path.display(), error.message());
        Failure(vec![
            Diagnostic::new(Code::BadValue, what).help("see docs/cli.md for what it may say"),
        ])
    })
}
