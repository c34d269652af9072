//! The store that is a folder of this machine.
//!
//! `<root>/spaces/<space>/<key>` holds an object's bytes, followed by what is kept with it (module
//! `file`); `<root>/new` holds objects that are being written.

mod file;
mod list;

use crate::{Address, ByteStream, Listing, Meta, Object, Part, Source, Space, Store};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempPath;

/// Bytes of one item of a stream.
const CHUNK: usize = 256 << 10;

/// How often a put makes its folders anew when deletes take them away.
const TRIES: usize = 16;

/// A folder of objects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<Path>,
}

impl Folder {
    /// Opens the store in `root`, which is made if it is not there. What an earlier process was
    /// writing when it ended is removed, so one process at a time may have a store open.
    ///
    /// # Errors
    /// The system's.
    pub fn open(root: &Path) -> io::Result<Self> {
        let new = root.join("new");
        match fs::remove_dir_all(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&new)?;
        builder.create(root.join("spaces"))?;
        sync(root)?;
        Ok(Self { root: root.into() })
    }

    fn spaces(&self) -> PathBuf {
        self.root.join("spaces")
    }

    fn path(&self, at: &Address) -> PathBuf {
        self.spaces().join(at.space().folder()).join(at.file())
    }

    fn put_now(&self, at: &Address, source: Source, meta: Meta) -> io::Result<Object> {
        let (written, head) = file::write(&self.root.join("new"), source, meta)?;
        let modified_ms = self.publish(written, &self.path(at))?;
        Ok(head.object(at.key(), modified_ms))
    }

    /// Moves a finished file to its place, durably.
    fn publish(&self, mut written: TempPath, path: &Path) -> io::Result<i64> {
        let folder = path.parent().unwrap_or(&self.root);
        for _ in 0..TRIES {
            self.make_folder(folder)?;
            match written.persist(path) {
                // A delete has removed the folder again.
                Err(failed) if failed.error.kind() == ErrorKind::NotFound => written = failed.path,
                Err(failed) => return Err(failed.error),
                Ok(()) => {
                    sync(folder)?;
                    return Ok(file::modified_ms(&fs::metadata(path)?));
                }
            }
        }
        Err(io::Error::other("the object's folder is removed again and again"))
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let parent = folder.parent().unwrap_or(&self.root);
        self.make_folder(parent)?;
        match DirBuilder::new().mode(0o700).create(folder) {
            // The first is another put's, the second a delete's; the caller tries again.
            Err(error)
                if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
            Ok(()) => sync(parent),
        }
    }

    fn open_now(&self, at: &Address) -> io::Result<Option<(Object, File)>> {
        let Some((file, head, modified_ms)) = file::open(&self.path(at))? else { return Ok(None) };
        Ok(Some((head.object(at.key(), modified_ms), file)))
    }

    fn delete_now(&self, at: &Address) -> io::Result<bool> {
        let path = self.path(at);
        match fs::remove_file(&path) {
            Err(error) if is_missing(&error) => return Ok(false),
            other => other?,
        }
        let spaces = self.spaces();
        let mut folder = path.parent();
        while let Some(next) = folder.filter(|next| *next != spaces) {
            if fs::remove_dir(next).is_err() {
                sync_if_there(next)?;
                break;
            }
            folder = next.parent();
        }
        Ok(true)
    }
}

#[async_trait]
impl Store for Folder {
    async fn put(&self, at: &Address, source: Source, meta: Meta) -> io::Result<Object> {
        let (this, at) = (self.clone(), at.clone());
        blocking(move || this.put_now(&at, source, meta)).await
    }

    async fn head(&self, at: &Address) -> io::Result<Option<Object>> {
        let (this, at) = (self.clone(), at.clone());
        blocking(move || Ok(this.open_now(&at)?.map(|(object, _)| object))).await
    }

    async fn fetch(&self, at: &Address) -> io::Result<Option<Part>> {
        let (this, at) = (self.clone(), at.clone());
        let part = |(object, file): (Object, File)| Part::new(file, 0..object.size);
        blocking(move || Ok(this.open_now(&at)?.map(part))).await
    }

    async fn read(
        &self,
        at: &Address,
        range: Option<Range<u64>>,
    ) -> io::Result<Option<(Object, ByteStream)>> {
        let (this, at) = (self.clone(), at.clone());
        let found = blocking(move || this.open_now(&at)).await?;
        Ok(found.map(|(object, file)| {
            let wanted = range.unwrap_or(0..object.size);
            let part = Part::new(file, wanted.start..wanted.end.min(object.size));
            (object, stream::try_unfold(part, next_chunk).boxed())
        }))
    }

    async fn list(
        &self,
        space: &Space,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> io::Result<Listing> {
        let folder = self.spaces().join(space.folder());
        let (prefix, after) = (prefix.to_owned(), after.to_owned());
        blocking(move || list::list(&folder, &prefix, &after, limit)).await
    }

    async fn delete(&self, at: &Address) -> io::Result<bool> {
        let (this, at) = (self.clone(), at.clone());
        blocking(move || this.delete_now(&at)).await
    }
}

async fn next_chunk(mut part: Part) -> io::Result<Option<(Bytes, Part)>> {
    blocking(move || {
        let mut bytes = Vec::new();
        (&mut part).take(CHUNK as u64).read_to_end(&mut bytes)?;
        Ok((!bytes.is_empty()).then(|| (bytes.into(), part)))
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Whether there is no such object. A part of its path may be an object's file.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn sync_if_there(folder: &Path) -> io::Result<()> {
    match sync(folder) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => Ok(()),
        other => other,
    }
}
