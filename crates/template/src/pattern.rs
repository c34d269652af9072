//! Regular expressions in Go's notation.

use regex::{Regex, RegexBuilder};

use crate::env::Env;
use crate::error::Fault;

/// Bytes a compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1 << 18;

/// Steps that compiling costs, and those for each byte of the pattern.
const COMPILE_STEPS: usize = 1_000;
const COMPILE_STEPS_PER_BYTE: usize = 16;

/// Compiles `pattern`, which Go's `regexp` would accept.
///
/// # Errors
/// If it is not a pattern, or too large a one, or fuel is out.
pub(crate) fn compile(pattern: &str, env: &mut Env) -> Result<Regex, Fault> {
    env.burn(1)?;
    if let Some(known) = env.pattern(pattern) {
        return Ok(known);
    }
    env.burn(COMPILE_STEPS + COMPILE_STEPS_PER_BYTE * pattern.len())?;
    let regex = RegexBuilder::new(&translate(pattern))
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| format!("error parsing regexp {pattern:?}: {error}"))?;
    env.keep_pattern(pattern, &regex);
    Ok(regex)
}

/// Whether `pattern` matches anywhere in `text`.
pub(crate) fn matches(pattern: &str, text: &str, env: &mut Env) -> Result<bool, Fault> {
    let regex = compile(pattern, env)?;
    env.burn(text.len() / 16)?;
    Ok(regex.is_match(text))
}

/// `text` with everything escaped that a pattern gives a meaning to (Go's `QuoteMeta`).
pub(crate) fn quote_meta(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Go's notation in that of the regex crate: Perl classes are ASCII only in Go, a bracket inside
/// a class is a plain character, and `\Q..\E` quotes.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(r"\Q") {
            let (quoted, after) = after.split_once(r"\E").unwrap_or((after, ""));
            out.push_str(&quote_meta(quoted));
            rest = after;
            continue;
        }
        if c == '\\' {
            let (escape, after) = split_escape(rest);
            out.push_str(perl_class(escape, in_class).unwrap_or(escape));
            rest = after;
            continue;
        }
        let len = if in_class { class_part(&mut out, rest) } else { plain_part(&mut out, rest) };
        in_class = if in_class { !(c == ']' && len == 1) } else { c == '[' };
        rest = rest.get(len..).unwrap_or("");
    }
    out
}

/// A backslash with the character after it, and what follows.
fn split_escape(rest: &str) -> (&str, &str) {
    let end = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
    rest.split_at(end)
}

/// The ASCII meaning of a Perl class.
fn perl_class(escape: &str, in_class: bool) -> Option<&'static str> {
    Some(match escape {
        r"\d" => "[0-9]",
        r"\D" => "[^0-9]",
        r"\w" => "[0-9A-Za-z_]",
        r"\W" => "[^0-9A-Za-z_]",
        r"\s" => r"[\t\n\f\r ]",
        r"\S" => r"[^\t\n\f\r ]",
        r"\b" if !in_class => r"(?-u:\b)",
        r"\B" if !in_class => r"(?-u:\B)",
        _ => return None,
    })
}

/// Copies one character outside a class, or the opening of a class. Returns its length.
fn plain_part(out: &mut String, rest: &str) -> usize {
    for opening in ["[^]", "[]", "[^"] {
        if rest.starts_with(opening) {
            // A bracket that closes right after the opening stands for itself.
            out.push_str(&opening.replace(']', r"\]"));
            return opening.len();
        }
    }
    let c = rest.chars().next().unwrap_or_default();
    out.push(c);
    c.len_utf8()
}

/// Copies one character or named class inside a class. Returns its length.
fn class_part(out: &mut String, rest: &str) -> usize {
    if rest.starts_with("[:")
        && let Some(end) = rest.find(":]")
    {
        out.push_str(&rest[..end + 2]);
        return end + 2;
    }
    let c = rest.chars().next().unwrap_or_default();
    if matches!(c, '[' | '&' | '~') {
        out.push('\\');
    }
    out.push(c);
    c.len_utf8()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> bool {
        matches(pattern, text, &mut Env::new(0, 0)).unwrap()
    }

    #[test]
    fn go_patterns_keep_their_meaning() {
        let cases = [
            ("^a+$", "aaa", true),
            (r"^\d+$", "123", true),
            (r"^\d+$", "١٢٣", false),
            (r"^\w$", "é", false),
            (r"^[\w.]+$", "a.b", true),
            ("^[[]$", "[", true),
            ("^[]a]$", "]", true),
            ("^[^]a]$", "]", false),
            ("^[^]a]$", "b", true),
            ("^[a&&b]+$", "a&b", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            ("^[[:alpha:]]+$", "abc", true),
            ("(?i)ABC", "xabcx", true),
            (r"^[\]]$", "]", true),
            ("(?P<n>a)b", "ab", true),
            (r"\bfoo\b", "a foo b", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(found(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn bad_and_huge_patterns_are_refused() {
        for pattern in ["(", "[a", r"a\", "a**b(", "(?:a{1000}){1000}"] {
            assert!(compile(pattern, &mut Env::new(0, 0)).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_is_compiled_once() {
        let mut env = Env::new(0, 0).with_fuel(2_000);
        for _ in 0..100 {
            assert!(matches("^a.b$", "axb", &mut env).unwrap());
        }
        assert!(matches("^another$", "", &mut env).is_err());
    }

    #[test]
    fn quoting_escapes_all_metacharacters() {
        assert_eq!(quote_meta("a.b*[c]"), r"a\.b\*\[c\]");
    }
}
