//! The sprig functions.

use crate::expr::builtins::Function;

/// The function of this name.
pub(crate) fn named(name: &str) -> Result<&'static Function, String> {
    Err(format!("sprig has no function {name}"))
}
