//! The `depends` language of DAG tasks: names with conditions, `&&`, `||`, `!`, brackets, and
//! beyond upstream `any(A, B)` and `atLeast(n, A, B, C)`, which hold as soon as enough of their
//! operands do.
//!
//! The source of the rule is argo-workflows `docs/enhanced-depends-logic.md`. A real parser takes
//! the place of upstream's textual rewriting, so `a-b` and `a_b` are two names.

use std::collections::HashSet;
use std::fmt;

/// What must be true of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It ended well enough: succeeded, was skipped, or is a daemon that is ready; failures count
    /// where the task itself says that the parent continues on them.
    Done,
    /// `.Succeeded`
    Succeeded,
    /// `.Failed`
    Failed,
    /// `.Errored`
    Errored,
    /// `.Skipped`
    Skipped,
    /// `.Omitted`
    Omitted,
    /// `.Daemoned`
    Daemoned,
    /// `.AnySucceeded`: of the children of a loop.
    AnySucceeded,
    /// `.AllFailed`: of the children of a loop.
    AllFailed,
}

impl Condition {
    const NAMES: [(&'static str, Condition); 8] = [
        ("Succeeded", Condition::Succeeded),
        ("Failed", Condition::Failed),
        ("Errored", Condition::Errored),
        ("Skipped", Condition::Skipped),
        ("Omitted", Condition::Omitted),
        ("Daemoned", Condition::Daemoned),
        ("AnySucceeded", Condition::AnySucceeded),
        ("AllFailed", Condition::AllFailed),
    ];
}

/// A parsed `depends`. Tasks are named as they are written, or looked up once for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Depends<T = String> {
    /// A task and what must be true of it.
    Task(T, Condition),
    /// All hold.
    And(Vec<Depends<T>>),
    /// One holds.
    Or(Vec<Depends<T>>),
    /// It does not hold.
    Not(Box<Depends<T>>),
    /// At least this many hold, decided as early as possible.
    AtLeast(usize, Vec<Depends<T>>),
}

/// Why a text is not a `depends`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at character {at}")]
pub struct Error {
    /// Offset in bytes.
    pub at: usize,
    /// What is wrong there.
    pub what: String,
}

impl Depends {
    /// Parses.
    ///
    /// # Errors
    /// Where the text is not of the grammar.
    pub fn parse(text: &str) -> Result<Depends, Error> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let parsed = parser.or()?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.refuse("expected `&&`, `||` or the end"));
        }
        Ok(parsed)
    }

    /// `A && B` for a list of `dependencies`.
    #[must_use]
    pub fn all_done(names: &[String]) -> Depends {
        Depends::And(names.iter().map(|n| Depends::Task(n.clone(), Condition::Done)).collect())
    }

    /// Every task that is named, each once, in the order of first mention.
    #[must_use]
    pub fn tasks(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut known = HashSet::new();
        self.visit(&mut |name| {
            if known.insert(name) {
                names.push(name);
            }
        });
        names
    }

    fn visit<'a>(&'a self, seen: &mut impl FnMut(&'a str)) {
        match self {
            Depends::Task(name, _) => seen(name),
            Depends::And(parts) | Depends::Or(parts) | Depends::AtLeast(_, parts) => {
                parts.iter().for_each(|part| part.visit(seen));
            }
            Depends::Not(inner) => inner.visit(seen),
        }
    }

    /// A task that stands twice among the operands of one `atLeast`, and so would count twice. Where
    /// one operand is enough that changes nothing.
    #[must_use]
    pub fn counted_twice(&self) -> Option<&str> {
        let parts = match self {
            Depends::Task(..) => return None,
            Depends::Not(inner) => return inner.counted_twice(),
            Depends::And(parts) | Depends::Or(parts) | Depends::AtLeast(_, parts) => parts,
        };
        let mut seen = HashSet::new();
        let counts = matches!(self, Depends::AtLeast(2.., _));
        let again = parts.iter().find_map(|part| match part {
            Depends::Task(name, _) if counts && !seen.insert(name) => Some(&**name),
            _ => None,
        });
        again.or_else(|| parts.iter().find_map(Depends::counted_twice))
    }

    /// The same with every task looked up; `None` when one is not found.
    pub fn looked_up<U>(&self, find: &mut impl FnMut(&str) -> Option<U>) -> Option<Depends<U>> {
        let all = |parts: &[Depends], find: &mut _| -> Option<Vec<Depends<U>>> {
            parts.iter().map(|part| part.looked_up(find)).collect()
        };
        Some(match self {
            Depends::Task(name, condition) => Depends::Task(find(name)?, *condition),
            Depends::And(parts) => Depends::And(all(parts, find)?),
            Depends::Or(parts) => Depends::Or(all(parts, find)?),
            Depends::Not(inner) => Depends::Not(Box::new(inner.looked_up(find)?)),
            Depends::AtLeast(wanted, parts) => Depends::AtLeast(*wanted, all(parts, find)?),
        })
    }
}

