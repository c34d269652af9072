//! From bytes to files: what kind of archive it is, how much may come out, and where it goes.

use super::extract::Target;
use super::{damaged, hostile, read_tar, read_zip};
use argosy_model::{Archive, Code, Diagnostic, limits};
use flate2::read::MultiGzDecoder;
use std::fs;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

/// Size that any archive may unpack to, however small it is.
const ALWAYS_FINE: u64 = 1 << 20;

/// What an archive may hold at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries.
    pub entries: u64,
    /// Bytes, unpacked.
    pub bytes: u64,
    /// Unpacked over packed size, above 1 MiB.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: limits::ARCHIVE_ENTRIES.max,
            bytes: limits::ARCHIVE_BYTES.max,
            ratio: limits::ARCHIVE_RATIO.max,
        }
    }
}

impl Limits {
    /// Bytes that may come out of so many, whatever limits it.
    pub(super) fn bytes_of(&self, packed: u64) -> u64 {
        self.bytes.min(packed.saturating_mul(self.ratio).max(ALWAYS_FINE))
    }
}

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Tar,
    GzippedTar,
    Zip,
}

/// Puts `source` at `dest`, which must not exist and whose folder is trusted: unpacked if
/// `packing` says so or, by default, if the bytes look so. Entries are given safe permissions and
/// the current time.
///
/// # Errors
/// [`Code::HostileArchive`] if the archive is damaged, over a limit, or tries what none needs to;
/// [`Code::StoreFailed`] if the files cannot be made. Something may be left at `dest` then.
pub fn unpack(
    mut source: impl Read + Seek,
    packing: Archive,
    dest: &Path,
    limits: Limits,
) -> Result<(), Diagnostic> {
    let size = source.seek(io::SeekFrom::End(0)).map_err(damaged)?;
    let form = form(&mut source, packing).map_err(damaged)?;
    source.rewind().map_err(damaged)?;
    if form == Form::Plain {
        let mut file = fs::File::create_new(dest).map_err(|error| at(dest, &error))?;
        io::copy(&mut source, &mut file).map_err(|error| at(dest, &error))?;
        return Ok(());
    }
    fs::create_dir(dest).map_err(|error| at(dest, &error))?;
    let allowed = limits.bytes_of(size);
    let mut target = Target::open(dest, limits.entries)?;
    match form {
        Form::Zip => read_zip::read(source, allowed, &mut target)?,
        Form::GzippedTar => {
            let unzipped = MultiGzDecoder::new(BufReader::new(source));
            read_tar::read(Capped { from: unzipped, left: allowed }, &mut target)?;
        }
        Form::Tar | Form::Plain => {
            read_tar::read(Capped { from: BufReader::new(source), left: allowed }, &mut target)?;
        }
    }
    become_single_entry(dest).map_err(|error| at(dest, &error))
}

fn at(dest: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::new(Code::StoreFailed, format!("cannot write {}: {error}", dest.display()))
}

fn form(source: &mut (impl Read + Seek), packing: Archive) -> io::Result<Form> {
    source.rewind()?;
    let mut head = Vec::new();
    source.by_ref().take(512).read_to_end(&mut head)?;
    let is_gzip = head.starts_with(&[0x1f, 0x8b]);
    Ok(match packing {
        Archive::None => Form::Plain,
        Archive::Zip => Form::Zip,
        Archive::Tar(_) if is_gzip => Form::GzippedTar,
        Archive::Tar(_) => Form::Tar,
        Archive::Default if is_gzip => {
            source.rewind()?;
            let mut inner = Vec::new();
            let unzipped = MultiGzDecoder::new(BufReader::new(&mut *source));
            // Bytes that only begin like gzip are an ordinary file.
            let read = unzipped.take(512).read_to_end(&mut inner);
            if read.is_ok() && is_tar(&inner) { Form::GzippedTar } else { Form::Plain }
        }
        Archive::Default if is_tar(&head) => Form::Tar,
        Archive::Default if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") => {
            Form::Zip
        }
        Archive::Default => Form::Plain,
    })
}

/// Whether this is the first block of a tar: a header with a right checksum, or the end.
fn is_tar(block: &[u8]) -> bool {
    let Some(block) = block.first_chunk::<512>() else { return false };
    let header = tar::Header::from_byte_slice(block);
    let sum = |(at, byte): (usize, &u8)| match at {
        148..156 => u32::from(b' '),
        _ => u32::from(*byte),
    };
    let expected: u32 = block.iter().enumerate().map(sum).sum();
    let is_end = block.iter().all(|byte| *byte == 0);
    is_end || header.cksum().is_ok_and(|found| found == expected)
}

/// Argo's rule: an archive's only entry takes the place of the folder around it.
fn become_single_entry(dest: &Path) -> io::Result<()> {
    let mut entries = fs::read_dir(dest)?;
    let (Some(first), None) = (entries.next(), entries.next()) else { return Ok(()) };
    let mut aside = dest.as_os_str().to_owned();
    aside.push(".only");
    fs::rename(first?.path(), &aside)?;
    fs::remove_dir(dest)?;
    fs::rename(&aside, dest)
}

/// Fails once more comes out than is allowed.
struct Capped<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(buffer)?;
        self.left = self
            .left
            .checked_sub(length as u64)
            .ok_or_else(|| io::Error::other(too_large().what))?;
        Ok(length)
    }
}

/// More would come out of the archive than is allowed.
pub(super) fn too_large() -> Diagnostic {
    hostile("it unpacks to more than `archive-bytes` or `archive-ratio` allow")
}
