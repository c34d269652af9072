//! Tokens of a condition, tags being parts of operands.

use crate::error::{Error, Result};
use crate::text::Part;

/// Operators, longest first.
const SYMBOLS: [&str; 26] = [
    "==", "!=", ">=", "<=", "=~", "!~", "&&", "||", "??", "**", ">>", "<<", ">", "<", "!", "~",
    "+", "-", "*", "/", "%", "&", "|", "^", "?", ":",
];

/// A token with its byte offset in the source.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone)]
pub(super) enum TokenKind {
    Operand(Operand),
    /// An operator, a parenthesis or a comma.
    Op(&'static str),
}

/// A value that is written out, or known once its tags are.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    /// What it consists of; at least one part unless it is quoted.
    pub(super) parts: Vec<Part>,
    /// A text, whatever it looks like.
    pub(super) quoted: bool,
}

/// The tokens of a condition.
///
/// # Errors
/// [`Error::Syntax`] at a character that starts no token.
pub(super) fn tokens(parts: &[Part]) -> Result<Vec<Token>> {
    let mut lexer = Lexer { parts, part: 0, byte: 0 };
    let mut tokens = Vec::new();
    while let Some(piece) = lexer.peek() {
        let at = lexer.at();
        let kind = match piece {
            Piece::Char(c) if c.is_whitespace() => {
                lexer.skip(c);
                continue;
            }
            Piece::Char(quote @ ('\'' | '"')) => lexer.quoted(quote, quote)?,
            Piece::Char('[') => lexer.quoted('[', ']')?,
            Piece::Char(c) if !is_word(c) => lexer.symbol(c)?,
            Piece::Char(_) | Piece::Inserted(_) => lexer.word(),
        };
        tokens.push(Token { at, kind });
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '\\')
}

#[derive(Clone, Copy)]
enum Piece<'a> {
    Char(char),
    Inserted(&'a Part),
}

struct Lexer<'a> {
    parts: &'a [Part],
    part: usize,
    /// Byte offset in the current part, if it is a literal.
    byte: usize,
}

impl<'a> Lexer<'a> {
    fn peek(&mut self) -> Option<Piece<'a>> {
        loop {
            let part = self.parts.get(self.part)?;
            let Part::Literal { text, .. } = part else { return Some(Piece::Inserted(part)) };
            match text.get(self.byte..).and_then(|rest| rest.chars().next()) {
                Some(c) => return Some(Piece::Char(c)),
                None => self.next_part(),
            }
        }
    }

    fn next_part(&mut self) {
        self.part += 1;
        self.byte = 0;
    }

    fn skip(&mut self, c: char) {
        self.byte += c.len_utf8();
    }

    fn at(&self) -> usize {
        self.parts.get(self.part).map_or(0, |part| part.at() + self.byte)
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::Syntax { at: self.at(), message: message.into() }
    }

    fn symbol(&mut self, c: char) -> Result<TokenKind> {
        let punctuation = ["(", ")", ","].into_iter().find(|own| own.starts_with(c));
        let rest = match self.parts.get(self.part) {
            Some(Part::Literal { text, .. }) => text.get(self.byte..).unwrap_or(""),
            _ => "",
        };
        let symbol = punctuation.or_else(|| SYMBOLS.into_iter().find(|own| rest.starts_with(own)));
        let symbol = symbol.ok_or_else(|| {
            self.error(format!("invalid token {c:?} (hint: put the operand in quotes)"))
        })?;
        self.byte += symbol.len();
        Ok(TokenKind::Op(symbol))
    }

    /// A bare word: letters, digits, underscores, dots, and tags that touch them.
    fn word(&mut self) -> TokenKind {
        let mut operand = Builder::default();
        let mut escaped = false;
        while let Some(piece) = self.peek() {
            match piece {
                Piece::Inserted(part) => {
                    operand.parts.push(part.clone());
                    self.next_part();
                }
                Piece::Char('\\') => {
                    escaped = true;
                    self.escape(&mut operand);
                }
                Piece::Char(c) if is_word(c) => {
                    operand.push(c, self.at());
                    self.skip(c);
                }
                Piece::Char(_) => break,
            }
        }
        match operand.parts.as_slice() {
            [Part::Literal { text, .. }] if !escaped && matches!(text.as_str(), "in" | "IN") => {
                TokenKind::Op("in")
            }
            _ => TokenKind::Operand(Operand { parts: operand.parts, quoted: escaped }),
        }
    }

    /// A backslash takes the meaning from the character after it.
    fn escape(&mut self, operand: &mut Builder) {
        self.skip('\\');
        if let Some(Piece::Char(c)) = self.peek() {
            operand.push(c, self.at());
            self.skip(c);
        }
    }

    fn quoted(&mut self, open: char, close: char) -> Result<TokenKind> {
        let unclosed = self.error("unclosed string literal");
        let mut operand = Builder::default();
        self.skip(open);
        loop {
            match self.peek().ok_or_else(|| unclosed.clone())? {
                Piece::Inserted(part) => {
                    operand.parts.push(part.clone());
                    self.next_part();
                }
                Piece::Char('\\') => self.escape(&mut operand),
                Piece::Char(c) if c == close => {
                    self.skip(c);
                    let parts = operand.parts;
                    return Ok(TokenKind::Operand(Operand { parts, quoted: true }));
                }
                Piece::Char(c) => {
                    operand.push(c, self.at());
                    self.skip(c);
                }
            }
        }
    }
}

#[derive(Default)]
struct Builder {
    parts: Vec<Part>,
}

impl Builder {
    fn push(&mut self, c: char, at: usize) {
        if let Some(Part::Literal { text, .. }) = self.parts.last_mut() {
            text.push(c);
        } else {
            self.parts.push(Part::Literal { at, text: c.to_string() });
        }
    }
}
