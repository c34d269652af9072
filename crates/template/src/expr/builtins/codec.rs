//! JSON, base64 and paths into JSON.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::strings::made;
use super::{Function, arg, function, text};
use crate::env::Env;
use crate::error::Fault;
use crate::json;
use crate::jsonpath::JsonPath;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("toJSON", 1, 1, |args, env| {
        encode(arg(args, 0), json::Style { escape_html: true, indent: true }, env)
    }),
    function("toJson", 1, 1, |args, env| encode(arg(args, 0), json::COMPACT, env)),
    function("fromJSON", 1, 1, |args, env| decode(text(args, 0)?, env)),
    function("toBase64", 1, 1, |args, env| made(&BASE64_STANDARD.encode(text(args, 0)?), env)),
    function("fromBase64", 1, 1, |args, env| {
        let bytes = BASE64_STANDARD.decode(text(args, 0)?);
        let bytes = bytes.map_err(|error| format!("not base64: {error}"))?;
        made(&String::from_utf8_lossy(&bytes), env)
    }),
    function("jsonpath", 2, 2, |args, env| {
        let (document, path) = (text(args, 0)?, text(args, 1)?);
        let path = JsonPath::parse(path).map_err(|error| error.to_string())?;
        path.query(&decode(document, env)?, env)
    }),
];

/// The JSON text of a value.
pub(crate) fn encode(value: &Value, style: json::Style, env: &mut Env) -> Result<Value, Fault> {
    env.burn(value.weight())?;
    made(&json::write(value, style)?, env)
}

/// The value of a JSON text.
pub(crate) fn decode(source: &str, env: &mut Env) -> Result<Value, Fault> {
    env.produce(source.len())?;
    let document: serde_json::Value =
        serde_json::from_str(source).map_err(|error| format!("invalid JSON: {error}"))?;
    Value::from_json(&document)
}
