//! What an attempt's processes will share with the machine, decided before anything is made.

use crate::images::{Image, ImageTable, Kind};
use argosy_model::ProcessSpec;
use argosy_model::process::Container;
use argosy_spawn::{Abilities, Ability};
use std::path::{Component, Path, PathBuf};

const WORKING_DIR: &str = "working directory";

/// How much a process has to itself, as `argosy_spawn::Isolation` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// `/tmp`, `/var/tmp` and the process table.
    PrivateTmp,
    /// The whole file system.
    PrivateRoot,
}

impl Level {
    /// Its name.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::PrivateTmp => "private-tmp",
            Level::PrivateRoot => "private-root",
        }
    }
}

/// The highest level to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceiling {
    pub level: Level,
    /// Why there is no higher one.
    pub why: String,
    /// Whether the machine is the reason, and not the configuration.
    pub by_machine: bool,
}

impl Ceiling {
    pub fn new(abilities: &Abilities, max: Level) -> Self {
        let levels = [
            (Level::PrivateTmp, &abilities.private_tmp),
            (Level::PrivateRoot, &abilities.private_root),
        ];
        let mut level = Level::None;
        for (next, ability) in levels.into_iter().filter(|(next, _)| *next <= max) {
            if let Ability::Refused { message, remedy, .. } = ability {
                let why = format!("this machine refuses it: {message}. {remedy}");
                return Self { level, why, by_machine: true };
            }
            level = next;
        }
        let why = "the configuration allows no more isolation".to_owned();
        Self { level, why, by_machine: false }
    }
}

/// A process of the attempt.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its position, which names its folders and its job.
    pub index: usize,
    pub container: Container,
    pub image: Image,
}

/// All processes of an attempt.
#[derive(Clone, Debug)]
pub struct Plan {
    pub level: Level,
    pub init: Vec<Member>,
    /// The main process, or the members of the container set.
    pub main: Vec<Member>,
    pub sidecars: Vec<Member>,
    /// What a person should know of it.
    pub notes: Vec<String>,
}

impl Plan {
    /// Decides, or says why it cannot be done.
    pub fn new(spec: &ProcessSpec, images: &ImageTable, ceiling: &Ceiling) -> Result<Self, String> {
        let mut index = 0..;
        let mut member = |container: &Container| Member {
            index: index.next().unwrap_or_default(),
            container: container.clone(),
            image: images.find(&container.image),
        };
        let init: Vec<_> = spec.init.iter().map(&mut member).collect();
        let main: Vec<_> = match &spec.set[..] {
            [] => vec![member(&spec.main)],
            set => set.iter().map(|one| member(&one.container)).collect(),
        };
        let sidecars = spec.sidecars.iter().map(&mut member).collect();
        let mut plan = Self { level: Level::None, init, main, sidecars, notes: Vec::new() };
        plan.check_names()?;
        plan.choose(spec, ceiling)?;
        plan.note_images();
        Ok(plan)
    }

