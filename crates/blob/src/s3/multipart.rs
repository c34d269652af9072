//! Objects that come in parts.

use super::objects::{described, refuse_unbuilt};
use super::receive::{Announced, receive};
use super::service::Service;
use super::wire::{self, Described, Spelling, internal};
use crate::folder::{Draft, PartOf, Upload, blocking, hex};
use crate::{Address, Object};
use argosy_model::limits;
use data_encoding::HEXLOWER;
use md5::{Digest, Md5};
use s3s::dto::*;
use s3s::{S3Request, S3Result, s3_error};
use std::io;

/// Smallest part but the last, in bytes, as in S3.
const SMALLEST_PART: u64 = 5 << 20;

/// Most parts of an upload, as in S3.
const MOST_PARTS: u16 = 10_000;

/// Most entries of a page of parts or uploads, as in S3.
const LARGEST_PAGE: usize = 1_000;

impl Service {
    pub(super) async fn begin(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<CreateMultipartUploadOutput> {
        self.require_space(&request.input.bucket, request.credentials.as_ref())?;
        let mut input = request.input;
        refuse_unbuilt!(input)?;
        let at = wire::address(&input.bucket, &input.key)?;
        let meta = described!(input).meta()?;
        let owner = self.access.grant(request.credentials.as_ref())?.attempt();
        let (uploads, access) = (self.uploads.clone(), self.access.clone());
        let begun = blocking(move || {
            // What ended attempts left would pile up otherwise.
            uploads.keep_only(|owner| access.is_live(owner))?;
            uploads.begin(&at, owner, meta)
        });
        let id = begun.await.map_err(internal)?;
        Ok(CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            checksum_algorithm: input.checksum_algorithm,
            checksum_type: input.checksum_type,
            upload_id: Some(id),
            ..CreateMultipartUploadOutput::default()
        })
    }

    /// An upload to an object.
    async fn upload(&self, bucket: &str, key: &str, id: String) -> S3Result<(Address, Upload)> {
        let at = wire::address(bucket, key)?;
        let uploads = self.uploads.clone();
        let found = blocking(move || uploads.find(&id)).await.map_err(internal)?;
        let is_there = |it: &Upload| it.at.space == bucket && it.at.key == key;
        let upload = found.filter(|it| is_there(it) && self.access.is_live(it.at.owner));
        Ok((at, upload.ok_or_else(no_upload)?))
    }

    async fn keep(&self, upload: Upload, number: u16, draft: Draft) -> S3Result<Object> {
        let uploads = self.uploads.clone();
        let kept = blocking(move || uploads.keep(&upload, number, draft)).await;
        kept.map_err(internal)?.ok_or_else(no_upload)
    }

    pub(super) async fn part(
        &self,
        mut request: S3Request<UploadPartInput>,
    ) -> S3Result<UploadPartOutput> {
        let announced = Announced::take(&mut request);
        let input = request.input;
        let number = number(input.part_number)?;
        let (_, upload) = self.upload(&input.bucket, &input.key, input.upload_id).await?;
        let (draft, counted) = receive(&self.store, input.body, &announced).await?;
        let part = self.keep(upload, number, draft).await?;
        Ok(UploadPartOutput {
            e_tag: wire::etag(&part),
            checksum_crc32: counted.checksum_crc32,
            checksum_crc32c: counted.checksum_crc32c,
            checksum_crc64nvme: counted.checksum_crc64nvme,
            checksum_sha1: counted.checksum_sha1,
            checksum_sha256: counted.checksum_sha256,
            ..UploadPartOutput::default()
        })
    }

    pub(super) async fn part_of_copy(
        &self,
        input: UploadPartCopyInput,
    ) -> S3Result<UploadPartCopyOutput> {
        let number = number(input.part_number)?;
        let (_, upload) = self.upload(&input.bucket, &input.key, input.upload_id).await?;
        let (source, mut part) = self.source(&input.copy_source).await?;
        let wanted = wire::Wanted {
            if_match: input.copy_source_if_match,
            if_none_match: input.copy_source_if_none_match,
            if_modified_since: input.copy_source_if_modified_since,
            if_unmodified_since: input.copy_source_if_unmodified_since,
        };
        wire::of_source(wanted.check(&source))?;
        if let Some(range) = input.copy_source_range {
            let range = Range::parse(&range).map_err(|_| s3_error!(InvalidArgument))?;
            part = part.narrowed(range.check(source.size).map_err(|_| s3_error!(InvalidRange))?);
        }
        let store = self.store.clone();
        let copy = move || -> io::Result<Draft> {
            let mut draft = store.draft()?;
            draft.copy(part)?;
            Ok(draft)
        };
        let draft = blocking(copy).await.map_err(internal)?;
        let part = self.keep(upload, number, draft).await?;
        let copy_part_result = Some(CopyPartResult {
            e_tag: wire::etag(&part),
            last_modified: Some(wire::timestamp(part.modified_ms)),
            ..CopyPartResult::default()
        });
        Ok(UploadPartCopyOutput { copy_part_result, ..UploadPartCopyOutput::default() })
    }

