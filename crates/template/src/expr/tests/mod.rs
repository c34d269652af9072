//! Cases from the language definition of expr-lang and from Argo's documentation.

mod builtins;
mod limits;
mod sprig;
mod syntax;
mod variables;

use serde_json::{Value as Json, json};

use super::Expr;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::scope::MapScope;

/// 2024-02-29 12:34:56.789 UTC.
const NOW_MS: i64 = 1_709_210_096_789;

fn scope() -> MapScope {
    MapScope::new()
        .with("name", "world")
        .with("n", 3)
        .with("big", 9_007_199_254_740_993_i64)
        .with("list", json!([1, 2, 3]))
        .with("people", json!([{"name": "Ann", "age": 30}, {"name": "Bob", "age": 20}]))
        .with("inputs.parameters.a", "1")
        .with("inputs.parameters.with-dash", "x")
        .with("item", json!({"os": "debian", "nested": {"deep": [10, 20]}}))
        .with("len", 5)
        .without("tasks.skipped.outputs.result")
}

fn eval(source: &str) -> Result<Json> {
    Expr::parse(source)?.eval(&scope(), &mut Env::new(NOW_MS, 7))
}

fn check(cases: &[(&str, Json)]) {
    for (source, expected) in cases {
        match eval(source) {
            Ok(found) => assert_eq!(&found, expected, "{source}"),
            Err(error) => panic!("{source}: {error}"),
        }
    }
}

/// Each source must fail, at this byte.
fn check_failures(cases: &[(&str, usize)]) {
    for (source, expected) in cases {
        match eval(source) {
            Err(Error::Syntax { at, .. } | Error::Evaluation { at, .. }) => {
                assert_eq!(at, *expected, "{source}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}
