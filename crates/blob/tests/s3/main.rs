//! The S3 endpoint, request by request. Requests are signed by the product and verified by `s3s`.

mod access;
mod lists;
mod multipart;
mod objects;
mod support;
