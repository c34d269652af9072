//! Keeps what a process has left: its result, parameters and artifacts.

use super::backend::{House, Report};
use super::fault::{no_output, not_kept};
use super::order::Orders;
use super::plan::{Level, Member, normal};
use super::view::{Found, View};
use crate::logs::Stream;
use argosy_blob::archive::{NAMELESS, SPECIAL, pack};
use argosy_blob::tree::Kind;
use argosy_blob::{Address, Meta, Source, Space};
use argosy_model::process::{OutputArtifact, OutputFile};
use argosy_model::{Archive, Artifact, Diagnostic, Location, Outputs, limits};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was kept, and what could not be.
#[derive(Debug, Default)]
pub struct Saved {
    pub outputs: Outputs,
    /// Of each output that is not there.
    pub missing: Vec<Diagnostic>,
}

/// Keeps the outputs of an attempt, whose `member` is the one that they are read from.
///
/// # Errors
/// Outputs that are there and cannot be kept.
pub async fn save(orders: &Orders, member: &Member, house: &House) -> Result<Saved, Diagnostic> {
    let space = Space::new(&orders.space)?;
    let view = orders
        .view(member, house)
        .map_err(|error| no_output(format!("cannot read outputs: {error}")))?;
    let mut saver = Saver { orders, house, space, view: Arc::new(view), saved: Saved::default() };
    if orders.spec.outputs.result {
        let log = orders.layout.log(&member.container.name, Stream::Out);
        let text =
            result(&log).map_err(|error| no_output(format!("cannot read the result: {error}")))?;
        saver.saved.outputs.result = Some(text.into());
    }
    if orders.level > Level::None {
        saver.parameters()?;
        for artifact in &orders.spec.outputs.artifacts {
            saver.artifact(artifact).await?;
        }
    }
    Ok(saver.saved)
}

/// Keeps the logs of these processes as artifacts, if they are wanted.
///
/// # Errors
/// That they cannot be kept.
pub async fn logs(
    orders: &Orders,
    members: &[Member],
    house: &House,
    outputs: &mut Outputs,
) -> Result<(), Diagnostic> {
    if !orders.spec.outputs.logs {
        return Ok(());
    }
    let space = Space::new(&orders.space)?;
    for name in members.iter().map(|member| &*member.container.name) {
        let key = format!("{}/{name}.log", orders.spec.key_prefix);
        let address = Address::new(&space, &key)?;
        let files = [Stream::Out, Stream::Err].map(|stream| orders.layout.log(name, stream));
        let meta = Meta { content_type: "text/plain".into(), ..Meta::default() };
        let kept = async {
            let file = blocking(move || joined(&files)).await?;
            house.store.put(&address, Source::Copied(file), meta).await
        };
        kept.await.map_err(|error| not_kept(format!("cannot keep the log of {name}: {error}")))?;
        outputs.artifacts.push((format!("{name}-logs").into(), artifact(key, Archive::None)));
    }
    Ok(())
}

fn artifact(key: String, archive: Archive) -> Artifact {
    Artifact { at: Location::Blob { key }, archive, sub_path: String::new() }
}