impl<T> Depends<T> {
    /// Whether it holds an operand that may be decided before all tasks have ended.
    #[must_use]
    pub fn is_eager(&self) -> bool {
        match self {
            Depends::Task(..) => false,
            Depends::And(parts) | Depends::Or(parts) => parts.iter().any(Depends::is_eager),
            Depends::Not(inner) => inner.is_eager(),
            Depends::AtLeast(..) => true,
        }
    }

    /// The value, given what is known of each task: `None` while it is open.
    ///
    /// Outside `any` and `atLeast` a task must have ended before anything is decided, as upstream
    /// has it.
    pub fn value(&self, task: &mut impl FnMut(&T, Condition) -> Option<bool>) -> Option<bool> {
        match self {
            Depends::Task(name, condition) => task(name, *condition),
            Depends::And(parts) => {
                parts.iter().try_fold(true, |all, part| Some(part.value(task)? && all))
            }
            Depends::Or(parts) => {
                parts.iter().try_fold(false, |any, part| Some(part.value(task)? || any))
            }
            Depends::Not(inner) => inner.value(task).map(|value| !value),
            Depends::AtLeast(wanted, parts) => {
                let (mut held, mut open) = (0, 0);
                for part in parts {
                    match part.value(task) {
                        Some(true) => held += 1,
                        Some(false) => {}
                        None => open += 1,
                    }
                    if held >= *wanted {
                        return Some(true);
                    }
                }
                if held + open < *wanted { Some(false) } else { None }
            }
        }
    }
}

impl fmt::Display for Depends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: &[Depends], by: &str| {
            parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(by)
        };
        match self {
            Depends::Task(name, condition) => {
                let suffix = Condition::NAMES.iter().find(|(_, known)| known == condition);
                write!(f, "{name}{}", suffix.map_or(String::new(), |(text, _)| format!(".{text}")))
            }
            Depends::And(parts) => write!(f, "({})", list(parts, " && ")),
            Depends::Or(parts) => write!(f, "({})", list(parts, " || ")),
            Depends::Not(inner) => write!(f, "!{inner}"),
            Depends::AtLeast(wanted, parts) => {
                write!(f, "atLeast({wanted}, {})", list(parts, ", "))
            }
        }
    }
}

