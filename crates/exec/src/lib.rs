//! Backends that make jobs real, starting with local processes.

pub mod local;
pub mod logs;
