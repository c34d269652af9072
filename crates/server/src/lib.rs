//! The driver: one loop that takes inputs, asks engine and scheduler what follows, has the store
//! make it durable, and only then lets the backend act.
//!
//! Absent from this crate: SQL, wire types, and every rule about what a run does next.

mod backend;
mod clock;
mod core;
mod hooks;
mod local;
mod reader;
mod service;
mod taken;

pub use backend::{Backend, BackendReport};
pub use clock::{Clock, SystemClock};
pub use core::Options;
pub use local::{Local, MachineOptions, abilities, abilities_apart};
pub use reader::Reader;
pub use service::{Service, Stopped};
