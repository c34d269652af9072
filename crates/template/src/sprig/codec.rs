//! JSON, base64, base32 and digests.

use base64::prelude::{BASE64_STANDARD, Engine};
use data_encoding::BASE32;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::expr::builtins::codec::{decode, encode};
use crate::expr::builtins::strings::made;
use crate::expr::builtins::{Function, arg, function, text};
use crate::json::{COMPACT, Style};
use crate::value::Value;

const PRETTY: Style = Style { escape_html: true, indent: true };
const RAW: Style = Style { escape_html: false, indent: false };

pub(super) static TABLE: &[Function] = &[
    function("toJson", 1, 1, |args, env| encode(arg(args, 0), COMPACT, env)),
    function("toPrettyJson", 1, 1, |args, env| encode(arg(args, 0), PRETTY, env)),
    function("toRawJson", 1, 1, |args, env| encode(arg(args, 0), RAW, env)),
    function("fromJson", 1, 1, |args, env| {
        env.burn(1)?;
        Ok(decode(text(args, 0)?, env).unwrap_or(Value::Nil))
    }),
    function("mustFromJson", 1, 1, |args, env| decode(text(args, 0)?, env)),
    function("b64enc", 1, 1, |args, env| made(&BASE64_STANDARD.encode(text(args, 0)?), env)),
    function("b64dec", 1, 1, |args, env| {
        let joined: String = text(args, 0)?.split(['\r', '\n']).collect();
        let decoded = BASE64_STANDARD.decode(joined);
        // The error is the value: the functions of sprig do not fail.
        made(&decoded.map_or_else(|error| error.to_string(), lossy), env)
    }),
    function("b32enc", 1, 1, |args, env| made(&BASE32.encode(text(args, 0)?.as_bytes()), env)),
    function("b32dec", 1, 1, |args, env| {
        let decoded = BASE32.decode(text(args, 0)?.as_bytes());
        made(&decoded.map_or_else(|error| error.to_string(), lossy), env)
    }),
    function("adler32sum", 1, 1, |args, env| {
        env.burn(text(args, 0)?.len() / 16)?;
        made(&adler32(text(args, 0)?.as_bytes()).to_string(), env)
    }),
    function("sha1sum", 1, 1, |args, env| {
        env.burn(text(args, 0)?.len() / 16)?;
        made(&hex(&Sha1::digest(text(args, 0)?)), env)
    }),
    function("sha256sum", 1, 1, |args, env| {
        env.burn(text(args, 0)?.len() / 16)?;
        made(&hex(&Sha256::digest(text(args, 0)?)), env)
    }),
    function("sha512sum", 1, 1, |args, env| {
        env.burn(text(args, 0)?.len() / 16)?;
        made(&hex(&Sha512::digest(text(args, 0)?)), env)
    }),
];

/// Adler-32 (RFC 1950): two sums modulo the largest prime below 65,536.
fn adler32(bytes: &[u8]) -> u32 {
    const PRIME: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % PRIME;
        (low, (high + low) % PRIME)
    });
    (high << 16) | low
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
