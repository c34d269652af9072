//! The folders that processes share or are given.

use super::env;
use super::fault::cannot_start;
use super::layout::{Layout, make_folder};
use super::plan::normal;
use crate::Values;
use argosy_blob::tree::{Kind, Tree};
use argosy_model::process::{Mount, Volume, VolumeSource};
use argosy_model::{Code, Diagnostic};
use argosy_spawn::Bind;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Fills the volumes that are ours, so that they are as the processes will find them.
pub async fn fill(
    volumes: &[Volume],
    layout: &Layout,
    values: &dyn Values,
    space: &str,
) -> Result<(), Diagnostic> {
    for (index, volume) in volumes.iter().enumerate() {
        let folder = layout.volume(index);
        let (name, items, optional, secret) = match &volume.source {
            VolumeSource::EmptyDir => {
                make_folder(&folder).map_err(|error| cannot_start(error.to_string()))?;
                continue;
            }
            VolumeSource::HostPath(_) => continue,
            VolumeSource::Secret { name, items, optional } => (name, items, *optional, true),
            VolumeSource::ConfigMap { name, items, optional } => (name, items, *optional, false),
        };
        make_folder(&folder).map_err(|error| cannot_start(error.to_string()))?;
        let called = format!("volume {:?}: {} {name:?}", volume.name, env::called(secret));
        match env::store(values, space, name, secret).await {
            Some(keys) => write(&folder, keys, items)
                .map_err(|why| cannot_start(format!("{called} {why}")))?,
            None if optional => {}
            None => return Err(cannot_start(format!("{called} does not exist"))),
        }
    }
    Ok(())
}

fn write(
    folder: &Path,
    keys: Vec<(String, Vec<u8>)>,
    items: &[(String, String)],
) -> Result<(), String> {
    let picked: Vec<(&str, &str)> = match items {
        [] => keys.iter().map(|(key, _)| (&**key, &**key)).collect(),
        items => items.iter().map(|(key, path)| (&**key, &**path)).collect(),
    };
    for (key, path) in picked {
        let value = keys.iter().find(|(name, _)| name == key);
        let (_, value) = value.ok_or_else(|| format!("has no key {key:?}"))?;
        let path = inside(folder, path)?;
        let made = path.parent().map_or(Ok(()), make_folder).and_then(|()| {
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true).mode(0o400).open(&path)?.write_all(value)
        });
        made.map_err(|error| format!("cannot be shown as {}: {error}", path.display()))?;
    }
    Ok(())
}

/// A relative path below a folder.
fn inside(folder: &Path, path: &str) -> Result<PathBuf, String> {
    let clean = normal(&format!("/{path}"))?;
    Ok(folder.join(clean.strip_prefix("/").unwrap_or(&clean)))
}

/// Where a volume's files are on this machine, and whether they may be written.
pub fn source(
    volumes: &[Volume],
    name: &str,
    layout: &Layout,
    allowed: &[PathBuf],
) -> Result<(PathBuf, bool), Diagnostic> {
    let index = volumes.iter().position(|volume| volume.name == name);
    let found = index.and_then(|index| Some((index, volumes.get(index)?)));
    let (index, volume) =
        found.ok_or_else(|| cannot_start(format!("there is no volume {name:?}")))?;
    match &volume.source {
        VolumeSource::HostPath(path) => host_path(path, allowed).map(|path| (path, true)),
        VolumeSource::EmptyDir => Ok((layout.volume(index), true)),
        VolumeSource::Secret { .. } | VolumeSource::ConfigMap { .. } => {
            Ok((layout.volume(index), false))
        }
    }
}

fn host_path(path: &str, allowed: &[PathBuf]) -> Result<PathBuf, Diagnostic> {
    let real = fs::canonicalize(normal(path).map_err(cannot_start)?)
        .map_err(|error| cannot_start(format!("hostPath {path:?} cannot be found: {error}")))?;
    let is_below =
        |folder: &PathBuf| fs::canonicalize(folder).is_ok_and(|folder| real.starts_with(folder));
    if allowed.iter().any(is_below) {
        return Ok(real);
    }
    let what = format!("hostPath {path:?} ({}) is not in an allowed folder", real.display());
    let help = "start the server with `--allow-host-path` and that folder, or one above it";
    Err(Diagnostic::new(Code::HostPath, what).help(help))
}

/// Shows a volume, or its part, in a process. A part is made if it is not there.
pub fn bind(mount: &Mount, source: PathBuf, writable: bool) -> Result<Bind, String> {
    let path = inside(&source, &mount.sub_path)?;
    if path != source {
        let part = path.strip_prefix(&source).unwrap_or(&path).to_owned();
        let refuse = || format!("volume {:?} has no part {:?}", mount.volume, mount.sub_path);
        // An earlier process may have put a link there, which must not be followed.
        let entry = |path: &Path| Tree::open([&*source]).and_then(|tree| tree.entry(path));
        let mut made = PathBuf::new();
        for step in part.components() {
            made.push(step);
            match entry(&made).map_err(|_| refuse())?.map(|entry| entry.kind) {
                Some(Kind::File | Kind::Folder) => {}
                None if writable => make_folder(&source.join(&made)).map_err(|_| refuse())?,
                _ => return Err(refuse()),
            }
        }
    }
    let read_only = mount.read_only || !writable;
    Ok(Bind { source: path, target: normal(&mount.path)?, read_only })
}
