//! The doors: wire types to model and back.
//!
//! A door reads what its upstream's clients send, refuses by name and place what cannot be carried
//! out, and hands on types of `argosy_model`. Upstream words live here and nowhere below.

pub mod argo;
pub mod argo_status;
pub mod http;
pub mod ports;
