//! Simulated clock, store, machines and network for tests.
