//! One object's file: its bytes, then what is kept with it as JSON, then the length of that in
//! four bytes (little-endian) and [`MAGIC`]. At the end, because it is known only there, and so
//! that a finished file can be taken as it is.

use super::is_missing;
use crate::{Meta, Object, Source};
use md5::{Digest, Md5};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use tempfile::{NamedTempFile, TempPath};

const MAGIC: &[u8; 8] = b"argosyB1";

/// Bytes behind the JSON.
const END: u64 = 4 + MAGIC.len() as u64;

/// Largest JSON that is read back: S3 takes 2 KiB of the user's, which JSON escapes to six times
/// that at most.
const LARGEST: u64 = 64 << 10;

/// What is known of an object without its name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    #[serde(skip)]
    size: u64,
    /// The etag. Its name on disk is older than objects in parts, whose etag is no MD5.
    md5: String,
    #[serde(flatten)]
    meta: Meta,
}

impl Head {
    /// The etag.
    pub fn etag(&self) -> &str {
        &self.md5
    }

    pub fn object(self, key: &str, modified_ms: i64) -> Object {
        let Self { size, md5, meta } = self;
        Object { key: key.to_owned(), size, etag: md5, modified_ms, meta }
    }
}

/// Unix ms of the last change.
pub fn modified_ms(metadata: &Metadata) -> i64 {
    metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000
}

/// An object's file while its bytes come in. Dropped, it is gone.
#[derive(Debug)]
pub struct Draft {
    file: NamedTempFile,
    size: u64,
    md5: Md5,
}

impl Draft {
    /// An empty one in the folder `new`.
    pub fn new(new: &Path) -> io::Result<Self> {
        Ok(Self { file: NamedTempFile::new_in(new)?, size: 0, md5: Md5::new() })
    }

    /// Adds bytes.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.count(bytes);
        Ok(())
    }

    /// Adds all that can be read.
    pub fn copy(&mut self, from: impl Read) -> io::Result<()> {
        each_chunk(from, |bytes| self.append(bytes))
    }

    /// Adds the first `size` bytes of another object's file without looking at them: its own MD5
    /// is of no use afterwards.
    pub fn splice(&mut self, from: &File, size: u64) -> io::Result<()> {
        self.size += io::copy(&mut from.take(size), self.file.as_file_mut())?;
        Ok(())
    }

    /// MD5 of the bytes so far.
    pub fn md5(&self) -> [u8; 16] {
        self.md5.clone().finalize().into()
    }

    fn count(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.md5.update(bytes);
    }

    /// Moves a file into `new`, or copies it where it lies on another file system.
    fn take(new: &Path, path: &Path) -> io::Result<Self> {
        let mut draft = Self::new(new)?;
        if std::fs::rename(path, draft.file.path()).is_err() {
            draft.copy(open_options(false).open(path)?)?;
            std::fs::remove_file(path)?;
            return Ok(draft);
        }
        *draft.file.as_file_mut() = open_options(true).open(draft.file.path())?;
        rustix::fs::fchmod(draft.file.as_file(), Mode::RUSR | Mode::WUSR)?;
        each_chunk(draft.file.reopen()?, |bytes| {
            draft.count(bytes);
            Ok(())
        })?;
        draft.file.seek(SeekFrom::End(0))?;
        Ok(draft)
    }

    /// Makes it an object's file, durably. Its etag is the MD5 of its bytes unless another is
    /// given.
    pub fn finish(mut self, meta: Meta, etag: Option<String>) -> io::Result<(TempPath, Head)> {
        let etag = etag.unwrap_or_else(|| hex(&self.md5()));
        let head = Head { size: self.size, md5: etag, meta };
        let mut end = serde_json::to_vec(&head)?;
        let length = u32::try_from(end.len()).unwrap_or(u32::MAX);
        if u64::from(length) > LARGEST {
            return Err(io::Error::new(ErrorKind::InvalidInput, "too much is to be kept with it"));
        }
        end.extend_from_slice(&length.to_le_bytes());
        end.extend_from_slice(MAGIC);
        self.file.write_all(&end)?;
        self.file.as_file().sync_all()?;
        Ok((self.file.into_temp_path(), head))
    }
}

/// Makes the file of an object in the folder `new`, durably.
pub fn write(new: &Path, source: Source, meta: Meta) -> io::Result<(TempPath, Head)> {
    let draft = match source {
        Source::Taken(path) => Draft::take(new, &path)?,
        Source::Bytes(bytes) => {
            let mut draft = Draft::new(new)?;
            draft.append(&bytes)?;
            draft
        }
        Source::Copied(file) => {
            let mut draft = Draft::new(new)?;
            draft.copy(file)?;
            draft
        }
    };
    draft.finish(meta, None)
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

fn open_options(write: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(write).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

fn each_chunk(mut from: impl Read, mut to: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; 128 << 10];
    loop {
        match from.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(()),
            Ok(length) => to(&buffer[..length])?,
        }
    }
}

/// Opens an object's file; `None` if there is none.
pub fn open(path: &Path) -> io::Result<Option<(File, Head, i64)>> {
    let file = match File::open(path) {
        Err(error) if is_missing(&error) => return Ok(None),
        other => other?,
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let head = read_head(&file, metadata.len()).map_err(|error| {
        io::Error::new(error.kind(), format!("{} is no object's file: {error}", path.display()))
    })?;
    Ok(Some((file, head, modified_ms(&metadata))))
}

fn read_head(file: &File, length: u64) -> io::Result<Head> {
    let damaged = || io::Error::new(ErrorKind::InvalidData, "its end is damaged");
    let mut end = [0; END as usize];
    file.read_exact_at(&mut end, length.checked_sub(END).ok_or_else(damaged)?)?;
    let (json, magic) = end.split_first_chunk::<4>().ok_or_else(damaged)?;
    let json = u64::from(u32::from_le_bytes(*json));
    let size = length.checked_sub(END + json).filter(|_| magic == MAGIC && json <= LARGEST);
    let size = size.ok_or_else(damaged)?;
    let mut text = vec![0; usize::try_from(json).map_err(|_| damaged())?];
    file.read_exact_at(&mut text, size)?;
    Ok(Head { size, ..serde_json::from_slice(&text)? })
}
