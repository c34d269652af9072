//! Text for people: trees, tables, times, colours.

mod lists;
mod pretty;
mod style;
mod time;
mod tree;

pub(crate) use lists::{explanation, list, timeline};
pub(crate) use pretty::Pretty;
pub(crate) use style::{COLOURS, mark, paint};
pub(crate) use time::{age, duration, since};
pub(crate) use tree::run;
