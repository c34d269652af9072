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
    md5: String,
    #[serde(flatten)]
    meta: Meta,
}

impl Head {
    pub fn object(self, key: &str, modified_ms: i64) -> Object {
        let Self { size, md5, meta } = self;
        Object { key: key.to_owned(), size, etag: md5, modified_ms, meta }
    }
}

/// Unix ms of the last change.
pub fn modified_ms(metadata: &Metadata) -> i64 {
    metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000
}

/// Makes the file of an object in the folder `new`, durably.
pub fn write(new: &Path, source: Source, meta: Meta) -> io::Result<(TempPath, Head)> {
    let (mut file, size, md5) = match source {
        Source::Taken(path) => take(new, &path)?,
        Source::Bytes(bytes) => copy(new, &*bytes)?,
        Source::Copied(file) => copy(new, file)?,
    };
    let head = Head { size, md5, meta };
    let mut end = serde_json::to_vec(&head)?;
    let length = u32::try_from(end.len()).unwrap_or(u32::MAX);
    if u64::from(length) > LARGEST {
        return Err(io::Error::new(ErrorKind::InvalidInput, "too much is to be kept with it"));
    }
    end.extend_from_slice(&length.to_le_bytes());
    end.extend_from_slice(MAGIC);
    file.write_all(&end)?;
    file.as_file().sync_all()?;
    Ok((file.into_temp_path(), head))
}

fn copy(new: &Path, mut from: impl Read) -> io::Result<(NamedTempFile, u64, String)> {
    let mut file = NamedTempFile::new_in(new)?;
    let (size, md5) = digest(&mut from, |bytes| file.write_all(bytes))?;
    Ok((file, size, md5))
}

/// Moves a file into `new`, or copies it where it lies on another file system.
fn take(new: &Path, path: &Path) -> io::Result<(NamedTempFile, u64, String)> {
    let place = NamedTempFile::new_in(new)?.into_temp_path();
    if std::fs::rename(path, &place).is_err() {
        let taken = copy(new, open_options(false).open(path)?)?;
        std::fs::remove_file(path)?;
        return Ok(taken);
    }
    let mut file = open_options(true).open(&place)?;
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    let (size, md5) = digest(&mut file, |_| Ok(()))?;
    file.seek(SeekFrom::End(0))?;
    Ok((NamedTempFile::from_parts(file, place), size, md5))
}

fn open_options(write: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(write).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Passes all bytes on: how many, and their MD5.
fn digest(
    from: &mut impl Read,
    mut to: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    let (mut md5, mut size) = (Md5::new(), 0);
    let mut buffer = vec![0; 128 << 10];
    loop {
        let length = match from.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        };
        if length == 0 {
            let digits = md5.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok((size, digits));
        }
        md5.update(&buffer[..length]);
        to(&buffer[..length])?;
        size += length as u64;
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
