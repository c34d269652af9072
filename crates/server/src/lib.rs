//! The driver that wires engine, scheduler, store and backend together.
