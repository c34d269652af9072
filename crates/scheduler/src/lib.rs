//! Placement of jobs on machines.
