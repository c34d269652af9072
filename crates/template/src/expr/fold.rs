//! The builtins that take a closure.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::{Binary, Fold, Node};
use super::eval::{Evaluator, Frame};
use super::{builtins, ops};
use crate::error::{Fault, Result};
use crate::value::Value;

impl Evaluator<'_> {
    /// The value of a builtin with a closure.
    pub(super) fn fold(
        &mut self,
        node: &Node,
        fold: Fold,
        list: &Node,
        body: Option<&Node>,
        last: Option<&Node>,
    ) -> Result<Value> {
        let items = match self.eval(list)? {
            Value::List(list) => list,
            other => {
                let message = format!("expected an array, found {}", other.kind());
                return Err(Fault::Message(message).at(list.at));
            }
        };
        let last = last.map(|node| self.eval(node)).transpose()?;
        let items = items.items.as_slice();
        let value = match fold {
            Fold::All => Value::Bool(self.position(items, body, false)?.is_none()),
            Fold::None => Value::Bool(self.position(items, body, true)?.is_none()),
            Fold::Any => Value::Bool(self.position(items, body, true)?.is_some()),
            Fold::One => Value::Bool(self.count(items, body)? == 1),
            Fold::Count => int(self.count(items, body)?),
            Fold::Find => {
                let found = self.position(items, body, true)?;
                found.and_then(|at| items.get(at)).cloned().unwrap_or(Value::Nil)
            }
            Fold::FindIndex => index(self.position(items, body, true)?),
            Fold::FindLast => {
                let found = self.last_position(items, body)?;
                found.and_then(|at| items.get(at)).cloned().unwrap_or(Value::Nil)
            }
            Fold::FindLastIndex => index(self.last_position(items, body)?),
            Fold::Filter => return self.filter(items, body, node.at),
            Fold::Map => {
                let mapped = self.mapped(items, body)?;
                Value::list(mapped).map_err(|fault| fault.at(node.at))?
            }
            Fold::Sum => return self.sum(items, body, node.at),
            Fold::GroupBy => return self.group_by(items, body, node.at),
            Fold::SortBy => {
                let keys = self.mapped(items, body)?;
                let sorted = builtins::sorted(items, &keys, last.as_ref());
                sorted.map_err(|fault| fault.at(node.at))?
            }
            Fold::Reduce => return self.reduce(items, body, last, node.at),
        };
        Ok(value)
    }

    /// The value of the closure for one item; the item itself without a closure.
    fn apply(&mut self, item: &Value, index: usize, body: Option<&Node>) -> Result<Value> {
        let Some(body) = body else { return Ok(item.clone()) };
        self.frames.push(Frame { item: item.clone(), index, accumulator: Value::Nil });
        let value = self.eval(body);
        self.frames.pop();
        value
    }

    fn test(&mut self, item: &Value, index: usize, body: Option<&Node>) -> Result<bool> {
        let value = self.apply(item, index, body)?;
        ops::truth(&value).map_err(|fault| fault.at(body.map_or(0, |body| body.at)))
    }

    /// The first item for which the closure gives `wanted`.
    fn position(
        &mut self,
        items: &[Value],
        body: Option<&Node>,
        wanted: bool,
    ) -> Result<Option<usize>> {
        for (index, item) in items.iter().enumerate() {
            if self.test(item, index, body)? == wanted {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn last_position(&mut self, items: &[Value], body: Option<&Node>) -> Result<Option<usize>> {
        for (index, item) in items.iter().enumerate().rev() {
            if self.test(item, index, body)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn count(&mut self, items: &[Value], body: Option<&Node>) -> Result<usize> {
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            count += usize::from(self.test(item, index, body)?);
        }
        Ok(count)
    }

    fn filter(&mut self, items: &[Value], body: Option<&Node>, at: usize) -> Result<Value> {
        let mut kept = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if self.test(item, index, body)? {
                kept.push(item.clone());
            }
        }
        Value::list(kept).map_err(|fault| fault.at(at))
    }

    fn mapped(&mut self, items: &[Value], body: Option<&Node>) -> Result<Vec<Value>> {
        items.iter().enumerate().map(|(index, item)| self.apply(item, index, body)).collect()
    }

    fn sum(&mut self, items: &[Value], body: Option<&Node>, at: usize) -> Result<Value> {
        let mut total = Value::Int(0);
        for (index, item) in items.iter().enumerate() {
            let value = self.apply(item, index, body)?;
            total = match (&total, &value) {
                // A sum starts as the integer zero, whatever it is a sum of.
                (Value::Int(0), Value::Duration(_)) => value,
                _ => ops::binary(Binary::Add, &total, &value, self.env)
                    .map_err(|fault| fault.at(at))?,
            };
        }
        Ok(total)
    }

    fn group_by(&mut self, items: &[Value], body: Option<&Node>, at: usize) -> Result<Value> {
        let mut groups: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let key = self.apply(item, index, body)?;
            groups.entry(Arc::from(key.to_string())).or_default().push(item.clone());
        }
        let lists = groups.into_iter().map(|(key, items)| Ok((key, Value::list(items)?)));
        let lists = lists.collect::<std::result::Result<_, Fault>>();
        lists.and_then(Value::map).map_err(|fault| fault.at(at))
    }

    fn reduce(
        &mut self,
        items: &[Value],
        body: Option<&Node>,
        first: Option<Value>,
        at: usize,
    ) -> Result<Value> {
        let skipped = usize::from(first.is_none());
        let empty = || Fault::from("reduce of an empty array with no initial value").at(at);
        let mut accumulator = match first {
            Some(first) => first,
            None => items.first().cloned().ok_or_else(empty)?,
        };
        let Some(body) = body else { return Ok(accumulator) };
        for (index, item) in items.iter().enumerate().skip(skipped) {
            self.frames.push(Frame { item: item.clone(), index, accumulator });
            let value = self.eval(body);
            self.frames.pop();
            accumulator = value?;
        }
        Ok(accumulator)
    }
}

fn int(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The place that was found, or -1.
fn index(found: Option<usize>) -> Value {
    found.map_or(Value::Int(-1), int)
}
