//! The expr-lang dialect (v1.17) with Argo's additions: `asInt`, `asFloat`, `toJson`,
//! `jsonpath(json, path)` and `sprig.*`.
//!
//! Integers have 64 bits and stay exact; a JSON number without fraction is an integer. There is
//! no compile-time type check: operands that do not fit are errors of the evaluation. A call is
//! always a call of a function, and a name that is not called is always a variable, so that a
//! variable may share its name with a function.

mod ast;
pub(crate) mod builtins;
mod eval;
mod fold;
mod lex;
pub(crate) mod methods;
pub(crate) mod ops;
mod parse;
mod path;
mod postfix;

use crate::env::Env;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::Value;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Expr {
    root: ast::Node,
}

impl Expr {
    /// Parses an expression.
    ///
    /// # Errors
    /// [`crate::Error::Syntax`] with the byte offset of what does not fit. The bounds on size and
    /// depth are [`crate::MAX_NODES`], [`crate::MAX_NESTING`] and [`crate::MAX_DEPTH`].
    pub fn parse(source: &str) -> Result<Self> {
        Ok(Self { root: parse::parse(source)? })
    }

    /// The variables that the expression may read, as dotted names, sorted: the longest part of
    /// each that is known without evaluating anything.
    pub fn names(&self) -> Vec<String> {
        path::names(&self.root)
    }

    /// The value of the expression as a JSON document. Times are in RFC 3339, durations in
    /// nanoseconds.
    ///
    /// # Errors
    /// [`crate::Error::Unresolved`] for a name that the scope does not know,
    /// [`crate::Error::Evaluation`] for operands that do not fit, and the errors of the bounds in
    /// `env`.
    pub fn eval(&self, scope: &dyn Scope, env: &mut Env) -> Result<serde_json::Value> {
        self.value(scope, env)?.to_json().map_err(|fault| fault.at(self.root.at))
    }

    pub(crate) fn value(&self, scope: &dyn Scope, env: &mut Env) -> Result<Value> {
        eval::Evaluator::new(scope, env).eval(&self.root)
    }
}

#[cfg(test)]
mod tests;
