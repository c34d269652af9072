//! Functions on lists.

use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::lists::{concat, paid, unique};
use crate::expr::builtins::{Function, MANY, arg, function, int, list};
use crate::expr::ops;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("list", 0, MANY, |args, env| paid(args.to_vec(), env)),
    function("tuple", 0, MANY, |args, env| paid(args.to_vec(), env)),
    function("first", 1, 1, |args, _| Ok(or_nil(items(args, 0)?.first()))),
    function("last", 1, 1, |args, _| Ok(or_nil(items(args, 0)?.last()))),
    function("rest", 1, 1, |args, env| part(items(args, 0)?.get(1..), env)),
    function("initial", 1, 1, |args, env| {
        part(items(args, 0)?.split_last().map(|(_, initial)| initial), env)
    }),
    function("append", 2, 2, appended),
    function("push", 2, 2, appended),
    function("prepend", 2, 2, |args, env| {
        let first = std::iter::once(arg(args, 1));
        paid(first.chain(items(args, 0)?).cloned().collect(), env)
    }),
    function("reverse", 1, 1, |args, env| {
        paid(items(args, 0)?.iter().rev().cloned().collect(), env)
    }),
    function("uniq", 1, 1, |args, env| unique(list(args, 0)?, env)),
    function("without", 1, MANY, |args, env| {
        let omitted = args.get(1..).unwrap_or(&[]);
        let mut kept = Vec::new();
        for item in items(args, 0)? {
            if !contains(omitted, item, env)? {
                kept.push(item.clone());
            }
        }
        Value::list(kept)
    }),
    function("has", 2, 2, |args, env| match arg(args, 1) {
        Value::Nil => Ok(Value::Bool(false)),
        _ => contains(items(args, 1)?, arg(args, 0), env).map(Value::Bool),
    }),
    function("slice", 1, 3, |args, env| {
        let items = items(args, 0)?;
        let bound = |index: usize, default: usize| {
            let given = args.len() > index;
            let at = if given { int(args, index)? } else { return Ok(default) };
            usize::try_from(at).map_err(|_| Fault::from("slice bounds out of range"))
        };
        let (from, to) = (bound(1, 0)?, bound(2, items.len())?);
        let found = items.get(from..to);
        found.ok_or("slice bounds out of range")?;
        part(found, env)
    }),
    function("concat", 0, MANY, concat),
    function("chunk", 2, 2, |args, env| {
        let size = usize::try_from(int(args, 0)?).unwrap_or(0);
        if size == 0 {
            return Err("chunk takes a size above zero".into());
        }
        let chunks = items(args, 1)?.chunks(size).map(|chunk| Value::list(chunk.to_vec()));
        paid(chunks.collect::<Result<_, _>>()?, env)
    }),
];

fn items(args: &[Value], index: usize) -> Result<&[Value], Fault> {
    Ok(&list(args, index)?.items)
}

fn or_nil(item: Option<&Value>) -> Value {
    item.cloned().unwrap_or(Value::Nil)
}

/// A new list of these items; nil if there are none to take from.
fn part(items: Option<&[Value]>, env: &mut Env) -> Result<Value, Fault> {
    items.map_or(Ok(Value::Nil), |items| paid(items.to_vec(), env))
}

fn appended(args: &[Value], env: &mut Env) -> Result<Value, Fault> {
    let last = std::iter::once(arg(args, 1));
    paid(items(args, 0)?.iter().chain(last).cloned().collect(), env)
}

fn contains(items: &[Value], wanted: &Value, env: &mut Env) -> Result<bool, Fault> {
    env.burn(wanted.weight().saturating_mul(items.len() + 1))?;
    Ok(items.iter().any(|item| ops::equal(item, wanted)))
}
