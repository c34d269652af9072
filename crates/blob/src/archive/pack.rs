//! From files to bytes. The same files always give the same bytes.

use crate::tree::{Entry, Kind, Tree, text};
use argosy_model::Archive;
use flate2::{Compression, GzBuilder};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Packs what is at `path` of a tree under the name `name`, with all that is in it, sorted by
/// name; symbolic links as links, pipes and devices not at all, owners as root. With
/// [`Archive::None`] it must be a file, and is copied.
///
/// # Errors
/// The system's; `InvalidData` for a name that is not UTF-8.
pub fn pack(
    tree: &Tree,
    path: &Path,
    name: &str,
    archive: Archive,
    to: impl Write + Seek,
) -> io::Result<()> {
    match archive {
        Archive::Default => gzip(tree, path, name, Compression::default(), to),
        Archive::Tar(0) => tar(tree, path, name, to).map(drop),
        Archive::Tar(level) => {
            gzip(tree, path, name, Compression::new(u32::from(level.min(9))), to)
        }
        Archive::Zip => zip(tree, path, name, to),
        Archive::None => {
            let mut to = to;
            io::copy(&mut tree.read(path)?, &mut to).map(drop)
        }
    }
}

/// Calls `each` for `path` and all below it, folders before what is in them.
fn walk(
    tree: &Tree,
    path: &Path,
    name: &str,
    each: &mut impl FnMut(&Path, &str, Entry) -> io::Result<()>,
) -> io::Result<()> {
    let mut left: Vec<(PathBuf, String)> = vec![(path.to_owned(), name.to_owned())];
    while let Some((path, name)) = left.pop() {
        let Some(entry) = tree.entry(&path)? else { continue };
        each(&path, &name, entry)?;
        if entry.kind == Kind::Folder {
            for inner in tree.list(&path)?.into_iter().rev() {
                left.push((path.join(&inner), format!("{name}/{}", text(&inner)?)));
            }
        }
    }
    Ok(())
}

fn gzip(
    tree: &Tree,
    path: &Path,
    name: &str,
    level: Compression,
    to: impl Write,
) -> io::Result<()> {
    // Without the time of packing.
    let to = GzBuilder::new().mtime(0).write(to, level);
    tar(tree, path, name, to)?.finish().map(drop)
}

fn tar<W: Write>(tree: &Tree, path: &Path, name: &str, to: W) -> io::Result<W> {
    let mut tar = tar::Builder::new(to);
    walk(tree, path, name, &mut |path, name, entry| {
        let mut header = Header::new_gnu();
        header.set_mode(entry.mode);
        header.set_mtime(u64::try_from(entry.modified_s).unwrap_or_default());
        header.set_size(0);
        match entry.kind {
            Kind::File => {
                header.set_size(entry.size);
                // Should it grow meanwhile, the header still counts.
                let bytes = Exact { from: tree.read(path)?, left: entry.size };
                tar.append_data(&mut header, name, bytes)
            }
            Kind::Folder => {
                header.set_entry_type(EntryType::Directory);
                tar.append_data(&mut header, format!("{name}/"), io::empty())
            }
            Kind::Link => {
                header.set_entry_type(EntryType::Symlink);
                tar.append_link(&mut header, name, tree.link(path)?)
            }
            Kind::Other => Ok(()),
        }
    })?;
    tar.into_inner()
}

fn zip(tree: &Tree, path: &Path, name: &str, to: impl Write + Seek) -> io::Result<()> {
    let mut zip = ZipWriter::new(to);
    walk(tree, path, name, &mut |path, name, entry| {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(entry.size > u64::from(u32::MAX))
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(entry.mode);
        match entry.kind {
            Kind::File => {
                zip.start_file(name, options)?;
                let mut bytes = Exact { from: tree.read(path)?, left: entry.size };
                io::copy(&mut bytes, &mut zip)?;
            }
            Kind::Folder => zip.add_directory(name, options)?,
            Kind::Link => zip.add_symlink(name, text(tree.link(path)?.as_os_str())?, options)?,
            Kind::Other => {}
        }
        Ok(())
    })?;
    zip.finish()?;
    Ok(())
}

/// So many bytes of a file; one that has fewer is an error, since a header has told how many.
struct Exact<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Exact<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.from.read(&mut buffer[..wanted])?;
        if length == 0 && wanted > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file was cut meanwhile"));
        }
        self.left -= length as u64;
        Ok(length)
    }
}
