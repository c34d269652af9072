//! A store that does not answer.

use argosy_blob::{Address, ByteStream, Folder, Listing, Meta, Object, Part, Source, Space, Store};
use async_trait::async_trait;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::Notify;

/// A folder in which nothing can be put under the key `stuck`: nobody is ever told anything.
pub struct Stuck {
    pub folder: Folder,
    /// Told when somebody waits.
    pub waits: Arc<Notify>,
}

#[async_trait]
impl Store for Stuck {
    async fn put(&self, at: &Address, source: Source, meta: Meta) -> io::Result<Object> {
        if at.key() == "stuck" {
            self.waits.notify_one();
            std::future::pending::<()>().await;
        }
        self.folder.put(at, source, meta).await
    }

    async fn head(&self, at: &Address) -> io::Result<Option<Object>> {
        self.folder.head(at).await
    }

    async fn fetch(&self, at: &Address) -> io::Result<Option<Part>> {
        self.folder.fetch(at).await
    }

    async fn read(
        &self,
        at: &Address,
        range: Option<Range<u64>>,
    ) -> io::Result<Option<(Object, ByteStream)>> {
        self.folder.read(at, range).await
    }

    async fn list(
        &self,
        space: &Space,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> io::Result<Listing> {
        self.folder.list(space, prefix, after, limit).await
    }

    async fn delete(&self, at: &Address) -> io::Result<bool> {
        self.folder.delete(at).await
    }
}
