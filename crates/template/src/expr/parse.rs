//! From tokens to a syntax tree: operator precedence by Pratt's method.

use std::sync::Arc;

use super::ast::{Binary, Fold, Kind, Node, Unary, children};
use super::builtins;
use super::lex::{Token, TokenKind, tokens};
use crate::env::{Bound, MAX_DEPTH, MAX_NESTING, MAX_NODES, too_deep};
use crate::error::{Error, Result};
use crate::value::Value;

/// Parses a whole source.
///
/// # Errors
/// [`Error::Syntax`] with the byte offset of the first token that does not fit.
pub(super) fn parse(source: &str) -> Result<Node> {
    let mut parser =
        Parser { source, tokens: tokens(source)?, next: 0, nodes: 0, level: 0, closures: 0 };
    let node = parser.sequence()?;
    match parser.kind() {
        TokenKind::End => Ok(node),
        _ => Err(parser.unexpected()),
    }
}

pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    tokens: Vec<Token>,
    next: usize,
    nodes: usize,
    level: usize,
    /// Closures around the current token: only there `#` and a leading dot have a meaning.
    pub(super) closures: usize,
}

impl Parser<'_> {
    pub(super) fn kind(&self) -> &TokenKind {
        self.tokens.get(self.next).map_or(&TokenKind::End, |token| &token.kind)
    }

    pub(super) fn token(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    pub(super) fn at(&self) -> usize {
        self.token().map_or(self.source.len(), |token| token.at)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    pub(super) fn is(&self, op: &str) -> bool {
        self.kind().is(op)
    }

    /// Takes the token if it is `op`.
    pub(super) fn take(&mut self, op: &str) -> bool {
        let found = self.is(op);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, op: &str) -> Result<()> {
        if self.take(op) { Ok(()) } else { Err(self.wanted(&format!("{op:?}"))) }
    }

    pub(super) fn expect_name(&mut self) -> Result<Arc<str>> {
        let TokenKind::Name(name) = self.kind() else { return Err(self.wanted("a name")) };
        let name = Arc::clone(name);
        self.advance();
        Ok(name)
    }

    fn found(&self) -> String {
        match self.token() {
            Some(token) if token.kind != TokenKind::End => {
                format!("{:?}", self.source.get(token.at..token.end).unwrap_or(""))
            }
            _ => "the end of the expression".to_owned(),
        }
    }

    pub(super) fn unexpected(&self) -> Error {
        self.error(format!("unexpected {}", self.found()))
    }

    fn wanted(&self, what: &str) -> Error {
        self.error(format!("expected {what}, found {}", self.found()))
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::Syntax { at: self.at(), message: message.into() }
    }

    /// A node over its children, within the bounds on size and depth.
    pub(super) fn node(&mut self, at: usize, kind: Kind) -> Result<Node> {
        self.count(at)?;
        let depth = 1 + children(&kind).into_iter().map(|node| node.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(Error::Syntax { at, message: too_deep(Bound::Chain) });
        }
        Ok(Node { at, depth, kind })
    }

    fn count(&mut self, at: usize) -> Result<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("over the limit `expression-nodes` of {MAX_NODES}");
            return Err(Error::Syntax { at, message });
        }
        Ok(())
    }

    /// One more operator of a row that groups from the left.
    fn chain(&mut self, at: usize, op: Binary, left: Node, right: Node) -> Result<Node> {
        let Kind::Chain { first, mut rest } = left.kind else {
            return self
                .node(at, Kind::Chain { first: Box::new(left), rest: vec![(op, at, right)] });
        };
        self.count(at)?;
        let depth = left.depth.max(right.depth + 1);
        rest.push((op, at, right));
        if depth > MAX_DEPTH {
            return Err(Error::Syntax { at, message: too_deep(Bound::Chain) });
        }
        Ok(Node { at, depth, kind: Kind::Chain { first, rest } })
    }

    /// `a; b; c`, a `;` at the end being allowed.
    pub(super) fn sequence(&mut self) -> Result<Node> {
        let first = self.expression(0)?;
        if !self.is(";") {
            return Ok(first);
        }
        let at = first.at;
        let mut nodes = vec![first];
        while self.take(";") && *self.kind() != TokenKind::End {
            nodes.push(self.expression(0)?);
        }
        self.node(at, Kind::Sequence(nodes))
    }

    /// An expression whose operators bind at least as tightly as `least`.
    pub(super) fn expression(&mut self, least: u16) -> Result<Node> {
        self.level += 1;
        if self.level > MAX_NESTING {
            return Err(self.error(too_deep(Bound::Depth)));
        }
        let node = self.expression_inside(least);
        self.level -= 1;
        node
    }

    fn expression_inside(&mut self, least: u16) -> Result<Node> {
        if least == 0 && self.is("let") {
            return self.binding();
        }
        if least == 0 && self.is("if") {
            return self.branch();
        }
        let mut left = self.primary()?;
        let mut after_coalesce = false;
        while let Some((negated, op, precedence)) = self.operator(least) {
            let at = self.at();
            if negated {
                self.advance();
            }
            if after_coalesce && op != Operator::Binary(Binary::Coalesce) {
                let message = "?? cannot be mixed with another operator: add parentheses";
                return Err(self.error(message));
            }
            self.advance();
            after_coalesce = op == Operator::Binary(Binary::Coalesce);
            left = match op {
                Operator::Pipe => self.pipe(left)?,
                Operator::Binary(op) if is_comparison(op) => {
                    self.comparison(left, op, precedence, at)?
                }
                Operator::Binary(op) => {
                    let right_least = if op == Binary::Power { precedence } else { precedence + 1 };
                    let right = self.expression(right_least)?;
                    match op {
                        Binary::Power | Binary::Coalesce => {
                            self.node(at, Kind::Binary(op, Box::new(left), Box::new(right)))?
                        }
                        _ => self.chain(at, op, left, right)?,
                    }
                }
            };
            if negated {
                left = self.node(at, Kind::Unary(Unary::Not, Box::new(left)))?;
            }
        }
        if least == 0 { self.conditional(left) } else { Ok(left) }
    }

    /// The operator that follows, if it binds tightly enough: whether `not` stands before it,
    /// the operator, its precedence.
    fn operator(&self, least: u16) -> Option<(bool, Operator, u16)> {
        let negated = self.is("not");
        let place = self.next + usize::from(negated);
        let TokenKind::Op(text) = self.tokens.get(place)?.kind else { return None };
        if negated && !matches!(text, "in" | "matches" | "contains" | "startsWith" | "endsWith") {
            return None;
        }
        let (op, precedence) = binary(text)?;
        (precedence >= least).then_some((negated, op, precedence))
    }

    /// `a < b < c` is `a < b && b < c`.
    fn comparison(&mut self, left: Node, op: Binary, precedence: u16, at: usize) -> Result<Node> {
        let mut rest = vec![(op, self.expression(precedence + 1)?)];
        while let Some((false, Operator::Binary(op), _)) = self.operator(precedence)
            && is_comparison(op)
        {
            self.advance();
            rest.push((op, self.expression(precedence + 1)?));
        }
        self.node(at, Kind::Comparison { first: Box::new(left), rest })
    }

    /// `let name = value; body`
    fn binding(&mut self) -> Result<Node> {
        let at = self.at();
        self.advance();
        let name_at = self.at();
        let name = self.expect_name()?;
        if Fold::named(&name).is_some() || builtins::named(&name).is_some() {
            let message = format!("cannot redeclare the builtin {name}");
            return Err(Error::Syntax { at: name_at, message });
        }
        self.expect("=")?;
        let value = Box::new(self.expression(0)?);
        self.expect(";")?;
        let body = Box::new(self.sequence()?);
        self.node(at, Kind::Let { name, value, body })
    }

    /// `if c { a } else { b }`
    fn branch(&mut self) -> Result<Node> {
        let at = self.at();
        self.advance();
        let condition = self.expression(0)?;
        let first = self.block()?;
        self.expect("else")?;
        let second = if self.is("if") { self.expression(0)? } else { self.block()? };
        self.node(at, Kind::Conditional(Box::new([condition, first, second])))
    }

    fn block(&mut self) -> Result<Node> {
        self.expect("{")?;
        let node = self.sequence()?;
        self.expect("}")?;
        Ok(node)
    }

    /// `c ? a : b` and `a ?: b`
    fn conditional(&mut self, mut condition: Node) -> Result<Node> {
        while self.is("?") {
            let at = self.at();
            self.advance();
            let kind = if self.take(":") {
                let second = self.expression(0)?;
                Kind::Binary(Binary::Elvis, Box::new(condition), Box::new(second))
            } else {
                let first = self.expression(0)?;
                self.expect(":")?;
                let second = self.expression(0)?;
                Kind::Conditional(Box::new([condition, first, second]))
            };
            condition = self.node(at, kind)?;
        }
        Ok(condition)
    }

    fn primary(&mut self) -> Result<Node> {
        let at = self.at();
        let unary = match self.kind() {
            TokenKind::Op("not" | "!") => Some((Unary::Not, 50)),
            TokenKind::Op("-") => Some((Unary::Minus, 90)),
            TokenKind::Op("+") => Some((Unary::Plus, 90)),
            _ => None,
        };
        if let Some((op, precedence)) = unary {
            self.advance();
            let operand = self.expression(precedence)?;
            let node = self.node(at, Kind::Unary(op, Box::new(operand)))?;
            return self.postfix(node);
        }
        if self.take("(") {
            let node = self.sequence()?;
            self.expect(")")?;
            return self.postfix(node);
        }
        if self.closures > 0 && (self.is("#") || self.is(".")) {
            let node = self.pointer()?;
            return self.postfix(node);
        }
        if self.take("::") {
            let name = self.expect_name()?;
            let node = self.call(at, &name, Vec::new())?;
            return self.postfix(node);
        }
        self.operand(at)
    }

    fn operand(&mut self, at: usize) -> Result<Node> {
        let literal = match self.kind() {
            TokenKind::Int(int) => Some(Value::Int(*int)),
            TokenKind::Float(float) => Some(Value::Float(*float)),
            TokenKind::Str(text) => Some(Value::Str(Arc::clone(text))),
            TokenKind::Name(name) => match name.as_ref() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                "nil" => Some(Value::Nil),
                _ => None,
            },
            _ => None,
        };
        if let Some(value) = literal {
            self.advance();
            let is_text = matches!(value, Value::Str(_));
            let node = self.node(at, Kind::Literal(value))?;
            return if is_text { self.postfix(node) } else { Ok(node) };
        }
        let node = match self.kind() {
            TokenKind::Name(name) => {
                let name = Arc::clone(name);
                self.advance();
                if self.is("(") {
                    self.call(at, &name, Vec::new())?
                } else {
                    self.node(at, Kind::Name(name))?
                }
            }
            TokenKind::Op("[") => self.list()?,
            TokenKind::Op("{") => self.map()?,
            _ => return Err(self.unexpected()),
        };
        self.postfix(node)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Pipe,
    Binary(Binary),
}

