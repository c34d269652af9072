//! Authentication and authorisation, in front of every operation. What is not named here is for
//! the key pair of the data directory only.

use super::keys::{Attempts, Grant, Keys, Secret};
use argosy_model::AttemptId;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{Credentials, S3Auth, SecretKey};
use s3s::dto::{
    CopyObjectInput, CopySource, DeleteObjectsInput, ListObjectsInput, ListObjectsV2Input,
    UploadPartCopyInput,
};
use s3s::path::S3Path;
use s3s::{S3Request, S3Result, s3_error};
use std::sync::Arc;

/// Operations on the bucket of their space that minted keys may use.
const ON_BUCKETS: [&str; 5] =
    ["DeleteObjects", "GetBucketLocation", "HeadBucket", "ListObjects", "ListObjectsV2"];

/// Knows the keys, and whose of them are still worth something.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub keys: Keys,
    pub attempts: Arc<dyn Attempts>,
}

/// Who sent a request whose signature has been checked already.
#[derive(Clone)]
pub(super) struct Passed(pub Credentials);

#[async_trait::async_trait]
impl S3Auth for Access {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        let found = self.look_up(access_key);
        let unknown = || s3_error!(InvalidAccessKeyId, "no such key pair, or its attempt is over");
        let (secret, _) = found.ok_or_else(unknown)?;
        Ok(SecretKey::from(secret.expose()))
    }
}

impl Access {
    fn look_up(&self, access_key: &str) -> Option<(Secret, Grant)> {
        let found = self.keys.look_up(access_key)?;
        self.is_live(found.1.attempt()).then_some(found)
    }

    /// Whether what belongs to an attempt, or to none, still counts.
    pub fn is_live(&self, attempt: Option<AttemptId>) -> bool {
        attempt.is_none_or(|attempt| self.attempts.is_live(attempt))
    }

    /// What the sender of a request may reach.
    pub fn grant(&self, credentials: Option<&Credentials>) -> S3Result<Grant> {
        let found = credentials.and_then(|it| self.look_up(&it.access_key));
        let (_, grant) =
            found.ok_or_else(|| s3_error!(AccessDenied, "the request is not signed"))?;
        Ok(grant)
    }

    fn require<T>(&self, request: &S3Request<T>, bucket: &str, key: &str) -> S3Result<()> {
        let grant = self.grant(request.credentials.as_ref())?;
        if grant.reaches(bucket, key) {
            return Ok(());
        }
        Err(s3_error!(AccessDenied, "this key pair does not reach {bucket}/{key}"))
    }

    fn require_source<T>(&self, request: &S3Request<T>, source: &CopySource) -> S3Result<()> {
        match source {
            CopySource::Bucket { bucket, key, .. } => self.require(request, bucket, key),
            _ => Err(s3_error!(NotImplemented, "an object is copied from BUCKET/KEY")),
        }
    }
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        let grant = match cx.extensions_mut().get::<Passed>() {
            Some(Passed(sender)) => self.grant(Some(sender)),
            None => self.grant(cx.credentials()),
        }?;
        let reaches = match (cx.s3_path(), grant.space()) {
            (_, None) => true,
            (S3Path::Root, _) => false,
            (S3Path::Bucket { bucket }, Some(space)) => {
                **bucket == *space && ON_BUCKETS.contains(&cx.s3_op().name())
            }
            (S3Path::Object { bucket, key }, _) => grant.reaches(bucket, key),
        };
        if reaches {
            return Ok(());
        }
        Err(s3_error!(AccessDenied, "this key pair does not reach that"))
    }

    async fn list_objects(&self, request: &mut S3Request<ListObjectsInput>) -> S3Result<()> {
        let prefix = request.input.prefix.as_deref().unwrap_or_default();
        self.require(request, &request.input.bucket, prefix)
    }

    async fn list_objects_v2(&self, request: &mut S3Request<ListObjectsV2Input>) -> S3Result<()> {
        let prefix = request.input.prefix.as_deref().unwrap_or_default();
        self.require(request, &request.input.bucket, prefix)
    }

    async fn delete_objects(&self, request: &mut S3Request<DeleteObjectsInput>) -> S3Result<()> {
        let input = &request.input;
        let mut objects = input.delete.objects.iter();
        objects.try_for_each(|object| self.require(request, &input.bucket, &object.key))
    }

    async fn copy_object(&self, request: &mut S3Request<CopyObjectInput>) -> S3Result<()> {
        self.require_source(request, &request.input.copy_source)
    }

    async fn upload_part_copy(&self, request: &mut S3Request<UploadPartCopyInput>) -> S3Result<()> {
        self.require_source(request, &request.input.copy_source)
    }
}
