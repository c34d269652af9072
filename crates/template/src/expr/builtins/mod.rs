//! The functions of expr-lang and those that Argo adds.

mod bits;
pub(crate) mod codec;
mod dates;
pub(crate) mod lists;
mod maps;
mod numbers;
pub(crate) mod strings;

pub(crate) use lists::sorted;

use crate::env::Env;
use crate::error::Fault;
use crate::value::{List, Map, Value};

/// A function that expressions can call.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    least: usize,
    most: usize,
    /// Its value for arguments whose number was checked.
    pub(crate) run: Run,
}

/// The code of a function.
pub(crate) type Run = fn(&[Value], &mut Env) -> Result<Value, Fault>;

/// As many arguments as one likes.
pub(crate) const MANY: usize = usize::MAX;

/// A function that takes `least` to `most` arguments.
pub(crate) const fn function(name: &'static str, least: usize, most: usize, run: Run) -> Function {
    Function { name, least, most, run }
}

impl Function {
    /// Whether it takes `count` arguments.
    pub(crate) fn check(&self, count: usize) -> Result<(), String> {
        if (self.least..=self.most).contains(&count) {
            return Ok(());
        }
        let wanted = match (self.least, self.most) {
            (least, MANY) => format!("at least {least}"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        Err(format!("{} takes {wanted} arguments, not {count}", self.name))
    }
}

/// The builtin of this name.
pub(crate) fn named(name: &str) -> Option<&'static Function> {
    let tables: [&'static [Function]; 7] = [
        strings::TABLE,
        numbers::TABLE,
        lists::TABLE,
        maps::TABLE,
        dates::TABLE,
        codec::TABLE,
        bits::TABLE,
    ];
    tables.into_iter().flatten().find(|function| function.name == name)
}

/// The argument at `index`; nil if it was left out.
pub(crate) fn arg(args: &[Value], index: usize) -> &Value {
    args.get(index).unwrap_or(&Value::Nil)
}

/// The text at `index`.
pub(crate) fn text(args: &[Value], index: usize) -> Result<&str, Fault> {
    match arg(args, index) {
        Value::Str(text) => Ok(text),
        other => Err(wanted("a string", index, other)),
    }
}

/// The array at `index`.
pub(crate) fn list(args: &[Value], index: usize) -> Result<&List, Fault> {
    match arg(args, index) {
        Value::List(list) => Ok(list),
        other => Err(wanted("an array", index, other)),
    }
}

/// The map at `index`.
pub(crate) fn map(args: &[Value], index: usize) -> Result<&Map, Fault> {
    match arg(args, index) {
        Value::Map(map) => Ok(map),
        other => Err(wanted("a map", index, other)),
    }
}

/// The integer at `index`; a float loses its fraction.
pub(crate) fn int(args: &[Value], index: usize) -> Result<i64, Fault> {
    super::ops::integer(arg(args, index)).map_err(|_| wanted("an integer", index, arg(args, index)))
}

/// The number of something as a value.
pub(crate) fn count(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

pub(crate) fn wanted(what: &str, index: usize, found: &Value) -> Fault {
    Fault::Message(format!("argument {} must be {what}, not {}", index + 1, found.kind()))
}
