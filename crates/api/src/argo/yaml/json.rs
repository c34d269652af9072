//! JSON with places. YAML readers do not take all of it (escaped surrogate pairs, tabs), and it is
//! what clients send.

use std::sync::Arc;

use argosy_model::{Code, limits};

use super::node::{Entry, Mark, Node, Value};
use super::{Refusal, refuse};

/// Reads one JSON value that is all of `text`.
pub(super) fn parse(text: &str) -> Result<Node, Refusal> {
    let mut reader = Reader { text, at: 0, mark: Mark { line: 1, column: 1, file: 0 }, nodes: 0 };
    let node = reader.value(1)?;
    reader.space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.refuse("expected the end of the file")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    mark: Mark,
    nodes: u64,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn refuse(&self, what: &str) -> Refusal {
        refuse(Code::NotYaml, self.mark, format!("{what} in JSON"))
    }

    /// Steps over `bytes` bytes of text.
    fn skip(&mut self, bytes: usize) {
        for c in self.rest().get(..bytes).unwrap_or_default().chars() {
            if c == '\n' {
                self.mark = Mark { line: self.mark.line + 1, column: 1, file: 0 };
            } else {
                self.mark.column += 1;
            }
        }
        self.at += bytes;
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.skip(rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len());
    }

    fn take(&mut self, token: char) -> bool {
        self.space();
        let found = self.peek() == Some(token);
        if found {
            self.skip(token.len_utf8());
        }
        found
    }

    fn expect(&mut self, token: char) -> Result<(), Refusal> {
        if self.take(token) { Ok(()) } else { Err(self.refuse(&format!("expected `{token}`"))) }
    }

    fn value(&mut self, depth: u64) -> Result<Node, Refusal> {
        self.space();
        let mark = self.mark;
        self.nodes += 1;
        let limits =
            [limits::YAML_DEPTH.check(depth, "file"), limits::YAML_NODES.check(self.nodes, "file")];
        for checked in limits {
            checked.map_err(|refused| Refusal { mark, diagnostic: refused })?;
        }
        let value = match self.peek() {
            Some('{') => self.map(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Value::Text(self.string()?),
            _ => self.word()?,
        };
        Ok(Node { mark, value })
    }

    fn map(&mut self, depth: u64) -> Result<Value, Refusal> {
        self.expect('{')?;
        let mut entries = super::Entries::default();
        if self.take('}') {
            return Ok(Value::Map(Vec::new()));
        }
        loop {
            self.space();
            let mark = self.mark;
            let key = self.string()?;
            self.expect(':')?;
            let node = self.value(depth + 1)?;
            entries.add(Entry { mark, key, node })?;
            if self.take('}') {
                return Ok(Value::Map(entries.list));
            }
            self.expect(',')?;
        }
    }

    fn list(&mut self, depth: u64) -> Result<Value, Refusal> {
        self.expect('[')?;
        let mut items = Vec::new();
        if self.take(']') {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(']') {
                return Ok(Value::List(items));
            }
            self.expect(',')?;
        }
    }

    fn string(&mut self) -> Result<Arc<str>, Refusal> {
        let rest = self.rest();
        let mut escaped = true;
        let end = rest.char_indices().find(|(at, c)| {
            let ends = *c == '"' && !escaped && *at > 0;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let quoted = end.and_then(|(at, _)| rest.get(..=at)).filter(|text| text.starts_with('"'));
        let parsed = quoted.and_then(|text| serde_json::from_str::<String>(text).ok());
        let (Some(quoted), Some(parsed)) = (quoted, parsed) else {
            return Err(self.refuse("expected a string"));
        };
        if parsed.contains('\0') {
            return Err(refuse(Code::BadText, self.mark, "the text holds a NUL byte"));
        }
        self.skip(quoted.len());
        Ok(parsed.into())
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, Refusal> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => match serde_json::from_str(word) {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(self.refuse("expected a value")),
            },
        };
        self.skip(word.len());
        Ok(value)
    }
}
