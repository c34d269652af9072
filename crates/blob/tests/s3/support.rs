//! An endpoint in a folder of its own.

use argosy_blob::s3::{Ask, Attempts, Credentials, Endpoint, Keys, Signer};
use argosy_blob::{Folder, Space};
use argosy_model::AttemptId;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

pub struct House {
    pub root: TempDir,
    pub store: Folder,
    pub keys: Keys,
    pub attempts: Arc<Running>,
    pub endpoint: Endpoint,
}

/// Says that all attempts run, until it says that all have ended.
#[derive(Debug, Default)]
pub struct Running {
    pub over: AtomicBool,
}

impl Attempts for Running {
    fn is_live(&self, _: AttemptId) -> bool {
        !self.over.load(Ordering::Relaxed)
    }
}

/// A request that has nothing but what is named.
#[derive(Clone, Copy, Default)]
pub struct Call<'a> {
    pub query: &'a [(&'a str, &'a str)],
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// An answer that was read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: http::HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, empty if it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The contents of all elements of this name.
    pub fn all(&self, element: &str) -> Vec<String> {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        let text = self.text();
        let parts = text.split(&open).skip(1);
        parts.map(|part| part.split(&close).next().unwrap().to_owned()).collect()
    }

    /// The content of the one element of this name, empty if there is none.
    pub fn one(&self, element: &str) -> String {
        let mut all = self.all(element);
        assert!(all.len() <= 1, "{element}: {all:?}");
        all.pop().unwrap_or_default()
    }

    /// The status and the code of the error.
    pub fn error(&self) -> (u16, String) {
        (self.status.as_u16(), self.one("Code"))
    }
}

pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

impl House {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = Folder::open(&root.path().join("blobs")).unwrap();
        store.create_space(&Space::new("team").unwrap()).unwrap();
        let keys = Keys::open(root.path()).unwrap();
        let attempts = Arc::new(Running::default());
        let endpoint = Endpoint::open(&store, &keys, attempts.clone(), now_ms()).unwrap();
        Self { root, store, keys, attempts, endpoint }
    }

    pub fn signer(&self, credentials: &Credentials) -> Signer {
        Signer { endpoint: "http://127.0.0.1:9000".into(), credentials: credentials.clone() }
    }

    /// A call with the key pair of the data directory.
    pub async fn call(&self, method: &str, path: &str, call: Call<'_>) -> Answer {
        self.call_as(self.keys.admin(), method, path, call).await
    }

    pub async fn call_as(
        &self,
        who: &Credentials,
        method: &str,
        path: &str,
        call: Call<'_>,
    ) -> Answer {
        let ask = Ask { method, path, query: call.query, headers: call.headers };
        let url = self.signer(who).sign(&ask, 60, now_ms()).unwrap();
        self.send(method, &url, call.headers, call.body).await
    }

    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(url)
            .header("host", "127.0.0.1:9000")
            .header("content-length", body.len());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(Bytes::copy_from_slice(body));
        read(self.endpoint.answer(request.body(body).unwrap()).await).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, Call::default()).await
    }

    pub async fn put(&self, path: &str, body: &[u8]) -> Answer {
        self.call("PUT", path, Call { body, ..Call::default() }).await
    }

    /// Puts what must succeed.
    pub async fn have(&self, paths: &[&str]) {
        for path in paths {
            assert_eq!(self.put(path, b"x").await.status, 200, "{path}");
        }
    }
}

async fn read(response: Response<s3s::Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status, headers: parts.headers, body }
}

/// How many files there are.
pub fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() { files(&path) } else { 1 })
        .sum()
}
