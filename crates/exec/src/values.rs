//! Where processes get values from that no spec holds.

use async_trait::async_trait;
use std::collections::BTreeMap;

/// Secrets and configuration maps, looked up when a process starts. What comes out is given to the
/// process and nobody else: it is in no log, message or event.
#[async_trait]
pub trait Values: Send + Sync {
    /// A configuration map of a space; `None` if there is none of that name.
    async fn config_map(&self, space: &str, name: &str) -> Option<BTreeMap<String, String>>;

    /// A secret of a space; `None` if there is none of that name.
    async fn secret(&self, space: &str, name: &str) -> Option<BTreeMap<String, Vec<u8>>>;
}
