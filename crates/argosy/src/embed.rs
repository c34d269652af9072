//! The server in this process, and how a server makes itself known to other commands.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use argosy_api::http::{Door, router};
use argosy_api::ports;
use argosy_blob::s3::{Attempts, Keys};
use argosy_exec::local::{Level, ObjectDoor};
use argosy_model::{Code, Diagnostic};
use argosy_server::{Local, MachineOptions, Options, Reader, Service, SystemClock};
use argosy_spawn::Ability;
use argosy_store::{Storage, Store};
use axum::Router;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::blobs::Blobs;
use crate::cli::{Isolation, Machine};
use crate::client::Client;
use crate::config::Config;
use crate::failure::Failure;

/// Where a server says how to reach it.
const ANNOUNCEMENT: &str = "server.json";

/// The S3 endpoint.
pub(crate) struct Objects {
    pub(crate) address: SocketAddr,
    pub(crate) keys: Keys,
    pub(crate) router: Router,
}

/// A server in this process.
pub(crate) struct Embedded {
    pub(crate) router: Router,
    /// What S3 clients are served with, where they are.
    pub(crate) objects: Option<Objects>,
    service: Service,
    thread: EngineThread,
}

/// A data directory that this process owns, in which nothing goes on yet.
pub(crate) struct Owned {
    store: Arc<dyn Storage>,
    blobs: Blobs,
}

impl Owned {
    /// Takes the data directory, and makes it where it is not there.
    pub(crate) async fn take(config: &Config) -> Result<Owned, Failure> {
        has_no_colon(&config.data)?;
        // Without anybody to take this signal, a limit on the size of files would end the process.
        take_signals_of_large_files()?;
        let store: Arc<dyn Storage> = Arc::new(Store::open(&config.data).await?);
        // Only the owner of the data directory may open its blobs.
        let blobs = Blobs::open(config)?;
        Ok(Owned { store, blobs })
    }
}

impl Embedded {
    /// Starts on a data directory: whatever was going on there goes on. Objects will be served at
    /// `s3`, if that is given.
    pub(crate) async fn start(
        owned: Owned,
        config: &Config,
        machine: &Machine,
        s3: Option<SocketAddr>,
    ) -> Result<Embedded, Failure> {
        let (data, Owned { store, blobs }) = (config.data.clone(), owned);
        let mut machine = MachineOptions {
            allow_host_paths: [&config.allow_host_path[..], &machine.allow_host_path].concat(),
            max_isolation: match machine.isolation {
                Isolation::None => Level::None,
                Isolation::PrivateTmp => Level::PrivateTmp,
                Isolation::PrivateRoot => Level::PrivateRoot,
            },
            objects: None,
        };
        let kept = blobs.store();
        let keys = s3.map(|_| blobs.keys(config)).transpose()?;
        let at = s3.zip(keys);
        machine.objects = at
            .clone()
            .map(|(address, keys)| ObjectDoor { endpoint: format!("http://{address}"), keys });
        let begin = async move || start(&data, machine, store, kept).await;
        let ((service, attempts), thread) = EngineThread::start(begin).await?;
        let objects = at.map(|(address, keys)| {
            let router = blobs.door(config, &keys, attempts)?;
            Ok::<_, Failure>(Objects { address, keys, router })
        });
        let router = router(door(Arc::new(service.clone()), &config.data));
        Ok(Embedded { router, objects: objects.transpose()?, service, thread })
    }

    /// Makes everything durable and leaves running attempts to the spawner.
    pub(crate) async fn stop(self) {
        self.service.stop().await;
        self.thread.end().await;
    }
}

/// A folder of the data directory is one of the PATH of steps, whose folders `:` parts.
fn has_no_colon(data: &Path) -> Result<(), Failure> {
    // The directory may not be there yet, and reached over links.
    let real = data.ancestors().find_map(|path| path.canonicalize().ok());
    let has = |path: &Path| path.as_os_str().as_encoded_bytes().contains(&b':');
    if !has(data) && !real.as_deref().is_some_and(has) {
        return Ok(());
    }
    let shown = real.filter(|real| has(real)).unwrap_or_else(|| data.to_owned());
    let what = format!(
        "the data directory cannot have `:` in its path: {} (its tools are in the PATH of steps, \
         where `:` parts folders)",
        shown.display()
    );
    Err(Diagnostic::new(Code::BadValue, what).help("name another folder with --data").into())
}

/// The backend and the loop, on the runtime that this is called on.
async fn start(
    data: &Path,
    machine: MachineOptions,
    store: Arc<dyn Storage>,
    blobs: Arc<dyn argosy_blob::Store>,
) -> Result<(Service, Arc<dyn Attempts>), Failure> {
    let exe = this_program()?;
    let local = Local::start(data, &exe, machine, Arc::clone(&store), blobs)
        .await
        .map_err(|error| Failure::other(format!("the spawner cannot be started: {error}")))?;
    let options = Options::default();
    let clock = Arc::new(SystemClock::new());
    let service = Service::start(options, store, local.backend, local.reports, clock).await?;
    Ok((service, local.attempts))
}

