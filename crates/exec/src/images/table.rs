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
    /// What is run, before the container's arguments, when it has no command.
    pub entrypoint: Vec<String>,
    /// What is run, or given to the entry point, when a container has neither command nor
    /// arguments. With neither this nor an entry point nothing is known.
    pub cmd: Vec<String>,
    /// Whether arguments that begin with an option are given to what `cmd` names.
    pub takes_options: bool,
    /// The folder that its processes start in; empty when it does not matter.
    pub working_dir: String,
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

impl Image {
    /// Of this kind, with nothing known.
    #[must_use]
    pub fn of(kind: Kind) -> Image {
        let (entrypoint, cmd, working_dir) = (Vec::new(), Vec::new(), String::new());
        Image { kind, entrypoint, cmd, takes_options: false, working_dir }
    }

    /// The program and its arguments for a container, as a container runtime puts them together;
    /// `None` where it has no command and what the image runs is not known.
    #[must_use]
    pub fn argv<'a>(&'a self, command: &'a [String], args: &'a [String]) -> Option<Vec<&'a str>> {
        if command.is_empty() && self.entrypoint.is_empty() && self.cmd.is_empty() {
            return None;
        }
        let is_option = args.first().is_some_and(|first| first.starts_with('-'));
        let (first, rest) = match (command, args) {
            ([], []) => (&*self.entrypoint, &*self.cmd),
            ([], args) if self.takes_options && is_option => (&*self.cmd, args),
            ([], args) => (&*self.entrypoint, args),
            (command, args) => (command, args),
        };
        Some(first.iter().chain(rest).map(String::as_str).collect())
    }

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

/// As the images say of themselves (`ENTRYPOINT` and `CMD`).
fn builtin(reference: &str) -> Image {
    let (repository, tag) = parts(reference);
    let (kind, entrypoint, cmd) = match (repository, tag) {
        ("argoproj/argosay", "v1") | ("docker/whalesay", _) => (Kind::Builtin, "", "cowsay"),
        ("argoproj/argosay", _) => (Kind::Builtin, "argosay", ""),
        ("busybox" | "alpine", _) => (Kind::Builtin, "", "sh"),
        ("debian" | "ubuntu" | "bash" | "fedora" | "rockylinux", _) => (Kind::Builtin, "", "bash"),
        ("python", _) => (Kind::Builtin, "", "python3"),
        // Of these the entry point is known, and nothing is said of the machine having it.
        ("curlimages/curl", _) => (Kind::Host, "curl", ""),
        ("alpine/git", _) => (Kind::Host, "git", "--help"),
        _ => (Kind::Host, "", ""),
    };
    let words = |word: &str| Some(word.to_owned()).filter(|word| !word.is_empty()).into_iter();
    Image {
        entrypoint: words(entrypoint).collect(),
        cmd: words(cmd).collect(),
        takes_options: repository == "bash",
        ..Image::of(kind)
    }
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
        for (reference, kind, entrypoint, cmd) in [
            ("busybox", Kind::Builtin, "", "sh"),
            ("alpine:3.23", Kind::Builtin, "", "sh"),
            ("docker.io/library/alpine:latest", Kind::Builtin, "", "sh"),
            ("alpine@sha256:0123", Kind::Builtin, "", "sh"),
            ("debian:12", Kind::Builtin, "", "bash"),
            ("python:alpine3.23", Kind::Builtin, "", "python3"),
            ("argoproj/argosay:v2", Kind::Builtin, "argosay", ""),
            ("argoproj/argosay:v1", Kind::Builtin, "", "cowsay"),
            ("docker/whalesay:latest", Kind::Builtin, "", "cowsay"),
            ("curlimages/curl", Kind::Host, "curl", ""),
            ("registry.local:5000/alpine", Kind::Host, "", ""),
            ("nginx:1.13", Kind::Host, "", ""),
            ("", Kind::Host, "", ""),
        ] {
            let found = ImageTable::default().find(reference);
            let words = (&*found.entrypoint.join(" "), &*found.cmd.join(" "));
            assert_eq!((found.kind, words), (kind, (entrypoint, cmd)), "{reference}");
        }
    }

    #[test]
    fn command_and_arguments_take_the_place_of_entry_point_and_cmd() {
        // The table of Kubernetes ("Define a Command and Arguments for a Container").
        for (image, command, args, expected) in [
            ("alpine", "", "", Some("sh")),
            ("alpine", "", "echo hi", Some("echo hi")),
            ("alpine", "ls", "", Some("ls")),
            ("alpine", "ls", "-l /", Some("ls -l /")),
            ("argoproj/argosay:v2", "", "", Some("argosay")),
            ("argoproj/argosay:v2", "", "echo hi", Some("argosay echo hi")),
            ("argoproj/argosay:v2", "ls", "", Some("ls")),
            ("alpine/git", "", "", Some("git --help")),
            ("alpine/git", "", "status", Some("git status")),
            ("bash:5", "", "-c true", Some("bash -c true")),
            ("bash:5", "", "echo hi", Some("echo hi")),
            ("nginx", "", "", None),
            ("nginx", "", "-v", None),
            ("nginx", "nginx", "-v", Some("nginx -v")),
        ] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let found = ImageTable::default().find(image);
            let (command, args) = (words(command), words(args));
            let argv = found.argv(&command, &args).map(|argv| argv.join(" "));
            assert_eq!(argv.as_deref(), expected, "{image} {command:?} {args:?}");
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
            entrypoint: vec!["serve".into()],
            working_dir: "/app".into(),
            ..Image::of(Kind::Folder("/srv/root".into()))
        };
        table.insert("alpine:3", image.clone());
        assert_eq!(table.find("alpine:3"), image);
        assert_eq!(table.find("alpine:4").kind, Kind::Builtin);
    }
}
