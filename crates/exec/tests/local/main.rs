//! The local backend, with real processes.

mod artifacts;
mod environment;
mod house;
mod life;
mod memory;
mod objects;
mod stuck;
mod volumes;
