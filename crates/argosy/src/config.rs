//! `argosy.toml` < `ARGOSY_*` < flags.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use argosy_model::{Code, Diagnostic};
use serde::{Deserialize, Serialize};

use crate::cli::Global;
use crate::failure::Failure;
use crate::input;

/// The file in the folder where the command is given.
const FILE: &str = "argosy.toml";

/// The variables for values of [`Config`].
const DATA: &str = "ARGOSY_DATA";
const SERVER: &str = "ARGOSY_SERVER";
/// A default, other than `--namespace`.
const NAMESPACE: &str = "ARGOSY_NAMESPACE";
const BLOB_URL: &str = "ARGOSY_BLOB_URL";

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

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag(&'static str),
    Variable(&'static str),
    File,
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag(name) => write!(f, "flag {name}"),
            Source::Variable(name) => write!(f, "variable {name}"),
            Source::File => write!(f, "file {FILE}"),
            Source::Default => f.write_str("default"),
        }
    }
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
    /// Where each of these comes from, by its key in the file, as far as it is set.
    #[serde(skip)]
    pub(crate) sources: Vec<(&'static str, Source)>,
}

impl Config {
    /// The configuration of a command.
    pub(crate) fn of(global: &Global) -> Result<Config, Failure> {
        let file = read(Path::new(FILE))?;
        let mut of = Sources::default();
        let data = [
            (global.data.clone(), Source::Flag("--data")),
            (variable(DATA).map(PathBuf::from), Source::Variable(DATA)),
            (file.data, Source::File),
        ];
        let data = of.first("data", data);
        let data = of.or_default("data", data, PathBuf::from(".argosy"));
        let data = std::path::absolute(&data)
            .map_err(|error| Failure::other(format!("{}: {error}", data.display())))?;
        let server = [
            (global.server.clone(), Source::Flag("--server")),
            (text(SERVER)?, Source::Variable(SERVER)),
            (file.server, Source::File),
        ];
        let server = of.first("server", server);
        let namespace = [
            (global.namespace.clone(), Source::Flag("--namespace")),
            (text(NAMESPACE)?, Source::Variable(NAMESPACE)),
            (file.namespace, Source::File),
        ];
        let namespace = of.first("namespace", namespace);
        let namespace = of.or_default("namespace", namespace, "default".to_owned());
        argosy_api::argo::check_space(&namespace)?;
        let listen = Some(file.listen).filter(|list| !list.is_empty());
        let listen = of.first("listen", [(listen, Source::File)]);
        let local = vec![SocketAddr::from(([127, 0, 0, 1], 2746))];
        let listen = of.or_default("listen", listen, local);
        let s3_listen = of.first("s3_listen", [(file.s3_listen, Source::File)]);
        let allowed = Some(file.allow_host_path).filter(|list| !list.is_empty());
        let allowed = of.first("allow_host_path", [(allowed, Source::File)]);
        let allow_host_path = of.or_default("allow_host_path", allowed, Vec::new());
        let url = [(text(BLOB_URL)?, Source::Variable(BLOB_URL)), (file.blob.url, Source::File)];
        let url = of.first("blob.url", url);
        let endpoint = of.first("blob.endpoint", [(file.blob.endpoint, Source::File)]);
        Ok(Config {
            data,
            server,
            namespace,
            namespace_is_given: global.namespace.is_some(),
            listen,
            s3_listen,
            allow_host_path,
            blob: Blob { url, endpoint },
            sources: of.0,
        })
    }
}

/// Where values were found.
#[derive(Default)]
struct Sources(Vec<(&'static str, Source)>);

impl Sources {
    /// The first value of a key that there is.
    fn first<T, const N: usize>(
        &mut self,
        key: &'static str,
        choices: [(Option<T>, Source); N],
    ) -> Option<T> {
        let mut choices = choices.into_iter();
        let (value, source) = choices.find_map(|(value, source)| Some((value?, source)))?;
        self.0.push((key, source));
        Some(value)
    }

    fn or_default<T>(&mut self, key: &'static str, value: Option<T>, default: T) -> T {
        value.unwrap_or_else(|| {
            self.0.push((key, Source::Default));
            default
        })
    }
}

/// A variable that says something.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The same, of a value that is no path.
fn text(name: &str) -> Result<Option<String>, Failure> {
    variable(name).map(OsString::into_string).transpose().map_err(|_| {
        let what = format!("the variable {name} is not UTF-8");
        Diagnostic::new(Code::BadText, what).into()
    })
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
