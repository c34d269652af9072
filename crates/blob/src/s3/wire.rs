//! Between the words of S3 and ours.

use super::sign::encoded;
use crate::folder::When;
use crate::{Address, Meta, Object, Space};
use argosy_model::limits::{self, Limit};
use s3s::dto::{ETag, ETagCondition, EncodingType, Timestamp};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::{Duration, SystemTime};

const CACHE_CONTROL: &str = "cache-control";
const CONTENT_DISPOSITION: &str = "content-disposition";
const CONTENT_ENCODING: &str = "content-encoding";
const CONTENT_LANGUAGE: &str = "content-language";

/// A failure of ours.
pub(super) fn internal(error: io::Error) -> S3Error {
    match error.kind() {
        io::ErrorKind::InvalidInput => s3_error!(InvalidArgument, "{error}"),
        io::ErrorKind::StorageFull => {
            let mut full = s3_error!(InternalError, "the disk is full");
            full.set_status_code(http::StatusCode::INSUFFICIENT_STORAGE);
            full
        }
        _ => S3Error::internal_error(error),
    }
}

/// The space that a bucket is.
pub(super) fn space(bucket: &str) -> S3Result<Space> {
    Space::new(bucket).map_err(|error| s3_error!(InvalidBucketName, "{}", error.what))
}

/// The address of an object.
pub(super) fn address(bucket: &str, key: &str) -> S3Result<Address> {
    Address::new(&space(bucket)?, key)
        .map_err(|error| s3_error!(InvalidArgument, "{}: {}", error.what, error.help))
}

/// A time in Unix ms.
pub(super) fn timestamp(ms: i64) -> Timestamp {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH).into()
}

/// An object's etag.
pub(super) fn etag(object: &Object) -> Option<ETag> {
    Some(ETag::Strong(object.etag.clone()))
}

/// A size or length; S3 has no object that `i64` is too small for.
pub(super) fn length(bytes: u64) -> Option<i64> {
    i64::try_from(bytes).ok()
}

/// The fields of a request that are kept with an object.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub content_type: Option<String>,
    pub metadata: Option<HashMap<String, String>>,
    pub cache_control: Option<String>,
    pub content_disposition: Option<String>,
    pub content_encoding: Option<String>,
    pub content_language: Option<String>,
}

/// The answer to an object that is larger than this limit.
pub fn too_large(limit: Limit) -> S3Error {
    s3_error!(EntityTooLarge, "over the limit `{}` of {} bytes", limit.name, limit.max)
}

impl Described {
    /// What is kept.
    pub fn meta(self) -> S3Result<Meta> {
        let user: BTreeMap<_, _> = self.metadata.unwrap_or_default().into_iter().collect();
        let size = user.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
        if let Err(large) = limits::METADATA_BYTES.check(size as u64, "metadata") {
            return Err(s3_error!(MetadataTooLarge, "{}", large.what));
        }
        let headers = [
            (CACHE_CONTROL, self.cache_control),
            (CONTENT_DISPOSITION, self.content_disposition),
            (CONTENT_ENCODING, self.content_encoding.and_then(|coding| lasting(&coding))),
            (CONTENT_LANGUAGE, self.content_language),
        ];
        let kept = headers.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let content_type = self.content_type.filter(|text| !text.is_empty());
        let content_type = content_type.unwrap_or_else(|| "binary/octet-stream".to_owned());
        Ok(Meta { content_type, headers: kept.collect(), user })
    }

    /// What was kept, as a reply has it.
    pub fn of(meta: Meta) -> Self {
        let Meta { content_type, mut headers, user } = meta;
        Self {
            content_type: Some(content_type).filter(|text| !text.is_empty()),
            metadata: Some(user.into_iter().collect()),
            cache_control: headers.remove(CACHE_CONTROL),
            content_disposition: headers.remove(CONTENT_DISPOSITION),
            content_encoding: headers.remove(CONTENT_ENCODING),
            content_language: headers.remove(CONTENT_LANGUAGE),
        }
    }
}

/// A coding without the part that was of the transfer only.
fn lasting(coding: &str) -> Option<String> {
    let parts = coding.split(',').map(str::trim).filter(|part| !part.is_empty());
    let kept: Vec<_> = parts.filter(|part| *part != "aws-chunked").collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

/// When a put takes place.
pub(super) fn when(
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
) -> S3Result<When> {
    match (if_match, if_none_match) {
        (None, None) => Ok(When::Always),
        (None, Some(ETagCondition::Any)) => Ok(When::Absent),
        (Some(ETagCondition::Any), None) => Ok(When::Present(None)),
        (Some(ETagCondition::ETag(etag)), None) => Ok(When::Present(Some(etag.value().to_owned()))),
        _ => Err(s3_error!(NotImplemented, "If-Match with an etag or *, or If-None-Match with *")),
    }
}

/// The error of a put whose condition did not hold.
pub(super) fn unmet(when: &When, is_there: bool) -> S3Error {
    match when {
        When::Present(_) if !is_there => s3_error!(NoSuchKey),
        _ => s3_error!(PreconditionFailed),
    }
}

/// The conditions of a read.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub if_match: Option<ETagCondition>,
    pub if_none_match: Option<ETagCondition>,
    pub if_modified_since: Option<Timestamp>,
    pub if_unmodified_since: Option<Timestamp>,
}

impl Wanted {
    /// RFC 9110, 13.2.2: etags go before times, which have whole seconds.
    pub fn check(&self, object: &Object) -> S3Result<()> {
        let is = |condition: &ETagCondition| {
            condition.as_etag().is_none_or(|etag| etag.value() == object.etag)
        };
        let modified = timestamp(object.modified_ms.div_euclid(1_000) * 1_000);
        let failed = match (&self.if_match, &self.if_unmodified_since) {
            (Some(condition), _) => !is(condition),
            (None, Some(time)) => modified > *time,
            (None, None) => false,
        };
        if failed {
            return Err(s3_error!(PreconditionFailed));
        }
        let same = match (&self.if_none_match, &self.if_modified_since) {
            (Some(condition), _) => is(condition),
            (None, Some(time)) => modified <= *time,
            (None, None) => false,
        };
        if same { Err(S3ErrorCode::NotModified.into()) } else { Ok(()) }
    }
}

/// Refuses what would silently not be done.
pub(super) fn refuse(asked: &[(bool, &str)]) -> S3Result<()> {
    match asked.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(s3_error!(NotImplemented, "{what} is not supported")),
        None => Ok(()),
    }
}

/// A failed condition of the source of a copy.
pub(super) fn of_source(checked: S3Result<()>) -> S3Result<()> {
    checked.map_err(|_| s3_error!(PreconditionFailed))
}

/// Entries of a page.
pub(super) fn limit(asked: Option<i32>, largest: usize) -> S3Result<usize> {
    let Some(asked) = asked else { return Ok(largest) };
    let asked = usize::try_from(asked).map_err(|_| s3_error!(InvalidArgument))?;
    Ok(asked.min(largest))
}

/// How keys are written in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    is_encoded: bool,
}

impl Spelling {
    /// That of `encoding-type`.
    pub fn new(asked: Option<&EncodingType>) -> Self {
        Self { is_encoded: asked.is_some_and(|it| it.as_str() == EncodingType::URL) }
    }

    /// A key, or a part of one.
    pub fn of(self, text: impl Into<String>) -> String {
        let text = text.into();
        if self.is_encoded { encoded(&text, "/") } else { text }
    }
}
