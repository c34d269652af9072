//! Bytes at rest: JSON, compressed where that pays. The first byte says which.

use std::cell::RefCell;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zstd::bulk::Compressor;

use crate::error::{Error, Result};

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// From this size on compression pays.
const COMPRESS_FROM: usize = 1_024;

/// Fast, and several times smaller on JSON.
const LEVEL: i32 = 1;

/// Larger than anything that is ever written; a damaged length must not exhaust memory.
const MAX_BYTES: usize = 4 << 30;

thread_local! {
    /// To make its tables anew costs more than to pack a small record.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = vec![PLAIN];
    serde_json::to_writer(&mut bytes, value)
        .map_err(|error: serde_json::Error| Error::Damaged(error.to_string()))?;
    if bytes.len() > COMPRESS_FROM {
        return pack(&bytes[1..])
            .map_err(|source| Error::Io { what: "compressing".to_owned(), source });
    }
    Ok(bytes)
}

fn pack(json: &[u8]) -> io::Result<Vec<u8>> {
    PACKER.with_borrow_mut(|packer| {
        let packer = match packer {
            Some(packer) => packer,
            None => packer.insert(Compressor::new(LEVEL)?),
        };
        let body = packer.compress(json)?;
        let mut bytes = Vec::with_capacity(body.len() + 1);
        bytes.push(ZSTD);
        bytes.extend_from_slice(&body);
        Ok(bytes)
    })
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    let damaged = |text: String| Error::Damaged(format!("{what}: {text}"));
    let json = match bytes.split_first() {
        Some((&PLAIN, body)) => serde_json::from_slice(body),
        Some((&ZSTD, body)) => {
            let reader =
                zstd::stream::read::Decoder::new(body).map_err(|e| damaged(e.to_string()))?;
            let limited = io::Read::take(reader, MAX_BYTES as u64);
            serde_json::from_reader(io::BufReader::new(limited))
        }
        Some((tag, _)) => return Err(damaged(format!("unknown encoding {tag}"))),
        None => return Err(damaged("empty".to_owned())),
    };
    json.map_err(|error| damaged(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_are_read_again() {
        for text in [String::new(), "x".repeat(100_000)] {
            let bytes = encode(&text).unwrap();
            assert_eq!(decode::<String>(&bytes, "text").unwrap(), text);
            assert!(bytes.len() < 1_024);
        }
        for bad in [&b""[..], b"\x07{}", b"\x01garbage", b"\x00{"] {
            assert!(decode::<serde_json::Value>(bad, "text").is_err());
        }
    }
}
