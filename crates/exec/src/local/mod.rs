//! Jobs as processes of this machine.
//!
//! Invariants:
//! - an attempt's marker is written before its first process is ordered, so an attempt without one
//!   has never run;
//! - the spawner keeps every exit until the attempt is forgotten, so a later server repeats all
//!   orders of an attempt and comes to the same end;
//! - an attempt's folder goes to another one only when it is over, and as if it were new (module
//!   `spares`);
//! - what a process left is read only as far as it could itself (module `view`);
//! - values of secrets are in processes, and in the attempt's folder as far as volumes show them.

mod attempt;
mod backend;
mod cleaner;
mod crew;
mod env;
mod fault;
mod fit;
mod jobs;
mod layout;
mod order;
mod plan;
mod save;
mod set;
mod spares;
mod spawner;
mod stage;
mod view;
mod volumes;

pub use argosy_spawn::{Abilities, Ability};
pub use backend::{Local, ObjectDoor, Options, Report};
pub use plan::Level;
pub use spawner::{SpawnerClient, SpawnerEvent, SpawnerHandle, end_spawner};
