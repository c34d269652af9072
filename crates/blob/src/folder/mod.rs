//! The store that is a folder of this machine.
//!
//! `<root>/spaces/<space>/<key>` holds an object's bytes, followed by what is kept with it (module
//! `file`); `<root>/new` holds objects that are being written, `<root>/uploads` those that come in
//! parts (module `uploads`).

mod file;
mod list;
mod spaces;
mod uploads;

pub(crate) use file::{Draft, hex};
pub(crate) use uploads::{PartOf, Upload, Uploads};

use crate::{Address, ByteStream, Listing, Meta, Object, Part, Source, Space, Store};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempPath;

/// Bytes of one item of a stream.
const CHUNK: usize = 256 << 10;

/// How often a put makes its folders anew when deletes take them away.
const TRIES: usize = 16;

/// A folder of objects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<Path>,
    /// Held from the look at what is there to the change of it.
    swaps: Arc<Mutex<()>>,
}

/// When an object is put in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Whatever is there.
    Always,
    /// If nothing is there.
    Absent,
    /// If an object with this etag is there, or with any.
    Present(Option<String>),
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
        Ok(Self { root: root.into(), swaps: Arc::default() })
    }

    fn spaces(&self) -> PathBuf {
        self.root.join("spaces")
    }

    fn path(&self, at: &Address) -> PathBuf {
        self.spaces().join(at.space().folder()).join(at.file())
    }

    fn new_folder(&self) -> PathBuf {
        self.root.join("new")
    }

    fn put_now(&self, at: &Address, source: Source, meta: Meta) -> io::Result<Object> {
        let (written, head) = file::write(&self.new_folder(), source, meta)?;
        let modified_ms = self.publish(written, &self.path(at), &When::Always)?;
        let unmet = || io::Error::other("an unconditional put was refused");
        Ok(head.object(at.key(), modified_ms.ok_or_else(unmet)?))
    }

    /// An object's file to be filled.
    pub(crate) fn draft(&self) -> io::Result<Draft> {
        Draft::new(&self.new_folder())
    }

    /// Puts a filled draft under a key; `None` if the condition does not hold.
    pub(crate) fn put_draft(
        &self,
        at: &Address,
        draft: Draft,
        meta: Meta,
        etag: Option<String>,
        when: &When,
    ) -> io::Result<Option<Object>> {
        let (written, head) = draft.finish(meta, etag)?;
        let modified_ms = self.publish(written, &self.path(at), when)?;
        Ok(modified_ms.map(|modified_ms| head.object(at.key(), modified_ms)))
    }

    /// Moves a finished file to its place, durably; `None` if the condition does not hold.
    fn publish(&self, mut written: TempPath, path: &Path, when: &When) -> io::Result<Option<i64>> {
        let folder = path.parent().unwrap_or(&self.root);
        for _ in 0..TRIES {
            self.make_folder(folder)?;
            match self.swap(written, path, when)? {
                Swap::Done => {
                    sync(folder)?;
                    return Ok(Some(file::modified_ms(&fs::metadata(path)?)));
                }
                Swap::Refused => return Ok(None),
                Swap::FolderGone(back) => written = back,
            }
        }
        Err(io::Error::other("the object's folder is removed again and again"))
    }

    fn swap(&self, written: TempPath, path: &Path, when: &When) -> io::Result<Swap> {
        let _held = self.swaps.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = match when {
            When::Always => true,
            When::Absent => file::open(path)?.is_none(),
            When::Present(etag) => file::open(path)?
                .is_some_and(|(_, head, _)| etag.as_ref().is_none_or(|etag| etag == head.etag())),
        };
        if !holds {
            return Ok(Swap::Refused);
        }
        match written.persist(path) {
            Ok(()) => Ok(Swap::Done),
            // A delete has removed the folder again.
            Err(failed) if failed.error.kind() == ErrorKind::NotFound => {
                Ok(Swap::FolderGone(failed.path))
            }
            Err(failed) => Err(failed.error),
        }
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

    /// An object and its bytes.
    pub(crate) fn open_part(&self, at: &Address) -> io::Result<Option<(Object, Part)>> {
        let found = self.open_now(at)?;
        Ok(found.map(|(object, file)| {
            let part = Part::new(file, 0..object.size);
            (object, part)
        }))
    }

    fn open_now(&self, at: &Address) -> io::Result<Option<(Object, File)>> {
        let Some((file, head, modified_ms)) = file::open(&self.path(at))? else { return Ok(None) };
        Ok(Some((head.object(at.key(), modified_ms), file)))
    }

    fn delete_now(&self, at: &Address) -> io::Result<bool> {
        let path = self.path(at);
        let held = self.swaps.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::remove_file(&path) {
            Err(error) if is_missing(&error) => return Ok(false),
            other => other?,
        }
        drop(held);
        let space = self.spaces().join(at.space().folder());
        let mut folder = path.parent();
        while let Some(next) = folder.filter(|next| *next != space) {
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
        blocking(move || Ok(this.open_part(&at)?.map(|(_, part)| part))).await
    }

    async fn read(
        &self,
        at: &Address,
        range: Option<Range<u64>>,
    ) -> io::Result<Option<(Object, ByteStream)>> {
        let (this, at) = (self.clone(), at.clone());
        let found = blocking(move || this.open_part(&at)).await?;
        Ok(found.map(|(object, part)| {
            let part = match range {
                Some(range) => part.narrowed(range),
                None => part,
            };
            (object, chunks(part).boxed())
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

/// What came of putting a file in its place.
enum Swap {
    Done,
    Refused,
    FolderGone(TempPath),
}

/// The bytes of a part, chunk by chunk.
pub(crate) fn chunks(part: Part) -> impl Stream<Item = io::Result<Bytes>> + Send + Sync {
    stream::try_unfold(part, next_chunk)
}

async fn next_chunk(mut part: Part) -> io::Result<Option<(Bytes, Part)>> {
    blocking(move || {
        let mut bytes = Vec::new();
        (&mut part).take(CHUNK as u64).read_to_end(&mut bytes)?;
        Ok((!bytes.is_empty()).then(|| (bytes.into(), part)))
    })
    .await
}

/// Runs what may wait for the disk where that holds up nobody.
pub(crate) async fn blocking<T: Send + 'static>(
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
