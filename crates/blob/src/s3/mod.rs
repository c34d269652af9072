//! The embedded S3 endpoint: path style, SigV4. A bucket is a space.
//!
//! Nothing is answered without a valid signature. What a key pair reaches is decided in module
//! `access`, before an operation sees its request.

mod access;
mod buckets;
mod keys;
mod list;
mod multipart;
mod objects;
mod ranges;
mod receive;
mod service;
mod sign;
mod wire;

pub use keys::{Attempts, Credentials, Keys, Secret};
pub use sign::{Ask, Signer};

use crate::folder::Uploads;
use crate::{Folder, Space};
use access::Access;
use argosy_model::limits;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use ranges::Ranges;
use s3s::Body;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::validation::NameValidation;
use service::Service;
use std::io;
use std::sync::Arc;

/// Uploads to which nothing was added for so long are given up, in ms: seven days.
const GIVEN_UP_AFTER_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Answers S3 requests from a folder of objects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Endpoint {
    service: S3Service,
}

impl Endpoint {
    /// The endpoint of a store. Uploads of attempts that are over, and those that were left a week
    /// before `now_ms` (Unix ms), are removed.
    ///
    /// # Errors
    /// The system's.
    pub fn open(
        store: &Folder,
        keys: &Keys,
        attempts: Arc<dyn Attempts>,
        now_ms: i64,
    ) -> io::Result<Self> {
        let uploads = Uploads::of(store)?;
        uploads.sweep(now_ms.saturating_sub(GIVEN_UP_AFTER_MS))?;
        let access = Access { keys: keys.clone(), attempts };
        uploads.keep_only(|owner| access.is_live(owner))?;
        let service = Service { store: store.clone(), uploads, access: access.clone() };
        let inner = builder(service.clone(), access.clone()).build();
        let mut outer = builder(service, access);
        outer.set_route(Ranges { inner });
        Ok(Self { service: outer.build() })
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let request = request.map(Body::http_body_unsync);
        match self.service.call(request).await {
            Ok(response) => response,
            Err(_) => {
                let mut failed = Response::new(Body::empty());
                *failed.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                failed
            }
        }
    }
}

fn builder(service: Service, access: Access) -> S3ServiceBuilder {
    let mut builder = S3ServiceBuilder::new(service);
    builder.set_auth(access.clone());
    builder.set_access(access);
    builder.set_validation(SpaceNames);
    let mut config = S3Config::default();
    // A thousand keys to delete fit with room. Forms are refused, so they may be no larger.
    let largest = usize::try_from(limits::DOCUMENT_BYTES.max).unwrap_or(usize::MAX);
    config.xml_max_body_size = largest;
    config.form_max_fields_size = largest;
    config.post_object_max_file_size = limits::DOCUMENT_BYTES.max;
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    builder
}

/// Buckets are called as spaces are.
struct SpaceNames;

impl NameValidation for SpaceNames {
    fn validate_bucket_name(&self, name: &str) -> bool {
        Space::new(name).is_ok()
    }
}
