//! One run, as a pure state machine: input in, events and effects out.
//!
//! [`decide`] takes a run, something that happened, and the time. It answers with events (facts,
//! to be made durable) and effects (orders, carried out once the events are durable). The run it
//! leaves behind is exactly what [`Run::evolve`] makes of the events, because that is the only
//! thing that changes it.
//!
//! Absent from this crate: clocks, randomness, files, sockets, threads, and any knowledge of the
//! upstream whose client sent the run, but for the way step names are spelled ([`names`]).

mod aggregate;
mod bytes;
mod compiled;
mod decide;
pub mod depends;
mod eager;
mod evolve;
mod explain;
mod failures;
mod fault;
mod frame;
mod garbage;
mod item;
mod listed;
pub mod names;
pub mod outcome;
pub mod patch;
mod pending;
mod render;
mod results;
mod run;
mod scope;
mod snapshot;
mod steps;
mod weights;

pub use decide::{Decision, Input, Supplied, decide, is_suspended, refused, submit};
pub use evolve::Broken;
pub use explain::{Waiting, Why, explain};
pub use pending::pending;
pub use render::{Rendered, needs, render};
pub use run::{Prepared, Run};
pub use snapshot::{Head, PAGE_STEPS, Page, page_of};
pub use steps::Steps;
