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
/// name; symbolic links as links, owners as root. With [`Archive::None`] it must be a file, and is
/// copied. Gives what is left out, each with the reason: pipes and devices, and what has a name
/// that is not UTF-8.
///
/// # Errors
/// The system's.
pub fn pack(
    tree: &Tree,
    path: &Path,
    name: &str,
    archive: Archive,
    to: impl Write + Seek,
) -> io::Result<Vec<String>> {
    let walk = Walk { tree, path, name };
    let mut left_out = Vec::new();
    let left = &mut left_out;
    match archive {
        Archive::Default => gzip(walk, Compression::default(), to, left)?,
        Archive::Tar(0) => drop(tar(walk, to, left)?),
        Archive::Tar(level) => {
            gzip(walk, Compression::new(u32::from(level.min(9))), to, left)?;
        }
        Archive::Zip => zip(walk, to, left)?,
        Archive::None => {
            let mut to = to;
            io::copy(&mut tree.read(path)?, &mut to)?;
        }
    }
    Ok(left_out)
}

/// Why something that is no file, folder or link is left out.
pub const SPECIAL: &str = "is neither a file, a folder nor a link";

/// Why something is left out whose name cannot stand in an archive or a key.
pub const NAMELESS: &str = "has a name that is not UTF-8";

/// What is packed.
#[derive(Clone, Copy)]
struct Walk<'a> {
    tree: &'a Tree,
    path: &'a Path,
    name: &'a str,
}

impl Walk<'_> {
    /// Calls `each` for the path and all below it, folders before what is in them.
    fn each(
        self,
        left_out: &mut Vec<String>,
        each: &mut impl FnMut(&Path, &str, Entry) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut left: Vec<(PathBuf, String)> = vec![(self.path.to_owned(), self.name.to_owned())];
        while let Some((path, name)) = left.pop() {
            let Some(entry) = self.tree.entry(&path)? else { continue };
            if entry.kind == Kind::Other {
                left_out.push(format!("{name:?} {SPECIAL}"));
                continue;
            }
            each(&path, &name, entry)?;
            if entry.kind == Kind::Folder {
                for inner in self.tree.list(&path)?.into_iter().rev() {
                    match inner.to_str() {
                        Some(text) => left.push((path.join(text), format!("{name}/{text}"))),
                        None => {
                            left_out.push(format!("{:?} {NAMELESS}", Path::new(&name).join(&inner)))
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn gzip(
    walk: Walk<'_>,
    level: Compression,
    to: impl Write,
    left_out: &mut Vec<String>,
) -> io::Result<()> {
    // Without the time of packing.
    let to = GzBuilder::new().mtime(0).write(to, level);
    tar(walk, to, left_out)?.finish().map(drop)
}

fn tar<W: Write>(walk: Walk<'_>, to: W, left_out: &mut Vec<String>) -> io::Result<W> {
    let mut tar = tar::Builder::new(to);
    let tree = walk.tree;
    walk.each(left_out, &mut |path, name, entry| {
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

fn zip(walk: Walk<'_>, to: impl Write + Seek, left_out: &mut Vec<String>) -> io::Result<()> {
    let mut zip = ZipWriter::new(to);
    let tree = walk.tree;
    walk.each(left_out, &mut |path, name, entry| {
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