    /// All of them.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.init.iter().chain(&self.main).chain(&self.sidecars)
    }

    /// Names of containers are parts of names of files.
    fn check_names(&self) -> Result<(), String> {
        let mut seen = std::collections::BTreeSet::new();
        for Member { container: Container { name, .. }, .. } in self.members() {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if name.is_empty() || name.len() > 63 || !name.chars().all(plain) {
                return Err(format!("not a name of a container: {name:?}"));
            }
            if !seen.insert(name) {
                return Err(format!("two containers are called {name:?}"));
            }
        }
        Ok(())
    }

    fn choose(&mut self, spec: &ProcessSpec, ceiling: &Ceiling) -> Result<(), String> {
        let (needed, what) = self.needs(spec)?;
        if needed > ceiling.level {
            let private = match needed {
                Level::PrivateRoot => "a private root",
                _ => "a private /tmp",
            };
            return Err(format!("{what} needs {private}, and {}", ceiling.why));
        }
        let wanted = needed.max(Level::PrivateTmp);
        self.level = wanted.min(ceiling.level);
        if self.level < wanted && ceiling.by_machine {
            let note = "it runs without isolation, in the machine's own /tmp and process table";
            self.notes.push(format!("{note}: {}", ceiling.why));
        }
        Ok(())
    }

    /// The level without which it cannot be done, and what asks for it.
    fn needs(&self, spec: &ProcessSpec) -> Result<(Level, String), String> {
        let mut needs = (Level::None, String::new());
        for (path, what) in self.paths(spec) {
            let path = normal(path)?;
            if path == Path::new("/") && what != WORKING_DIR {
                return Err(format!("{what} / would take the place of everything"));
            }
            let level = match is_in_tmp(&path) {
                true => Level::PrivateTmp,
                false => Level::PrivateRoot,
            };
            if level > needs.0 {
                needs = (level, format!("{what} {}", path.display()));
            }
        }
        let is_folder = |member: &&Member| matches!(member.image.kind, Kind::Folder(_));
        if let Some(member) = self.members().find(is_folder) {
            needs = (Level::PrivateRoot, format!("image {}", member.container.image));
        }
        Ok(needs)
    }

    fn paths<'a>(&'a self, spec: &'a ProcessSpec) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mounts = self.members().flat_map(|member| {
            let container = &member.container;
            let folder = Some(&*container.working_dir).filter(|folder| !folder.is_empty());
            let mounts = container.mounts.iter().map(|mount| (&*mount.path, "mount"));
            mounts.chain(folder.map(|folder| (folder, WORKING_DIR)))
        });
        let outputs = &spec.outputs;
        spec.inputs
            .iter()
            .map(|input| (&*input.path, "input"))
            .chain(outputs.parameters.iter().map(|output| (&*output.path, "output")))
            .chain(outputs.artifacts.iter().map(|output| (&*output.path, "output")))
            .chain(mounts)
    }

    fn note_images(&mut self) {
        let unknown: std::collections::BTreeSet<_> = self
            .members()
            .filter(|member| member.image.kind == Kind::Host)
            .map(|member| &*member.container.image)
            .filter(|image| !image.is_empty())
            .collect();
        let notes: Vec<_> = unknown
            .into_iter()
            .map(|image| {
                format!("image {image} is not known here: it runs with this machine's programs")
            })
            .collect();
        self.notes.extend(notes);
    }
}

/// An absolute path without `.`, `..` and double slashes.
pub fn normal(path: &str) -> Result<PathBuf, String> {
    let mut clean = PathBuf::from("/");
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::Normal(name) => clean.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    if !path.starts_with('/') {
        return Err(format!("the path {path:?} is not absolute"));
    }
    if path.contains('\0') {
        return Err(format!("the path {path:?} holds a zero byte"));
    }
    Ok(clean)
}

