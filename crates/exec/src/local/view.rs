//! The file system as an attempt's process saw it, read after its end.

use argosy_blob::tree::{Kind, Tree};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Links that are followed for one path, as in the kernel.
const LINKS: usize = 40;

/// What was shown where.
#[derive(Debug, Default)]
pub struct View {
    mounts: Vec<Mount>,
}

#[derive(Debug)]
struct Mount {
    target: PathBuf,
    /// None where nothing of what was shown is left.
    tree: Option<Tree>,
    /// The part of the tree that was shown.
    base: PathBuf,
}

/// A file or folder of a [`View`].
#[derive(Debug)]
pub struct Found<'a> {
    pub tree: &'a Tree,
    pub path: PathBuf,
    pub kind: Kind,
}

impl View {
    /// Shows `base` of these layers at `target`, over what was shown there before.
    pub fn mount<'a>(
        &mut self,
        target: &Path,
        layers: impl IntoIterator<Item = &'a Path>,
        base: &Path,
    ) -> io::Result<()> {
        let tree = Tree::open(layers)?;
        let (target, base) = (target.to_owned(), base.to_owned());
        self.mounts.push(Mount { target, tree: Some(tree), base });
        Ok(())
    }

    /// Shows nothing at `target`, whatever this machine has there.
    pub fn hide(&mut self, target: &Path) {
        self.mounts.push(Mount { target: target.to_owned(), tree: None, base: PathBuf::new() });
    }

    /// What is at an absolute path. Links are followed as the process would have followed them;
    /// none leads out of what it saw.
    pub fn find(&self, path: &Path) -> io::Result<Option<Found<'_>>> {
        let mut left: Vec<OsString> = Vec::new();
        push(&mut left, path);
        let (mut at, mut links) = (PathBuf::from("/"), 0);
        while let Some(part) = left.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let Some(found) = self.look(&next)? else { return Ok(None) };
            if found.kind != Kind::Link {
                at = next;
                continue;
            }
            links += 1;
            if links > LINKS {
                return Ok(None);
            }
            let target = found.tree.link(&found.path)?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            push(&mut left, &target);
        }
        self.look(&at)
    }

    /// What is at a path that has no links but perhaps at its end.
    fn look(&self, path: &Path) -> io::Result<Option<Found<'_>>> {
        let covers = |mount: &&Mount| path.starts_with(&mount.target);
        // The last of the longest is the one on top.
        let by_length = |mount: &&Mount| mount.target.components().count();
        let Some(mount) = self.mounts.iter().filter(covers).max_by_key(by_length) else {
            return Ok(None);
        };
        let inner = path.strip_prefix(&mount.target).unwrap_or(Path::new(""));
        // Joining nothing would leave a slash, which asks for a folder.
        let path = match inner.as_os_str().is_empty() {
            true => mount.base.clone(),
            false => mount.base.join(inner),
        };
        let Some(tree) = &mount.tree else { return Ok(None) };
        let entry = tree.entry(&path)?;
        Ok(entry.map(|entry| Found { tree, path, kind: entry.kind }))
    }
}

/// Puts the parts of a path in front of those that are left, the next one last.
fn push(left: &mut Vec<OsString>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => left.push(name.to_owned()),
            Component::ParentDir => left.push("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_inside_and_never_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for path in ["root/etc", "tmp/d", "outside", "root/proc/self"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        for (path, text) in [
            ("root/etc/x", "root"),
            ("tmp/d/f", "tmp"),
            ("outside/s", "secret"),
            ("root/proc/self/environ", "ours"),
        ] {
            fs::write(at(path), text).unwrap();
        }
        for (link, target) in [
            ("tmp/absolute", "/etc/x"),
            ("tmp/climbs", "../etc/x"),
            ("tmp/far", "../../../../../../../etc/x"),
            ("tmp/folder", "d"),
            ("tmp/loop", "loop"),
            ("root/to-tmp", "tmp/d"),
            ("tmp/out", at("outside/s").to_str().unwrap()),
            ("tmp/environ", "/proc/self/environ"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        fs::create_dir(at("root/tmp")).unwrap();
        let mut view = View::default();
        view.mount(Path::new("/"), [&*at("root")], Path::new("")).unwrap();
        view.mount(Path::new("/tmp"), [&*at("tmp")], Path::new("")).unwrap();
        view.hide(Path::new("/proc"));
        view.mount(Path::new("/tmp/in"), [&*at("outside")], Path::new("s")).unwrap();
        for (path, expected) in [
            ("/etc/x", Some("root")),
            ("/tmp/d/f", Some("tmp")),
            ("/tmp/absolute", Some("root")),
            ("/tmp/climbs", Some("root")),
            ("/tmp/far", Some("root")),
            ("/tmp/folder/f", Some("tmp")),
            ("/to-tmp/f", Some("tmp")),
            ("/tmp/folder/../d/f", Some("tmp")),
            ("/tmp/in", Some("secret")),
            ("/tmp/out", None),
            ("/tmp/environ", None),
            ("/proc/self/environ", None),
            ("/tmp/loop", None),
            ("/tmp/none", None),
            ("/tmp/d/f/x", None),
        ] {
            let found = view.find(Path::new(path)).unwrap();
            let text = found
                .map(|found| io::read_to_string(found.tree.read(&found.path).unwrap()).unwrap());
            assert_eq!(text.as_deref(), expected, "{path}");
        }
    }
}
