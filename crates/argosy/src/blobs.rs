//! Where blobs are kept, and the door for S3 clients.

use std::sync::Arc;

use argosy_blob::s3::{Attempts, Endpoint, Keys};
use argosy_blob::{Folder, Remote, Space, Store};
use argosy_model::{Code, Diagnostic};
use argosy_server::{Clock, SystemClock};
use axum::Router;
use axum::extract::Request;

use crate::config::Config;
use crate::failure::Failure;

/// Where blobs are kept.
pub(crate) enum Blobs {
    /// In the data directory.
    Here(Folder),
    /// In an S3 elsewhere.
    There(Remote),
}

impl Blobs {
    /// What the configuration names.
    pub(crate) fn open(config: &Config) -> Result<Blobs, Failure> {
        if let Some(url) = &config.blob.url {
            let variables = std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
            let remote = Remote::open(url, config.blob.endpoint.as_deref(), variables)?;
            return Ok(Blobs::There(remote));
        }
        let folder = config.data.join("blobs");
        let opened = Folder::open(&folder);
        Ok(Blobs::Here(opened.map_err(|error| {
            Failure::other(format!("{} cannot be opened: {error}", folder.display()))
        })?))
    }

    /// For reading and writing.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Blobs::Here(folder) => Arc::new(folder.clone()),
            Blobs::There(remote) => Arc::new(remote.clone()),
        }
    }

    /// The key pairs of S3 clients.
    pub(crate) fn keys(&self, config: &Config) -> Result<Keys, Failure> {
        self.folder()?;
        Keys::open(&config.data).map_err(not_served)
    }

    fn folder(&self) -> Result<&Folder, Failure> {
        let Blobs::Here(folder) = self else {
            let what = "blobs are kept in an S3 elsewhere, so there is none to serve here";
            return Err(Failure(vec![
                Diagnostic::new(Code::BadValue, what)
                    .help("leave out --s3-listen, or the url under [blob]"),
            ]));
        };
        Ok(folder)
    }

    /// The door for S3 clients with these keys. The space of the configuration is there.
    pub(crate) fn door(
        &self,
        config: &Config,
        keys: &Keys,
        attempts: Arc<dyn Attempts>,
    ) -> Result<Router, Failure> {
        let folder = self.folder()?;
        folder.create_space(&Space::new(&config.namespace)?).map_err(not_served)?;
        let now_ms = SystemClock::new().now_ms();
        let endpoint = Endpoint::open(folder, keys, attempts, now_ms).map_err(not_served)?;
        let answer = move |request: Request| {
            let endpoint = endpoint.clone();
            async move { endpoint.answer(request).await }
        };
        Ok(Router::new().fallback(answer))
    }
}

fn not_served(error: std::io::Error) -> Failure {
    Failure::other(format!("blobs cannot be served: {error}"))
}
