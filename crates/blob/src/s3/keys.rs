//! Who may do what: the key pair of the data directory, and keys minted for attempts.

use crate::Space;
use argosy_model::AttemptId;
use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file in the data directory that holds the key pair.
const FILE: &str = "s3-credentials.json";

/// Starts the access keys of attempts.
const MINTED: &str = "attempt-";

/// Longest access key that is looked at, in bytes.
const LONGEST: usize = 4_096;

/// A text that is not shown by accident.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A key pair, as S3 clients have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// `AWS_ACCESS_KEY_ID`.
    #[serde(rename = "AWS_ACCESS_KEY_ID")]
    pub access_key: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    #[serde(rename = "AWS_SECRET_ACCESS_KEY")]
    pub secret: Secret,
}

/// What a key pair may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// Everything.
    All,
    /// The keys of a space below some folders.
    Below(Claims),
}

/// What a minted access key says. Whoever writes another one lacks its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claims {
    #[serde(rename = "s")]
    space: String,
    /// Each ends at a slash, or is empty and so the whole space.
    #[serde(rename = "p")]
    prefixes: Vec<String>,
    /// Whose key pair it is.
    #[serde(rename = "a", with = "as_text")]
    attempt: AttemptId,
}

/// Attempts as people write them.
mod as_text {
    use super::AttemptId;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(attempt: &AttemptId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(attempt)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<AttemptId, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom("not an attempt"))
    }
}

/// Knows which attempts there are now.
pub trait Attempts: fmt::Debug + Send + Sync {
    /// Whether an attempt has not ended. The keys of one that has are worth nothing.
    fn is_live(&self, attempt: AttemptId) -> bool;
}

impl Grant {
    /// The attempt whose it is; `None` if it is nobody's.
    pub fn attempt(&self) -> Option<AttemptId> {
        match self {
            Self::All => None,
            Self::Below(claims) => Some(claims.attempt),
        }
    }

    /// The only space that it reaches; `None` if that is all of them.
    pub fn space(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Below(claims) => Some(&claims.space),
        }
    }

    /// Whether it reaches every key of a space that starts so.
    pub fn reaches(&self, space: &str, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Below(Claims { space: own, prefixes, .. }) => {
                own == space && prefixes.iter().any(|prefix| key.starts_with(prefix.as_str()))
            }
        }
    }
}

/// The keys of a data directory.
#[derive(Clone, Debug)]
pub struct Keys {
    path: PathBuf,
    admin: Credentials,
}

impl Keys {
    /// Reads the key pair of a data directory, or makes it, for its owner's eyes only.
    ///
    /// # Errors
    /// The system's, and [`ErrorKind::InvalidData`] if the file was changed to something else.
    pub fn open(data_dir: &Path) -> io::Result<Self> {
        let path = data_dir.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let admin = generate()?;
                write(data_dir, &path, &admin)?;
                return Ok(Self { path, admin });
            }
            other => other?,
        };
        let admin: Credentials = serde_json::from_str(&text)?;
        if admin.access_key.is_empty() || admin.secret.0.is_empty() {
            let what = format!("{} holds no key pair", path.display());
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(Self { path, admin })
    }

    /// The file that holds the key pair.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The pair that may do everything.
    #[must_use]
    pub fn admin(&self) -> &Credentials {
        &self.admin
    }

    /// A pair for an attempt that reaches the keys of `space` below the folders `prefixes`, and
    /// nothing else; an empty prefix is the whole space. Nothing is stored: the access key says
    /// what it is for, and its secret is made from it with that of the data directory.
    #[must_use]
    pub fn mint(&self, space: &Space, prefixes: &[&str], attempt: AttemptId) -> Credentials {
        let folder = |prefix: &&str| match prefix.trim_end_matches('/') {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        let claims = Claims {
            space: space.as_str().to_owned(),
            prefixes: prefixes.iter().map(folder).collect(),
            attempt,
        };
        let text = serde_json::json!(claims).to_string();
        let access_key = format!("{MINTED}{}", BASE64URL_NOPAD.encode(text.as_bytes()));
        let secret = self.secret_of(&access_key);
        Credentials { access_key, secret }
    }

    fn secret_of(&self, minted: &str) -> Secret {
        let digest = hmac(self.admin.secret.0.as_bytes(), minted.as_bytes());
        Secret(BASE64URL_NOPAD.encode(&digest))
    }

    /// The secret that belongs to an access key, and what the pair reaches; `None` if there is no
    /// such key.
    pub(super) fn look_up(&self, access_key: &str) -> Option<(Secret, Grant)> {
        if access_key == self.admin.access_key {
            return Some((self.admin.secret.clone(), Grant::All));
        }
        let text = access_key.strip_prefix(MINTED).filter(|text| text.len() <= LONGEST)?;
        let json = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let claims = serde_json::from_slice(&json).ok()?;
        Some((self.secret_of(access_key), Grant::Below(claims)))
    }
}

