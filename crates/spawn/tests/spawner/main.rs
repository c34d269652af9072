//! The spawner as a process.

mod isolation;
mod life;
mod support;
