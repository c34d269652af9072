//! From text to the steps of a path.

use super::filter::{Condition, Operand, Test};
use super::{JsonPath, Step};
use crate::env::MAX_NESTING;
use crate::error::{Error, Result};
use crate::value::Value;

/// Parses a whole path.
pub(super) fn path(source: &str) -> Result<JsonPath> {
    if source.trim() == "." {
        return Ok(JsonPath { steps: Vec::new() });
    }
    let mut parser = Parser { source, at: 0, level: 0 };
    parser.blanks();
    parser.take("$");
    let steps = parser.steps(true)?;
    parser.blanks();
    if parser.rest().is_empty() { Ok(JsonPath { steps }) } else { Err(parser.unexpected()) }
}

struct Parser<'a> {
    source: &'a str,
    at: usize,
    level: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or("")
    }

    fn blanks(&mut self) {
        self.at = self.source.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        self.blanks();
        if self.take(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Error {
        let found = self.rest().chars().next();
        let found = found.map_or("the end of the path".to_owned(), |c| format!("{c:?}"));
        Error::Syntax { at: self.at, message: format!("unexpected {found} in a path") }
    }

    /// Steps for as long as there are any. `bare`: the first may be a name without a dot.
    fn steps(&mut self, bare: bool) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        if bare && self.rest().starts_with(is_name) {
            steps.push(Step::Key(self.name()));
        }
        loop {
            if self.take("..") {
                steps.push(Step::Descent);
                if !self.rest().starts_with('[') {
                    steps.push(self.member()?);
                }
            } else if self.take(".") {
                if self.rest().starts_with('[') {
                    continue;
                }
                steps.push(self.member()?);
            } else if self.take("[") {
                steps.push(self.brackets()?);
            } else {
                return Ok(steps);
            }
        }
    }

    fn member(&mut self) -> Result<Step> {
        if self.take("*") {
            return Ok(Step::All);
        }
        let name = self.name();
        if name.is_empty() { Err(self.unexpected()) } else { Ok(Step::Key(name)) }
    }

    /// A name up to the next character with a meaning; a backslash takes the meaning away.
    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.rest().chars().next() {
            if c == '\\' {
                self.at += 1;
                let Some(c) = self.rest().chars().next() else { break };
                name.push(c);
                self.at += c.len_utf8();
            } else if is_name(c) {
                name.push(c);
                self.at += c.len_utf8();
            } else {
                break;
            }
        }
        name
    }

    /// What follows `[`, up to and with `]`.
    fn brackets(&mut self) -> Result<Step> {
        self.blanks();
        if self.take("?") {
            self.expect("(")?;
            let condition = self.condition()?;
            self.expect(")")?;
            self.expect("]")?;
            return Ok(Step::Filter(condition));
        }
        let mut parts = vec![self.part()?];
        self.blanks();
        while self.take(",") {
            parts.push(self.part()?);
            self.blanks();
        }
        self.expect("]")?;
        match parts.pop() {
            Some(single) if parts.is_empty() => Ok(single),
            last => Ok(Step::Union(parts.into_iter().chain(last).collect())),
        }
    }

    fn part(&mut self) -> Result<Step> {
        self.blanks();
        if self.take("*") {
            return Ok(Step::All);
        }
        if self.rest().starts_with(['\'', '"']) {
            return Ok(Step::Key(self.quoted()?));
        }
        let from = self.integer()?;
        self.blanks();
        if !self.take(":") {
            return from.map(Step::Index).ok_or_else(|| self.unexpected());
        }
        let to = self.integer()?;
        self.blanks();
        let step = if self.take(":") { self.integer()?.unwrap_or(1) } else { 1 };
        if step == 0 {
            let message = "a slice cannot have step zero".to_owned();
            return Err(Error::Syntax { at: self.at, message });
        }
        Ok(Step::Slice { from, to, step })
    }

    fn integer(&mut self) -> Result<Option<i64>> {
        self.blanks();
        let rest = self.rest();
        let signed = usize::from(rest.starts_with('-'));
        let digits = rest.bytes().skip(signed).take_while(u8::is_ascii_digit).count();
        if digits == 0 && signed == 0 {
            return Ok(None);
        }
        let number = rest.get(..signed + digits).and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.unexpected())?;
        self.at += signed + digits;
        Ok(Some(number))
    }

    fn quoted(&mut self) -> Result<String> {
        let start = self.at;
        let quote = self.rest().chars().next().unwrap_or('\'');
        self.at += 1;
        let mut out = String::new();
        while let Some(c) = self.rest().chars().next() {
            self.at += c.len_utf8();
            if c == quote {
                return Ok(out);
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            if let Some(escaped) = self.rest().chars().next() {
                self.at += escaped.len_utf8();
                out.push(escaped);
            }
        }
        Err(Error::Syntax { at: start, message: "literal not terminated".to_owned() })
    }

    /// `a || b && c`
    fn condition(&mut self) -> Result<Condition> {
        self.level += 1;
        if self.level > MAX_NESTING {
            let message = format!("nested deeper than {MAX_NESTING} levels");
            return Err(Error::Syntax { at: self.at, message });
        }
        let mut any = vec![self.conjunction()?];
        self.blanks();
        while self.take("||") {
            any.push(self.conjunction()?);
            self.blanks();
        }
        self.level -= 1;
        Ok(Condition::Any(any))
    }

    fn conjunction(&mut self) -> Result<Condition> {
        let mut all = vec![self.test()?];
        self.blanks();
        while self.take("&&") {
            all.push(self.test()?);
            self.blanks();
        }
        Ok(Condition::All(all))
    }

    fn test(&mut self) -> Result<Condition> {
        self.blanks();
        if self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.at += 1;
            self.level += 1;
            if self.level > MAX_NESTING {
                return Err(self.unexpected());
            }
            let inner = self.test()?;
            self.level -= 1;
            return Ok(Condition::Not(Box::new(inner)));
        }
        if self.take("(") {
            let inner = self.condition()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let left = self.operand()?;
        self.blanks();
        let tests = [
            ("==", Test::Equal),
            ("!=", Test::NotEqual),
            ("<=", Test::LessEqual),
            (">=", Test::GreaterEqual),
            ("=~", Test::Matches),
            ("<", Test::Less),
            (">", Test::Greater),
        ];
        for (token, test) in tests {
            if self.take(token) {
                return Ok(Condition::Compare(left, test, self.operand()?));
            }
        }
        Ok(Condition::Exists(left))
    }

    fn operand(&mut self) -> Result<Operand> {
        self.blanks();
        if self.take("@") {
            return self.inner_path(true);
        }
        if self.take("$") {
            return self.inner_path(false);
        }
        if self.rest().starts_with(['\'', '"']) {
            return Ok(Operand::Literal(Value::str(self.quoted()?)));
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or("");
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "nil" => Value::Nil,
            _ => number(word).ok_or_else(|| self.unexpected())?,
        };
        self.at += word.len();
        Ok(Operand::Literal(value))
    }

    fn inner_path(&mut self, relative: bool) -> Result<Operand> {
        self.level += 1;
        if self.level > MAX_NESTING {
            return Err(self.unexpected());
        }
        let steps = self.steps(false)?;
        self.level -= 1;
        Ok(Operand::Path { relative, steps })
    }
}

fn number(word: &str) -> Option<Value> {
    if let Ok(int) = word.parse() {
        return Some(Value::Int(int));
    }
    word.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float)
}

/// Whether `c` needs no quotes or backslash in a name.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '$')
}
