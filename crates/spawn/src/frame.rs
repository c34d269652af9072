//! Frames: a length in 4 bytes, little-endian, then so many bytes of JSON.

use serde::{Serialize, de::DeserializeOwned};
use std::io;

/// Largest body of a frame in bytes. A start order holds an argument list and an environment,
/// which the kernel limits to 2 MiB together by default; JSON may escape half of it.
pub const MAX_FRAME: usize = 4 << 20;

const HEAD: usize = 4;

/// Appends `message` to `out` as a frame.
///
/// # Errors
/// `InvalidInput` if the body is larger than [`MAX_FRAME`]; `out` is then unchanged.
pub fn encode<T: Serialize>(message: &T, out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    let written = serde_json::to_writer(&mut *out, message).map_err(io::Error::from);
    let body = out.len() - start - HEAD;
    if written.is_err() || body > MAX_FRAME {
        out.truncate(start);
        return written.and(Err(io::Error::new(io::ErrorKind::InvalidInput, "frame too large")));
    }
    let head = u32::try_from(body).unwrap_or(u32::MAX).to_le_bytes();
    out[start..start + HEAD].copy_from_slice(&head);
    Ok(())
}

/// Bytes that have come and are not yet taken as messages.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    taken: usize,
}

impl Decoder {
    /// Takes in what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete message, if there is one.
    ///
    /// # Errors
    /// `InvalidData` if the frame is larger than [`MAX_FRAME`] or not a `T`. The stream is then
    /// of no more use.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let Some((head, rest)) = rest.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MAX_FRAME {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too large"));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.taken += HEAD + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cut_anywhere_come_out_whole_and_in_order() {
        let mut wire = Vec::new();
        for word in ["one", "", "three"] {
            encode(&word, &mut wire).unwrap();
        }
        for cut in 0..wire.len() {
            let mut decoder = Decoder::default();
            let mut words: Vec<String> = Vec::new();
            for part in [&wire[..cut], &wire[cut..]] {
                decoder.push(part);
                while let Some(word) = decoder.take().unwrap() {
                    words.push(word);
                }
            }
            assert_eq!(words, ["one", "", "three"], "cut at {cut}");
        }
    }

    #[test]
    fn a_frame_over_the_limit_is_refused_on_both_sides() {
        let mut wire = Vec::new();
        // Two quotes are part of the body.
        encode(&"x".repeat(MAX_FRAME - 2), &mut wire).unwrap();
        assert_eq!(wire.len(), MAX_FRAME + 4);
        let mut out = b"before".to_vec();
        assert!(encode(&"x".repeat(MAX_FRAME - 1), &mut out).is_err());
        assert_eq!(out, b"before");

        let mut decoder = Decoder::default();
        decoder.push(&u32::try_from(MAX_FRAME + 1).unwrap().to_le_bytes());
        assert!(decoder.take::<String>().is_err());
    }
}
