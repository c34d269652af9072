//! Puts inputs together before the process starts: each in a folder of its own, from where it is
//! shown to the process.

use super::fault::cannot_start;
use super::layout::{Layout, make_folder};
use super::plan::normal;
use argosy_blob::archive::{Limits, unpack};
use argosy_blob::tree::{Kind, Tree};
use argosy_blob::{Address, Part, Space, Store};
use argosy_model::process::StagedInput;
use argosy_model::{Archive, Artifact, Code, Diagnostic, Location};
use std::fs::{self, Permissions};
use std::io::{self, Cursor};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Objects of a prefix that are asked for at once.
const PAGE: usize = 1_000;

/// Puts all inputs in place, or says which one cannot be.
pub async fn inputs(
    inputs: &[StagedInput],
    layout: &Layout,
    store: &dyn Store,
    space: &Space,
) -> Result<(), Diagnostic> {
    for (index, input) in inputs.iter().enumerate() {
        let folder = layout.input(index);
        make_folder(&folder).map_err(|error| cannot_start(error.to_string()))?;
        let staging = Staging { dest: folder.join("it"), store, space };
        let named = |why: Diagnostic| why.within(&format!("input artifact {:?}", input.name));
        let found = staging.fetch(&input.artifact).await.map_err(named)?;
        if !found && !input.optional {
            return Err(named(missing(format!("there is nothing at {}", place(&input.artifact)))));
        }
        if let (true, Some(mode)) = (found, input.mode) {
            set_mode(&staging.dest, mode, input.recurse_mode)
                .map_err(|error| named(cannot_start(format!("cannot set its mode: {error}"))))?;
        }
    }
    Ok(())
}

fn missing(what: String) -> Diagnostic {
    Diagnostic::new(Code::ArtifactMissing, what)
}

/// An artifact's place as a person would name it.
fn place(artifact: &Artifact) -> String {
    let at = match &artifact.at {
        Location::Blob { key } => format!("key {key:?}"),
        Location::Raw { .. } => "its text".to_owned(),
        Location::S3(at) => format!("bucket {:?}, key {:?}", at.bucket, at.key),
        Location::Http { url } => url.clone(),
    };
    match &*artifact.sub_path {
        "" => at,
        part => format!("{at}, part {part:?}"),
    }
}

struct Staging<'a> {
    dest: PathBuf,
    store: &'a dyn Store,
    space: &'a Space,
}

impl Staging<'_> {
    /// Whether it is there.
    async fn fetch(&self, artifact: &Artifact) -> Result<bool, Diagnostic> {
        let part = normal(&format!("/{}", artifact.sub_path)).map_err(cannot_start)?;
        let part = part.strip_prefix("/").unwrap_or(&part).to_owned();
        match &artifact.at {
            Location::Raw { data } => {
                let bytes = Cursor::new(data.clone().into_bytes());
                self.unpack(bytes, artifact.archive, part).await
            }
            Location::Blob { key } => self.blob(key, artifact.archive, part).await,
            Location::S3(_) | Location::Http { .. } => {
                let place = place(artifact);
                let what = "is not in this server's own store, and nothing else is read";
                Err(missing(format!("{place} {what}")))
            }
        }
    }

    async fn blob(&self, key: &str, archive: Archive, part: PathBuf) -> Result<bool, Diagnostic> {
        let prefix = key.trim_end_matches('/');
        if !key.ends_with('/')
            && let Some(object) = self.object(key).await?
        {
            return self.unpack(object, archive, part).await;
        }
        // Kept as many objects: the part is one of them, or again several.
        let Some(part) = part.to_str() else { return Ok(false) };
        let key = if part.is_empty() { prefix.to_owned() } else { format!("{prefix}/{part}") };
        if !part.is_empty()
            && let Some(object) = self.object(&key).await?
        {
            return self.unpack(object, archive, PathBuf::new()).await;
        }
        self.objects(&format!("{key}/")).await
    }

    async fn object(&self, key: &str) -> Result<Option<Part>, Diagnostic> {
        let address = Address::new(self.space, key)?;
        let found = self.store.fetch(&address).await;
        found.map_err(|error| cannot_start(format!("cannot read {key:?}: {error}")))
    }

    /// Fetches all objects below a prefix into a folder, as they are.
    async fn objects(&self, prefix: &str) -> Result<bool, Diagnostic> {
        let mut after = String::new();
        loop {
            let page = self.store.list(self.space, prefix, &after, PAGE).await;
            let page =
                page.map_err(|error| cannot_start(format!("cannot list {prefix:?}: {error}")))?;
            for found in &page.objects {
                let Some(object) = self.object(&found.key).await? else { continue };
                // Keys have no segment that climbs.
                let path = self.dest.join(found.key.strip_prefix(prefix).unwrap_or_default());
                let key = &found.key;
                blocking(move || write(object, &path))
                    .await
                    .map_err(|error| cannot_start(format!("cannot write {key:?}: {error}")))?;
            }
            match page.objects.into_iter().next_back() {
                Some(last) if page.more => after = last.key,
                Some(_) => return Ok(true),
                None => return Ok(!after.is_empty()),
            }
        }
    }

    async fn unpack(
        &self,
        source: impl io::Read + io::Seek + Send + 'static,
        archive: Archive,
        part: PathBuf,
    ) -> Result<bool, Diagnostic> {
        let dest = self.dest.clone();
        let unpacked = tokio::task::spawn_blocking(move || {
            unpack(source, archive, &dest, Limits::default())?;
            pick(&dest, &part)
                .map_err(|error| cannot_start(format!("cannot read its part: {error}")))
        });
        unpacked.await.map_err(|error| cannot_start(error.to_string()))?
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn write(mut object: Part, path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    io::copy(&mut object, &mut fs::File::create_new(path)?).map(drop)
}

/// Leaves only a part of what is at `dest`, in its place; whether there is such a part.
fn pick(dest: &Path, part: &Path) -> io::Result<bool> {
    if part.as_os_str().is_empty() {
        return Ok(true);
    }
    if !dest.is_dir() {
        return Ok(false);
    }
    let found = Tree::open([dest])?.entry(part)?;
    if !found.is_some_and(|entry| matches!(entry.kind, Kind::File | Kind::Folder)) {
        return Ok(false);
    }
    let aside = dest.with_extension("part");
    fs::rename(dest.join(part), &aside)?;
    fs::remove_dir_all(dest)?;
    fs::rename(aside, dest)?;
    Ok(true)
}

/// Sets permission bits, without the special ones, on a file or folder that nobody else has yet.
fn set_mode(path: &Path, mode: u32, recurse: bool) -> io::Result<()> {
    let mut left = vec![path.to_owned()];
    let mut folders = Vec::new();
    while let Some(path) = left.pop() {
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() && recurse {
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        }
        if kind.is_dir() {
            folders.push(path);
        } else if kind.is_file() {
            fs::set_permissions(&path, Permissions::from_mode(mode & 0o777))?;
        }
    }
    // From the inside out, as the mode may close a folder.
    for folder in folders.iter().rev() {
        fs::set_permissions(folder, Permissions::from_mode(mode & 0o777))?;
    }
    Ok(())
}
