//! Tokens of an expression.

use std::sync::Arc;

use crate::error::{Error, Result};

/// Operators and punctuation, longest first, so that the first that fits is the one.
const SYMBOLS: [&str; 32] = [
    "&&", "||", "==", "!=", "<=", ">=", "**", "??", "?.", "..", "::", "|", "<", ">", "!", "+", "-",
    "*", "/", "%", "^", "?", ":", ".", ",", ";", "=", "(", ")", "[", "]", "{",
];

/// Words that are operators. They may still name a member after a dot.
const WORDS: [&str; 11] = [
    "not",
    "in",
    "or",
    "and",
    "matches",
    "contains",
    "startsWith",
    "endsWith",
    "let",
    "if",
    "else",
];

/// A token with the bytes it takes in the source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    Name(Arc<str>),
    Op(&'static str),
    End,
}

impl TokenKind {
    pub(super) fn is(&self, op: &str) -> bool {
        matches!(self, Self::Op(own) if *own == op)
    }
}

/// The tokens of `source`, the last one being the end.
///
/// # Errors
/// [`Error::Syntax`] at the first byte that starts no token.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let at = lexer.at;
        let kind = lexer.token()?;
        let done = kind == TokenKind::End;
        tokens.push(Token { at, end: lexer.at, kind });
        if done {
            return Ok(tokens);
        }
    }
}

