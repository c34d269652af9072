//! Errors on the wire: `{"code": <gRPC code>, "message": ...}` as Argo's gateway has it, with our
//! own diagnostics beside.

use argosy_model::{Code, Diagnostic, limits};
use axum::Json;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Why a request is refused: at least one diagnostic.
#[derive(Debug)]
pub struct Refusal(pub Vec<Diagnostic>);

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Self {
        Refusal(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Refusal {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Refusal(diagnostics)
    }
}

impl From<argosy_store::Error> for Refusal {
    fn from(error: argosy_store::Error) -> Self {
        Refusal(vec![error.into()])
    }
}

/// HTTP status and gRPC code of an error.
fn status(code: Code) -> (StatusCode, u8) {
    match code {
        Code::NotFound => (StatusCode::NOT_FOUND, 5),
        Code::AlreadyExists => (StatusCode::CONFLICT, 6),
        Code::NotInState => (StatusCode::BAD_REQUEST, 9),
        Code::Unsupported => (StatusCode::NOT_IMPLEMENTED, 12),
        Code::Unreachable
        | Code::StoreFailed
        | Code::DataBusy
        | Code::DataDamaged
        | Code::DataUnreadable => (StatusCode::SERVICE_UNAVAILABLE, 14),
        _ => (StatusCode::BAD_REQUEST, 3),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (http, _) = status(self.code());
        self.with_status(http)
    }
}

impl Refusal {
    fn code(&self) -> Code {
        self.0.first().map_or(Code::BadRequest, |diagnostic| diagnostic.code)
    }

    /// Whether it is that something is not there.
    pub(super) fn is_not_found(&self) -> bool {
        self.code() == Code::NotFound
    }

    /// The answer, with another status than the one that its code has.
    pub(super) fn with_status(self, http: StatusCode) -> Response {
        (http, Json(self.body())).into_response()
    }

    /// What an answer says of it.
    pub(super) fn body(&self) -> Value {
        let (_, grpc) = status(self.code());
        let message: Vec<String> = self.0.iter().map(Diagnostic::line).collect();
        json!({"code": grpc, "message": message.join("\n"), "diagnostics": self.0})
    }
}

/// The answer to a connection for which there is no place. It is closed afterwards.
#[must_use]
pub fn no_place() -> Response {
    let most = limits::CONNECTIONS;
    let what = format!("the server is at the limit `{}` of {} {}", most.name, most.max, most.unit);
    let refusal = Diagnostic::new(Code::Unreachable, what).help("close others, or try again later");
    let mut response = Refusal::from(refusal).into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A path that is none of ours.
pub(super) async fn no_such_path(uri: Uri) -> Refusal {
    let what = format!("there is nothing at {:?}", uri.path());
    Diagnostic::new(Code::NotFound, what)
        .help("the paths are those of an Argo server, see docs/cli.md for what else there is")
        .into()
}

/// A path of ours, with a method that it does not have.
pub(super) async fn no_such_method(method: Method, uri: Uri) -> Response {
    let what = format!("{:?} cannot be asked for with {method}", uri.path());
    bad_request(what).with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// The answer of a handler.
pub(super) type Answer<T> = Result<T, Refusal>;

/// Nothing of that name.
pub(super) fn not_found(what: &str, name: &str) -> Refusal {
    Diagnostic::new(Code::NotFound, format!("there is no {what} named {name:?}"))
        .help("see `argosy list`")
        .into()
}

/// A request that cannot be understood.
pub(super) fn bad_request(what: impl Into<String>) -> Refusal {
    Diagnostic::new(Code::BadRequest, what).into()
}