    pub(super) async fn complete(
        &self,
        input: CompleteMultipartUploadInput,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        let (at, upload) = self.upload(&input.bucket, &input.key, input.upload_id).await?;
        let when = wire::when(input.if_match, input.if_none_match)?;
        let asked = input.multipart_upload.and_then(|it| it.parts).unwrap_or_default();
        let (upload, there) = self.parts_of(upload).await?;
        let chosen = chosen(&asked, there)?;
        let etag = joined_etag(&chosen)?;
        let (uploads, to, condition) = (self.uploads.clone(), at.clone(), when.clone());
        let join = move || uploads.complete(&upload, &to, &chosen, etag, &condition);
        let object = match blocking(join).await.map_err(internal)? {
            Some(object) => object,
            None => return Err(wire::unmet(&when, self.look(&at).await?.is_some())),
        };
        Ok(CompleteMultipartUploadOutput {
            location: Some(format!("/{}/{}", input.bucket, input.key)),
            bucket: Some(input.bucket),
            key: Some(input.key),
            e_tag: wire::etag(&object),
            ..CompleteMultipartUploadOutput::default()
        })
    }

    async fn parts_of(&self, upload: Upload) -> S3Result<(Upload, Vec<PartOf>)> {
        let uploads = self.uploads.clone();
        let read = move || {
            let parts = uploads.parts(&upload)?;
            Ok((upload, parts))
        };
        blocking(read).await.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => no_upload(),
            _ => internal(error),
        })
    }

    pub(super) async fn abort(
        &self,
        input: AbortMultipartUploadInput,
    ) -> S3Result<AbortMultipartUploadOutput> {
        let (_, upload) = self.upload(&input.bucket, &input.key, input.upload_id).await?;
        let uploads = self.uploads.clone();
        blocking(move || uploads.abort(&upload)).await.map_err(internal)?;
        Ok(AbortMultipartUploadOutput::default())
    }

    pub(super) async fn parts(&self, input: ListPartsInput) -> S3Result<ListPartsOutput> {
        let (_, upload) = self.upload(&input.bucket, &input.key, input.upload_id).await?;
        let (upload, parts) = self.parts_of(upload).await?;
        let after = input.part_number_marker.unwrap_or_default();
        let limit = wire::limit(input.max_parts, LARGEST_PAGE)?;
        let mut parts = parts.into_iter().filter(|part| i32::from(part.number) > after);
        let page: Vec<_> = parts.by_ref().take(limit).collect();
        let last = page.last().map_or(after, |part| i32::from(part.number));
        let shown = page.into_iter().map(|part| Part {
            e_tag: wire::etag(&part.object),
            last_modified: Some(wire::timestamp(part.object.modified_ms)),
            part_number: Some(i32::from(part.number)),
            size: wire::length(part.object.size),
            ..Part::default()
        });
        Ok(ListPartsOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(upload.id),
            max_parts: i32::try_from(limit).ok(),
            part_number_marker: Some(after),
            next_part_number_marker: Some(last),
            parts: Some(shown.collect()),
            is_truncated: Some(parts.next().is_some()),
            ..ListPartsOutput::default()
        })
    }

    pub(super) async fn list_uploads(
        &self,
        input: ListMultipartUploadsInput,
    ) -> S3Result<ListMultipartUploadsOutput> {
        let space = wire::space(&input.bucket)?;
        wire::refuse(&[(input.delimiter.is_some(), "a list of uploads with a delimiter")])?;
        let spelling = Spelling::new(input.encoding_type.as_ref());
        let uploads = self.uploads.clone();
        let mut all = blocking(move || uploads.all(&space)).await.map_err(internal)?;
        all.retain(|upload| self.access.is_live(upload.at.owner));
        let prefix = input.prefix.clone().unwrap_or_default();
        let after = (
            input.key_marker.clone().unwrap_or_default(),
            // Without an id all uploads of the marker's key are behind the marker.
            input.upload_id_marker.clone().unwrap_or_else(|| "~".to_owned()),
        );
        let limit = wire::limit(input.max_uploads, LARGEST_PAGE)?;
        let mut wanted = all.into_iter().filter(|upload| {
            upload.at.key.starts_with(&prefix)
                && (upload.at.key.as_str(), upload.id.as_str()) > (&*after.0, &*after.1)
        });
        let page: Vec<_> = wanted.by_ref().take(limit).collect();
        let is_truncated = wanted.next().is_some();
        let last = page.last().filter(|_| is_truncated);
        Ok(ListMultipartUploadsOutput {
            bucket: Some(input.bucket),
            next_key_marker: last.map(|upload| spelling.of(&upload.at.key)),
            next_upload_id_marker: last.map(|upload| upload.id.clone()),
            key_marker: input.key_marker,
            upload_id_marker: input.upload_id_marker,
            prefix: input.prefix.map(|prefix| spelling.of(prefix)),
            encoding_type: input.encoding_type,
            max_uploads: i32::try_from(limit).ok(),
            is_truncated: Some(is_truncated),
            uploads: Some(page.into_iter().map(|upload| shown(upload, spelling)).collect()),
            ..ListMultipartUploadsOutput::default()
        })
    }
}

