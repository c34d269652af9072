//! Evaluation of a condition.

use super::lex::Operand;
use super::parse::{Kind, Node};
use crate::env::Env;
use crate::error::{Fault, Result};
use crate::expr::ops::{float_to_int, int_to_float};
use crate::go;
use crate::pattern;
use crate::scope::Scope;

/// A value in a condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// What `a ? b` gives if a does not hold.
    Nil,
    Bool(bool),
    Number {
        value: f64,
        /// As it was written, for patterns to match.
        text: String,
    },
    Text(String),
    List(Vec<Item>),
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nil => f.write_str("<nil>"),
            Self::Bool(bool) => bool.fmt(f),
            Self::Number { value, .. } => f.write_str(&go::float(*value)),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(" "))
            }
        }
    }
}

/// The value of a node.
pub(super) fn eval(node: &Node, scope: &dyn Scope, env: &mut Env) -> Result<Item> {
    env.burn(1).map_err(|fault| fault.at(node.at))?;
    match &node.kind {
        Kind::Operand(operand) => operand_value(operand, scope, env),
        Kind::List(items) => {
            let items = items.iter().map(|item| eval(item, scope, env));
            Ok(Item::List(items.collect::<Result<_>>()?))
        }
        Kind::Unary(op, inner) => {
            let value = eval(inner, scope, env)?;
            unary(op, &value).map_err(|fault| fault.at(node.at))
        }
        Kind::Chain(first, rest) => {
            let mut left = eval(first, scope, env)?;
            for (op, at, right) in rest {
                env.burn(1).map_err(|fault| fault.at(*at))?;
                left = match short_cut(op, &left).map_err(|fault| fault.at(*at))? {
                    Some(known) => known,
                    None => {
                        let right = eval(right, scope, env)?;
                        binary(op, left, right, env).map_err(|fault| fault.at(*at))?
                    }
                };
            }
            Ok(left)
        }
    }
}

fn operand_value(operand: &Operand, scope: &dyn Scope, env: &mut Env) -> Result<Item> {
    let mut text = String::new();
    for part in &operand.parts {
        text.push_str(&part.render(scope, env)?);
    }
    Ok(if operand.quoted { Item::Text(text) } else { bare(text) })
}

/// A word without quotes: `true` and `false`, a number, or else a text.
fn bare(text: String) -> Item {
    match text.as_str() {
        "true" => Item::Bool(true),
        "false" => Item::Bool(false),
        _ => match number(&text) {
            Some(value) => Item::Number { value, text },
            None => Item::Text(text),
        },
    }
}

/// Digits with at most one dot, or hexadecimal digits after `0x`; a sign may come first.
fn number(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
    if let Some(hex) = digits.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok().map(|int| sign * int_to_float(int));
    }
    let decimal = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if decimal { digits.parse::<f64>().ok().map(|value| sign * value) } else { None }
}

fn misused(value: &Item, op: &str, wanted: &str) -> Fault {
    Fault::Message(format!(
        "value '{value}' cannot be used with the operator '{op}', it is not {wanted}"
    ))
}

fn truth(value: &Item, op: &str) -> std::result::Result<bool, Fault> {
    match value {
        Item::Bool(bool) => Ok(*bool),
        other => Err(misused(other, op, "a bool")),
    }
}

fn float(value: &Item, op: &str) -> std::result::Result<f64, Fault> {
    match value {
        Item::Number { value, .. } => Ok(*value),
        other => Err(misused(other, op, "a number")),
    }
}

fn of_number(value: f64) -> Item {
    Item::Number { value, text: go::float(value) }
}

fn unary(op: &str, value: &Item) -> std::result::Result<Item, Fault> {
    match op {
        "!" => Ok(Item::Bool(!truth(value, op)?)),
        "-" => Ok(of_number(-float(value, op)?)),
        _ => Ok(of_number(int_to_float(!float_to_int(float(value, op)?)))),
    }
}

/// The result, if the left side already decides.
fn short_cut(op: &str, left: &Item) -> std::result::Result<Option<Item>, Fault> {
    Ok(match op {
        "&&" if !truth(left, op)? => Some(Item::Bool(false)),
        "||" if truth(left, op)? => Some(Item::Bool(true)),
        "?" if !truth(left, op)? => Some(Item::Nil),
        ":" | "??" if *left != Item::Nil => Some(left.clone()),
        _ => None,
    })
}

fn binary(op: &str, left: Item, right: Item, env: &mut Env) -> std::result::Result<Item, Fault> {
    match op {
        "&&" | "||" => Ok(Item::Bool(truth(&right, op)?)),
        "?" | ":" | "??" => Ok(right),
        "==" => Ok(Item::Bool(same(&left, &right))),
        "!=" => Ok(Item::Bool(!same(&left, &right))),
        "in" => Ok(Item::Bool(match right {
            Item::List(items) => items.iter().any(|item| same(item, &left)),
            single => same(&single, &left),
        })),
        "=~" => Ok(Item::Bool(matches(&left, &right, op, env)?)),
        "!~" => Ok(Item::Bool(!matches(&left, &right, op, env)?)),
        "<" | "<=" | ">" | ">=" => ordered(op, &left, &right).map(Item::Bool),
        "+" if matches!(left, Item::Text(_)) || matches!(right, Item::Text(_)) => {
            let text = format!("{left}{right}");
            env.produce(text.len())?;
            Ok(Item::Text(text))
        }
        _ => Ok(of_number(arithmetic(op, float(&left, op)?, float(&right, op)?))),
    }
}

/// Whether two values are equal; values of different kinds never are.
fn same(left: &Item, right: &Item) -> bool {
    match (left, right) {
        (Item::Number { value: left, .. }, Item::Number { value: right, .. }) => left == right,
        _ => left == right,
    }
}

fn matches(left: &Item, right: &Item, op: &str, env: &mut Env) -> std::result::Result<bool, Fault> {
    let text = |item: &Item| match item {
        Item::Text(text) | Item::Number { text, .. } => Ok(text.clone()),
        Item::Bool(bool) => Ok(bool.to_string()),
        other => Err(misused(other, op, "a text")),
    };
    pattern::matches(&text(right)?, &text(left)?, env)
}

fn ordered(op: &str, left: &Item, right: &Item) -> std::result::Result<bool, Fault> {
    let order = match (left, right) {
        (Item::Text(left), Item::Text(right)) => Some(left.cmp(right)),
        _ => float(left, op)?.partial_cmp(&float(right, op)?),
    };
    Ok(order.is_some_and(|order| match op {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn arithmetic(op: &str, left: f64, right: f64) -> f64 {
    let (bits, other) = (float_to_int(left), float_to_int(right));
    let places = u32::try_from(other).unwrap_or(u32::MAX);
    match op {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        "%" => left % right,
        "**" => left.powf(right),
        "&" => int_to_float(bits & other),
        "|" => int_to_float(bits | other),
        "^" => int_to_float(bits ^ other),
        "<<" => int_to_float(bits.checked_shl(places).unwrap_or(0)),
        _ => int_to_float(bits.checked_shr(places).unwrap_or(0)),
    }
}
