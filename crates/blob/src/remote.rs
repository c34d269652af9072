//! The store that is an S3 elsewhere.
//!
//! `<prefix>/<space>/<key>` holds an object. Unlike the folder's, its lists do not say what was put
//! with an object apart from its bytes.

use crate::folder::{blocking, chunks};
use crate::{Address, ByteStream, Listing, Meta, Object, Part, Source, Space, Store};
use argosy_model::{Code, Diagnostic};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, pin_mut, stream};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, BackoffConfig, GetOptions, GetRange, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, RetryConfig, WriteMultipart,
};
use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// What is larger is put in parts of so many bytes.
const PART: usize = 8 << 20;

/// Parts that are under way at once.
const PARTS_AT_ONCE: usize = 4;

/// How long a request is tried again that the store does not answer or answers with a fault of its
/// own. Time alone ends it: what is to be kept may be the work of hours.
const RETRY_LIMIT: Duration = Duration::from_secs(180);

/// Pauses between tries: at least, and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// Headers of [`Meta`] and how S3 clients call them.
const HEADERS: [(&str, Attribute); 4] = [
    ("cache-control", Attribute::CacheControl),
    ("content-disposition", Attribute::ContentDisposition),
    ("content-encoding", Attribute::ContentEncoding),
    ("content-language", Attribute::ContentLanguage),
];

/// A bucket elsewhere, or the keys of one below a prefix. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Remote {
    inner: Arc<dyn ObjectStore>,
    /// Ends at a slash, or is empty.
    prefix: Arc<str>,
}

fn retry() -> RetryConfig {
    let [init_backoff, max_backoff] = PAUSES;
    RetryConfig {
        backoff: BackoffConfig { init_backoff, max_backoff, base: 2.0 },
        max_retries: usize::MAX,
        retry_timeout: RETRY_LIMIT,
    }
}

impl Remote {
    /// The store at `s3://BUCKET/PREFIX`; `endpoint` is `http(s)://HOST:PORT` where it is not
    /// Amazon's. Credentials, region and all else come from those of the `variables` that are
    /// called `AWS_*`, as every S3 client has them. Nothing is asked of it yet.
    ///
    /// # Errors
    /// [`Code::BadValue`] if one of them is not of that form.
    pub fn open(
        url: &str,
        endpoint: Option<&str>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Diagnostic> {
        let refused = |why: &str| {
            Diagnostic::new(Code::BadValue, format!("not a store of blobs: {url}: {why}"))
                .help("write s3://BUCKET or s3://BUCKET/PREFIX, as docs/cli.md shows")
        };
        let rest = url.strip_prefix("s3://").ok_or_else(|| refused("it is no s3:// URL"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(refused("it names no bucket"));
        }
        let prefix = Path::parse(prefix).map_err(|error| refused(&error.to_string()))?;
        let prefix = if prefix.as_ref().is_empty() { String::new() } else { format!("{prefix}/") };
        // Another part of the process may have chosen the same provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
        for (name, value) in variables {
            let name = name.strip_prefix("AWS_").map(|_| name.to_ascii_lowercase());
            if let Some(key) = name.and_then(|name| name.parse().ok()) {
                builder = builder.with_config(key, value);
            }
        }
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
        let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
        let inner = builder.with_allow_http(is_plain).with_retry(retry()).build();
        let inner = inner.map_err(|error| refused(&error.to_string()))?;
        Ok(Self { inner: Arc::new(inner), prefix: prefix.into() })
    }

    fn path(&self, at: &Address) -> io::Result<Path> {
        let text = format!("{}{at}", self.prefix);
        Path::parse(text).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))
    }

    /// What is known of an object, and its bytes unless only the former is wanted.
    async fn get(
        &self,
        at: &Address,
        options: GetOptions,
    ) -> io::Result<Option<(Object, object_store::GetResult)>> {
        match self.inner.get_opts(&self.path(at)?, options).await {
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
            Ok(result) => {
                let meta = meta_of(&result.attributes);
                Ok(Some((object(at.key(), &result.meta, meta), result)))
            }
        }
    }

    async fn put_file(&self, path: &Path, file: File, attributes: Attributes) -> io::Result<()> {
        let mut file = file;
        let start = file.stream_position()?;
        let end = file.metadata()?.len().max(start);
        let part = Part::new(file, start..end);
        if part.size() <= PART as u64 {
            let bytes: Vec<Bytes> = chunks(part).try_collect().await?;
            return self.put_bytes(path, bytes, attributes).await;
        }
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let upload =
            self.inner.put_multipart_opts(path, options).await.map_err(io::Error::other)?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART);
        let chunks = chunks(part);
        pin_mut!(chunks);
        while let Some(bytes) = chunks.next().await {
            let went = upload.wait_for_capacity(PARTS_AT_ONCE).await.map_err(io::Error::other);
            match went.and(bytes) {
                Ok(bytes) => upload.put(bytes),
                Err(error) => {
                    // The first error is the one to tell; the store drops old uploads by itself.
                    let _ = upload.abort().await;
                    return Err(error);
                }
            }
        }
        upload.finish().await.map(drop).map_err(io::Error::other)
    }

    async fn put_bytes(
        &self,
        path: &Path,
        bytes: Vec<Bytes>,
        attributes: Attributes,
    ) -> io::Result<()> {
        let options = PutOptions { attributes, ..PutOptions::default() };
        let put = self.inner.put_opts(path, bytes.into_iter().collect(), options).await;
        put.map(drop).map_err(io::Error::other)
    }
}

