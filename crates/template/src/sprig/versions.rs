//! Semantic versions and constraints such as `>=1.2, <2` and `^1.4 || ~2.0`.

use std::collections::BTreeMap;
use std::sync::Arc;

use semver::{BuildMetadata, Prerelease, Version};

use crate::error::Fault;
use crate::expr::builtins::{Function, function, text};
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    function("semver", 1, 1, |args, _| {
        let source = text(args, 0)?;
        let version = parse(source).ok_or_else(|| invalid(source))?.version;
        let int = |part: u64| Value::Int(i64::try_from(part).unwrap_or(i64::MAX));
        let parts = [
            ("Major", int(version.major)),
            ("Minor", int(version.minor)),
            ("Patch", int(version.patch)),
            ("Prerelease", Value::str(version.pre.as_str())),
            ("Metadata", Value::str(version.build.as_str())),
            ("Original", Value::str(source)),
        ];
        let entries: BTreeMap<Arc<str>, Value> =
            parts.into_iter().map(|(name, part)| (Arc::from(name), part)).collect();
        Value::map(entries)
    }),
    function("semverCompare", 2, 2, |args, _| {
        let version = parse(text(args, 1)?).ok_or_else(|| invalid(text(args, 1).unwrap_or("")))?;
        satisfies(&version.version, text(args, 0)?).map(Value::Bool)
    }),
];

fn invalid(source: &str) -> Fault {
    Fault::Message(format!("invalid semantic version {source:?}"))
}

/// A version of which minor and patch may be missing or `x`.
struct Partial {
    version: Version,
    minor_given: bool,
    patch_given: bool,
    major_given: bool,
}

fn parse(source: &str) -> Option<Partial> {
    let source = source.trim();
    let source = source.strip_prefix('v').unwrap_or(source);
    let (source, build) = source.split_once('+').unwrap_or((source, ""));
    let (numbers, pre) = source.split_once('-').unwrap_or((source, ""));
    let parts: Vec<&str> = numbers.split('.').collect();
    if parts.len() > 3 {
        return None;
    }
    let given = |at: usize| parts.get(at).is_some_and(|part| !matches!(*part, "x" | "X" | "*"));
    let number = |at: usize| if given(at) { parts.get(at)?.parse().ok() } else { Some(0) };
    let version = Version {
        major: number(0)?,
        minor: number(1)?,
        patch: number(2)?,
        pre: Prerelease::new(pre).ok()?,
        build: BuildMetadata::new(build).ok()?,
    };
    Some(Partial {
        version,
        major_given: given(0),
        minor_given: given(0) && given(1),
        patch_given: given(0) && given(1) && given(2),
    })
}

/// Whether a version passes: alternatives are parted by `||`, conditions by commas or spaces.
fn satisfies(version: &Version, constraint: &str) -> Result<bool, Fault> {
    let mut any = false;
    for alternative in constraint.split("||") {
        let mut all = true;
        for condition in conditions(alternative)? {
            all &= condition.holds(version);
        }
        any |= all;
    }
    Ok(any)
}

struct Condition {
    op: &'static str,
    wanted: Partial,
}

const OPERATORS: [&str; 11] = ["!=", ">=", "=>", "<=", "=<", "~>", ">", "<", "=", "~", "^"];

fn conditions(alternative: &str) -> Result<Vec<Condition>, Fault> {
    let bad = || Fault::Message(format!("improper constraint {alternative:?}"));
    if let Some((low, high)) = alternative.split_once(" - ") {
        let wanted = |source: &str| parse(source).ok_or_else(bad);
        return Ok(vec![
            Condition { op: ">=", wanted: wanted(low)? },
            Condition { op: "<=", wanted: wanted(high)? },
        ]);
    }
    let mut found = Vec::new();
    let mut rest = alternative.trim();
    while !rest.is_empty() {
        let op = OPERATORS.into_iter().find(|op| rest.starts_with(op)).unwrap_or("");
        rest = rest.get(op.len()..).unwrap_or("").trim_start();
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        let wanted = parse(rest.get(..end).unwrap_or("")).ok_or_else(bad)?;
        found.push(Condition { op, wanted });
        rest = rest.get(end..).unwrap_or("").trim_start_matches([',', ' ']);
    }
    if found.is_empty() { Err(bad()) } else { Ok(found) }
}

impl Condition {
    fn holds(&self, version: &Version) -> bool {
        let wanted = &self.wanted.version;
        // A prerelease passes only where one is asked for.
        if !version.pre.is_empty() && wanted.pre.is_empty() {
            return false;
        }
        let order = version.cmp_precedence(wanted);
        let whole = self.wanted.patch_given;
        match self.op {
            "" | "=" => {
                if whole {
                    order.is_eq()
                } else {
                    self.tilde(version)
                }
            }
            "!=" => {
                if whole {
                    order.is_ne()
                } else {
                    !self.tilde(version)
                }
            }
            ">" if whole => order.is_gt(),
            ">" => order.is_gt() && !self.tilde(version),
            "<" => order.is_lt(),
            ">=" | "=>" => order.is_ge(),
            "<=" | "=<" => order.is_le() || (!whole && self.tilde(version)),
            "~" | "~>" => self.tilde(version),
            "^" => self.caret(version),
            _ => false,
        }
    }

    /// Whether the parts that are given are the same, the patch being at least as high.
    fn tilde(&self, version: &Version) -> bool {
        let wanted = &self.wanted;
        version.cmp_precedence(&wanted.version).is_ge()
            && (!wanted.major_given || version.major == wanted.version.major)
            && (!wanted.minor_given || version.minor == wanted.version.minor)
    }

    /// Whether the first part that is not zero is the same.
    fn caret(&self, version: &Version) -> bool {
        let wanted = &self.wanted.version;
        if version.cmp_precedence(wanted).is_lt() {
            return false;
        }
        if wanted.major > 0 || !self.wanted.minor_given {
            return version.major == wanted.major;
        }
        if version.major != 0 || version.minor != wanted.minor {
            return false;
        }
        wanted.minor > 0 || !self.wanted.patch_given || version.patch == wanted.patch
    }
}