fn shown(upload: Upload, spelling: Spelling) -> MultipartUpload {
    MultipartUpload {
        initiated: Some(wire::timestamp(upload.begun_ms)),
        key: Some(spelling.of(upload.at.key)),
        upload_id: Some(upload.id),
        ..MultipartUpload::default()
    }
}

fn no_upload() -> s3s::S3Error {
    s3_error!(NoSuchUpload, "there is no such upload: it was completed, given up or never begun")
}

fn number(number: i32) -> S3Result<u16> {
    let number = u16::try_from(number).ok().filter(|number| (1..=MOST_PARTS).contains(number));
    number.ok_or_else(|| s3_error!(InvalidArgument, "parts are numbered from 1 to {MOST_PARTS}"))
}

/// The parts that make the object, in their order.
fn chosen(asked: &[CompletedPart], there: Vec<PartOf>) -> S3Result<Vec<PartOf>> {
    let mut there = there.into_iter();
    let mut chosen: Vec<PartOf> = Vec::new();
    let mut last = 0;
    for part in asked {
        let number = number(part.part_number.unwrap_or_default())?;
        if number <= last {
            return Err(s3_error!(InvalidPartOrder));
        }
        last = number;
        let found = there.find(|it| it.number >= number).filter(|it| it.number == number);
        let is_same =
            |it: &PartOf| part.e_tag.as_ref().is_none_or(|etag| etag.value() == it.object.etag);
        let found = found.filter(is_same);
        chosen.push(found.ok_or_else(|| s3_error!(InvalidPart, "part {number} is not there"))?);
    }
    let sizes = chosen.iter().map(|part| part.object.size);
    if chosen.is_empty() {
        return Err(s3_error!(MalformedXML, "an object has at least one part"));
    }
    if sizes.clone().rev().skip(1).any(|size| size < SMALLEST_PART) {
        return Err(s3_error!(EntityTooSmall));
    }
    if sizes.sum::<u64>() > limits::OBJECT_BYTES.max {
        return Err(wire::too_large(limits::OBJECT_BYTES));
    }
    Ok(chosen)
}

/// The etag of an object in parts: MD5 of their MD5s, and how many they are.
fn joined_etag(parts: &[PartOf]) -> S3Result<String> {
    let mut md5 = Md5::new();
    for part in parts {
        let digest = HEXLOWER.decode(part.object.etag.as_bytes());
        md5.update(digest.map_err(|_| s3_error!(InternalError))?);
    }
    Ok(format!("{}-{}", hex(&md5.finalize()), parts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Meta;

    #[test]
    fn parts_are_bounded_together() {
        let part = |number: u16, size: u64| {
            let (key, etag, meta) = (String::new(), String::new(), Meta::default());
            PartOf { number, object: Object { key, size, etag, modified_ms: 0, meta } }
        };
        let asked = |number| CompletedPart { part_number: Some(number), ..Default::default() };
        let asked = [asked(1), asked(2)];
        let most: u64 = 5 << 40;
        let together = |last| chosen(&asked, vec![part(1, most - 10), part(2, last)]);
        assert_eq!(together(10).unwrap().len(), 2);
        let refused = together(11).unwrap_err();
        assert!(refused.message().unwrap_or_default().contains("`object-bytes`"), "{refused}");
    }
}
