//! Bytes under keys, the embedded S3 endpoint and safe archives.
