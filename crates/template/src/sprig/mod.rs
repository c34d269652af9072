//! The sprig functions, with sprig's order of arguments and its lenient conversions.
//!
//! Maps and lists are values: `set` and `merge` give a new map and leave their argument alone.
//! Times without a zone are in UTC. Random functions draw from the seed of the [`crate::Env`].

mod codec;
mod convert;
mod dates;
mod dicts;
mod layout;
mod lists;
mod logic;
mod numbers;
mod paths;
mod random;
mod regexes;
mod strings;
mod versions;

use crate::expr::builtins::Function;

/// Functions that would read the machine they run on.
const OUTSIDE: [&str; 3] = ["env", "expandenv", "getHostByName"];

/// Functions that make or use secrets.
const SECRETS: [&str; 13] = [
    "bcrypt",
    "htpasswd",
    "genPrivateKey",
    "derivePassword",
    "buildCustomCert",
    "genCA",
    "genCAWithKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "encryptAES",
    "decryptAES",
];

/// Functions of sprig that are not built.
const NOT_BUILT: [&str; 6] =
    ["camelcase", "kebabcase", "shuffle", "snakecase", "urlJoin", "urlParse"];

/// The function of this name. `must` before a name is allowed for all functions.
///
/// # Errors
/// Why there is none.
pub(crate) fn named(name: &str) -> Result<&'static Function, String> {
    if OUTSIDE.contains(&name) {
        return Err(format!("sprig.{name} is refused: expressions cannot read the machine"));
    }
    if SECRETS.contains(&name) {
        return Err(format!("sprig.{name} is refused: expressions make no keys or certificates"));
    }
    if NOT_BUILT.contains(&name) {
        return Err(format!("sprig.{name} is not built yet"));
    }
    find(name).ok_or_else(|| format!("sprig has no function {name}"))
}

fn find(name: &str) -> Option<&'static Function> {
    let tables: [&'static [Function]; 12] = [
        layout::TABLE,
        strings::TABLE,
        numbers::TABLE,
        lists::TABLE,
        dicts::TABLE,
        dates::TABLE,
        codec::TABLE,
        logic::TABLE,
        paths::TABLE,
        random::TABLE,
        regexes::TABLE,
        versions::TABLE,
    ];
    let exact = |name: &str| tables.into_iter().flatten().find(|own| own.name == name);
    exact(name).or_else(|| {
        let rest = name.strip_prefix("must")?;
        let first = rest.chars().next()?.to_ascii_lowercase();
        exact(&format!("{first}{}", rest.get(1..)?))
    })
}
