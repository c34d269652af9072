//! The operations that there are; every other is answered with `NotImplemented`.

use super::access::Access;
use super::wire;
use crate::Folder;
use crate::folder::Uploads;
use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};

/// Carries the operations out.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub store: Folder,
    pub uploads: Uploads,
    pub access: Access,
}

#[async_trait::async_trait]
impl S3 for Service {
    async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> S3Result<S3Response<CreateBucketOutput>> {
        self.create(request.input).await.map(S3Response::new)
    }

    async fn delete_bucket(
        &self,
        request: S3Request<DeleteBucketInput>,
    ) -> S3Result<S3Response<DeleteBucketOutput>> {
        self.remove_bucket(request.input).await.map(S3Response::new)
    }

    async fn list_buckets(
        &self,
        request: S3Request<ListBucketsInput>,
    ) -> S3Result<S3Response<ListBucketsOutput>> {
        self.buckets(request.input).await.map(S3Response::new)
    }

    async fn list_objects(
        &self,
        request: S3Request<ListObjectsInput>,
    ) -> S3Result<S3Response<ListObjectsOutput>> {
        self.require_space(&request.input.bucket, request.credentials.as_ref())?;
        self.list(request.input).await.map(S3Response::new)
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        self.require_space(&request.input.bucket, request.credentials.as_ref())?;
        self.list_v2(request.input).await.map(S3Response::new)
    }

    async fn put_object(
        &self,
        request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        self.put(request).await.map(S3Response::new)
    }

    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        self.get(request.input).await.map(S3Response::new)
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        self.head(request.input).await.map(S3Response::new)
    }

    async fn copy_object(
        &self,
        request: S3Request<CopyObjectInput>,
    ) -> S3Result<S3Response<CopyObjectOutput>> {
        self.copy(request).await.map(S3Response::new)
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        self.remove(request.input).await.map(S3Response::new)
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        self.remove_all(request.input).await.map(S3Response::new)
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        self.begin(request).await.map(S3Response::new)
    }

    async fn upload_part(
        &self,
        request: S3Request<UploadPartInput>,
    ) -> S3Result<S3Response<UploadPartOutput>> {
        self.part(request).await.map(S3Response::new)
    }

    async fn upload_part_copy(
        &self,
        request: S3Request<UploadPartCopyInput>,
    ) -> S3Result<S3Response<UploadPartCopyOutput>> {
        self.part_of_copy(request.input).await.map(S3Response::new)
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        self.complete(request.input).await.map(S3Response::new)
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        self.abort(request.input).await.map(S3Response::new)
    }

    async fn list_parts(
        &self,
        request: S3Request<ListPartsInput>,
    ) -> S3Result<S3Response<ListPartsOutput>> {
        self.parts(request.input).await.map(S3Response::new)
    }

    async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
        self.list_uploads(request.input).await.map(S3Response::new)
    }

    async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> S3Result<S3Response<HeadBucketOutput>> {
        self.require_space(&request.input.bucket, request.credentials.as_ref())?;
        Ok(S3Response::new(HeadBucketOutput::default()))
    }

    async fn get_bucket_location(
        &self,
        request: S3Request<GetBucketLocationInput>,
    ) -> S3Result<S3Response<GetBucketLocationOutput>> {
        self.require_space(&request.input.bucket, request.credentials.as_ref())?;
        Ok(S3Response::new(GetBucketLocationOutput::default()))
    }

    /// Forms of browsers: their bodies would be held in memory.
    async fn post_object(
        &self,
        _: S3Request<PostObjectInput>,
    ) -> S3Result<S3Response<PostObjectOutput>> {
        wire::refuse(&[(true, "uploading by a form")])?;
        Err(s3_error!(NotImplemented))
    }
}
