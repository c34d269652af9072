//! The spawner as a process.

mod isolation;
mod life;
mod memory;
mod outputs;
mod support;
