//! Bodies of requests, written down while their digests are counted.

use super::wire::{self, internal};
use crate::Folder;
use crate::folder::{Draft, blocking};
use argosy_model::limits;
use bytes::{Bytes, BytesMut};
use data_encoding::BASE64;
use futures::StreamExt;
use http::HeaderMap;
use s3s::checksum::ChecksumHasher;
use s3s::crypto::Checksum as _;
use s3s::dto::{Checksum, StreamingBlob};
use s3s::{S3Error, S3Request, S3Result, TrailingHeaders, s3_error};

/// Bytes that are written at once.
const CHUNK: usize = 1 << 20;

/// Starts the names of headers with checksums.
const CHECKSUM: &str = "x-amz-checksum-";

const ALGORITHMS: [&str; 5] = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"];

/// What the headers of a request say of its body.
pub(super) struct Announced {
    headers: HeaderMap,
    trailers: Option<TrailingHeaders>,
}

impl Announced {
    /// Takes it out of a request.
    pub fn take<T>(request: &mut S3Request<T>) -> Self {
        let headers = std::mem::take(&mut request.headers);
        Self { headers, trailers: request.trailing_headers.take() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Bytes, where that is said.
    fn length(&self) -> Option<u64> {
        let names = ["x-amz-decoded-content-length", "content-length"];
        names.iter().find_map(|name| self.header(name))?.trim().parse().ok()
    }

    /// Counts the checksums that come in a header or after the body.
    fn hasher(&self) -> ChecksumHasher {
        let later = self.header("x-amz-trailer").unwrap_or_default();
        let wanted = |algorithm| {
            let name = format!("{CHECKSUM}{algorithm}");
            self.header(&name).is_some()
                || later.split(',').any(|other| other.trim().eq_ignore_ascii_case(&name))
        };
        ChecksumHasher {
            crc32: wanted("crc32").then(s3s::crypto::Crc32::new),
            crc32c: wanted("crc32c").then(s3s::crypto::Crc32c::new),
            crc64nvme: wanted("crc64nvme").then(s3s::crypto::Crc64Nvme::new),
            sha1: wanted("sha1").then(s3s::crypto::Sha1::new),
            sha256: wanted("sha256").then(s3s::crypto::Sha256::new),
        }
    }

    /// Holds what came against what was announced.
    fn check(&self, draft: &Draft, counted: &Checksum) -> S3Result<()> {
        if let Some(md5) = self.header("content-md5") {
            let md5 = BASE64.decode(md5.as_bytes()).ok().filter(|md5| md5.len() == 16);
            if md5.ok_or_else(|| s3_error!(InvalidDigest))? != draft.md5() {
                return Err(s3_error!(BadDigest, "the body is not what Content-MD5 says"));
            }
        }
        for algorithm in ALGORITHMS {
            let name = format!("{CHECKSUM}{algorithm}");
            let after = self.trailers.as_ref().and_then(|trailers| {
                trailers.read(|trailers| Some(trailers.get(&name)?.to_str().ok()?.to_owned()))?
            });
            let said = self.header(&name).map(str::to_owned).or(after);
            let found = checksum(counted, algorithm);
            if found.is_some() && said.as_deref() != found {
                return Err(s3_error!(BadDigest, "the body is not what {name} says"));
            }
        }
        Ok(())
    }

    /// Why a body broke off. Whoever lost the connection does not read it, so what remains is a
    /// signature or digest that failed.
    fn broken(&self) -> S3Error {
        match self.header("x-amz-content-sha256") {
            None | Some("UNSIGNED-PAYLOAD") => s3_error!(IncompleteBody),
            Some(_) => s3_error!(BadDigest, "the body is not what was signed"),
        }
    }
}

fn checksum<'a>(counted: &'a Checksum, algorithm: &str) -> Option<&'a str> {
    let value = match algorithm {
        "crc32" => &counted.checksum_crc32,
        "crc32c" => &counted.checksum_crc32c,
        "crc64nvme" => &counted.checksum_crc64nvme,
        "sha1" => &counted.checksum_sha1,
        _ => &counted.checksum_sha256,
    };
    value.as_deref()
}

/// What is being written.
struct Sink {
    draft: Draft,
    hasher: ChecksumHasher,
}

impl Sink {
    async fn write(mut self, bytes: Bytes) -> S3Result<Self> {
        blocking(move || {
            self.hasher.update(&bytes);
            self.draft.append(&bytes)?;
            Ok(self)
        })
        .await
        .map_err(internal)
    }
}

/// Writes a body down; an error unless it is what its headers say.
pub(super) async fn receive(
    store: &Folder,
    body: Option<StreamingBlob>,
    announced: &Announced,
) -> S3Result<(Draft, Checksum)> {
    if announced.length().is_some_and(|length| length > limits::PUT_BYTES.max) {
        return Err(wire::too_large(limits::PUT_BYTES));
    }
    let store = store.clone();
    let draft = blocking(move || store.draft()).await.map_err(internal)?;
    let mut sink = Sink { draft, hasher: announced.hasher() };
    let (mut buffer, mut size) = (BytesMut::new(), 0);
    if let Some(mut body) = body {
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| announced.broken())?;
            size += chunk.len() as u64;
            if size > limits::PUT_BYTES.max {
                return Err(wire::too_large(limits::PUT_BYTES));
            }
            buffer.extend_from_slice(&chunk);
            if buffer.len() >= CHUNK {
                sink = sink.write(buffer.split().freeze()).await?;
            }
        }
    }
    if announced.length().is_some_and(|length| length != size) {
        return Err(s3_error!(IncompleteBody));
    }
    let Sink { draft, hasher } = sink.write(buffer.freeze()).await?;
    let counted = hasher.finalize();
    announced.check(&draft, &counted)?;
    Ok((draft, counted))
}
