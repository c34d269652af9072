//! A world for the server: simulated time, disk and processes, and a crash wherever a seed says.
//!
//! The server is the real one. Its disk forgets what was not synced; its processes outlive it, as
//! those under a spawner do.

mod disk;
mod random;
mod simulate;
mod workload;
mod world;

pub use disk::{Disk, Fate};
pub use random::Random;
pub use simulate::{Found, Plan, simulate};
pub use world::World;
