//! The condition dialect of `when` fields (govaluate).
//!
//! Upstream inserts the values of tags as text and reads the result. Here a value is one operand,
//! whatever is in it: `{{x}} == yes` holds only if x is the text `yes`, and quotes, spaces or
//! operators in x mean nothing. Only a condition that is nothing but one tag is read as a
//! condition after insertion, as manifests pass whole conditions as parameters.
//!
//! Bare words are texts, so that `foo == foo` holds. `true`, `false` and numbers are not texts:
//! `3 == '3'` does not hold. Texts compare by bytes.

mod eval;
mod lex;
mod parse;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::text::{Part, Text};

/// A parsed condition.
#[derive(Debug, Clone)]
pub struct When {
    source: String,
    text: Text,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Nothing is asked: the condition holds.
    Empty,
    /// One tag, whose value is the condition.
    Inserted,
    Parsed(parse::Node),
}

impl When {
    /// Parses a condition with tags in it.
    ///
    /// # Errors
    /// [`Error::Syntax`] with the byte offset of what does not fit.
    pub fn parse(source: &str) -> Result<Self> {
        let text = Text::parse(source)?;
        let form = form(text.parts())?;
        Ok(Self { source: source.to_owned(), text, form })
    }

    /// The variables that the condition may read, as dotted names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.text.names()
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// [`Error::NotBoolean`] if the result is no boolean, and the errors of [`Text::render`].
    pub fn eval(&self, scope: &dyn Scope, env: &mut Env) -> Result<bool> {
        match &self.form {
            Form::Empty => Ok(true),
            Form::Parsed(node) => boolean(node, &self.source, scope, env),
            Form::Inserted => {
                let source = self.text.render(scope, env)?;
                env.burn(source.len()).map_err(|fault| fault.at(0))?;
                let part = Part::Literal { at: 0, text: source.clone() };
                boolean(&parse::parse(&[part])?, &source, scope, env)
            }
        }
    }
}

fn form(parts: &[Part]) -> Result<Form> {
    let is_blank =
        |part: &Part| matches!(part, Part::Literal { text, .. } if text.trim().is_empty());
    let mut given = parts.iter().filter(|part| !is_blank(part));
    match (given.next(), given.next()) {
        (None, _) => Ok(Form::Empty),
        (Some(Part::Tag(_) | Part::Expression { .. }), None) => Ok(Form::Inserted),
        _ => Ok(Form::Parsed(parse::parse(parts)?)),
    }
}

fn boolean(node: &parse::Node, source: &str, scope: &dyn Scope, env: &mut Env) -> Result<bool> {
    match eval::eval(node, scope, env)? {
        eval::Item::Bool(bool) => Ok(bool),
        other => Err(Error::NotBoolean { condition: source.to_owned(), got: other.to_string() }),
    }
}

#[cfg(test)]
mod tests;
