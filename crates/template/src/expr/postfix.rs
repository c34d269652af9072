//! Parsing of what follows an operand (members, indexes, calls) and of literals in brackets.

use std::sync::Arc;

use super::ast::{Fold, Kind, Node, Pointer};
use super::builtins;
use super::lex::{TokenKind, is_alphabetic};
use super::parse::Parser;
use crate::error::{Error, Result};
use crate::sprig;
use crate::value::Value;

impl Parser<'_> {
    /// Members, indexes, slices and calls after `node`.
    pub(super) fn postfix(&mut self, mut node: Node) -> Result<Node> {
        loop {
            let at = self.at();
            if self.take(".") {
                node = self.member(node, false, at)?;
            } else if self.take("?.") {
                node = if self.take("[") {
                    self.index(node, true, at)?
                } else {
                    self.member(node, true, at)?
                };
            } else if self.take("[") {
                node = self.index(node, false, at)?;
            } else {
                return Ok(node);
            }
        }
    }

    fn member(&mut self, object: Node, optional: bool, at: usize) -> Result<Node> {
        let name = match self.kind() {
            TokenKind::Name(name) => Arc::clone(name),
            // Words such as `not` and `matches` are fine as names of members.
            TokenKind::Op(word) if word.starts_with(is_alphabetic) => Arc::from(*word),
            _ => return Err(self.error("expected the name of a member")),
        };
        let name_at = self.at();
        self.advance();
        let library = matches!(&object.kind, Kind::Name(own) if own.as_ref() == "sprig");
        if self.is("(") {
            let args = self.arguments(Vec::new())?;
            if library {
                return self.sprig(name_at, &name, args);
            }
            let object = Box::new(object);
            return self.node(name_at, Kind::Method { object, name, args, optional });
        }
        let key = Box::new(self.node(name_at, Kind::Literal(Value::Str(name)))?);
        self.node(at, Kind::Member { object: Box::new(object), key, optional })
    }

    fn sprig(&mut self, at: usize, name: &str, args: Vec<Node>) -> Result<Node> {
        let function = sprig::named(name).map_err(|message| Error::Syntax { at, message })?;
        function.check(args.len()).map_err(|message| Error::Syntax { at, message })?;
        self.node(at, Kind::Call { function, args })
    }

    /// What follows `[`: an index or a slice.
    fn index(&mut self, object: Node, optional: bool, at: usize) -> Result<Node> {
        let object = Box::new(object);
        let from = if self.is(":") { None } else { Some(Box::new(self.expression(0)?)) };
        if self.take(":") {
            let to = if self.is("]") { None } else { Some(Box::new(self.expression(0)?)) };
            self.expect("]")?;
            return self.node(at, Kind::Slice { object, from, to });
        }
        self.expect("]")?;
        let key = from.ok_or_else(|| self.unexpected())?;
        self.node(at, Kind::Member { object, key, optional })
    }

    /// `#`, `#acc`, `#index`, or nothing before a `.field`.
    pub(super) fn pointer(&mut self) -> Result<Node> {
        let at = self.at();
        let mut pointer = Pointer::Item;
        if self.take("#")
            && let TokenKind::Name(name) = self.kind()
        {
            pointer = match name.as_ref() {
                "acc" => Pointer::Accumulator,
                "index" => Pointer::Index,
                other => return Err(self.error(format!("unknown pointer #{other}"))),
            };
            self.advance();
        }
        self.node(at, Kind::Pointer(pointer))
    }

    /// `left | name(..)`: the left side is the first argument.
    pub(super) fn pipe(&mut self, left: Node) -> Result<Node> {
        let at = self.at();
        let name = self.expect_name()?;
        let node = self.call(at, &name, vec![left])?;
        self.postfix(node)
    }

    pub(super) fn call(&mut self, at: usize, name: &str, args: Vec<Node>) -> Result<Node> {
        if let Some(fold) = Fold::named(name) {
            return self.fold(at, fold, args);
        }
        let Some(function) = builtins::named(name) else {
            return Err(Error::Syntax { at, message: format!("unknown function {name}") });
        };
        let args = self.arguments(args)?;
        function.check(args.len()).map_err(|message| Error::Syntax { at, message })?;
        self.node(at, Kind::Call { function, args })
    }

    /// Arguments in parentheses, after those already there.
    fn arguments(&mut self, mut args: Vec<Node>) -> Result<Vec<Node>> {
        self.expect("(")?;
        while !self.take(")") {
            args.push(self.expression(0)?);
            if !self.is(")") {
                self.expect(",")?;
            }
        }
        Ok(args)
    }

    /// The arguments of a builtin with a closure.
    fn fold(&mut self, at: usize, fold: Fold, mut args: Vec<Node>) -> Result<Node> {
        self.expect("(")?;
        let list = match args.pop() {
            Some(list) => list,
            None => {
                let list = self.expression(0)?;
                if !self.is(")") {
                    self.expect(",")?;
                }
                list
            }
        };
        let body = match self.is(")") {
            true if fold.closure_is_optional() => None,
            true => return Err(self.error("expected a closure")),
            false => Some(Box::new(self.closure()?)),
        };
        let mut last = None;
        if self.take(",") && !self.is(")") {
            if !fold.takes_last() {
                return Err(self.unexpected());
            }
            last = Some(Box::new(self.expression(0)?));
            self.take(",");
        }
        self.expect(")")?;
        self.node(at, Kind::Fold { fold, list: Box::new(list), body, last })
    }

    fn closure(&mut self) -> Result<Node> {
        self.closures += 1;
        let braces = self.take("{");
        let node = if braces { self.sequence()? } else { self.expression(0)? };
        if braces {
            self.expect("}")?;
        } else if self.is(";") {
            return Err(self.error("wrap the closure in braces { }"));
        }
        self.closures -= 1;
        Ok(node)
    }

    pub(super) fn list(&mut self) -> Result<Node> {
        let at = self.at();
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.take("]") {
            items.push(self.expression(0)?);
            if !self.is("]") {
                self.expect(",")?;
            }
        }
        self.node(at, Kind::List(items))
    }

    pub(super) fn map(&mut self) -> Result<Node> {
        let at = self.at();
        self.expect("{")?;
        let mut pairs = Vec::new();
        while !self.take("}") {
            let key = self.map_key()?;
            self.expect(":")?;
            let value = self.expression(0)?;
            pairs.push((key, value));
            if !self.is("}") {
                self.expect(",")?;
            }
        }
        self.node(at, Kind::Map(pairs))
    }

    /// A name, a number or a string stands for itself; parentheses hold an expression.
    fn map_key(&mut self) -> Result<Node> {
        let at = self.at();
        let key: Arc<str> = match self.kind() {
            TokenKind::Name(text) | TokenKind::Str(text) => Arc::clone(text),
            TokenKind::Int(_) | TokenKind::Float(_) => {
                let token = self.token().map(|token| token.at..token.end);
                Arc::from(token.and_then(|range| self.source.get(range)).unwrap_or(""))
            }
            TokenKind::Op("(") => return self.expression(0),
            _ => {
                let message = "a map key must be a name, a number, a string, \
                               or an expression in parentheses";
                return Err(self.error(message));
            }
        };
        self.advance();
        self.node(at, Kind::Literal(Value::Str(key)))
    }
}
