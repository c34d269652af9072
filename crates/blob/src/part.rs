//! A stretch of a file as if it were a file of its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The bytes of an object, or some of them, on this machine.
#[derive(Debug)]
pub struct Part {
    file: File,
    range: Range<u64>,
    at: u64,
}

impl Part {
    /// The bytes of `file` in `range`; what of it lies behind the end reads as nothing.
    #[must_use]
    pub fn new(file: File, range: Range<u64>) -> Self {
        Self { file, at: range.start, range }
    }

    /// The whole of a file.
    ///
    /// # Errors
    /// The system's.
    pub fn whole(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::new(file, 0..length))
    }

    /// The bytes of `range`, counted from its start, as far as it has them.
    #[must_use]
    pub fn narrowed(self, range: Range<u64>) -> Self {
        let end = self.range.end;
        let [from, to] =
            [range.start, range.end].map(|at| self.range.start.saturating_add(at).min(end));
        Self::new(self.file, from..to)
    }

    /// Its length in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.range.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let length = self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for Part {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let (from, by) = match position {
            SeekFrom::Start(at) => (self.range.start, i64::try_from(at).ok()),
            SeekFrom::Current(by) => (self.at, Some(by)),
            SeekFrom::End(by) => (self.range.end.max(self.range.start), Some(by)),
        };
        let at = by.and_then(|by| from.checked_add_signed(by));
        self.at = at.filter(|at| *at >= self.range.start).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at - self.range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_reads_and_seeks_within_its_bounds() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"0123456789", 0).unwrap();
        let mut part = Part::new(file, 2..6);
        let mut text = String::new();
        part.read_to_string(&mut text).unwrap();
        assert_eq!((&*text, part.size()), ("2345", 4));
        for (position, at, rest) in [
            (SeekFrom::Start(1), 1, "345"),
            (SeekFrom::End(-1), 3, "5"),
            (SeekFrom::Current(-2), 2, "45"),
            (SeekFrom::Start(9), 9, ""),
        ] {
            assert_eq!(part.seek(position).unwrap(), at, "{position:?}");
            text.clear();
            part.read_to_string(&mut text).unwrap();
            assert_eq!(text, rest, "{position:?}");
        }
        assert!(part.seek(SeekFrom::End(-5)).is_err(), "before its start");
        assert!(part.seek(SeekFrom::Start(u64::MAX)).is_err());
    }
}
