//! Conditions of filters: `?(@.age > 42 && @.name == "x")`.

use super::{Step, select};
use crate::env::Env;
use crate::error::Fault;
use crate::expr::ops;
use crate::pattern;
use crate::value::Value;

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Compare(Operand, Test, Operand),
    /// The path leads somewhere, or the literal is true.
    Exists(Operand),
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Literal(Value),
    Path {
        /// From the current item (`@`) rather than from the root (`$`).
        relative: bool,
        steps: Vec<Step>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Matches,
}

impl Condition {
    /// Whether `item` passes.
    pub(super) fn holds(&self, item: &Value, root: &Value, env: &mut Env) -> Result<bool, Fault> {
        env.burn(1)?;
        match self {
            Self::Any(parts) => {
                for part in parts {
                    if part.holds(item, root, env)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::All(parts) => {
                for part in parts {
                    if !part.holds(item, root, env)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Not(inner) => Ok(!inner.holds(item, root, env)?),
            Self::Exists(operand) => Ok(match operand.value(item, root, env)? {
                None => false,
                Some(Value::Bool(bool)) if matches!(operand, Operand::Literal(_)) => bool,
                Some(_) => true,
            }),
            Self::Compare(left, test, right) => {
                let (left, right) = (left.value(item, root, env)?, right.value(item, root, env)?);
                compare(left.as_ref(), *test, right.as_ref(), env)
            }
        }
    }
}

impl Operand {
    /// The first match of a path, or the literal.
    fn value(&self, item: &Value, root: &Value, env: &mut Env) -> Result<Option<Value>, Fault> {
        match self {
            Self::Literal(value) => Ok(Some(value.clone())),
            Self::Path { relative, steps } => {
                let start = if *relative { item } else { root };
                Ok(select::all(steps, start, root, env)?.into_iter().next())
            }
        }
    }
}

/// A comparison; with a side that is missing it does not hold, unless it asks for inequality.
fn compare(
    left: Option<&Value>,
    test: Test,
    right: Option<&Value>,
    env: &mut Env,
) -> Result<bool, Fault> {
    let (Some(left), Some(right)) = (left, right) else { return Ok(test == Test::NotEqual) };
    env.burn(left.weight())?;
    let order = || ops::order(left, right);
    Ok(match test {
        Test::Equal => ops::equal(left, right),
        Test::NotEqual => !ops::equal(left, right),
        Test::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        Test::LessEqual => order().is_some_and(std::cmp::Ordering::is_le),
        Test::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        Test::GreaterEqual => order().is_some_and(std::cmp::Ordering::is_ge),
        Test::Matches => match (left, right) {
            (Value::Str(text), Value::Str(pattern)) => pattern::matches(pattern, text, env)?,
            _ => false,
        },
    })
}
