//! Reads a tar, entry by entry. Extensions are read here and not by the library, which would keep
//! a name of any length in memory.

use super::extract::{Name, Target};
use super::{damaged, hostile};
use argosy_model::Diagnostic;
use std::io::{self, Read};
use tar::{Archive, Entry, EntryType};

/// Longest extension (a long name, or records of pax) in bytes.
const EXTENSION_BYTES: u64 = 64 << 10;

/// What extensions say of the entry that follows.
#[derive(Default)]
struct Next {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

/// Makes every entry.
pub fn read(tar: impl Read, target: &mut Target) -> Result<(), Diagnostic> {
    let mut archive = Archive::new(tar);
    let mut next = Next::default();
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        target.count()?;
        match entry.header().entry_type() {
            EntryType::GNULongName => next.path = Some(long_name(&mut entry)?),
            EntryType::GNULongLink => next.link = Some(long_name(&mut entry)?),
            EntryType::XHeader => next.take_records(&extension(&mut entry)?)?,
            // It concerns all entries, and nothing that is needed here.
            EntryType::XGlobalHeader => drop(extension(&mut entry)?),
            kind => {
                let said = std::mem::take(&mut next);
                make(&mut entry, kind, said, target)?;
            }
        }
    }
    Ok(())
}

fn make(
    entry: &mut Entry<'_, impl Read>,
    kind: EntryType,
    said: Next,
    target: &mut Target,
) -> Result<(), Diagnostic> {
    let header = entry.header();
    let size = header.entry_size().map_err(damaged)?;
    let mode = header.mode().map_err(damaged)?;
    let path = said.path.unwrap_or_else(|| header.path_bytes().into_owned());
    let link = said.link.or_else(|| header.link_name_bytes().map(|name| name.into_owned()));
    let name = Name::parse(&path)?;
    if said.size.is_some_and(|said| said != size) {
        return Err(hostile(format!("{name}: its sizes contradict each other")));
    }
    match kind {
        EntryType::Directory => target.folder(&name, mode),
        // An old tar tells a folder by its last slash.
        EntryType::Regular if path.ends_with(b"/") => target.folder(&name, mode),
        EntryType::Regular | EntryType::Continuous => {
            let written = target.file(&name, mode, &mut *entry)?;
            if written == size { Ok(()) } else { Err(hostile(format!("{name}: it is cut off"))) }
        }
        EntryType::Symlink => target.symlink(&name, &link.unwrap_or_default()),
        EntryType::Link => target.hardlink(&name, &link.unwrap_or_default()),
        other => Err(hostile(format!("{name}: a {other:?} entry cannot be unpacked"))),
    }
}

fn extension(entry: &mut impl Read) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::new();
    entry.take(EXTENSION_BYTES + 1).read_to_end(&mut bytes).map_err(damaged)?;
    if bytes.len() as u64 > EXTENSION_BYTES {
        return Err(hostile(format!("an extension has more than {EXTENSION_BYTES} bytes")));
    }
    Ok(bytes)
}

fn long_name(entry: &mut impl Read) -> Result<Vec<u8>, Diagnostic> {
    let mut name = extension(entry)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

impl Next {
    /// Takes pax records: `LENGTH KEY=VALUE\n`, where the length counts all of it.
    fn take_records(&mut self, mut records: &[u8]) -> Result<(), Diagnostic> {
        while !records.is_empty() {
            let record = first_record(records)
                .ok_or_else(|| damaged(io::Error::other("a pax record is malformed")))?;
            records = records.get(record.length..).unwrap_or_default();
            match record.key {
                b"path" => self.path = Some(record.value.to_vec()),
                b"linkpath" => self.link = Some(record.value.to_vec()),
                b"size" => self.size = number(record.value),
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err(hostile("sparse files cannot be unpacked"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

struct Record<'a> {
    length: usize,
    key: &'a [u8],
    value: &'a [u8],
}

fn first_record(records: &[u8]) -> Option<Record<'_>> {
    let space = records.iter().position(|byte| *byte == b' ')?;
    let length = usize::try_from(number(&records[..space])?).ok()?;
    let text = records.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = text.iter().position(|byte| *byte == b'=')?;
    Some(Record { length, key: &text[..equals], value: &text[equals + 1..] })
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
