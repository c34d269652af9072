//! Parts of a request. Whatever is wrong with them is told as any other error is.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use argosy_model::{Code, Diagnostic, limits};

use super::error::{Refusal, bad_request};
use super::query::Query;

/// The variable segments of a path.
pub(super) struct Path<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(segments)| Path(segments))
            .map_err(|rejection| bad_request(format!("the path: {}", rejection.body_text())))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        query
            .map(|axum::extract::Query(values)| Query(values))
            .map_err(|rejection| bad_request(format!("the query: {}", rejection.body_text())))
    }
}

/// The whole body, a text.
pub(super) struct Text(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let bytes = Bytes::from_request(request, state).await.map_err(body_refused)?;
        String::from_utf8(bytes.into()).map(Text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let what = format!("the body: byte {at} is not UTF-8");
            Refusal::from(Diagnostic::new(Code::BadText, what)).into_response()
        })
    }
}

fn body_refused(rejection: BytesRejection) -> Response {
    if rejection.status() != StatusCode::PAYLOAD_TOO_LARGE {
        return bad_request(format!("the body: {}", rejection.body_text())).into_response();
    }
    let limit = limits::MANIFEST_BYTES;
    let what = format!("the body is over the limit `{}` of {} bytes", limit.name, limit.max);
    Refusal::from(Diagnostic::new(Code::TooLarge, what)).with_status(StatusCode::PAYLOAD_TOO_LARGE)
}
