//! The event log, snapshots and projections.
