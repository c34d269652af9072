//! Who this server is and how it does.

use std::fmt::Write as _;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::error::Answer;
use super::{Asked, Door};

/// `GET /healthz`: whether runs can be accepted.
pub(super) async fn health(State(door): State<Door>) -> Answer<&'static str> {
    match door.service.trouble() {
        None => Ok("ok\n"),
        Some(trouble) => Err(trouble.into()),
    }
}

/// `GET /api/v1/version`
pub(super) async fn version() -> Json<Value> {
    Json(json!({
        "version": concat!("argosy-", env!("CARGO_PKG_VERSION")),
        "buildDate": "", "gitCommit": "", "gitTag": "", "gitTreeState": "",
        "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    }))
}

/// `GET /api/v1/info`
pub(super) async fn info() -> Json<Value> {
    Json(json!({"links": [], "columns": [], "modals": {}, "navColor": "", "managedNamespace": ""}))
}

/// `GET /api/v1/userinfo`
pub(super) async fn user(caller: Asked) -> Json<Value> {
    Json(json!({"subject": caller.principal, "issuer": "argosy", "groups": []}))
}

/// `GET /metrics`
pub(super) async fn metrics(State(door): State<Door>) -> String {
    let mut text = String::new();
    for (name, help, value) in door.service.metrics() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    }
    text
}
