//! The HTTP door: Argo's REST paths where one exists (argo-workflows
//! `pkg/apiclient/**/*.proto`, `api/openapi-spec/swagger.json`), our own under `/argosy/v1`
//! elsewhere.
//!
//! Every handler gets a [`Caller`] from one middleware.

mod error;
mod extract;
mod fields;
mod info;
mod labels;
mod library;
mod lists;
mod log_options;
mod logs;
mod native;
mod query;
mod select;
mod stock;
mod templates;
mod watch;
mod workflows;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use argosy_model::{Cause, Code, Diagnostic, limits};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Extension, Router};

use crate::ports::Service;
pub use error::{Refusal, no_place};
pub use library::pairs as stored_pairs;

/// What the handlers share.
#[derive(Clone)]
pub struct Door {
    /// The server.
    pub service: Arc<dyn Service>,
    /// Where logs are read from.
    pub data_dir: PathBuf,
    /// Makes random suffixes of names and ids: (UUID, five letters).
    pub random: Arc<dyn Fn() -> (String, String) + Send + Sync>,
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The principal.
    pub principal: String,
    /// The request's id.
    pub request: String,
}

impl Caller {
    /// The cause that events carry.
    #[must_use]
    pub fn cause(&self) -> Cause {
        Cause {
            actor: self.principal.clone(),
            door: "argo".to_owned(),
            request: self.request.clone(),
        }
    }
}

/// A whole manifest and whole parameters.
const SUBMISSION_BYTES: usize = 64 << 20;

/// All routes.
pub fn router(door: Door) -> Router {
    let one = "/api/v1/workflows/{space}/{name}";
    Router::new()
        .route("/api/v1/workflows/{space}", get(lists::list).post(workflows::create))
        .route("/api/v1/workflows/{space}/lint", post(workflows::lint))
        .route("/api/v1/workflows/{space}/submit", post(workflows::submit))
        .route(one, get(workflows::get).delete(workflows::delete))
        .route("/api/v1/workflows/{space}/{name}/log", get(logs::of_workflow))
        .route("/api/v1/workflows/{space}/{name}/{verb}", put(workflows::verb))
        .route("/api/v1/workflows/{space}/{name}/{pod}/log", get(logs::of_named_pod))
        .route("/api/v1/workflow-events/{space}", get(watch::events))
        .route("/api/v1/workflow-templates/{space}", get(templates::list).post(templates::create))
        .route(
            "/api/v1/workflow-templates/{space}/{name}",
            get(templates::get).put(templates::update).delete(templates::delete),
        )
        .route(
            "/api/v1/cluster-workflow-templates",
            get(templates::list_cluster).post(templates::create_cluster),
        )
        .route(
            "/api/v1/cluster-workflow-templates/{name}",
            get(templates::get_cluster)
                .put(templates::update_cluster)
                .delete(templates::delete_cluster),
        )
        .route("/api/v1/info", get(info::info))
        .route("/api/v1/version", get(info::version))
        .route("/api/v1/userinfo", get(info::user))
        .route("/argosy/v1/spaces/{space}/objects", post(native::apply))
        .route(
            "/argosy/v1/spaces/{space}/submissions",
            post(native::submit).layer(DefaultBodyLimit::max(SUBMISSION_BYTES)),
        )
        .route("/argosy/v1/spaces/{space}/runs/{name}/explain", get(native::explain))
        .route("/argosy/v1/spaces/{space}/runs/{name}/steps", get(native::steps))
        .route("/healthz", get(info::health))
        .route("/metrics", get(info::metrics))
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(DefaultBodyLimit::max(
            usize::try_from(limits::MANIFEST_BYTES.max).unwrap_or(usize::MAX),
        ))
        .layer(middleware::from_fn_with_state(door.clone(), identify))
        .with_state(door)
}

/// The one place that says who a caller is. Without configured authentication the server listens
/// on loopback only, and everybody there is its owner.
async fn identify(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    if let Some(foreign) = foreign(request.headers()) {
        let what = format!("the request comes from {foreign:?}, which is not this machine");
        let refused = Diagnostic::new(Code::ListenRefused, what);
        return Refusal::from(refused.help("use the address that the server printed"))
            .into_response();
    }
    let (id, _) = (door.random)();
    request.extensions_mut().insert(Caller { principal: "local".to_owned(), request: id });
    next.run(request).await
}

/// The host or origin of a request that a page from elsewhere makes through somebody's browser: its
/// name is not this machine's, even where its address is.
fn foreign(headers: &HeaderMap) -> Option<String> {
    [header::HOST, header::ORIGIN].into_iter().filter_map(|name| headers.get(name)).find_map(
        |value| {
            let value = value.to_str().unwrap_or("?");
            let host = value.rsplit_once("://").map_or(value, |(_, host)| host);
            let name = match host.strip_prefix('[') {
                Some(rest) => rest.split(']').next().unwrap_or_default(),
                None => host.split(':').next().unwrap_or_default(),
            };
            let loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            let own = loopback || name == "localhost" || name == EMBEDDED_HOST;
            (!own).then(|| value.to_owned())
        },
    )
}

/// The host of requests within one process.
pub const EMBEDDED_HOST: &str = "argosy";

type Asked = Extension<Caller>;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    #[test]
    fn pages_from_elsewhere_are_told_apart_by_host_and_origin() {
        for (name, value, own) in [
            ("host", "127.0.0.1:2746", true),
            ("host", "localhost:2746", true),
            ("host", "[::1]:2746", true),
            ("host", "evil.example", false),
            ("host", "127.0.0.1.evil.example", false),
            ("origin", "http://localhost:8080", true),
            ("origin", "http://evil.example", false),
            ("origin", "null", false),
        ] {
            let headers: HeaderMap =
                [(HeaderName::from_static(name), HeaderValue::from_static(value))]
                    .into_iter()
                    .collect();
            assert_eq!(foreign(&headers).is_none(), own, "{name}: {value}");
        }
    }
}
