//! Spaces and keys, checked once where they come in.

use argosy_model::{Code, Diagnostic, limits};
use std::fmt;
use std::path::PathBuf;

/// Longest name of a file or folder that stands for a key. File systems take 255 bytes; what is
/// left is for the marks of this module.
const NAME_BYTES: usize = 200;

/// Ends the name of a folder that stands for a segment of keys, so that `a` and `a/b` may both be
/// keys.
const FOLDER: char = '=';

/// Ends the name of a folder that holds the further bytes of long segments.
const LONGER: char = '~';

/// A tenant's part of a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(Box<str>);

impl Space {
    /// Checks a name.
    ///
    /// # Errors
    /// [`Code::BadName`] if it is empty, longer than `name-bytes`, or holds a slash or NUL.
    pub fn new(name: &str) -> Result<Self, Diagnostic> {
        let long = name.len() as u64 > limits::NAME_BYTES.max;
        if name.is_empty() || long || name.contains(['/', '\0']) {
            return Err(Diagnostic::new(Code::BadName, format!("not a name of a space: {name:?}")));
        }
        Ok(Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder of its keys, below the store's.
    pub(crate) fn folder(&self) -> PathBuf {
        let mut path = PathBuf::new();
        push_segment(&mut path, &self.0, true);
        path
    }
}

/// A key of a space.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    space: Space,
    key: Box<str>,
}

impl Address {
    /// Checks a key: segments between single slashes, none of them `.` or `..`.
    ///
    /// # Errors
    /// [`Code::BadName`] naming the rule that it breaks.
    pub fn new(space: &Space, key: &str) -> Result<Self, Diagnostic> {
        let long = limits::KEY_BYTES.check(key.len() as u64, "a key").err();
        let broken = if let Some(long) = long {
            long.what
        } else if key.contains('\0') {
            "a key has no zero byte".to_owned()
        } else if key.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            "no segment of a key is empty, `.` or `..`".to_owned()
        } else {
            return Ok(Self { space: space.clone(), key: key.into() });
        };
        Err(Diagnostic::new(Code::BadName, format!("not a key: {key:?}")).help(broken))
    }

    /// Its space.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its file, below the folder of its space. Two keys never share one, also where a file system
    /// does not tell cases apart.
    pub(crate) fn file(&self) -> PathBuf {
        let mut path = PathBuf::new();
        let mut segments = self.key.split('/').peekable();
        while let Some(segment) = segments.next() {
            push_segment(&mut path, segment, segments.peek().is_some());
        }
        path
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.space.0, self.key)
    }
}

/// What the name of an entry in a folder of keys stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The last segment of a key, or the last part of it.
    Object(String),
    /// A segment with more to follow, or the last part of it.
    Folder(String),
    /// A part of a segment; the next part follows.
    Longer(String),
}

impl Entry {
    /// Reads a name; `None` if no key makes it.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(name) = name.strip_suffix(FOLDER) {
            return decode(name).map(Self::Folder);
        }
        match name.strip_suffix(LONGER) {
            Some(name) => Some(Self::Longer(name.to_owned())),
            None => decode(name).map(Self::Object),
        }
    }
}

/// The text of a segment whose parts were joined.
pub(crate) fn decode(name: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), name.bytes());
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(rest.next().filter(u8::is_ascii_lowercase)?.to_ascii_uppercase()),
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            _ if is_plain(byte) => bytes.push(byte),
            _ => return None,
        }
    }
    String::from_utf8(bytes).ok()
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.')
}

fn encode(segment: &str) -> String {
    let mut name = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        match byte {
            _ if is_plain(byte) => name.push(char::from(byte)),
            b'A'..=b'Z' => name.extend(['+', char::from(byte.to_ascii_lowercase())]),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    name
}

fn push_segment(path: &mut PathBuf, segment: &str, is_folder: bool) {
    let mut name = encode(segment);
    while name.len() > NAME_BYTES {
        let rest = name.split_off(NAME_BYTES);
        name.push(LONGER);
        path.push(&name);
        name = rest;
    }
    if is_folder {
        name.push(FOLDER);
    }
    path.push(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn address(key: &str) -> Address {
        Address::new(&Space::new("s").unwrap(), key).unwrap()
    }

    #[test]
    fn keys_that_could_reach_elsewhere_are_refused() {
        let space = Space::new("s").unwrap();
        let long = "a".repeat(1_025);
        for key in ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\0b", &long] {
            assert_eq!(Address::new(&space, key).unwrap_err().code, Code::BadName, "{key:?}");
        }
        assert!(Address::new(&space, &long[1..]).is_ok());
        for name in ["", "a/b", "a\0", &"a".repeat(254)] {
            assert!(Space::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn files_of_keys_are_readable_and_safe() {
        for (key, file) in [
            ("run-1/main.log", "run-1=/main.log"),
            ("A/b", "+a=/b"),
            ("a b", "a%20b"),
            ("...", "..."),
            ("é", "%c3%a9"),
            ("a=~+%", "a%3d%7e%2b%25"),
        ] {
            assert_eq!(address(key).file(), Path::new(file), "{key}");
        }
        let long = format!("{}/x", "a".repeat(450));
        let parts = [200, 200].map(|length| format!("{}~", "a".repeat(length))).join("/");
        assert_eq!(address(&long).file(), Path::new(&format!("{parts}/{}=/x", "a".repeat(50))));
    }

    proptest! {
        #[test]
        fn different_keys_have_different_files_whatever_the_case(
            a in "[aAé+%~=./-]{1,6}",
            b in "[aAé+%~=./-]{1,6}",
        ) {
            let space = Space::new("s").unwrap();
            if let (Ok(a), Ok(b)) = (Address::new(&space, &a), Address::new(&space, &b)) {
                let [x, y] = [&a, &b].map(|one| one.file().to_str().unwrap().to_lowercase());
                prop_assert_eq!(a == b, x == y);
            }
        }

        #[test]
        fn names_are_read_back(segment in "[^/\0]{1,60}") {
            prop_assert_eq!(decode(&encode(&segment)), Some(segment));
        }
    }
}
