//! Archives built byte by byte, and folders to compare.

use argosy_blob::archive::{Limits, unpack};
use argosy_model::{Archive, Diagnostic};
use std::fs;
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// A tar under construction.
#[derive(Clone, Default)]
pub struct Tar(pub Vec<u8>);

impl Tar {
    /// Adds an entry of a type (POSIX `typeflag`) with a right checksum.
    pub fn entry(mut self, kind: u8, name: &[u8], mode: u32, link: &[u8], bytes: &[u8]) -> Self {
        let mut block = [0; 512];
        block[..name.len()].copy_from_slice(name);
        block[100..107].copy_from_slice(format!("{mode:07o}").as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        block[156] = kind;
        block[157..157 + link.len()].copy_from_slice(link);
        block[257..265].copy_from_slice(b"ustar\x0000");
        self.0.extend(sealed(block));
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub fn file(self, name: &str, text: &str) -> Self {
        self.entry(b'0', name.as_bytes(), 0o644, b"", text.as_bytes())
    }

    pub fn folder(self, name: &str) -> Self {
        self.entry(b'5', name.as_bytes(), 0o755, b"", b"")
    }

    pub fn symlink(self, name: &str, target: &str) -> Self {
        self.entry(b'2', name.as_bytes(), 0o777, target.as_bytes(), b"")
    }

    pub fn hardlink(self, name: &str, target: &str) -> Self {
        self.entry(b'1', name.as_bytes(), 0o644, target.as_bytes(), b"")
    }

    /// The end: two blocks of zeros.
    pub fn end(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }
}

/// A header with its checksum: the sum of its bytes, the checksum itself counted as spaces.
pub fn sealed(mut block: [u8; 512]) -> [u8; 512] {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// A pax record, which begins with its own length.
pub fn pax(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let digits = (1..).find(|digits| (rest.len() + digits).to_string().len() == *digits);
    format!("{}{rest}", rest.len() + digits.unwrap())
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut gzip, bytes).unwrap();
    gzip.finish().unwrap()
}

/// A folder with a folder for what is unpacked, and something beside it that must not change.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("beside"), "untouched").unwrap();
        Self(folder)
    }

    pub fn unpack(&self, bytes: &[u8], packing: Archive) -> Result<Vec<String>, Diagnostic> {
        self.unpack_within(bytes, packing, Limits::default())
    }

    pub fn unpack_within(
        &self,
        bytes: &[u8],
        packing: Archive,
        limits: Limits,
    ) -> Result<Vec<String>, Diagnostic> {
        let result = unpack(Cursor::new(bytes), packing, &self.0.path().join("dest"), limits);
        let beside: Vec<_> = listing(self.0.path(), "")
            .into_iter()
            .filter(|line| !line.starts_with("dest"))
            .collect();
        assert_eq!(beside, ["beside 644 untouched"], "nothing outside is touched");
        result.map(|()| listing(self.0.path(), "").into_iter().skip(1).collect())
    }
}

/// Every path below, sorted: `path mode text`, `path/ mode` or `path -> target`.
pub fn listing(folder: &Path, before: &str) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let mut lines = Vec::new();
    for name in names {
        let path = folder.join(&name);
        let metadata = fs::symlink_metadata(&path).unwrap();
        let (name, mode) = (name.to_string_lossy(), metadata.permissions().mode() & 0o7777);
        if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            lines.push(format!("{before}{name} -> {}", target.display()));
        } else if metadata.is_dir() {
            lines.push(format!("{before}{name}/ {mode:o}"));
            lines.extend(listing(&path, &format!("{before}{name}/")));
        } else if metadata.is_file() {
            let text = fs::read(&path).unwrap();
            lines.push(format!("{before}{name} {mode:o} {}", String::from_utf8_lossy(&text)));
        }
    }
    lines
}
