//! The spawner: parent and reaper of every attempt's processes.
//!
//! A small single-threaded process of the product's own binary, one per data directory. The
//! server tells it by [`Order`] what to start and hears by [`Report`] what became of it, over a
//! Unix socket in the data directory. It outlives the server: jobs go on through a crash or an
//! upgrade, and exact wait statuses are kept until the server has made them durable. If it dies
//! itself, the kernel kills its jobs.
//!
//! Invariants:
//! - no job is started twice under one id before that id is forgotten;
//! - no exit is dropped before a [`Order::Forget`];
//! - a job's descendants do not outlive it, nor the next start of the spawner;
//! - nothing here starts a thread, so a fork is a complete copy of the program;
//! - `unsafe` is in the module `sys` alone.

mod bare;
mod child;
mod frame;
mod image;
mod isolate;
mod jobs;
mod launch;
mod memory;
mod message;
mod notes;
mod outputs;
mod probe;
mod root;
mod serve;
mod strays;
mod sys;

pub use bare::bare_loop;
pub use frame::{Decoder, MAX_FRAME, encode};
pub use launch::{connect, launch};
pub use message::{
    Abilities, Ability, Bind, Exit, Isolation, Limits, Order, PROTOCOL, Reason, Report, Start,
    Status,
};
pub use root::release;
pub use serve::{IDLE, run};
