//! Regular expressions.

use regex::Regex;

use crate::env::Env;
use crate::error::Fault;
use crate::expr::builtins::strings::made;
use crate::expr::builtins::{Function, function, int, text};
use crate::pattern;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("regexMatch", 2, 2, |args, env| {
        // A bad pattern matches nothing.
        let regex = pattern::compile(text(args, 0)?, env);
        env.burn(text(args, 1)?.len() / 16)?;
        Ok(Value::Bool(regex.is_ok_and(|regex| text(args, 1).is_ok_and(|t| regex.is_match(t)))))
    }),
    function("mustRegexMatch", 2, 2, |args, env| {
        pattern::matches(text(args, 0)?, text(args, 1)?, env).map(Value::Bool)
    }),
    function("regexFind", 2, 2, |args, env| {
        let (regex, source) = start(args, env)?;
        made(regex.find(source).map_or("", |found| found.as_str()), env)
    }),
    function("regexFindAll", 3, 3, |args, env| {
        let (regex, source) = start(args, env)?;
        let most = usize::try_from(int(args, 2)?).unwrap_or(usize::MAX);
        Value::texts(regex.find_iter(source).take(most).map(|found| found.as_str()))
    }),
    function("regexReplaceAll", 3, 3, |args, env| {
        let (regex, source) = start(args, env)?;
        replaced(&regex, source, text(args, 2)?, true, env)
    }),
    function("regexReplaceAllLiteral", 3, 3, |args, env| {
        let (regex, source) = start(args, env)?;
        replaced(&regex, source, text(args, 2)?, false, env)
    }),
    function("regexSplit", 3, 3, |args, env| {
        let (regex, source) = start(args, env)?;
        match usize::try_from(int(args, 2)?) {
            Ok(0) => Ok(Value::Nil),
            Ok(most) => Value::texts(regex.splitn(source, most)),
            Err(_) => Value::texts(regex.split(source)),
        }
    }),
    function("regexQuoteMeta", 1, 1, |args, env| made(&pattern::quote_meta(text(args, 0)?), env)),
];

/// The pattern and the text, the search being paid for.
fn start<'a>(args: &'a [Value], env: &mut Env) -> Result<(Regex, &'a str), Fault> {
    let source = text(args, 1)?;
    env.burn(source.len())?;
    Ok((pattern::compile(text(args, 0)?, env)?, source))
}

/// `source` with every match replaced; `expand`: `$1` and `${name}` stand for groups.
fn replaced(
    regex: &Regex,
    source: &str,
    replacement: &str,
    expand: bool,
    env: &mut Env,
) -> Result<Value, Fault> {
    let mut out = String::new();
    let mut end = 0;
    for captures in regex.captures_iter(source) {
        let Some(found) = captures.get(0) else { continue };
        let before = out.len();
        out.push_str(source.get(end..found.start()).unwrap_or(""));
        if expand {
            captures.expand(replacement, &mut out);
        } else {
            out.push_str(replacement);
        }
        env.produce(out.len() - before)?;
        end = found.end();
    }
    env.produce(source.len() - end)?;
    out.push_str(source.get(end..).unwrap_or(""));
    Ok(Value::str(out))
}
