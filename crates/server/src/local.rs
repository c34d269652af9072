//! The local backend, as the driver uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use argosy_api::argo::Kind;
use argosy_api::http::stored_pairs;
use argosy_engine::Rendered;
use argosy_exec::local::{self, Level};
use argosy_exec::{Values, images::ImageTable};
use argosy_model::attempt::Kill;
use argosy_model::{Artifact, AttemptId, Location, Resources, RunId};
use argosy_store::Storage;
use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::backend::{Backend, BackendReport};

/// What processes may see of this machine.
#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// Folders below which manifests may name paths.
    pub allow_host_paths: Vec<PathBuf>,
    /// The most that processes are kept apart.
    pub max_isolation: Level,
    /// The S3 endpoint that processes may use, if there is one.
    pub objects: Option<local::ObjectDoor>,
}

/// The backend of this machine with what it tells.
pub struct Local {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// Its reports.
    pub reports: mpsc::UnboundedReceiver<BackendReport>,
    /// Says whose key pairs are worth something.
    pub attempts: Arc<dyn argosy_blob::s3::Attempts>,
}

impl Local {
    /// Starts it on a data directory with a place for blobs; `exe` is this program.
    ///
    /// # Errors
    /// When the spawner cannot be had.
    pub async fn start(
        data_dir: &Path,
        exe: &Path,
        machine: MachineOptions,
        store: Arc<dyn Storage>,
        blobs: Arc<dyn argosy_blob::Store>,
    ) -> io::Result<Local> {
        let options = local::Options {
            data_dir: data_dir.to_owned(),
            exe: exe.to_owned(),
            allow_host_paths: machine.allow_host_paths,
            images: ImageTable::default(),
            max_isolation: machine.max_isolation,
            objects: machine.objects,
        };
        let values = Arc::new(StoredValues { store });
        let (inner, told) = local::Local::start(options, Arc::clone(&blobs), values).await?;
        Ok(Local {
            attempts: Arc::new(inner.clone()),
            backend: Arc::new(Machine { data_dir: data_dir.to_owned(), inner, blobs }),
            reports: told,
        })
    }
}

/// What isolation works on this machine, tried by a spawner in a folder for that alone, which may
/// be removed afterwards.
///
/// # Errors
/// When the spawner cannot be started, or does not end.
pub async fn abilities_apart(folder: &Path, exe: &Path) -> io::Result<Option<local::Abilities>> {
    let found = abilities(folder, exe).await?;
    local::end_spawner(folder).await?;
    Ok(found)
}

/// What isolation works on this machine, by trial; `None` when the spawner does not answer.
///
/// # Errors
/// When the spawner cannot be reached.
pub async fn abilities(data_dir: &Path, exe: &Path) -> io::Result<Option<local::Abilities>> {
    let (spawner, mut events) =
        local::SpawnerClient::connect(data_dir.to_owned(), exe.to_owned()).await?;
    spawner.probe();
    while let Some(event) = events.recv().await {
        match event {
            local::SpawnerEvent::Probed(abilities) => return Ok(Some(abilities)),
            local::SpawnerEvent::Unreachable { message } => return Err(io::Error::other(message)),
            _ => {}
        }
    }
    Ok(None)
}

/// This machine.
struct Machine {
    data_dir: PathBuf,
    inner: local::Local,
    blobs: Arc<dyn argosy_blob::Store>,
}

#[async_trait]
impl Backend for Machine {
    fn run(&self, attempt: AttemptId, rendered: Rendered) {
        self.inner.run(attempt, rendered.process, rendered.name, rendered.space);
    }

    fn kill(&self, attempt: AttemptId, _: Kill, grace_ms: u64) {
        self.inner.kill(attempt, grace_ms);
    }

    fn forget(&self, attempt: AttemptId) {
        self.inner.forget(attempt);
    }

    fn keep_only(&self, wanted: &BTreeSet<AttemptId>) {
        self.inner.forget_all_but(wanted);
    }

    async fn holds(&self, space: &str, artifact: &Artifact) -> bool {
        match &artifact.at {
            // Nobody takes away what is not kept here.
            Location::Raw { .. } | Location::S3(_) | Location::Http { .. } => true,
            Location::Blob { key } => holds(&*self.blobs, space, key).await.unwrap_or(false),
        }
    }

    async fn delete(&self, space: &str, key: &str) -> io::Result<()> {
        let space = argosy_blob::Space::new(space).map_err(io::Error::other)?;
        if !key.ends_with('/') {
            let at = argosy_blob::Address::new(&space, key).map_err(io::Error::other)?;
            return self.blobs.delete(&at).await.map(drop);
        }
        let mut after = String::new();
        loop {
            let found = self.blobs.list(&space, key, &after, 1_000).await?;
            for object in &found.objects {
                let at = argosy_blob::Address::new(&space, &object.key);
                self.blobs.delete(&at.map_err(io::Error::other)?).await?;
            }
            match found.objects.last().filter(|_| found.more) {
                Some(last) => after.clone_from(&last.key),
                None => return Ok(()),
            }
        }
    }

    fn discard(&self, run: RunId) {
        let logs = argosy_exec::logs::folder(&self.data_dir, run);
        tokio::task::spawn_blocking(move || {
            // A run that printed nothing has no folder.
            let _ = std::fs::remove_dir_all(logs);
        });
    }

    async fn flush(&self) {
        self.inner.flush().await;
    }

    fn machines(&self) -> Vec<(String, Resources)> {
        vec![argosy_exec::machine()]
    }
}

/// Whether there is an object under a key, or any object under a prefix. `None` when that cannot be
/// told.
async fn holds(blobs: &dyn argosy_blob::Store, space: &str, key: &str) -> Option<bool> {
    let space = argosy_blob::Space::new(space).ok()?;
    if !key.ends_with('/') {
        let at = argosy_blob::Address::new(&space, key).ok()?;
        if blobs.head(&at).await.ok()?.is_some() {
            return Some(true);
        }
    }
    let prefix = format!("{}/", key.trim_end_matches('/'));
    Some(!blobs.list(&space, &prefix, "", 1).await.ok()?.objects.is_empty())
}

/// Configuration maps and secrets from the store.
struct StoredValues {
    store: Arc<dyn Storage>,
}

impl StoredValues {
    async fn pairs(&self, kind: Kind, space: &str, name: &str) -> Option<Vec<(String, Vec<u8>)>> {
        let found = self.store.object(space, kind.as_str(), name).await.ok()??;
        let document = serde_json::from_slice(&found.data).ok()?;
        Some(stored_pairs(kind, &document))
    }
}

#[async_trait]
impl Values for StoredValues {
    async fn config_map(&self, space: &str, name: &str) -> Option<BTreeMap<String, String>> {
        let pairs = self.pairs(Kind::ConfigMap, space, name).await?;
        let text =
            |(key, value): (String, Vec<u8>)| (key, String::from_utf8_lossy(&value).into_owned());
        Some(pairs.into_iter().map(text).collect())
    }

    async fn secret(&self, space: &str, name: &str) -> Option<BTreeMap<String, Vec<u8>>> {
        Some(self.pairs(Kind::Secret, space, name).await?.into_iter().collect())
    }
}
