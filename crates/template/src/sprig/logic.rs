//! Defaults, choices and types.

use super::convert::is_empty;
use crate::error::Fault;
use crate::expr::builtins::{Function, MANY, arg, function, list, text, wanted};
use crate::expr::ops;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("default", 1, MANY, |args, _| {
        Ok(arg(args, usize::from(!is_empty(arg(args, 1)))).clone())
    }),
    function("empty", 1, 1, |args, _| Ok(Value::Bool(is_empty(arg(args, 0))))),
    function("coalesce", 0, MANY, |args, _| {
        Ok(args.iter().find(|arg| !is_empty(arg)).cloned().unwrap_or(Value::Nil))
    }),
    function("all", 0, MANY, |args, _| Ok(Value::Bool(!args.iter().any(is_empty)))),
    function("any", 0, MANY, |args, _| Ok(Value::Bool(!args.iter().all(is_empty)))),
    function("compact", 1, 1, |args, _| {
        let kept = list(args, 0)?.items.iter().filter(|item| !is_empty(item));
        Value::list(kept.cloned().collect())
    }),
    function("ternary", 3, 3, |args, _| match arg(args, 2) {
        Value::Bool(first) => Ok(arg(args, usize::from(!first)).clone()),
        other => Err(wanted("a bool", 2, other)),
    }),
    function("deepCopy", 1, 1, |args, _| Ok(arg(args, 0).clone())),
    function("deepEqual", 2, 2, |args, env| {
        env.burn(arg(args, 0).weight())?;
        Ok(Value::Bool(ops::equal(arg(args, 0), arg(args, 1))))
    }),
    function("typeOf", 1, 1, |args, _| Ok(Value::str(go_type(arg(args, 0))))),
    function("typeIs", 2, 2, |args, _| same(args, go_type)),
    function("typeIsLike", 2, 2, |args, _| same(args, go_type)),
    function("kindOf", 1, 1, |args, _| Ok(Value::str(go_kind(arg(args, 0))))),
    function("kindIs", 2, 2, |args, _| same(args, go_kind)),
    function("fail", 1, 1, |args, _| Err(text(args, 0)?.into())),
];

fn same(args: &[Value], name: fn(&Value) -> &'static str) -> Result<Value, Fault> {
    Ok(Value::Bool(text(args, 0)? == name(arg(args, 1))))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Nil => "<nil>",
        Value::Float(_) => "float64",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        other => other.kind(),
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "invalid",
        Value::Float(_) => "float64",
        Value::List(_) => "slice",
        Value::Time(_) | Value::Zone(_) => "struct",
        Value::Duration(_) => "int64",
        other => other.kind(),
    }
}
