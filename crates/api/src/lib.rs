//! The doors: authentication, and wire types to model and back.
