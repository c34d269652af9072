//! Buckets, which are spaces, and lists of what is in them.

use super::list::{Ask, LARGEST_PAGE, Page, page};
use super::service::Service;
use super::wire::{self, Spelling, internal};
use crate::Object as Found;
use crate::folder::blocking;
use data_encoding::BASE64URL_NOPAD;
use s3s::auth::Credentials;
use s3s::dto::*;
use s3s::{S3Result, s3_error};
use std::io::ErrorKind;

impl Service {
    /// Refuses what is meant for a space that is not there. The space of minted keys is: the
    /// server has named it.
    pub(super) fn require_space(
        &self,
        bucket: &str,
        credentials: Option<&Credentials>,
    ) -> S3Result<()> {
        let is_there = self.store.has_space(&wire::space(bucket)?);
        if is_there || self.access.grant(credentials)?.space() == Some(bucket) {
            return Ok(());
        }
        Err(s3_error!(NoSuchBucket, "there is no bucket {bucket}"))
    }

    pub(super) async fn create(&self, input: CreateBucketInput) -> S3Result<CreateBucketOutput> {
        let space = wire::space(&input.bucket)?;
        let store = self.store.clone();
        blocking(move || store.create_space(&space)).await.map_err(internal)?;
        Ok(CreateBucketOutput { location: Some(format!("/{}", input.bucket)) })
    }

    pub(super) async fn remove_bucket(
        &self,
        input: DeleteBucketInput,
    ) -> S3Result<DeleteBucketOutput> {
        let space = wire::space(&input.bucket)?;
        let store = self.store.clone();
        let removed = blocking(move || store.remove_space(&space)).await;
        removed.map_err(|error| match error.kind() {
            ErrorKind::NotFound => s3_error!(NoSuchBucket),
            ErrorKind::DirectoryNotEmpty => s3_error!(BucketNotEmpty),
            _ => internal(error),
        })?;
        Ok(DeleteBucketOutput {})
    }

    pub(super) async fn buckets(&self, input: ListBucketsInput) -> S3Result<ListBucketsOutput> {
        let store = self.store.clone();
        let all = blocking(move || store.all_spaces()).await.map_err(internal)?;
        let prefix = input.prefix.as_deref().unwrap_or_default();
        let wanted = all.into_iter().filter(|(name, _)| name.starts_with(prefix));
        let buckets = wanted.map(|(name, at_ms)| Bucket {
            bucket_region: None,
            creation_date: Some(wire::timestamp(at_ms)),
            name: Some(name),
        });
        Ok(ListBucketsOutput {
            buckets: Some(buckets.collect()),
            owner: Some(Owner { display_name: Some("argosy".into()), id: Some("argosy".into()) }),
            prefix: input.prefix,
            ..ListBucketsOutput::default()
        })
    }

    async fn page(&self, bucket: &str, ask: &Ask<'_>) -> S3Result<Page> {
        page(&self.store, &wire::space(bucket)?, ask).await.map_err(internal)
    }

    pub(super) async fn list(&self, input: ListObjectsInput) -> S3Result<ListObjectsOutput> {
        let spelling = Spelling::new(input.encoding_type.as_ref());
        let limit = wire::limit(input.max_keys, LARGEST_PAGE)?;
        let ask = Ask {
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref().unwrap_or_default(),
            after: input.marker.as_deref().unwrap_or_default(),
            limit,
        };
        let page = self.page(&input.bucket, &ask).await?;
        Ok(ListObjectsOutput {
            name: Some(input.bucket),
            max_keys: i32::try_from(limit).ok(),
            is_truncated: Some(page.next.is_some()),
            next_marker: page.next.map(|next| spelling.of(next)),
            contents: Some(contents(page.objects, spelling)),
            common_prefixes: Some(prefixes(page.prefixes, spelling)),
            prefix: input.prefix.map(|text| spelling.of(text)),
            marker: Some(spelling.of(input.marker.unwrap_or_default())),
            delimiter: input.delimiter.map(|text| spelling.of(text)),
            encoding_type: input.encoding_type,
            request_charged: None,
        })
    }

    pub(super) async fn list_v2(&self, input: ListObjectsV2Input) -> S3Result<ListObjectsV2Output> {
        let spelling = Spelling::new(input.encoding_type.as_ref());
        let limit = wire::limit(input.max_keys, LARGEST_PAGE)?;
        let token = input.continuation_token.as_deref().map(from_token).transpose()?;
        let ask = Ask {
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref().unwrap_or_default(),
            after: token.as_deref().or(input.start_after.as_deref()).unwrap_or_default(),
            limit,
        };
        let page = self.page(&input.bucket, &ask).await?;
        Ok(ListObjectsV2Output {
            name: Some(input.bucket),
            max_keys: i32::try_from(limit).ok(),
            key_count: i32::try_from(page.objects.len() + page.prefixes.len()).ok(),
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next.map(|n| BASE64URL_NOPAD.encode(n.as_bytes())),
            continuation_token: input.continuation_token,
            contents: Some(contents(page.objects, spelling)),
            common_prefixes: Some(prefixes(page.prefixes, spelling)),
            prefix: input.prefix.map(|text| spelling.of(text)),
            start_after: input.start_after.map(|text| spelling.of(text)),
            delimiter: input.delimiter.map(|text| spelling.of(text)),
            encoding_type: input.encoding_type,
            request_charged: None,
        })
    }
}

fn from_token(token: &str) -> S3Result<String> {
    let bytes = BASE64URL_NOPAD.decode(token.as_bytes()).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| s3_error!(InvalidArgument, "that continuation token was not given out"))
}

fn contents(objects: Vec<Found>, spelling: Spelling) -> Vec<Object> {
    let shown = |object: Found| Object {
        e_tag: wire::etag(&object),
        last_modified: Some(wire::timestamp(object.modified_ms)),
        size: wire::length(object.size),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
        key: Some(spelling.of(object.key)),
        ..Object::default()
    };
    objects.into_iter().map(shown).collect()
}

fn prefixes(prefixes: Vec<String>, spelling: Spelling) -> Vec<CommonPrefix> {
    let shown = |prefix: String| CommonPrefix { prefix: Some(spelling.of(prefix)) };
    prefixes.into_iter().map(shown).collect()
}
