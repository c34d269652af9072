//! Parameter substitution and the expression languages.
//!
//! Everything here is a pure function of its source, a [`Scope`] of variables and an [`Env`]
//! holding the recorded time, the recorded seed and a bound on work. Nothing reads a clock, a
//! file, the network or a random source, and no input can make it run or allocate without end.
//!
//! - [`Text`]: a string field with `{{tag}}` and `{{=expression}}` parts, parsed once.
//! - [`Expr`]: the expr-lang dialect, with the sprig functions.
//! - [`When`]: the condition dialect of `when` fields.
//! - [`JsonPath`]: paths into JSON documents.
//! - [`go`]: durations and times in the notation of Go.

mod env;
mod error;
mod expr;
pub mod go;
mod json;
pub mod json_text;
mod jsonpath;
mod pattern;
mod scope;
mod sprig;
mod text;
mod value;
mod when;

pub use env::{DEFAULT_FUEL, Env, MAX_DEPTH, MAX_NESTING, MAX_NODES, MAX_OUTPUT_BYTES};
pub use error::{Error, Result};
pub use expr::Expr;
pub use json::to_go_json;
pub use jsonpath::JsonPath;
pub use scope::{Lookup, MapScope, Scope};
pub use text::Text;
pub use when::When;
