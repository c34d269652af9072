//! What every store of bytes can do.

use crate::{Address, Part, Space};
use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// An object's bytes, in order.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// Bytes under keys.
///
/// All errors are those of the system or the network. A missing object is no error but `None`.
#[async_trait]
pub trait Store: Send + Sync {
    /// Puts an object, in place of what was there. It is durable when this returns.
    async fn put(&self, at: &Address, source: Source, meta: Meta) -> io::Result<Object>;

    /// What is known of an object.
    async fn head(&self, at: &Address) -> io::Result<Option<Object>>;

    /// An object on this machine, for reading in any order. A remote store brings it here first.
    async fn fetch(&self, at: &Address) -> io::Result<Option<Part>>;

    /// An object with its bytes, or those in `range` as far as it has them.
    async fn read(
        &self,
        at: &Address,
        range: Option<Range<u64>>,
    ) -> io::Result<Option<(Object, ByteStream)>>;

    /// The objects whose keys start with `prefix` and come after `after`, in the order of their
    /// bytes, at most `limit`. `prefix` is text: it need not end at a slash.
    async fn list(
        &self,
        space: &Space,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> io::Result<Listing>;

    /// Deletes an object; whether there was one.
    async fn delete(&self, at: &Address) -> io::Result<bool>;
}

/// Where the bytes of a put come from.
#[derive(Debug)]
pub enum Source {
    /// Here they are.
    Bytes(Bytes),
    /// A file, from where it is read next to its end.
    Copied(File),
    /// A regular file that is of no more use to the caller: the store may move it.
    Taken(PathBuf),
}

/// What is kept with an object, apart from its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Its MIME type; empty when unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content_type: String,
    /// HTTP headers that are given back with the bytes, such as `content-encoding`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Names and values of the owner's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub user: BTreeMap<String, String>,
}

/// What is known of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its key in its space.
    pub key: String,
    /// Bytes.
    pub size: u64,
    /// MD5 of its bytes in hexadecimal, or what else the store tells versions apart by.
    pub etag: String,
    /// Unix ms at which it was put.
    pub modified_ms: i64,
    /// What was put with it.
    pub meta: Meta,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Objects by key.
    pub objects: Vec<Object>,
    /// Whether more follow after the last one.
    pub more: bool,
}
