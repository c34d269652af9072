//! What an evaluation may know of the outside, and how much it may do.

use regex::Regex;

use crate::error::Fault;

/// Steps an evaluation may take unless the caller says otherwise: one a syntax node visited or
/// list element made.
pub const DEFAULT_FUEL: u64 = 1_000_000;

/// Bytes of text one [`Env`] may produce, intermediate results included.
pub const MAX_OUTPUT_BYTES: u64 = 16 << 20;

/// Levels of nesting of a value, and of members, pipes and the like in a row of a source. JSON
/// readers stop at 128.
pub const MAX_DEPTH: usize = 160;

/// Levels of brackets, prefixes and tags in a source. A parser takes up to ten frames a level.
pub const MAX_NESTING: usize = 64;

/// Which of the bounds on nesting a source is over.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    /// [`MAX_NESTING`].
    Depth,
    /// [`MAX_DEPTH`].
    Chain,
}

/// What a person reads of a source that nests too deep.
pub(crate) fn too_deep(bound: Bound) -> String {
    let (name, levels) = match bound {
        Bound::Depth => ("expression-depth", MAX_NESTING),
        Bound::Chain => ("expression-chain", MAX_DEPTH),
    };
    format!("nested deeper than the limit `{name}` of {levels} levels")
}

/// Members of one value on all levels, 16 bytes of text counting as one.
pub(crate) const MAX_WEIGHT: usize = 2_000_000;

/// Compiled patterns that an environment keeps, as a closure uses the same one for every item.
const MAX_PATTERNS: usize = 16;

/// Syntax nodes of one expression (the limit of expr-lang).
pub const MAX_NODES: usize = 10_000;

/// The recorded time and seed of an evaluation, and a bound on its work.
#[derive(Debug, Clone)]
pub struct Env {
    /// The time that `now()` gives: milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// The seed of `uuidv4`, `randInt` and the like. Equal seeds give equal values.
    pub seed: u64,
    fuel: u64,
    bytes: u64,
    draws: u64,
    patterns: Vec<(String, Regex)>,
}

impl Env {
    /// An environment at `now_ms` (Unix milliseconds) with the default bounds.
    pub fn new(now_ms: i64, seed: u64) -> Self {
        Self {
            now_ms,
            seed,
            fuel: DEFAULT_FUEL,
            bytes: MAX_OUTPUT_BYTES,
            draws: 0,
            patterns: Vec::new(),
        }
    }

    /// The same with another bound on steps.
    #[must_use]
    pub fn with_fuel(mut self, steps: u64) -> Self {
        self.fuel = steps;
        self
    }

    /// Steps that are left.
    pub fn fuel(&self) -> u64 {
        self.fuel
    }

    /// Pays for `steps` of work before it is done.
    pub(crate) fn burn(&mut self, steps: usize) -> Result<(), Fault> {
        let left = self.fuel.checked_sub(steps as u64);
        self.fuel = left.unwrap_or(0);
        left.map(drop).ok_or(Fault::OutOfFuel)
    }

    /// Pays for `bytes` of text before they are made. Text costs steps as well, as someone has
    /// to read it.
    pub(crate) fn produce(&mut self, bytes: usize) -> Result<(), Fault> {
        let left = self.bytes.checked_sub(bytes as u64);
        self.bytes = left.unwrap_or(0);
        left.ok_or(Fault::OutputTooLarge)?;
        self.burn(bytes / 64)
    }

    /// A pattern that was compiled before.
    pub(crate) fn pattern(&self, source: &str) -> Option<Regex> {
        let (_, regex) = self.patterns.iter().find(|(own, _)| own == source)?;
        Some(regex.clone())
    }

    /// Keeps a compiled pattern, in place of the oldest if there are many.
    pub(crate) fn keep_pattern(&mut self, source: &str, regex: &Regex) {
        if self.patterns.len() >= MAX_PATTERNS {
            self.patterns.remove(0);
        }
        self.patterns.push((source.to_owned(), regex.clone()));
    }

    /// The next value of the seeded sequence (SplitMix64): evaluations that draw more than once
    /// get different values.
    pub(crate) fn draw(&mut self) -> u64 {
        self.draws += 1;
        let mut z = self.seed.wrapping_add(self.draws.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuel_runs_out_and_stays_out() {
        let mut env = Env::new(0, 0).with_fuel(3);
        assert!(env.burn(2).is_ok());
        assert!(env.burn(2).is_err());
        assert!(env.burn(1).is_err());
    }

    #[test]
    fn draws_follow_the_published_sequence() {
        // First outputs of SplitMix64 with seed 0, from its reference implementation.
        let mut env = Env::new(0, 0);
        assert_eq!(env.draw(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(env.draw(), 0x6E78_9E6A_A1B9_65F4);
    }
}