/// Whether a path is private once `/tmp` is.
pub fn is_in_tmp(path: &Path) -> bool {
    path.starts_with("/tmp") || path.starts_with("/var/tmp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use argosy_model::process::{Mount, OutputArtifact, OutputFile, StagedInput};
    use argosy_model::{Archive, Artifact, Location};
    use argosy_spawn::Reason;

    fn spec(change: impl FnOnce(&mut ProcessSpec)) -> ProcessSpec {
        let mut spec = ProcessSpec::default();
        (spec.main.name, spec.main.image) = ("main".into(), "busybox".into());
        change(&mut spec);
        spec
    }

    fn input(path: &str) -> StagedInput {
        StagedInput {
            name: "in".into(),
            path: path.into(),
            artifact: Artifact {
                at: Location::Raw { data: String::new() },
                archive: Archive::None,
                sub_path: String::new(),
            },
            mode: None,
            recurse_mode: false,
            optional: false,
        }
    }

    fn parameter(path: &str) -> OutputFile {
        OutputFile { name: "p".into(), path: path.into(), default: None }
    }

    fn refused(reason: Reason) -> Ability {
        Ability::Refused { reason, message: "no luck".into(), remedy: "Do that.".into() }
    }

    fn ceiling(tmp: bool, root: bool, max: Level) -> Ceiling {
        let ability = |works, reason| if works { Ability::Works } else { refused(reason) };
        let abilities = Abilities {
            private_tmp: ability(tmp, Reason::Namespace),
            private_root: ability(root, Reason::Overlay),
            memory: Ability::Works,
        };
        Ceiling::new(&abilities, max)
    }

    fn level(spec: &ProcessSpec, ceiling: &Ceiling) -> Result<Level, String> {
        Plan::new(spec, &ImageTable::default(), ceiling).map(|plan| plan.level)
    }

    #[test]
    fn paths_decide_how_much_is_private() {
        let all = ceiling(true, true, Level::PrivateRoot);
        let mount =
            |path: &str| Mount { volume: "v".into(), path: path.into(), ..Mount::default() };
        let artifact = |path: &str| OutputArtifact {
            name: "a".into(),
            path: path.into(),
            archive: Archive::None,
            key: None,
            optional: false,
        };
        for (spec, expected) in [
            (spec(|_| ()), Level::PrivateTmp),
            (spec(|spec| spec.inputs = vec![input("/tmp/a/b")]), Level::PrivateTmp),
            (spec(|spec| spec.inputs = vec![input("/var/tmp/x")]), Level::PrivateTmp),
            (spec(|spec| spec.inputs = vec![input("/tmp/../x")]), Level::PrivateRoot),
            (spec(|spec| spec.inputs = vec![input("/tmpx")]), Level::PrivateRoot),
            (spec(|spec| spec.outputs.parameters = vec![parameter("/x")]), Level::PrivateRoot),
            (spec(|spec| spec.outputs.artifacts = vec![artifact("/x")]), Level::PrivateRoot),
            (spec(|spec| spec.main.mounts = vec![mount("/work")]), Level::PrivateRoot),
            (spec(|spec| spec.main.mounts = vec![mount("/tmp/v")]), Level::PrivateTmp),
            (spec(|spec| spec.main.working_dir = "/tmp".into()), Level::PrivateTmp),
            (spec(|spec| spec.main.working_dir = "/srv".into()), Level::PrivateRoot),
        ] {
            assert_eq!(level(&spec, &all), Ok(expected), "{spec:?}");
        }
    }

    #[test]
    fn nothing_takes_the_place_of_the_root() {
        let all = ceiling(true, true, Level::PrivateRoot);
        let root = spec(|spec| spec.inputs = vec![input("/x/..")]);
        assert_eq!(level(&root, &all), Err("input / would take the place of everything".into()));
        let root = spec(|spec| spec.main.working_dir = "/".into());
        assert_eq!(level(&root, &all), Ok(Level::PrivateRoot));
    }

    #[test]
    fn without_the_level_that_paths_need_an_attempt_is_refused_saying_why() {
        let root = spec(|spec| spec.outputs.parameters = vec![parameter("/x")]);
        let tmp = spec(|spec| spec.outputs.parameters = vec![parameter("/tmp/x")]);
        let (machine, configuration) = ("no luck. Do that.", "configuration");
        for (spec, ceiling, needs, why) in [
            (&root, ceiling(true, false, Level::PrivateRoot), "/x needs a private root", machine),
            (
                &root,
                ceiling(true, true, Level::PrivateTmp),
                "/x needs a private root",
                configuration,
            ),
            (
                &tmp,
                ceiling(false, false, Level::PrivateRoot),
                "/tmp/x needs a private /tmp",
                machine,
            ),
            (&tmp, ceiling(true, true, Level::None), "/tmp/x needs a private /tmp", configuration),
        ] {
            let message = level(spec, &ceiling).unwrap_err();
            assert!(message.contains(needs) && message.contains(why), "{message}");
        }
    }

    #[test]
    fn a_fallback_of_the_machine_is_said_and_a_choice_is_not() {
        let notes = |ceiling: &Ceiling| {
            let plan = Plan::new(&spec(|_| ()), &ImageTable::default(), ceiling).unwrap();
            (plan.level, plan.notes)
        };
        let (level, said) = notes(&ceiling(false, false, Level::PrivateRoot));
        assert_eq!(level, Level::None);
        assert!(said.len() == 1 && said[0].contains("no luck. Do that."), "{said:?}");
        assert_eq!(notes(&ceiling(true, true, Level::None)), (Level::None, vec![]));
    }

    #[test]
    fn paths_are_made_plain() {
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("//a/./b/", "/a/b"),
            ("/a/../b", "/b"),
            ("/../../a", "/a"),
            ("/", "/"),
        ] {
            assert_eq!(normal(path), Ok(expected.into()), "{path}");
        }
        for path in ["", "a", "./a", "../a", "/a\0"] {
            assert!(normal(path).is_err(), "{path:?}");
        }
    }
}
