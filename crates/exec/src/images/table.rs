//! The image table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::tools;

/// What stands for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The programs of this machine: the image is known to need no others.
    Builtin,
    /// The programs of this machine, for want of anything better.
    Host,
    /// A root file system in a folder.
    Folder(PathBuf),
}

/// An image, as far as it is known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What stands for it.
    pub kind: Kind,
    /// What is run when a container has no command; empty when unknown.
    pub entrypoint: Vec<String>,
    /// The folder that its processes start in; empty when it does not matter.
    pub working_dir: String,
}

impl Image {
    /// The tool of our own that a program of the image is: its tools lie in the root folder of
    /// such an image, and are found by name here.
    #[must_use]
    pub fn own_tool<'p>(&self, program: &'p str) -> Option<&'p str> {
        let name = program.strip_prefix('/')?;
        let is_entrypoint = self.entrypoint.first().is_some_and(|entry| entry == name);
        let own = self.kind == Kind::Builtin && tools::NAMES.contains(&name);
        (own && is_entrypoint).then_some(name)
    }
}

/// Which image is what: the user's entries by exact reference, then what is built in.
#[derive(Clone, Debug, Default)]
pub struct ImageTable {
    entries: BTreeMap<String, Image>,
}

impl ImageTable {
    /// Adds an entry, in place of one of the same reference.
    pub fn insert(&mut self, reference: impl Into<String>, image: Image) {
        self.entries.insert(reference.into(), image);
    }

    /// What stands for a reference.
    #[must_use]
    pub fn find(&self, reference: &str) -> Image {
        self.entries.get(reference).cloned().unwrap_or_else(|| builtin(reference))
    }
}

fn builtin(reference: &str) -> Image {
    let (repository, tag) = parts(reference);
    let (kind, entrypoint) = match (repository, tag) {
        ("argoproj/argosay", "v1") | ("docker/whalesay", _) => (Kind::Builtin, "cowsay"),
        ("argoproj/argosay", _) => (Kind::Builtin, "argosay"),
        ("busybox" | "alpine", _) => (Kind::Builtin, "sh"),
        ("debian" | "ubuntu" | "bash" | "fedora" | "rockylinux", _) => (Kind::Builtin, "bash"),
        ("python", _) => (Kind::Builtin, "python3"),
        // Of these the entry point is known, and nothing is said of the machine having it.
        ("curlimages/curl", _) => (Kind::Host, "curl"),
        ("alpine/git", _) => (Kind::Host, "git"),
        _ => (Kind::Host, ""),
    };
    let entrypoint = Some(entrypoint).filter(|name| !name.is_empty()).map(str::to_owned);
    Image { kind, entrypoint: entrypoint.into_iter().collect(), working_dir: String::new() }
}

/// Repository and tag of a reference; those of Docker Hub without host and `library/`.
fn parts(reference: &str) -> (&str, &str) {
    let name = reference.split('@').next().unwrap_or_default();
    let (repository, tag) = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (name, ""),
    };
    let hub = ["docker.io/", "index.docker.io/", "registry-1.docker.io/"];
    let repository =
        hub.iter().find_map(|host| repository.strip_prefix(host)).unwrap_or(repository);
    (repository.strip_prefix("library/").unwrap_or(repository), tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_known_whatever_their_spelling() {
        for (reference, kind, entrypoint) in [
            ("busybox", Kind::Builtin, "sh"),
            ("alpine:3.23", Kind::Builtin, "sh"),
            ("docker.io/library/alpine:latest", Kind::Builtin, "sh"),
            ("alpine@sha256:0123", Kind::Builtin, "sh"),
            ("debian:12", Kind::Builtin, "bash"),
            ("python:alpine3.23", Kind::Builtin, "python3"),
            ("argoproj/argosay:v2", Kind::Builtin, "argosay"),
            ("argoproj/argosay:v1", Kind::Builtin, "cowsay"),
            ("docker/whalesay:latest", Kind::Builtin, "cowsay"),
            ("curlimages/curl", Kind::Host, "curl"),
            ("registry.local:5000/alpine", Kind::Host, ""),
            ("nginx:1.13", Kind::Host, ""),
            ("", Kind::Host, ""),
        ] {
            let found = ImageTable::default().find(reference);
            assert_eq!(
                (found.kind, &*found.entrypoint.join(" ")),
                (kind, entrypoint),
                "{reference}"
            );
        }
    }

    #[test]
    fn a_tool_of_our_own_is_known_by_its_path_in_its_image_alone() {
        let tool = |image: &str, program| ImageTable::default().find(image).own_tool(program);
        assert_eq!(tool("argoproj/argosay:v2", "/argosay"), Some("argosay"));
        for (image, program) in [
            ("argoproj/argosay:v2", "argosay"),
            ("argoproj/argosay:v2", "/bin/sh"),
            ("busybox", "/argosay"),
            ("busybox", "/sh"),
        ] {
            assert_eq!(tool(image, program), None, "{image} {program}");
        }
    }

    #[test]
    fn entries_of_the_user_come_first() {
        let mut table = ImageTable::default();
        let image = Image {
            kind: Kind::Folder("/srv/root".into()),
            entrypoint: vec!["serve".into()],
            working_dir: "/app".into(),
        };
        table.insert("alpine:3", image.clone());
        assert_eq!(table.find("alpine:3"), image);
        assert_eq!(table.find("alpine:4").kind, Kind::Builtin);
    }
}
