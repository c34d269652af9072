//! Jobs as processes of this machine.

mod spawner;

pub use spawner::{SpawnerClient, SpawnerEvent, SpawnerHandle};
