//! Functions on the bits of integers.

use super::{Function, arg, function, wanted};
use crate::error::Fault;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("bitand", 2, 2, |args, _| both(args, |left, right| left & right)),
    function("bitor", 2, 2, |args, _| both(args, |left, right| left | right)),
    function("bitxor", 2, 2, |args, _| both(args, |left, right| left ^ right)),
    // And-not, as upstream has it under this name.
    function("bitnand", 2, 2, |args, _| both(args, |left, right| left & !right)),
    function("bitnot", 1, 1, |args, _| Ok(Value::Int(!int(args, 0)?))),
    function("bitshl", 2, 2, |args, _| {
        let (bits, by) = (int(args, 0)?, shift(args)?);
        Ok(Value::Int(bits.checked_shl(by).unwrap_or(0)))
    }),
    function("bitshr", 2, 2, |args, _| {
        let (bits, by) = (int(args, 0)?, shift(args)?);
        Ok(Value::Int(bits >> by.min(63)))
    }),
    function("bitushr", 2, 2, |args, _| {
        let (bits, by) = (int(args, 0)?, shift(args)?);
        let shifted = bits.cast_unsigned().checked_shr(by).unwrap_or(0);
        Ok(Value::Int(shifted.cast_signed()))
    }),
];

fn int(args: &[Value], index: usize) -> Result<i64, Fault> {
    match arg(args, index) {
        Value::Int(int) => Ok(*int),
        other => Err(wanted("an integer", index, other)),
    }
}

fn both(args: &[Value], run: fn(i64, i64) -> i64) -> Result<Value, Fault> {
    Ok(Value::Int(run(int(args, 0)?, int(args, 1)?)))
}

/// A count of places: 64 and more all push every bit out.
fn shift(args: &[Value]) -> Result<u32, Fault> {
    let by = int(args, 1)?;
    if by < 0 {
        return Err(format!("negative shift count {by}").into());
    }
    Ok(u32::try_from(by).unwrap_or(u32::MAX))
}