/// Whether `c` may start a name.
pub(super) fn is_alphabetic(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

fn is_alphanumeric(c: char) -> bool {
    is_alphabetic(c) || c.is_numeric()
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or("")
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::Syntax { at: self.at, message: message.into() }
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            let rest = self.rest().trim_start();
            self.at = self.source.len() - rest.len();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let end = rest.get(2..).and_then(|after| after.find("*/"));
                self.at += end.ok_or_else(|| self.error("unclosed comment"))? + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<TokenKind> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(TokenKind::End) };
        let second = rest.chars().nth(1);
        match first {
            '\'' | '"' => self.quoted(first),
            '`' => self.raw(),
            '0'..='9' => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            '#' => {
                self.at += 1;
                Ok(TokenKind::Op("#"))
            }
            '}' => {
                self.at += 1;
                Ok(TokenKind::Op("}"))
            }
            _ if is_alphabetic(first) => Ok(self.word()),
            _ => self.symbol(first),
        }
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind> {
        let rest = self.rest();
        let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
        let symbol =
            symbol.ok_or_else(|| self.error(format!("unrecognized character {first:?}")))?;
        self.at += symbol.len();
        Ok(TokenKind::Op(symbol))
    }

    fn word(&mut self) -> TokenKind {
        let rest = self.rest();
        let len = rest.find(|c| !is_alphanumeric(c)).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or("");
        self.at += len;
        let operator = WORDS.into_iter().find(|known| *known == word);
        operator.map_or_else(|| TokenKind::Name(Arc::from(word)), TokenKind::Op)
    }

    fn number(&mut self) -> Result<TokenKind> {
        let len = number_len(self.rest());
        let rest = self.rest();
        if rest.get(len..).is_some_and(|after| after.starts_with(is_alphanumeric)) {
            return Err(self.error("bad number syntax"));
        }
        let text = rest.get(..len).unwrap_or("").replace('_', "");
        let kind = number_value(&text).ok_or_else(|| self.error(format!("bad number {text}")))?;
        self.at += len;
        Ok(kind)
    }

    /// A string between backquotes; two of them stand for one.
    fn raw(&mut self) -> Result<TokenKind> {
        let mut out = String::new();
        let mut rest = &self.rest()[1..];
        loop {
            let Some((before, after)) = rest.split_once('`') else {
                return Err(self.error("literal not terminated"));
            };
            out.push_str(before);
            match after.strip_prefix('`') {
                Some(after) => {
                    out.push('`');
                    rest = after;
                }
                None => {
                    self.at = self.source.len() - after.len();
                    return Ok(TokenKind::Str(Arc::from(out)));
                }
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<TokenKind> {
        let mut out = String::new();
        let mut rest = &self.rest()[1..];
        loop {
            let Some(c) = rest.chars().next().filter(|c| *c != '\n') else {
                return Err(self.error("literal not terminated"));
            };
            rest = &rest[c.len_utf8()..];
            if c == quote {
                self.at = self.source.len() - rest.len();
                return Ok(TokenKind::Str(Arc::from(out)));
            }
            if c == '\\' {
                let (escaped, after) =
                    escape(rest, quote).ok_or_else(|| self.error("invalid char escape"))?;
                out.push(escaped);
                rest = after;
            } else {
                out.push(c);
            }
        }
    }
}

/// The character of an escape, and what follows it. `rest` starts after the backslash.
fn escape(rest: &str, quote: char) -> Option<(char, &str)> {
    let c = rest.chars().next()?;
    let after = &rest[c.len_utf8()..];
    let simple = match c {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        '\'' | '"' if c == quote => c,
        'x' => return code(after, 2, 16),
        'u' => match after.strip_prefix('{') {
            Some(braced) => {
                let (digits, after) = braced.split_once('}')?;
                let (c, rest) = code(digits, digits.len().min(6), 16)?;
                return (rest.is_empty() && !digits.is_empty()).then_some((c, after));
            }
            None => return code(after, 4, 16),
        },
        'U' => return code(after, 8, 16),
        '0'..='7' => return code(rest, 3, 8),
        _ => return None,
    };
    Some((simple, after))
}

/// The character whose number is written in `len` digits.
fn code(text: &str, len: usize, radix: u32) -> Option<(char, &str)> {
    let digits = text.get(..len)?;
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let c = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
    Some((c, &text[len..]))
}

/// Bytes of the number that `text` starts with. A dot before another dot is a range's.
fn number_len(text: &str) -> usize {
    let run = |from: usize, allowed: &dyn Fn(char) -> bool| {
        let rest = text.get(from..).unwrap_or("");
        from + rest.find(|c| !(c == '_' || allowed(c))).unwrap_or(rest.len())
    };
    let prefix = text.get(..2).unwrap_or("").to_ascii_lowercase();
    match prefix.as_str() {
        "0x" => return run(2, &|c| c.is_ascii_hexdigit()),
        "0o" => return run(2, &|c| ('0'..='7').contains(&c)),
        "0b" => return run(2, &|c| matches!(c, '0' | '1')),
        _ => {}
    }
    let digit = |c: char| c.is_ascii_digit();
    let mut len = run(0, &digit);
    let after = text.get(len..).unwrap_or("");
    if after.starts_with('.') && !after.starts_with("..") {
        len = run(len + 1, &digit);
    }
    let exponent = text.get(len..).unwrap_or("");
    if exponent.starts_with(['e', 'E']) {
        let signed = usize::from(exponent[1..].starts_with(['+', '-']));
        len = run(len + 1 + signed, &digit);
    }
    len
}

fn number_value(text: &str) -> Option<TokenKind> {
    let lower = text.to_ascii_lowercase();
    let radix = |digits: &str, radix| i64::from_str_radix(digits, radix).ok().map(TokenKind::Int);
    if let Some(digits) = lower.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = lower.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = lower.strip_prefix("0b") {
        return radix(digits, 2);
    }
    if lower.contains(['.', 'e']) {
        return lower.parse().ok().filter(|f: &f64| f.is_finite()).map(TokenKind::Float);
    }
    lower.parse().ok().map(TokenKind::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<TokenKind> {
        tokens(source).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn strings_and_numbers_have_their_values() {
        let text = |text: &str| TokenKind::Str(Arc::from(text));
        let cases = [
            (r#""a\tb""#, text("a\tb")),
            (r"'it\'s'", text("it's")),
            (r"'\u00e9\x41\101\u{1F600}\U0001F600'", text("éAA😀😀")),
            ("`a``b\\n`", text("a`b\\n")),
            ("1_000", TokenKind::Int(1000)),
            ("0xFF", TokenKind::Int(255)),
            ("0o17", TokenKind::Int(15)),
            ("0b101", TokenKind::Int(5)),
            ("1.5e3", TokenKind::Float(1500.0)),
            (".5", TokenKind::Float(0.5)),
            ("9007199254740993", TokenKind::Int(9_007_199_254_740_993)),
        ];
        for (source, expected) in cases {
            assert_eq!(kinds(source), [expected, TokenKind::End], "{source}");
        }
    }

    #[test]
    fn a_range_is_not_a_float() {
        let expected = [TokenKind::Int(1), TokenKind::Op(".."), TokenKind::Int(3), TokenKind::End];
        assert_eq!(kinds("1..3"), expected);
    }

    #[test]
    fn errors_tell_the_byte() {
        let cases = [("a  @", 3), ("'abc", 0), ("1x", 0), ("/* a", 0), (r"'\q'", 0), ("`a", 0)];
        for (source, expected) in cases {
            assert!(matches!(tokens(source), Err(Error::Syntax { at, .. }) if at == expected));
        }
    }
}
