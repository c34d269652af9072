//! Reads a zip, entry by entry.

use super::extract::{Name, Target};
use super::unpack::too_large;
use super::{damaged, hostile};
use argosy_model::Diagnostic;
use std::io::{Read, Seek};
use zip::ZipArchive;
use zip::read::ZipFile;

/// Longest target of a symbolic link in bytes.
const LINK_BYTES: u64 = 4_096;

/// File type in the upper half of a Unix zip's attributes.
const TYPE_MASK: u32 = 0o170_000;
const SYMLINK: u32 = 0o120_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;

/// Makes every entry, `allowed` bytes in all.
pub fn read(zip: impl Read + Seek, allowed: u64, target: &mut Target) -> Result<(), Diagnostic> {
    let mut archive = ZipArchive::new(zip).map_err(damaged)?;
    let mut left = allowed;
    for index in 0..archive.len() {
        target.count()?;
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let written = make(&mut entry, left, target)?;
        left = left.checked_sub(written).ok_or_else(too_large)?;
    }
    Ok(())
}

/// Makes an entry: how many bytes it had, or one more than `left` if it had more.
fn make(
    entry: &mut ZipFile<'_, impl Read>,
    left: u64,
    target: &mut Target,
) -> Result<u64, Diagnostic> {
    let name = Name::parse(entry.name_raw())?;
    let mode = entry.unix_mode();
    let (kind, declared) = (mode.unwrap_or_default() & TYPE_MASK, entry.size());
    if entry.is_dir() || kind == FOLDER {
        return target.folder(&name, mode.unwrap_or(0o755)).map(|()| 0);
    }
    let mut bytes = entry.take(left.saturating_add(1));
    let written = match kind {
        SYMLINK => {
            let mut link = Vec::new();
            bytes.take(LINK_BYTES + 1).read_to_end(&mut link).map_err(damaged)?;
            target.symlink(&name, &link)?;
            link.len() as u64
        }
        FILE | 0 => target.file(&name, mode.unwrap_or(0o644), &mut bytes)?,
        _ => return Err(hostile(format!("{name}: a special file cannot be unpacked"))),
    };
    // One that is cut off for being too large is the caller's to refuse.
    if written <= left && written != declared {
        return Err(hostile(format!("{name}: its size is not the one that is declared")));
    }
    Ok(written)
}
