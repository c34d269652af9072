//! The loader from outside: manifests in, graphs or refusals out.

mod graphs;
mod refusals;
mod support;