/// These files' bytes one after the other, in a file without a name.
fn joined(paths: &[PathBuf]) -> io::Result<File> {
    let mut all = tempfile::tempfile()?;
    for path in paths {
        match File::open(path) {
            Ok(mut file) => drop(io::copy(&mut file, &mut all)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    all.rewind()?;
    Ok(all)
}

struct Saver<'a> {
    orders: &'a Orders,
    house: &'a House,
    space: Space,
    view: Arc<View>,
    saved: Saved,
}

impl Saver<'_> {
    fn parameters(&mut self) -> Result<(), Diagnostic> {
        for OutputFile { name, path, default } in &self.orders.spec.outputs.parameters {
            let text = match self.view.find(&normal(path).map_err(no_output)?) {
                Ok(Some(found)) => Some(parameter(&found, name)?),
                Ok(None) => default.clone(),
                Err(error) => return Err(no_output(format!("output parameter {name:?}: {error}"))),
            };
            match text {
                Some(text) => {
                    self.saved.outputs.parameters.push((name.as_str().into(), text.into()));
                }
                None => {
                    let missing = format!("output parameter {name:?} was not written to {path}");
                    self.saved.missing.push(no_output(missing));
                }
            }
        }
        Ok(())
    }

    async fn artifact(&mut self, output: &OutputArtifact) -> Result<(), Diagnostic> {
        let named = |why: Diagnostic| why.within(&format!("output artifact {:?}", output.name));
        let path = normal(&output.path).map_err(|what| named(no_output(what)))?;
        let found = self.view.find(&path);
        let found = found.map_err(|error| named(no_output(format!("cannot read it: {error}"))))?;
        let Some(kind) = found.map(|found| found.kind) else {
            if !output.optional {
                let OutputArtifact { name, path, .. } = output;
                let missing = format!("output artifact {name:?} was not written to {path}");
                self.saved.missing.push(no_output(missing));
            }
            return Ok(());
        };
        let base = path.file_name().map_or("root".into(), |name| name.to_string_lossy());
        let key = self.key(output, &base);
        let key = match (output.archive, kind) {
            (_, Kind::Other | Kind::Link) => Err(no_output("it is neither a file nor a folder")),
            (Archive::None, Kind::Folder) => self.put_folder(&output.name, &path, key).await,
            _ => self.put_packed(&output.name, &path, &base, key, output.archive).await,
        };
        let kept = artifact(key.map_err(named)?, output.archive);
        self.saved.outputs.artifacts.push((output.name.as_str().into(), kept));
        Ok(())
    }

    fn key(&self, output: &OutputArtifact, base: &str) -> String {
        let prefix = &self.orders.spec.key_prefix;
        let name = &output.name;
        match (&output.key, output.archive) {
            (Some(key), _) => key.clone(),
            (None, Archive::None) => format!("{prefix}/{base}"),
            (None, Archive::Default | Archive::Tar(1..)) => format!("{prefix}/{name}.tgz"),
            (None, Archive::Tar(0)) => format!("{prefix}/{name}.tar"),
            (None, Archive::Zip) => format!("{prefix}/{name}.zip"),
        }
    }

    async fn put(&self, key: &str, source: Source, content_type: &str) -> Result<(), Diagnostic> {
        let address = Address::new(&self.space, key)?;
        let meta = Meta { content_type: content_type.into(), ..Meta::default() };
        let put = self.house.store.put(&address, source, meta).await;
        put.map(drop).map_err(|error| not_kept(format!("cannot keep it under {key:?}: {error}")))
    }

    /// Says what an artifact lacks.
    fn note(&self, artifact: &str, left_out: &[String]) {
        const NAMED: usize = 5;
        if left_out.is_empty() {
            return;
        }
        let named = left_out.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = match left_out.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let message = format!("output artifact {artifact:?} is kept without: {named}{more}");
        self.house.report(Report::Note { attempt: self.orders.attempt, message });
    }

    async fn put_packed(
        &self,
        name: &str,
        path: &Path,
        base: &str,
        key: String,
        archive: Archive,
    ) -> Result<String, Diagnostic> {
        let content_type = match archive {
            Archive::None => "",
            Archive::Default | Archive::Tar(1..) => "application/gzip",
            Archive::Tar(0) => "application/x-tar",
            Archive::Zip => "application/zip",
        };
        let (view, path, base) = (self.view.clone(), path.to_owned(), base.to_owned());
        let scratch = self.orders.layout.scratch();
        let packed = blocking(move || {
            let found = view.find(&path)?.ok_or(io::ErrorKind::NotFound)?;
            if archive == Archive::None {
                let file = found.tree.read(&found.path)?;
                return Ok((Source::Copied(file), Vec::new()));
            }
            let left_out = pack(found.tree, &found.path, &base, archive, File::create(&scratch)?)?;
            Ok((Source::Taken(scratch), left_out))
        });
        let (packed, left_out) =
            packed.await.map_err(|error| not_kept(format!("cannot pack it: {error}")))?;
        self.note(name, &left_out);
        self.put(&key, packed, content_type).await?;
        Ok(key)
    }

    /// Puts each file of a folder under its own key; the prefix of all.
    async fn put_folder(
        &self,
        artifact: &str,
        path: &Path,
        key: String,
    ) -> Result<String, Diagnostic> {
        let prefix = format!("{}/", key.trim_end_matches('/'));
        let (view, root) = (self.view.clone(), path.to_owned());
        let listed = blocking(move || files(&view, &root)).await;
        let (files, left_out) =
            listed.map_err(|error| no_output(format!("cannot list it: {error}")))?;
        self.note(artifact, &left_out);
        for name in files {
            let (view, path) = (self.view.clone(), path.join(&name));
            let open = move || {
                let found = view.find(&path)?.ok_or(io::ErrorKind::NotFound)?;
                found.tree.read(&found.path)
            };
            let file = blocking(open)
                .await
                .map_err(|error| no_output(format!("cannot read {name}: {error}")))?;
            self.put(&format!("{prefix}{name}"), Source::Copied(file), "").await?;
        }
        Ok(prefix)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// The files below a folder, relative to it and sorted, and what is left out, each with the reason.
/// Objects cannot be links: a file that a link leads to is kept in its place, as upstream does
/// (argo-workflows `workflow/artifacts/s3`, which uploads what it can open).
fn files(view: &View, folder: &Path) -> io::Result<(Vec<String>, Vec<String>)> {
    let (mut files, mut left_out, mut left) = (Vec::new(), Vec::new(), vec![String::new()]);
    while let Some(inner) = left.pop() {
        let Some(found) = view.find(&folder.join(&inner))? else { continue };
        for name in found.tree.list(&found.path)? {
            let Some(name) = name.to_str() else {
                left_out.push(format!("{:?} {NAMELESS}", Path::new(&inner).join(&name)));
                continue;
            };
            let path = if inner.is_empty() { name.to_owned() } else { format!("{inner}/{name}") };
            let entry = found.tree.entry(&found.path.join(name))?.map(|entry| entry.kind);
            match entry {
                Some(Kind::File) => files.push(path),
                Some(Kind::Folder) => left.push(path),
                Some(Kind::Link) => match view.find(&folder.join(&path))?.map(|it| it.kind) {
                    Some(Kind::File) => files.push(path),
                    _ => left_out.push(format!("{path:?} is a link that leads to no file")),
                },
                Some(Kind::Other) => left_out.push(format!("{path:?} {SPECIAL}")),
                None => {}
            }
        }
    }
    files.sort_unstable();
    left_out.sort_unstable();
    Ok((files, left_out))
}

fn parameter(found: &Found<'_>, name: &str) -> Result<String, Diagnostic> {
    let named = |error: io::Error| no_output(format!("output parameter {name:?}: {error}"));
    let file = found.tree.read(&found.path).map_err(named)?;
    let mut bytes = Vec::new();
    file.take(limits::PARAMETER_BYTES.max + 1).read_to_end(&mut bytes).map_err(named)?;
    limits::PARAMETER_BYTES.check(bytes.len() as u64, &format!("output parameter {name:?}"))?;
    Ok(text(&bytes))
}

/// Text without its last newline. What is not UTF-8 is replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(bytes)).into_owned()
}

/// The end of standard output, as far as a result may be long.
fn result(log: &Path) -> io::Result<String> {
    let mut file = match File::open(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        other => other?,
    };
    let cut = file.metadata()?.len().saturating_sub(limits::RESULT_BYTES.max);
    file.seek(SeekFrom::Start(cut))?;
    let mut bytes = Vec::new();
    file.take(limits::RESULT_BYTES.max).read_to_end(&mut bytes)?;
    // The cut may have hit a character.
    let is_rest = |byte: &&u8| cut > 0 && **byte & 0xc0 == 0x80;
    let rest = bytes.iter().take(3).take_while(is_rest).count();
    Ok(text(&bytes[rest..]))
}
