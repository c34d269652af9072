//! Backends that make jobs real, starting with local processes.

pub mod images;
pub mod local;
pub mod logs;
mod machine;
mod values;

pub use machine::machine;
pub use values::Values;