#[async_trait]
impl Store for Remote {
    async fn put(&self, at: &Address, source: Source, meta: Meta) -> io::Result<Object> {
        let (path, attributes) = (self.path(at)?, attributes_of(meta));
        match source {
            Source::Bytes(bytes) => self.put_bytes(&path, vec![bytes], attributes).await?,
            Source::Copied(file) => self.put_file(&path, file, attributes).await?,
            Source::Taken(taken) => {
                let from = taken.clone();
                let file = blocking(move || File::open(from)).await?;
                self.put_file(&path, file, attributes).await?;
                blocking(move || std::fs::remove_file(taken)).await?;
            }
        }
        let put = self.head(at).await?;
        put.ok_or_else(|| io::Error::other("the object was deleted as soon as it was put"))
    }

    async fn head(&self, at: &Address) -> io::Result<Option<Object>> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        Ok(self.get(at, options).await?.map(|(object, _)| object))
    }

    async fn fetch(&self, at: &Address) -> io::Result<Option<Part>> {
        let Some((_, result)) = self.get(at, GetOptions::default()).await? else {
            return Ok(None);
        };
        let mut file = blocking(tempfile::tempfile).await?;
        let mut bytes = result.into_stream().map_err(io::Error::other);
        while let Some(chunk) = bytes.try_next().await? {
            file = blocking(move || file.write_all(&chunk).map(|()| file)).await?;
        }
        Part::whole(file).map(Some)
    }

    async fn read(
        &self,
        at: &Address,
        range: Option<Range<u64>>,
    ) -> io::Result<Option<(Object, ByteStream)>> {
        // A range behind the end is an error there.
        let mut options = GetOptions::default();
        if let Some(range) = range {
            let Some(object) = self.head(at).await? else { return Ok(None) };
            let range = range.start..range.end.min(object.size);
            if range.is_empty() {
                return Ok(Some((object, stream::empty().boxed())));
            }
            options.range = Some(GetRange::Bounded(range));
        }
        let found = self.get(at, options).await?;
        Ok(found.map(|(object, result)| {
            (object, result.into_stream().map_err(io::Error::other).boxed())
        }))
    }

    async fn list(
        &self,
        space: &Space,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> io::Result<Listing> {
        let space = format!("{}{}/", self.prefix, space.as_str());
        // There a prefix is made of whole segments.
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        let parse = |text: String| {
            Path::parse(text).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))
        };
        let folder = parse(format!("{space}{folder}"))?;
        let listed = match parse(format!("{space}{after}")) {
            Ok(offset) if !after.is_empty() => self.inner.list_with_offset(Some(&folder), &offset),
            _ => self.inner.list(Some(&folder)),
        };
        pin_mut!(listed);
        let mut listing = Listing::default();
        while let Some(meta) = listed.try_next().await.map_err(io::Error::other)? {
            let Some(key) = meta.location.as_ref().strip_prefix(&space) else { continue };
            if !key.starts_with(prefix) || key <= after {
                continue;
            }
            if listing.objects.len() == limit {
                listing.more = true;
                break;
            }
            listing.objects.push(object(key, &meta, Meta::default()));
        }
        Ok(listing)
    }

    async fn delete(&self, at: &Address) -> io::Result<bool> {
        // S3 does not tell whether there was one.
        let was_there = self.head(at).await?.is_some();
        match self.inner.delete(&self.path(at)?).await {
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(io::Error::other(error)),
            Ok(()) => Ok(was_there),
        }
    }
}

fn object(key: &str, found: &ObjectMeta, meta: Meta) -> Object {
    Object {
        key: key.to_owned(),
        size: found.size,
        etag: found.e_tag.as_deref().unwrap_or_default().trim_matches('"').to_owned(),
        modified_ms: found.last_modified.timestamp_millis(),
        meta,
    }
}

fn attributes_of(meta: Meta) -> Attributes {
    let mut attributes = Attributes::new();
    if !meta.content_type.is_empty() {
        attributes.insert(Attribute::ContentType, meta.content_type.into());
    }
    for (name, attribute) in HEADERS {
        if let Some(value) = meta.headers.get(name) {
            attributes.insert(attribute, value.clone().into());
        }
    }
    for (name, value) in meta.user {
        attributes.insert(Attribute::Metadata(name.into()), value.into());
    }
    attributes
}

fn meta_of(attributes: &Attributes) -> Meta {
    let mut meta = Meta::default();
    for (attribute, value) in attributes {
        let value = value.as_ref().to_owned();
        match attribute {
            Attribute::ContentType => meta.content_type = value,
            Attribute::Metadata(name) => {
                meta.user.insert(name.to_string(), value);
            }
            other => {
                let known = HEADERS.iter().find(|(_, attribute)| attribute == other);
                meta.headers.extend(known.map(|(name, _)| ((*name).to_owned(), value)));
            }
        }
    }
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_no_number_of_tries_ends_trying() {
        let RetryConfig { backoff, max_retries, retry_timeout } = retry();
        let most = retry_timeout.as_millis() / backoff.init_backoff.as_millis();
        assert!(max_retries as u128 >= most);
    }

    #[test]
    fn a_url_names_a_bucket_and_perhaps_a_prefix() {
        for (url, prefix) in [
            ("s3://bucket", Some("")),
            ("s3://bucket/", Some("")),
            ("s3://bucket/a/b", Some("a/b/")),
            ("s3://bucket/a/b/", Some("a/b/")),
            ("s3://", None),
            ("s3:///a", None),
            ("s3://bucket/a//b", None),
            ("s3://bucket/../b", None),
            ("gs://bucket", None),
            ("bucket", None),
        ] {
            let opened = Remote::open(url, Some("http://127.0.0.1:1"), []);
            match prefix {
                Some(prefix) => assert_eq!(&*opened.unwrap().prefix, prefix, "{url}"),
                None => assert_eq!(opened.unwrap_err().code, Code::BadValue, "{url}"),
            }
        }
    }
}
