//! Evaluation of a syntax tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::{Binary, Kind, Node, Pointer, Unary};
use super::{methods, ops, path};
use crate::env::Env;
use crate::error::{Error, Fault, Result};
use crate::scope::{Lookup, Scope};
use crate::value::Value;

/// What `#` and its kin stand for.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) item: Value,
    pub(super) index: usize,
    pub(super) accumulator: Value,
}

/// One evaluation.
pub(super) struct Evaluator<'a> {
    scope: &'a dyn Scope,
    pub(super) env: &'a mut Env,
    /// Variables bound by `let`, the innermost last.
    bound: Vec<(Arc<str>, Value)>,
    /// Closures that are running, the innermost last.
    pub(super) frames: Vec<Frame>,
    /// How many `??` have the current node on their left.
    guards: usize,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(scope: &'a dyn Scope, env: &'a mut Env) -> Self {
        Self { scope, env, bound: Vec::new(), frames: Vec::new(), guards: 0 }
    }

    /// The value of `node`.
    pub(super) fn eval(&mut self, node: &Node) -> Result<Value> {
        self.env.burn(1).map_err(|fault| fault.at(node.at))?;
        match &node.kind {
            Kind::Literal(value) => Ok(value.clone()),
            Kind::Name(_) | Kind::Member { .. } | Kind::Slice { .. } | Kind::Method { .. } => {
                Ok(self.link(node)?.unwrap_or(Value::Nil))
            }
            Kind::Pointer(pointer) => self.pointer(*pointer, node.at),
            Kind::Unary(op, operand) => self.unary(*op, operand, node.at),
            Kind::Binary(op, left, right) => self.binary(*op, left, right, node.at),
            Kind::Chain { first, rest } => self.chain(first, rest),
            Kind::Comparison { first, rest } => self.comparison(first, rest, node.at),
            Kind::Conditional(parts) => {
                let [condition, first, second] = parts.as_ref();
                let chosen = if self.truth(condition)? { first } else { second };
                self.eval(chosen)
            }
            Kind::List(items) => self.list(items, node.at),
            Kind::Map(pairs) => self.map(pairs, node.at),
            Kind::Call { function, args } => {
                let args = self.all(args)?;
                (function.run)(&args, self.env).map_err(|fault| fault.at(node.at))
            }
            Kind::Fold { fold, list, body, last } => {
                self.fold(node, *fold, list, body.as_deref(), last.as_deref())
            }
            Kind::Let { name, value, body } => {
                let value = self.eval(value)?;
                self.bound.push((Arc::clone(name), value));
                let result = self.eval(body);
                self.bound.pop();
                result
            }
            Kind::Sequence(nodes) => nodes.iter().try_fold(Value::Nil, |_, node| self.eval(node)),
        }
    }

    fn all(&mut self, nodes: &[Node]) -> Result<Vec<Value>> {
        nodes.iter().map(|node| self.eval(node)).collect()
    }

    /// The value of `node` as a condition; nil counts as false.
    pub(super) fn truth(&mut self, node: &Node) -> Result<bool> {
        let value = self.eval(node)?;
        ops::truth(&value).map_err(|fault| fault.at(node.at))
    }

    fn list(&mut self, items: &[Node], at: usize) -> Result<Value> {
        let items = self.all(items)?;
        Value::list(items).map_err(|fault| fault.at(at))
    }

    fn map(&mut self, pairs: &[(Node, Node)], at: usize) -> Result<Value> {
        let mut entries = BTreeMap::new();
        for (key, value) in pairs {
            let key = match self.eval(key)? {
                Value::Str(key) => key,
                other => Arc::from(other.to_string()),
            };
            entries.insert(key, self.eval(value)?);
        }
        Value::map(entries).map_err(|fault| fault.at(at))
    }

    fn pointer(&self, pointer: Pointer, at: usize) -> Result<Value> {
        let outside = || Fault::from("# has no meaning outside a closure").at(at);
        let frame = self.frames.last().ok_or_else(outside)?;
        Ok(match pointer {
            Pointer::Item => frame.item.clone(),
            Pointer::Index => Value::Int(i64::try_from(frame.index).unwrap_or(i64::MAX)),
            Pointer::Accumulator => frame.accumulator.clone(),
        })
    }

    fn unary(&mut self, op: Unary, operand: &Node, at: usize) -> Result<Value> {
        let value = self.eval(operand)?;
        ops::unary(op, &value).map_err(|fault| fault.at(at))
    }

    fn binary(&mut self, op: Binary, left: &Node, right: &Node, at: usize) -> Result<Value> {
        match op {
            Binary::Coalesce => match self.guarded(left)? {
                Value::Nil => self.eval(right),
                value => Ok(value),
            },
            Binary::Elvis => {
                let value = self.eval(left)?;
                let truth = ops::truth(&value).map_err(|fault| fault.at(at))?;
                if truth { Ok(value) } else { self.eval(right) }
            }
            _ => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                ops::binary(op, &left, &right, self.env).map_err(|fault| fault.at(at))
            }
        }
    }

    /// The value of a row of operators, from the left.
    fn chain(&mut self, first: &Node, rest: &[(Binary, usize, Node)]) -> Result<Value> {
        let (mut left, mut left_at) = (self.eval(first)?, first.at);
        for (number, (op, at, right)) in rest.iter().enumerate() {
            // The first is paid for as the node.
            self.env.burn(usize::from(number > 0)).map_err(|fault| fault.at(*at))?;
            left = match op {
                Binary::And | Binary::Or => {
                    let truth = ops::truth(&left).map_err(|fault| fault.at(left_at))?;
                    let decided = truth == (*op == Binary::Or);
                    Value::Bool(if decided { truth } else { self.truth(right)? })
                }
                _ => {
                    let right = self.eval(right)?;
                    ops::binary(*op, &left, &right, self.env).map_err(|fault| fault.at(*at))?
                }
            };
            left_at = *at;
        }
        Ok(left)
    }

    /// The value of the left side of `??`, where a missing member is nil.
    fn guarded(&mut self, node: &Node) -> Result<Value> {
        self.guards += 1;
        let result = self.eval(node);
        self.guards -= 1;
        result
    }

    fn comparison(&mut self, first: &Node, rest: &[(Binary, Node)], at: usize) -> Result<Value> {
        let mut left = self.eval(first)?;
        for (op, right) in rest {
            let right = self.eval(right)?;
            let holds = ops::binary(*op, &left, &right, self.env).map_err(|fault| fault.at(at))?;
            if matches!(holds, Value::Bool(false)) {
                return Ok(holds);
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    /// The value of a link of a chain, or nothing if a `?.` on the way met nil.
    fn link(&mut self, node: &Node) -> Result<Option<Value>> {
        if let Some(path) = path::of(node)
            && self.local(path.parts.first().copied().unwrap_or("")).is_none()
        {
            return self.variable(&path, node.at).map(Some);
        }
        match &node.kind {
            Kind::Name(name) => Ok(self.local(name)),
            Kind::Member { object, key, optional } => {
                let Some(object) = self.inner(object)? else { return Ok(None) };
                if *optional && matches!(object, Value::Nil) {
                    return Ok(None);
                }
                let key = self.eval(key)?;
                if self.guards > 0 && matches!(object, Value::Nil) {
                    return Ok(Some(Value::Nil));
                }
                ops::member(&object, &key).map(Some).map_err(|fault| fault.at(node.at))
            }
            Kind::Slice { object, from, to } => {
                let Some(object) = self.inner(object)? else { return Ok(None) };
                let from = from.as_ref().map(|node| self.eval(node)).transpose()?;
                let to = to.as_ref().map(|node| self.eval(node)).transpose()?;
                ops::slice(&object, from.as_ref(), to.as_ref(), self.env)
                    .map(Some)
                    .map_err(|fault| fault.at(node.at))
            }
            Kind::Method { object, name, args, optional } => {
                let Some(object) = self.inner(object)? else { return Ok(None) };
                if *optional && matches!(object, Value::Nil) {
                    return Ok(None);
                }
                let args = self.all(args)?;
                methods::call(&object, name, &args).map(Some).map_err(|fault| fault.at(node.at))
            }
            _ => self.eval(node).map(Some),
        }
    }

    /// The value of the object of a link; a step of its own.
    fn inner(&mut self, object: &Node) -> Result<Option<Value>> {
        self.env.burn(1).map_err(|fault| fault.at(object.at))?;
        self.link(object)
    }

    /// The value that `let` gave a name.
    fn local(&self, name: &str) -> Option<Value> {
        let (_, value) = self.bound.iter().rev().find(|(own, _)| own.as_ref() == name)?;
        Some(value.clone())
    }

    /// The value of a chain of members: of the longest part that the scope knows, then of the
    /// members of that.
    fn variable(&mut self, path: &path::Path<'_>, at: usize) -> Result<Value> {
        let guarded = (path.optional || self.guards > 0) && path.parts.len() > 1;
        for len in (1..=path.parts.len()).rev() {
            let (known, rest) = path.parts.split_at(len);
            self.env.burn(1).map_err(|fault| fault.at(at))?;
            let value = match self.scope.get(known) {
                Lookup::Unknown => continue,
                Lookup::Absent => Value::Nil,
                Lookup::TooLarge { most } => {
                    return Err(Error::TooLarge { name: known.join("."), most });
                }
                Lookup::Known(json) | Lookup::Written { value: json, .. } => {
                    let value = Value::from_json(&json).map_err(|fault| fault.at(at))?;
                    self.env.burn(value.weight()).map_err(|fault| fault.at(at))?;
                    value
                }
            };
            return self.members(value, rest, path, guarded, at);
        }
        if guarded { Ok(Value::Nil) } else { Err(unresolved(path)) }
    }

    fn members(
        &self,
        mut value: Value,
        rest: &[&str],
        path: &path::Path<'_>,
        guarded: bool,
        at: usize,
    ) -> Result<Value> {
        for key in rest {
            value = match &value {
                Value::Nil if guarded => return Ok(Value::Nil),
                Value::Map(map) => match map.entries.get(*key) {
                    Some(member) => member.clone(),
                    None if guarded => return Ok(Value::Nil),
                    None => return Err(unresolved(path)),
                },
                other => ops::member(other, &Value::str(key)).map_err(|fault| fault.at(at))?,
            };
        }
        Ok(value)
    }
}

fn unresolved(path: &path::Path<'_>) -> Error {
    Error::Unresolved { name: path.parts.join(".") }
}