const MAX_DEPTH: usize = 100;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn refuse(&self, what: &str) -> Error {
        Error { at: self.at, what: what.to_owned() }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Error> {
        if self.take(token) { Ok(()) } else { Err(self.refuse(&format!("expected `{token}`"))) }
    }

    fn or(&mut self) -> Result<Depends, Error> {
        self.chain("||", Depends::Or, Self::and)
    }

    fn and(&mut self) -> Result<Depends, Error> {
        self.chain("&&", Depends::And, Self::unary)
    }

    fn chain(
        &mut self,
        operator: &str,
        join: fn(Vec<Depends>) -> Depends,
        operand: fn(&mut Self) -> Result<Depends, Error>,
    ) -> Result<Depends, Error> {
        let first = operand(self)?;
        let mut parts = vec![first];
        while self.take(operator) {
            parts.push(operand(self)?);
        }
        match (parts.len(), parts.pop()) {
            (1, Some(only)) => Ok(only),
            (_, last) => Ok(join(parts.into_iter().chain(last).collect())),
        }
    }

    fn unary(&mut self) -> Result<Depends, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.refuse("brackets are nested too deep"));
        }
        let parsed = if self.take("!") {
            Depends::Not(Box::new(self.unary()?))
        } else if self.take("(") {
            let inner = self.or()?;
            self.expect(")")?;
            inner
        } else {
            self.operand()?
        };
        self.depth -= 1;
        Ok(parsed)
    }

    fn word(&mut self) -> Result<String, Error> {
        self.skip_space();
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.refuse("expected the name of a task"));
        }
        let word = rest[..end].to_owned();
        self.at += end;
        Ok(word)
    }

    fn operand(&mut self) -> Result<Depends, Error> {
        let start = self.at;
        let name = self.word()?;
        if self.rest().starts_with('(') {
            return self.counted(&name, start);
        }
        if !self.rest().starts_with('.') {
            return Ok(Depends::Task(name, Condition::Done));
        }
        self.at += 1;
        let at = self.at;
        let word = self.word()?;
        match Condition::NAMES.iter().find(|(text, _)| *text == word) {
            Some((_, condition)) => Ok(Depends::Task(name, *condition)),
            None => Err(Error {
                at,
                what: format!(
                    "unknown condition `{word}`, expected one of {}",
                    Condition::NAMES.map(|(text, _)| text).join(", ")
                ),
            }),
        }
    }

    fn counted(&mut self, function: &str, start: usize) -> Result<Depends, Error> {
        self.expect("(")?;
        let wanted = match function {
            "any" => 1,
            "atLeast" => {
                let at = self.at;
                let count = self.word()?.parse().ok().filter(|count| *count > 0);
                self.expect(",")?;
                count.ok_or(Error { at, what: "expected a count above 0".to_owned() })?
            }
            _ => {
                let what = format!("unknown function `{function}`, expected `any` or `atLeast`");
                return Err(Error { at: start, what });
            }
        };
        let mut parts = vec![self.unary()?];
        while self.take(",") {
            parts.push(self.unary()?);
        }
        self.expect(")")?;
        if wanted > parts.len() {
            let what = format!("{wanted} of {} can never hold", parts.len());
            return Err(Error { at: start, what });
        }
        Ok(Depends::AtLeast(wanted, parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, known: &[(&str, bool)]) -> Option<bool> {
        Depends::parse(text).unwrap().value(&mut |name, _| {
            known.iter().find(|(task, _)| *task == name).map(|(_, held)| *held)
        })
    }

    #[test]
    fn the_grammar_is_upstreams() {
        for (text, shown) in [
            ("a", "a"),
            ("a && b", "(a && b)"),
            ("a||b&&c", "(a || (b && c))"),
            ("!a.Failed", "!a.Failed"),
            (
                "(a.Succeeded || a.Skipped) && !b-c.Omitted",
                "((a.Succeeded || a.Skipped) && !b-c.Omitted)",
            ),
            ("a_b && a-b", "(a_b && a-b)"),
            ("any(a, b.Failed)", "atLeast(1, a, b.Failed)"),
            ("atLeast(2, a, b, c) && d", "(atLeast(2, a, b, c) && d)"),
        ] {
            assert_eq!(Depends::parse(text).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_not_of_the_grammar_is_refused_at_its_place() {
        for (text, at) in [
            ("", 0),
            ("a &&", 4),
            ("a b", 2),
            ("a.Suceeded", 2),
            ("(a", 2),
            ("some(a)", 0),
            ("atLeast(0, a)", 8),
            ("atLeast(3, a, b)", 0),
            ("a & b", 2),
        ] {
            assert_eq!(Depends::parse(text).unwrap_err().at, at, "{text}");
        }
        assert!(Depends::parse(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn a_task_that_stands_twice_would_count_twice() {
        for (text, twice) in [
            ("atLeast(2, a, b)", None),
            ("atLeast(2, a, b, a)", Some("a")),
            ("c && !(b || atLeast(2, a.Failed, a.Errored))", Some("a")),
            ("atLeast(2, (a.Failed || a.Errored), b)", None),
            ("any(a.Failed, a.Errored)", None),
            ("atLeast(1, a, a)", None),
            ("a && a", None),
        ] {
            assert_eq!(Depends::parse(text).unwrap().counted_twice(), twice, "{text}");
        }
    }

    #[test]
    fn plain_operators_wait_for_all_tasks() {
        assert_eq!(value("a || b", &[("a", true)]), None);
        assert_eq!(value("a && b", &[("a", false)]), None);
        assert_eq!(value("a || b", &[("a", true), ("b", false)]), Some(true));
        assert_eq!(value("a && !b", &[("a", true), ("b", false)]), Some(true));
    }

    #[test]
    fn counted_operands_are_decided_as_early_as_possible() {
        assert_eq!(value("any(a, b)", &[("b", true)]), Some(true));
        assert_eq!(value("any(a, b)", &[("b", false)]), None);
        assert_eq!(value("any(a, b)", &[("a", false), ("b", false)]), Some(false));
        assert_eq!(value("atLeast(2, a, b, c)", &[("a", true)]), None);
        assert_eq!(value("atLeast(2, a, b, c)", &[("a", true), ("c", true)]), Some(true));
        assert_eq!(value("atLeast(2, a, b, c)", &[("a", false), ("c", false)]), Some(false));
        assert_eq!(value("any(a, b) && c", &[("a", true)]), None);
    }
}