fn is_comparison(op: Binary) -> bool {
    matches!(op, Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual)
}

/// The binary operator of this spelling, and how tightly it binds.
fn binary(text: &str) -> Option<(Operator, u16)> {
    let (op, precedence) = match text {
        "|" => return Some((Operator::Pipe, 0)),
        "or" | "||" => (Binary::Or, 10),
        "and" | "&&" => (Binary::And, 15),
        "==" => (Binary::Equal, 20),
        "!=" => (Binary::NotEqual, 20),
        "<" => (Binary::Less, 20),
        ">" => (Binary::Greater, 20),
        ">=" => (Binary::GreaterEqual, 20),
        "<=" => (Binary::LessEqual, 20),
        "in" => (Binary::In, 20),
        "matches" => (Binary::Matches, 20),
        "contains" => (Binary::Contains, 20),
        "startsWith" => (Binary::StartsWith, 20),
        "endsWith" => (Binary::EndsWith, 20),
        ".." => (Binary::Range, 25),
        "+" => (Binary::Add, 30),
        "-" => (Binary::Subtract, 30),
        "*" => (Binary::Multiply, 60),
        "/" => (Binary::Divide, 60),
        "%" => (Binary::Remainder, 60),
        "**" | "^" => (Binary::Power, 100),
        "??" => (Binary::Coalesce, 500),
        _ => return None,
    };
    Some((Operator::Binary(op), precedence))
}
