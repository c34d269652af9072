//! The syntax tree of an expression.

use std::sync::Arc;

use super::builtins::Function;
use crate::value::Value;

/// A node with its place in the source.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Byte offset into the source.
    pub(crate) at: usize,
    /// Levels below this node, itself included. The parser bounds it.
    pub(crate) depth: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Literal(Value),
    Name(Arc<str>),
    Pointer(Pointer),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    /// `a + b - c`: operators that group from the left, each with its place. A row of them is one
    /// node, so that a long sum is not a deep one.
    Chain {
        first: Box<Node>,
        rest: Vec<(Binary, usize, Node)>,
    },
    /// `a < b <= c`: every operand is evaluated once.
    Comparison {
        first: Box<Node>,
        rest: Vec<(Binary, Node)>,
    },
    Conditional(Box<[Node; 3]>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Member {
        object: Box<Node>,
        key: Box<Node>,
        optional: bool,
    },
    Slice {
        object: Box<Node>,
        from: Option<Box<Node>>,
        to: Option<Box<Node>>,
    },
    Call {
        function: &'static Function,
        args: Vec<Node>,
    },
    /// A method of a time, a duration or a version: `t.Year()`.
    Method {
        object: Box<Node>,
        name: Arc<str>,
        args: Vec<Node>,
        optional: bool,
    },
    /// A builtin with a closure: list, closure, last argument.
    Fold {
        fold: Fold,
        list: Box<Node>,
        body: Option<Box<Node>>,
        last: Option<Box<Node>>,
    },
    Let {
        name: Arc<str>,
        value: Box<Node>,
        body: Box<Node>,
    },
    Sequence(Vec<Node>),
}

/// What `#` and its kin stand for inside a closure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pointer {
    Item,
    Index,
    Accumulator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Minus,
    Plus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Coalesce,
    /// `a ?: b`: a if it is true.
    Elvis,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Matches,
    Contains,
    StartsWith,
    EndsWith,
    Range,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// The builtins that take a closure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    All,
    None,
    Any,
    One,
    Filter,
    Map,
    Count,
    Sum,
    Find,
    FindIndex,
    FindLast,
    FindLastIndex,
    GroupBy,
    SortBy,
    Reduce,
}

impl Fold {
    /// The builtin of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "all" => Self::All,
            "none" => Self::None,
            "any" => Self::Any,
            "one" => Self::One,
            "filter" => Self::Filter,
            "map" => Self::Map,
            "count" => Self::Count,
            "sum" => Self::Sum,
            "find" => Self::Find,
            "findIndex" => Self::FindIndex,
            "findLast" => Self::FindLast,
            "findLastIndex" => Self::FindLastIndex,
            "groupBy" => Self::GroupBy,
            "sortBy" => Self::SortBy,
            "reduce" => Self::Reduce,
            _ => return None,
        })
    }

    /// Whether the closure may be left out.
    pub(crate) fn closure_is_optional(self) -> bool {
        matches!(self, Self::Count | Self::Sum)
    }

    /// Whether an argument may follow the closure.
    pub(crate) fn takes_last(self) -> bool {
        matches!(self, Self::SortBy | Self::Reduce)
    }
}

/// The children of a node, in the order of the source.
pub(crate) fn children(kind: &Kind) -> Vec<&Node> {
    match kind {
        Kind::Literal(_) | Kind::Name(_) | Kind::Pointer(_) => Vec::new(),
        Kind::Unary(_, operand) => vec![operand],
        Kind::Binary(_, left, right) => vec![left, right],
        Kind::Chain { first, rest } => {
            std::iter::once(first.as_ref()).chain(rest.iter().map(|(_, _, node)| node)).collect()
        }
        Kind::Comparison { first, rest } => {
            std::iter::once(first.as_ref()).chain(rest.iter().map(|(_, node)| node)).collect()
        }
        Kind::Conditional(parts) => parts.iter().collect(),
        Kind::List(items) | Kind::Sequence(items) => items.iter().collect(),
        Kind::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
        Kind::Member { object, key, .. } => vec![object, key],
        Kind::Slice { object, from, to } => {
            let bounds = [from, to].into_iter().flatten().map(AsRef::as_ref);
            std::iter::once(object.as_ref()).chain(bounds).collect()
        }
        Kind::Call { args, .. } => args.iter().collect(),
        Kind::Method { object, args, .. } => std::iter::once(object.as_ref()).chain(args).collect(),
        Kind::Fold { list, body, last, .. } => {
            let rest = [body, last].into_iter().flatten().map(AsRef::as_ref);
            std::iter::once(list.as_ref()).chain(rest).collect()
        }
        Kind::Let { value, body, .. } => vec![value, body],
    }
}
