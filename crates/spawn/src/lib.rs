//! The spawner: parent and reaper of every attempt's processes.
