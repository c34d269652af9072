//! Artifacts: typed, named data with a producer.

use serde::{Deserialize, Serialize};

/// Where an artifact's bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Location {
    /// Under a key of the space's own blob store. A key that ends in `/` is a prefix of many.
    Blob {
        /// The key.
        key: String,
    },
    /// In the text itself.
    Raw {
        /// The bytes, as UTF-8.
        data: String,
    },
    /// In an S3 that is not ours.
    S3(Box<S3Location>),
    /// Behind an HTTP address.
    Http {
        /// The address.
        url: String,
    },
}

/// An object in somebody's S3. Credentials are names of secrets, never values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct S3Location {
    /// Host, with port where it is not the scheme's own.
    pub endpoint: String,
    /// Bucket.
    pub bucket: String,
    /// Key in the bucket.
    pub key: String,
    /// Region, `us-east-1` when empty.
    pub region: String,
    /// Plain HTTP instead of TLS.
    pub insecure: bool,
    /// Secret name and key of the access key id.
    pub access_key: Option<(String, String)>,
    /// Secret name and key of the secret access key.
    pub secret_key: Option<(String, String)>,
}

/// How files are turned into bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Archive {
    /// On the way out: tar and gzip. On the way in: whatever the bytes are.
    #[default]
    Default,
    /// As they are; a folder becomes many objects under one prefix.
    None,
    /// Tar, gzipped at this level (0: tar alone).
    Tar(u8),
    /// Zip.
    Zip,
}

/// How long an artifact that a run has made is kept. What several artifacts say of the same bytes
/// comes to the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Keep {
    /// Until the run has ended.
    UntilEnd,
    /// Until the run is deleted.
    UntilDeletion,
    /// Until somebody deletes it.
    #[default]
    Always,
}

/// Bytes somewhere, and how they are packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Where the bytes are.
    pub at: Location,
    /// How they are packed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub archive: Archive,
    /// The part of it that is meant, a relative path; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sub_path: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
