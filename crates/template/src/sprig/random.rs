//! Values drawn from the recorded seed.

use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::{Function, function, int};
use crate::value::Value;

const DIGITS: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(super) static TABLE: &[Function] = &[
    function("uuidv4", 0, 0, |_, env| Ok(Value::str(uuid(env)))),
    function("randInt", 2, 2, |args, env| {
        let (low, high) = (int(args, 0)?, int(args, 1)?);
        let span = high.checked_sub(low).filter(|span| *span > 0);
        let span = span.ok_or("randInt takes a minimum below its maximum")?;
        let offset = env.draw() % span.unsigned_abs();
        Ok(Value::Int(low.wrapping_add(i64::try_from(offset).unwrap_or(0))))
    }),
    function("randAscii", 1, 1, |args, env| {
        let printable: Vec<u8> = (b' '..=b'~').collect();
        text(int(args, 0)?, &printable, env)
    }),
    function("randNumeric", 1, 1, |args, env| text(int(args, 0)?, DIGITS, env)),
    function("randAlpha", 1, 1, |args, env| text(int(args, 0)?, LETTERS, env)),
    function("randAlphaNum", 1, 1, |args, env| text(int(args, 0)?, ALPHANUMERIC, env)),
];

/// A random UUID: version 4, variant 1.
fn uuid(env: &mut Env) -> String {
    let bits = (u128::from(env.draw()) << 64) | u128::from(env.draw());
    let version = 0x4_u128 << 76;
    let variant = 0x2_u128 << 62;
    let bits = (bits & !(0xF << 76) & !(0x3 << 62)) | version | variant;
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or("");
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// `count` characters of `set`.
fn text(count: i64, set: &[u8], env: &mut Env) -> Result<Value, Fault> {
    let count = usize::try_from(count).map_err(|_| "the count must be at least zero")?;
    env.burn(count)?;
    env.produce(count)?;
    let mut out = String::with_capacity(count);
    for _ in 0..count {
        let place = env.draw() % set.len() as u64;
        let byte = usize::try_from(place).ok().and_then(|at| set.get(at));
        out.extend(byte.map(|byte| char::from(*byte)));
    }
    Ok(Value::str(out))
}
