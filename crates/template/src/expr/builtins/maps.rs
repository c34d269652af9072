//! Functions on maps. Their keys come in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lists::paid;
use super::{Function, function, list, map};
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("keys", 1, 1, |args, env| {
        paid(map(args, 0)?.entries.keys().map(|key| Value::Str(Arc::clone(key))).collect(), env)
    }),
    function("values", 1, 1, |args, env| {
        paid(map(args, 0)?.entries.values().cloned().collect(), env)
    }),
    function("toPairs", 1, 1, |args, env| {
        let pairs = map(args, 0)?.entries.iter();
        let pairs =
            pairs.map(|(key, value)| Value::list(vec![Value::Str(Arc::clone(key)), value.clone()]));
        paid(pairs.collect::<Result<_, _>>()?, env)
    }),
    function("fromPairs", 1, 1, |args, env| {
        let pairs = &list(args, 0)?.items;
        env.burn(pairs.len())?;
        let mut entries: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for pair in pairs {
            let Value::List(pair) = pair else { return Err("a pair must be an array".into()) };
            let [key, value] = pair.items.as_slice() else {
                return Err("a pair must have two items".into());
            };
            entries.insert(Arc::from(key.to_string()), value.clone());
        }
        Value::map(entries)
    }),
];
