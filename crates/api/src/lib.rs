//! The doors: authentication, and wire types to model and back.

pub mod argo_status;
pub mod ports;