/// The thread of loop and backend. Between the end of one process and the start of the next nothing
/// then waits for another thread but the database's; and what doors are busy with is not in its
/// way.
struct EngineThread {
    ended: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl EngineThread {
    /// Starts it, with what `begin` makes on it.
    async fn start<F, T>(begin: F) -> Result<(T, EngineThread), Failure>
    where
        F: AsyncFnOnce() -> Result<T, Failure> + Send + 'static,
        T: Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::other(format!("no runtime: {error}")))?;
        let (begun, beginning) = oneshot::channel();
        let (ended, ending) = oneshot::channel::<()>();
        let work = move || {
            runtime.block_on(async move {
                // Whoever asked has gone only where the process ends.
                let _ = begun.send(begin().await);
                let _ = ending.await;
            });
        };
        let thread = std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(work)
            .map_err(|error| Failure::other(format!("no thread: {error}")))?;
        let made = beginning.await.map_err(|_| Failure::other("the engine's thread died"))??;
        Ok((made, EngineThread { ended, thread }))
    }

    async fn end(self) {
        drop(self.ended);
        // It ends at once, and what it could say has been said.
        let _ = tokio::task::spawn_blocking(|| self.thread.join()).await;
    }
}

/// Takes the signal of a file that has reached the process's limit. The write fails all the same,
/// and is treated as one to a full disk.
fn take_signals_of_large_files() -> Result<(), Failure> {
    const SIGXFSZ: i32 = 25;
    let signals = signal(SignalKind::from_raw(SIGXFSZ));
    let mut signals = signals.map_err(|error| Failure::other(format!("signals: {error}")))?;
    tokio::spawn(async move { while signals.recv().await.is_some() {} });
    Ok(())
}

fn door(service: Arc<dyn ports::Service>, data: &Path) -> Door {
    Door { service, data_dir: data.to_owned(), random: Arc::new(random) }
}

/// A UUID, and five letters as Kubernetes draws them for generated names
/// (apimachinery `util/rand`: no vowels, no look-alikes).
fn random() -> (String, String) {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let uid = uuid::Uuid::new_v4();
    let suffix = uuid::Uuid::new_v4().into_bytes();
    let suffix = suffix.iter().take(5);
    let suffix = suffix.map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    (uid.to_string(), suffix.collect())
}

/// The door of a data directory that no server lives on: for reading.
pub(crate) async fn reading(data: &Path, space: &str) -> Result<Client, Failure> {
    if !Store::exists(data)? {
        return Err(Failure::unreachable(
            format!("no server runs on {} and nothing is there to read", data.display()),
            "run something with `argosy run FILE`, or start a server with `argosy up`",
        ));
    }
    let reader = Reader::new(Store::read(data).await?);
    Ok(Client::embedded(router(door(Arc::new(reader), data)), space))
}

/// Says where the server of a data directory listens.
pub(crate) fn announce(data: &Path, addresses: &[SocketAddr]) -> Result<(), Failure> {
    let text = json!({"pid": std::process::id(), "addresses": addresses}).to_string();
    let failed = |error: std::io::Error| Failure::other(format!("{ANNOUNCEMENT}: {error}"));
    let temporary = data.join(format!("{ANNOUNCEMENT}.new"));
    std::fs::write(&temporary, text).map_err(failed)?;
    std::fs::rename(&temporary, data.join(ANNOUNCEMENT)).map_err(failed)
}

/// The server is not there any more.
pub(crate) fn withdraw(data: &Path) {
    // A file that is left behind names a dead process, which is noticed.
    let _ = std::fs::remove_file(data.join(ANNOUNCEMENT));
}

/// The address of the server that lives on a data directory.
pub(crate) fn live_server(data: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data.join(ANNOUNCEMENT)).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    if !Store::is_owned(data) {
        return None;
    }
    value["addresses"].get(0)?.as_str().map(str::to_owned)
}

/// One thing that was tried.
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) works: bool,
    pub(crate) why: String,
    pub(crate) remedy: String,
}

/// Whether there is a data directory that this user can read.
pub(crate) fn is_there(data: &Path) -> Result<bool, Failure> {
    Ok(Store::exists(data)?)
}

/// What works here; tried in the data directory, or in a folder for that alone.
pub(crate) async fn abilities(data: Option<&Path>) -> Result<Vec<Check>, Failure> {
    let exe = this_program()?;
    let found = match data {
        Some(data) => argosy_server::abilities(data, &exe).await,
        None => {
            let folder =
                std::env::temp_dir().join(format!("argosy-doctor-{}", uuid::Uuid::new_v4()));
            let found = argosy_server::abilities_apart(&folder, &exe).await;
            // One that stays takes a few bytes of where everything is temporary.
            let _ = std::fs::remove_dir_all(&folder);
            found
        }
    };
    let found =
        found.map_err(|error| Failure::other(format!("the spawner cannot be asked: {error}")))?;
    let Some(found) = found else { return Ok(Vec::new()) };
    let found = [
        ("private /tmp", found.private_tmp),
        ("private root", found.private_root),
        ("memory limits", found.memory),
    ];
    Ok(found
        .into_iter()
        .map(|(name, ability)| match ability {
            Ability::Works => Check {
                name: name.to_owned(),
                works: true,
                why: "works".to_owned(),
                remedy: String::new(),
            },
            Ability::Refused { message, remedy, .. } => {
                Check { name: name.to_owned(), works: false, why: message, remedy }
            }
        })
        .collect())
}

fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::other(format!("this program cannot be found: {error}")))
}
