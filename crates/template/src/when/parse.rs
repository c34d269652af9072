//! The syntax tree of a condition. All binary operators group from the left.

use super::lex::{Operand, Token, TokenKind, tokens};
use crate::env::{Bound, MAX_DEPTH, MAX_NESTING};
use crate::error::{Error, Result};
use crate::text::Part;

/// A node with its byte offset and its depth, which is bounded.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: usize,
    depth: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Operand(Operand),
    Unary(&'static str, Box<Node>),
    /// A row of operators, each with its place: a long row is no deep one.
    Chain(Box<Node>, Vec<(&'static str, usize, Node)>),
    List(Vec<Node>),
}

/// Binary operators by how tightly they bind, the loosest first.
const LEVELS: [&[&str]; 9] = [
    &["?", ":", "??"],
    &["||"],
    &["&&"],
    &["==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in"],
    &["&", "|", "^"],
    &[">>", "<<"],
    &["+", "-"],
    &["*", "/", "%"],
    &["**"],
];

/// Parses a whole condition.
///
/// # Errors
/// [`Error::Syntax`] at the first token that does not fit.
pub(super) fn parse(parts: &[Part]) -> Result<Node> {
    let tokens = tokens(parts)?;
    let end = parts.last().map_or(0, |part| match part {
        Part::Literal { at, text } => at + text.len(),
        inserted => inserted.at(),
    });
    let mut parser = Parser { tokens, next: 0, level: 0, end };
    let node = parser.binary(0)?;
    if parser.token().is_some() { Err(parser.unexpected()) } else { Ok(node) }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    level: usize,
    end: usize,
}

impl Parser {
    fn token(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn op(&self) -> Option<&'static str> {
        match self.token()?.kind {
            TokenKind::Op(op) => Some(op),
            TokenKind::Operand(_) => None,
        }
    }

    fn at(&self) -> usize {
        self.token().map_or(self.end, |token| token.at)
    }

    fn unexpected(&self) -> Error {
        let message = match self.token().map(|token| &token.kind) {
            None => "unexpected end of the condition".to_owned(),
            Some(TokenKind::Op(op)) => format!("unexpected {op:?}"),
            Some(TokenKind::Operand(_)) => {
                "expected an operator (hint: put operands with spaces in quotes)".to_owned()
            }
        };
        Error::Syntax { at: self.at(), message }
    }

    fn node(&self, at: usize, kind: Kind) -> Result<Node> {
        let deepest = match &kind {
            Kind::Operand(_) => 0,
            Kind::Unary(_, inner) => inner.depth,
            Kind::Chain(first, rest) => {
                rest.iter().map(|(_, _, node)| node.depth).fold(first.depth, usize::max)
            }
            Kind::List(items) => items.iter().map(|item| item.depth).max().unwrap_or(0),
        };
        if deepest >= MAX_DEPTH {
            Err(too_deep(at, Bound::Chain))
        } else {
            Ok(Node { at, depth: deepest + 1, kind })
        }
    }

    /// Operators that bind at least as tightly as those of level `least`.
    fn binary(&mut self, least: usize) -> Result<Node> {
        let mut left = self.prefix()?;
        while let Some((op, level)) = self.operator().filter(|(_, level)| *level >= least) {
            let at = self.at();
            self.next += 1;
            let right = self.binary(level + 1)?;
            left = self.chain(at, op, left, right)?;
        }
        Ok(left)
    }

    /// One more operator of a row.
    fn chain(&self, at: usize, op: &'static str, left: Node, right: Node) -> Result<Node> {
        let Kind::Chain(first, mut rest) = left.kind else {
            return self.node(at, Kind::Chain(Box::new(left), vec![(op, at, right)]));
        };
        if right.depth >= MAX_DEPTH {
            return Err(too_deep(at, Bound::Chain));
        }
        let depth = left.depth.max(right.depth + 1);
        rest.push((op, at, right));
        Ok(Node { at, depth, kind: Kind::Chain(first, rest) })
    }

    /// The binary operator that follows, with its level.
    fn operator(&self) -> Option<(&'static str, usize)> {
        let op = self.op()?;
        let level = LEVELS.iter().position(|operators| operators.contains(&op))?;
        Some((op, level))
    }

    fn prefix(&mut self) -> Result<Node> {
        let at = self.at();
        self.level += 1;
        if self.level > MAX_NESTING {
            return Err(too_deep(at, Bound::Depth));
        }
        let node = match self.op() {
            Some(op @ ("!" | "-" | "~")) => {
                self.next += 1;
                let inner = self.prefix()?;
                self.node(at, Kind::Unary(op, Box::new(inner)))?
            }
            Some("(") => {
                self.next += 1;
                self.group(at)?
            }
            Some(_) => return Err(self.unexpected()),
            None => self.operand(at)?,
        };
        self.level -= 1;
        Ok(node)
    }

    fn operand(&mut self, at: usize) -> Result<Node> {
        let Some(Token { kind: TokenKind::Operand(operand), .. }) = self.token().cloned() else {
            return Err(self.unexpected());
        };
        self.next += 1;
        self.node(at, Kind::Operand(operand))
    }

    /// What follows `(`: one condition, or a list of them.
    fn group(&mut self, at: usize) -> Result<Node> {
        let mut items = vec![self.binary(0)?];
        while self.op() == Some(",") {
            self.next += 1;
            items.push(self.binary(0)?);
        }
        if self.op() != Some(")") {
            return Err(self.unexpected());
        }
        self.next += 1;
        match items.pop() {
            Some(single) if items.is_empty() => Ok(single),
            last => self.node(at, Kind::List(items.into_iter().chain(last).collect())),
        }
    }
}

fn too_deep(at: usize, bound: Bound) -> Error {
    Error::Syntax { at, message: crate::env::too_deep(bound) }
}
