//! Objects: put, head, get, copy, delete.

use super::receive::{Announced, receive};
use super::service::Service;
use super::wire::{self, Described, Wanted, internal};
use crate::folder::{When, blocking, chunks};
use crate::{Address, Object, Part, Store};
use http::header::{CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use s3s::dto::*;
use s3s::{S3Error, S3Request, S3Result, s3_error};

/// Objects that one request deletes at most (S3 API reference, `DeleteObjects`).
const MAX_DELETED: usize = 1_000;

/// The fields of a request that are kept with its object.
macro_rules! described {
    ($input:expr) => {
        Described {
            content_type: $input.content_type.take(),
            metadata: $input.metadata.take(),
            cache_control: $input.cache_control.take(),
            content_disposition: $input.content_disposition.take(),
            content_encoding: $input.content_encoding.take(),
            content_language: $input.content_language.take(),
        }
    };
}
pub(super) use described;

/// Refuses what a request for a new object may ask for and is not built.
macro_rules! refuse_unbuilt {
    ($input:expr) => {
        $crate::s3::wire::refuse(&[
            ($input.sse_customer_algorithm.is_some(), "encryption with keys of the customer"),
            ($input.server_side_encryption.is_some(), "encryption at rest"),
            ($input.tagging.is_some(), "tagging"),
            ($input.object_lock_mode.is_some(), "object lock"),
        ])
    };
}
pub(super) use refuse_unbuilt;

/// The conditions of a request for an object.
macro_rules! wanted {
    ($input:expr) => {
        Wanted {
            if_match: $input.if_match,
            if_none_match: $input.if_none_match,
            if_modified_since: $input.if_modified_since,
            if_unmodified_since: $input.if_unmodified_since,
        }
    };
}

impl Service {
    pub(super) async fn put(
        &self,
        mut request: S3Request<PutObjectInput>,
    ) -> S3Result<PutObjectOutput> {
        let announced = Announced::take(&mut request);
        self.require_space(&request.input.bucket, request.credentials.as_ref())?;
        let mut input = request.input;
        refuse_unbuilt!(input)?;
        wire::refuse(&[
            (input.object_lock_legal_hold_status.is_some(), "object lock"),
            (input.write_offset_bytes.is_some(), "appending"),
        ])?;
        let at = wire::address(&input.bucket, &input.key)?;
        let when = wire::when(input.if_match.take(), input.if_none_match.take())?;
        let meta = described!(input).meta()?;
        let (draft, counted) = receive(&self.store, input.body, &announced).await?;
        let (store, to, condition) = (self.store.clone(), at.clone(), when.clone());
        let put = move || store.put_draft(&to, draft, meta, None, &condition);
        let object = match blocking(put).await.map_err(internal)? {
            Some(object) => object,
            None => return Err(wire::unmet(&when, self.look(&at).await?.is_some())),
        };
        Ok(PutObjectOutput {
            e_tag: wire::etag(&object),
            checksum_crc32: counted.checksum_crc32,
            checksum_crc32c: counted.checksum_crc32c,
            checksum_crc64nvme: counted.checksum_crc64nvme,
            checksum_sha1: counted.checksum_sha1,
            checksum_sha256: counted.checksum_sha256,
            ..PutObjectOutput::default()
        })
    }

    /// What is known of an object, if it is there.
    pub(super) async fn look(&self, at: &Address) -> S3Result<Option<Object>> {
        self.store.head(at).await.map_err(internal)
    }

    /// An object and its bytes.
    pub(super) async fn found(&self, bucket: &str, key: &str) -> S3Result<(Object, Part)> {
        let at = wire::address(bucket, key)?;
        let (store, space) = (self.store.clone(), at.space().clone());
        let open = move || Ok((store.open_part(&at)?, store.has_space(&space)));
        match blocking(open).await.map_err(internal)? {
            (Some(found), _) => Ok(found),
            (None, true) => Err(s3_error!(NoSuchKey, "there is no object {bucket}/{key}")),
            (None, false) => Err(s3_error!(NoSuchBucket, "there is no bucket {bucket}")),
        }
    }

    pub(super) async fn get(&self, input: GetObjectInput) -> S3Result<GetObjectOutput> {
        refuse_versions(input.version_id.as_deref(), input.part_number)?;
        let (object, part) = self.found(&input.bucket, &input.key).await?;
        let wanted = wanted!(input);
        wanted.check(&object)?;
        let (part, content_range) = narrowed(part, input.range, object.size)?;
        let e_tag = wire::etag(&object);
        let size = part.size();
        let described = Described::of(object.meta);
        Ok(GetObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            body: Some(StreamingBlob::wrap(chunks(part))),
            cache_control: described.cache_control,
            content_disposition: described.content_disposition,
            content_encoding: described.content_encoding,
            content_language: described.content_language,
            content_length: wire::length(size),
            content_range,
            content_type: described.content_type,
            e_tag,
            last_modified: Some(wire::timestamp(object.modified_ms)),
            metadata: described.metadata,
            ..GetObjectOutput::default()
        })
    }

    pub(super) async fn head(&self, input: HeadObjectInput) -> S3Result<HeadObjectOutput> {
        refuse_versions(input.version_id.as_deref(), input.part_number)?;
        let (object, part) = self.found(&input.bucket, &input.key).await?;
        let wanted = wanted!(input);
        wanted.check(&object)?;
        let (part, content_range) = narrowed(part, input.range, object.size)?;
        let e_tag = wire::etag(&object);
        let described = Described::of(object.meta);
        Ok(HeadObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            cache_control: described.cache_control,
            content_disposition: described.content_disposition,
            content_encoding: described.content_encoding,
            content_language: described.content_language,
            content_length: wire::length(part.size()),
            content_range,
            content_type: described.content_type,
            e_tag,
            last_modified: Some(wire::timestamp(object.modified_ms)),
            metadata: described.metadata,
            ..HeadObjectOutput::default()
        })
    }

    pub(super) async fn copy(
        &self,
        request: S3Request<CopyObjectInput>,
    ) -> S3Result<CopyObjectOutput> {
        self.require_space(&request.input.bucket, request.credentials.as_ref())?;
        let mut input = request.input;
        refuse_unbuilt!(input)?;
        let at = wire::address(&input.bucket, &input.key)?;
        let (source, part) = self.source(&input.copy_source).await?;
        let wanted = Wanted {
            if_match: input.copy_source_if_match.take(),
            if_none_match: input.copy_source_if_none_match.take(),
            if_modified_since: input.copy_source_if_modified_since.take(),
            if_unmodified_since: input.copy_source_if_unmodified_since.take(),
        };
        wire::of_source(wanted.check(&source))?;
        let is_new = input.metadata_directive.as_ref().map(MetadataDirective::as_str)
            == Some(MetadataDirective::REPLACE);
        let is_same = matches!(
            &input.copy_source,
            CopySource::Bucket { bucket, key, .. } if **bucket == *input.bucket && **key == *input.key
        );
        if is_same && !is_new {
            return Err(s3_error!(
                InvalidRequest,
                "an object is copied onto itself only to replace its metadata"
            ));
        }
        let meta = if is_new { described!(input).meta()? } else { source.meta };
        let store = self.store.clone();
        let put = move || {
            let mut draft = store.draft()?;
            draft.copy(part)?;
            store.put_draft(&at, draft, meta, None, &When::Always)
        };
        let object = blocking(put).await.map_err(internal)?;
        let object = object.ok_or_else(|| s3_error!(InternalError))?;
        let copy_object_result = Some(CopyObjectResult {
            e_tag: wire::etag(&object),
            last_modified: Some(wire::timestamp(object.modified_ms)),
            ..CopyObjectResult::default()
        });
        Ok(CopyObjectOutput { copy_object_result, ..CopyObjectOutput::default() })
    }

    /// The object that is copied.
    pub(super) async fn source(&self, source: &CopySource) -> S3Result<(Object, Part)> {
        match source {
            CopySource::Bucket { bucket, key, version_id } => {
                refuse_versions(version_id.as_deref(), None)?;
                self.found(bucket, key).await
            }
            _ => Err(s3_error!(NotImplemented, "an object is copied from BUCKET/KEY")),
        }
    }

    pub(super) async fn remove(&self, input: DeleteObjectInput) -> S3Result<DeleteObjectOutput> {
        refuse_versions(input.version_id.as_deref(), None)?;
        wire::refuse(&[(input.if_match.is_some(), "deleting on a condition")])?;
        let at = wire::address(&input.bucket, &input.key)?;
        self.store.delete(&at).await.map_err(internal)?;
        Ok(DeleteObjectOutput::default())
    }

    pub(super) async fn remove_all(
        &self,
        input: DeleteObjectsInput,
    ) -> S3Result<DeleteObjectsOutput> {
        if input.delete.objects.len() > MAX_DELETED {
            return Err(s3_error!(
                MalformedXML,
                "at most {MAX_DELETED} objects are deleted at once"
            ));
        }
        let is_quiet = input.delete.quiet.unwrap_or_default();
        let (mut deleted, mut errors) = (Vec::new(), Vec::new());
        for object in input.delete.objects {
            let one = DeleteObjectInput {
                bucket: input.bucket.clone(),
                key: object.key.clone(),
                version_id: object.version_id,
                ..DeleteObjectInput::default()
            };
            match self.remove(one).await {
                Ok(_) => deleted
                    .push(DeletedObject { key: Some(object.key), ..DeletedObject::default() }),
                Err(error) => errors.push(Error {
                    code: Some(error.code().as_str().to_owned()),
                    key: Some(object.key),
                    message: error.message().map(str::to_owned),
                    version_id: None,
                }),
            }
        }
        let deleted = (!is_quiet).then_some(deleted);
        Ok(DeleteObjectsOutput { deleted, errors: Some(errors), request_charged: None })
    }
}

/// There is one version of each object, in one part.
fn refuse_versions(version: Option<&str>, part: Option<i32>) -> S3Result<()> {
    if version.is_some_and(|version| version != "null") {
        return Err(s3_error!(NoSuchVersion, "there is one version of each object"));
    }
    wire::refuse(&[(part.is_some_and(|part| part != 1), "reading single parts")])
}

/// No byte of an object is in a range. The answer says how many there are (RFC 9110, 15.5.17).
fn beyond(size: u64) -> S3Error {
    let mut error = s3_error!(InvalidRange, "the requested range is not satisfiable");
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    if let Ok(all) = HeaderValue::try_from(format!("bytes */{size}")) {
        headers.insert(CONTENT_RANGE, all);
    }
    error.set_headers(headers);
    error
}

/// The part of an object that was asked for.
fn narrowed(part: Part, range: Option<Range>, size: u64) -> S3Result<(Part, Option<String>)> {
    let Some(range) = range else { return Ok((part, None)) };
    let range = range.check(size).map_err(|_| beyond(size))?;
    if range.is_empty() {
        // The end of nothing is all of it, and no range can say so.
        return Ok((part, None));
    }
    let shown = format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1));
    Ok((part.narrowed(range), Some(shown)))
}