/// HMAC-SHA256.
pub(super) fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    // HMAC takes keys of every length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    mac.update(text);
    mac.finalize().into_bytes().into()
}

fn generate() -> io::Result<Credentials> {
    let mut random = [0; 40];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let (key, secret) = random.split_at(10);
    Ok(Credentials {
        access_key: format!("ARGOSY{}", BASE32_NOPAD.encode(key)),
        secret: Secret(BASE64URL_NOPAD.encode(secret)),
    })
}

/// Writes a file whole or not at all, durably.
fn write(data_dir: &Path, path: &Path, admin: &Credentials) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(admin)?)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    File::open(data_dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use argosy_model::{RunId, StepKey};
    use std::os::unix::fs::PermissionsExt;

    fn attempt() -> AttemptId {
        AttemptId { run: RunId(7), step: StepKey(3), number: 1 }
    }

    fn mint(keys: &Keys, prefixes: &[&str]) -> Credentials {
        keys.mint(&Space::new("team").unwrap(), prefixes, attempt())
    }

    #[test]
    fn the_key_pair_is_made_once_for_its_owner_only_and_does_not_show_its_secret() {
        let data = tempfile::tempdir().unwrap();
        let first = Keys::open(data.path()).unwrap();
        let again = Keys::open(data.path()).unwrap();
        assert_eq!(first.admin(), again.admin());
        assert_eq!(first.admin().access_key.len(), 22);
        assert_eq!(first.admin().secret.expose().len(), 40);
        let mode = first.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!format!("{first:?}").contains(first.admin().secret.expose()));
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Keys::open(other.path()).unwrap().admin(), first.admin());
    }

    #[test]
    fn a_file_that_holds_no_key_pair_is_refused() {
        for text in ["", "{}", r#"{"AWS_ACCESS_KEY_ID":"","AWS_SECRET_ACCESS_KEY":""}"#] {
            let data = tempfile::tempdir().unwrap();
            std::fs::write(data.path().join(FILE), text).unwrap();
            assert!(Keys::open(data.path()).is_err(), "{text}");
        }
    }

    #[test]
    fn minted_keys_are_verified_without_being_stored() {
        let data = tempfile::tempdir().unwrap();
        let minted = mint(&Keys::open(data.path()).unwrap(), &["runs/7"]);
        let (secret, grant) = Keys::open(data.path()).unwrap().look_up(&minted.access_key).unwrap();
        assert_eq!(secret, minted.secret);
        assert_eq!(grant.space(), Some("team"));
        let other = tempfile::tempdir().unwrap();
        let (foreign, _) = Keys::open(other.path()).unwrap().look_up(&minted.access_key).unwrap();
        assert_ne!(foreign, minted.secret, "another data directory's secret differs");
    }

    #[test]
    fn minted_keys_reach_what_is_below_their_folders() {
        let data = tempfile::tempdir().unwrap();
        let keys = Keys::open(data.path()).unwrap();
        let grant = |prefixes: &[&str]| keys.look_up(&mint(&keys, prefixes).access_key).unwrap().1;
        let two = grant(&["runs/7", "cache/"]);
        for (space, key, reaches) in [
            ("team", "runs/7/a", true),
            ("team", "runs/7/", true),
            ("team", "cache/x/y", true),
            ("team", "runs/7", false),
            ("team", "runs/70/a", false),
            ("team", "", false),
            ("other", "runs/7/a", false),
        ] {
            assert_eq!(two.reaches(space, key), reaches, "{space}/{key}");
        }
        assert!(grant(&[""]).reaches("team", "anything"));
        assert!(!grant(&[""]).reaches("other", "anything"));
        assert!(!grant(&[]).reaches("team", "anything"));
    }

    #[test]
    fn access_keys_that_nobody_minted_are_unknown() {
        let data = tempfile::tempdir().unwrap();
        let keys = Keys::open(data.path()).unwrap();
        let long = format!("{MINTED}{}", "A".repeat(LONGEST + 1));
        for key in ["", "ARGOSY", MINTED, "attempt-!", "attempt-e30", &long] {
            assert!(keys.look_up(key).is_none(), "{key}");
        }
    }
}
