//! Functions on dictionaries.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::convert::is_empty;
use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::lists::paid;
use crate::expr::builtins::{Function, MANY, arg, function, map, text};
use crate::value::Value;

type Entries = BTreeMap<Arc<str>, Value>;

pub(super) static TABLE: &[Function] = &[
    function("dict", 0, MANY, |args, env| {
        env.burn(args.len())?;
        let entry = |pair: &[Value]| {
            let value = if pair.len() > 1 { arg(pair, 1).clone() } else { Value::str("") };
            (Arc::from(arg(pair, 0).to_string()), value)
        };
        Value::map(args.chunks(2).map(entry).collect())
    }),
    function("get", 2, 2, |args, _| {
        let found = map(args, 0)?.entries.get(text(args, 1)?);
        Ok(found.cloned().unwrap_or_else(|| Value::str("")))
    }),
    function("set", 3, 3, |args, env| {
        let mut entries = copy(args, env)?;
        entries.insert(Arc::from(text(args, 1)?), arg(args, 2).clone());
        Value::map(entries)
    }),
    function("unset", 2, 2, |args, env| {
        let mut entries = copy(args, env)?;
        entries.remove(text(args, 1)?);
        Value::map(entries)
    }),
    function("hasKey", 2, 2, |args, _| {
        Ok(Value::Bool(map(args, 0)?.entries.contains_key(text(args, 1)?)))
    }),
    function("pluck", 1, MANY, |args, env| {
        let mut found = Vec::new();
        for index in 1..args.len() {
            found.extend(map(args, index)?.entries.get(text(args, 0)?).cloned());
        }
        paid(found, env)
    }),
    function("keys", 0, MANY, |args, env| {
        let mut keys = Vec::new();
        for index in 0..args.len() {
            keys.extend(map(args, index)?.entries.keys().map(|key| Value::Str(Arc::clone(key))));
        }
        paid(keys, env)
    }),
    function("values", 1, 1, |args, env| {
        paid(map(args, 0)?.entries.values().cloned().collect(), env)
    }),
    function("pick", 1, MANY, |args, env| {
        let keys = names(args)?;
        chosen(args, env, |key| keys.contains(&key))
    }),
    function("omit", 1, MANY, |args, env| {
        let keys = names(args)?;
        chosen(args, env, |key| !keys.contains(&key))
    }),
    function("merge", 1, MANY, |args, env| merged(args, false, env)),
    function("mergeOverwrite", 1, MANY, |args, env| merged(args, true, env)),
    function("dig", 3, MANY, dig),
];

fn copy(args: &[Value], env: &mut Env) -> Result<Entries, Fault> {
    let entries = &map(args, 0)?.entries;
    env.burn(entries.len())?;
    Ok(entries.clone())
}

/// The texts after the first argument.
fn names(args: &[Value]) -> Result<Vec<&str>, Fault> {
    (1..args.len()).map(|index| text(args, index)).collect()
}

fn chosen(args: &[Value], env: &mut Env, keep: impl Fn(&str) -> bool) -> Result<Value, Fault> {
    let entries = &map(args, 0)?.entries;
    env.burn(entries.len().saturating_mul(args.len()))?;
    let kept = entries.iter().filter(|(key, _)| keep(key));
    Value::map(kept.map(|(key, value)| (Arc::clone(key), value.clone())).collect())
}

/// The first map with what it lacks from the others; `overwrite`: with all of the others.
fn merged(args: &[Value], overwrite: bool, env: &mut Env) -> Result<Value, Fault> {
    let mut entries = copy(args, env)?;
    for index in 1..args.len() {
        merge(&mut entries, &map(args, index)?.entries, overwrite, env)?;
    }
    Value::map(entries)
}

fn merge(into: &mut Entries, from: &Entries, overwrite: bool, env: &mut Env) -> Result<(), Fault> {
    env.burn(from.len())?;
    for (key, value) in from {
        let merged = match (into.get(key), value) {
            (Some(Value::Map(own)), Value::Map(other)) => {
                env.burn(own.entries.len())?;
                let mut inner = own.entries.clone();
                merge(&mut inner, &other.entries, overwrite, env)?;
                Value::map(inner)?
            }
            (Some(own), _) if !overwrite && !is_empty(own) => continue,
            (Some(_), other) if overwrite && is_empty(other) => continue,
            (_, other) => other.clone(),
        };
        into.insert(Arc::clone(key), merged);
    }
    Ok(())
}

/// `dig(key, ..., default, dict)`: the value below the keys, or the default if one is missing.
fn dig(args: &[Value], env: &mut Env) -> Result<Value, Fault> {
    env.burn(args.len())?;
    let [keys @ .., default, dict] = args else { return Err("dig takes three arguments".into()) };
    let mut found = dict.clone();
    for index in 0..keys.len() {
        let Value::Map(map) = &found else {
            return Err(format!("dig expects a dict, found {}", found.kind()).into());
        };
        let Some(next) = map.entries.get(text(keys, index)?) else { return Ok(default.clone()) };
        found = next.clone();
    }
    Ok(found)
}
