//! A process's variables, as Kubernetes makes them.

use crate::Values;
use argosy_blob::s3::Credentials;
use argosy_model::process::{Container, EnvFrom, EnvValue, KeyRef};

/// Variables in order; a later one of the same name replaces an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env(Vec<(String, String)>);

impl Env {
    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(there, _)| *there == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(there, _)| there == name).map(|(_, value)| &**value)
    }

    /// All of them.
    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }

    /// A text with `$(NAME)` replaced by values, `$$` standing for `$`, and the rest as it is.
    pub fn expand(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let name = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else if let Some((value, after)) =
                name.and_then(|(name, after)| Some((self.get(name)?, after)))
            {
                out.push_str(value);
                rest = after;
            } else {
                out.push('$');
            }
        }
        out + rest
    }
}

/// Adds a container's own variables: whole stores first, then one by one.
///
/// # Errors
/// What is missing, by name and never by value.
pub async fn add(
    env: &mut Env,
    container: &Container,
    values: &dyn Values,
    space: &str,
) -> Result<(), String> {
    for from in &container.env_from {
        for (key, value) in all(from, values, space).await? {
            env.set(format!("{}{key}", from.prefix), value);
        }
    }
    for variable in &container.env {
        let value = match &variable.value {
            EnvValue::Text(text) => Some(env.expand(text)),
            EnvValue::Secret(key) => one(key, true, values, space).await?,
            EnvValue::ConfigMap(key) => one(key, false, values, space).await?,
        };
        if let Some(value) = value {
            env.set(variable.name.clone(), value);
        }
    }
    Ok(())
}

/// By these S3 clients choose where they go, and as who.
const OF_OBJECTS: [&str; 11] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_CONFIG_FILE",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// Adds what an S3 client needs to find `endpoint`, unless the manifest sends clients anywhere
/// else: half of its settings and half of ours would lead nowhere.
pub fn add_objects(env: &mut Env, endpoint: &str, keys: &Credentials) {
    if OF_OBJECTS.iter().any(|name| env.get(name).is_some()) {
        return;
    }
    for (name, value) in [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ENDPOINT_URL_S3", endpoint),
        ("AWS_ACCESS_KEY_ID", &keys.access_key),
        ("AWS_SECRET_ACCESS_KEY", keys.secret.expose()),
        // The endpoint takes any, and clients want one.
        ("AWS_REGION", "us-east-1"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ] {
        env.set(name, value);
    }
}

/// The keys of a store as files or variables have them; `None` if there is no such store.
pub async fn store(
    values: &dyn Values,
    space: &str,
    name: &str,
    secret: bool,
) -> Option<Vec<(String, Vec<u8>)>> {
    if secret {
        return Some(values.secret(space, name).await?.into_iter().collect());
    }
    let map = values.config_map(space, name).await?;
    Some(map.into_iter().map(|(key, value)| (key, value.into_bytes())).collect())
}

/// What a kind of store is called.
pub fn called(secret: bool) -> &'static str {
    if secret { "secret" } else { "config map" }
}

async fn all(
    from: &EnvFrom,
    values: &dyn Values,
    space: &str,
) -> Result<Vec<(String, String)>, String> {
    let EnvFrom { name, secret, optional, .. } = from;
    let Some(found) = store(values, space, name, *secret).await else {
        let missing = format!("there is no {} {name:?}", called(*secret));
        return if *optional { Ok(Vec::new()) } else { Err(missing) };
    };
    found.into_iter().map(|(key, value)| Ok((key.clone(), text(&key, value)?))).collect()
}

async fn one(
    key: &KeyRef,
    secret: bool,
    values: &dyn Values,
    space: &str,
) -> Result<Option<String>, String> {
    let found = store(values, space, &key.name, secret).await;
    let found = found.and_then(|keys| keys.into_iter().find(|(name, _)| *name == key.key));
    match found {
        Some((name, value)) => text(&name, value).map(Some),
        None if key.optional => Ok(None),
        None => Err(format!("there is no key {:?} in {} {:?}", key.key, called(secret), key.name)),
    }
}

fn text(key: &str, value: Vec<u8>) -> Result<String, String> {
    let refuse = || format!("the value of key {key:?} is no text, so it cannot be a variable");
    String::from_utf8(value).ok().filter(|text| !text.contains('\0')).ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_expanded_as_kubernetes_expands_them() {
        let mut env = Env::default();
        env.set("A", "1");
        env.set("B", "$(A)");
        env.set("A", "2");
        for (text, expected) in [
            ("$(A)", "2"),
            ("x$(A)y$(A)", "x2y2"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$2"),
            ("$(NONE)", "$(NONE)"),
            ("$A $(A", "$A $(A"),
            ("$(B)", "$(A)"),
            ("é$", "é$"),
        ] {
            assert_eq!(env.expand(text), expected, "{text}");
        }
    }
}
