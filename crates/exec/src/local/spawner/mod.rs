//! The server's side of the spawner (`argosy_spawn`): orders out, events in, and a new spawner
//! where the old one has died.

mod connection;
mod live;

use argosy_spawn::{Abilities, Exit, Order, Reason, Report, Start, encode};
use connection::Connection;
use live::Live;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

/// Events that wait for a slow receiver; further ones wait in the spawner.
const EVENTS_WAITING: usize = 1_024;

/// Orders that are written at once.
const ORDERS_A_WRITE: usize = 256;

/// A spawner with jobs that says nothing for the first is asked to, and is given up if it says
/// nothing for the second.
const SILENCE: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(10)];

/// Pause before a lost spawner is reached for again, doubled up to the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(5)];

/// How long a spawner without jobs may take to end.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Has the spawner of `data_dir` end, and waits until it has let go of the folder. For one that has
/// no jobs: with jobs it would end after them.
///
/// # Errors
/// The system's, above all that no spawner serves.
pub async fn end_spawner(data_dir: &Path) -> io::Result<()> {
    let data_dir = data_dir.to_owned();
    let end = move || {
        let mut stream = argosy_spawn::connect(&data_dir)?;
        stream.set_read_timeout(Some(END_LIMIT))?;
        let mut order = Vec::new();
        encode(&Order::Stop, &mut order)?;
        stream.write_all(&order)?;
        // Its greeting, and then the end of the connection, which is its own.
        stream.read_to_end(&mut Vec::new()).map(drop)
    };
    tokio::task::spawn_blocking(end).await.map_err(io::Error::other)?
}

/// What the spawner, or its absence, tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnerEvent {
    /// First, and again after each loss of the connection. A [`SpawnerEvent::Lost`] follows if
    /// jobs died meanwhile.
    Connected {
        /// Unique to one spawner process. Whatever ran under another one is dead.
        boot: String,
        /// The last event of every job that the spawner knows: started, refused or exited.
        known: Vec<SpawnerEvent>,
    },
    /// The job's process exists. With an isolation [`SpawnerEvent::Refused`] may still follow.
    Started {
        /// The attempt's id.
        id: String,
        /// Its process.
        pid: u32,
        /// Unix time in milliseconds.
        at_ms: u64,
    },
    /// The job's program was not run. To be forgotten, as an exit.
    Refused {
        /// The attempt's id.
        id: String,
        /// The kind of obstacle.
        reason: Reason,
        /// The obstacle by name, with the system's error.
        message: String,
    },
    /// The job ended, and its tree with it. Repeated in [`SpawnerEvent::Connected`] until
    /// [`SpawnerHandle::forget`].
    Exited {
        /// The attempt's id.
        id: String,
        /// How.
        exit: Exit,
    },
    /// These jobs were started through this client and died with their spawner, their end
    /// unknown: a loss of infrastructure.
    Lost {
        /// The attempts' ids, sorted.
        ids: Vec<String>,
    },
    /// Answer to [`SpawnerHandle::probe`].
    Probed(Abilities),
    /// The connection is lost and cannot be made again; tried again after a pause.
    Unreachable {
        /// The system's error.
        message: String,
    },
}

/// Gives orders. Orders given while there is no connection wait for one; the number of jobs that
/// the caller has under way bounds how many wait.
#[derive(Debug, Clone)]
pub struct SpawnerHandle {
    orders: mpsc::UnboundedSender<Given>,
}

/// What comes through a handle.
#[derive(Debug)]
enum Given {
    Order(Order),
    /// To be told when everything before it is written.
    Flush(oneshot::Sender<()>),
}

impl SpawnerHandle {
    /// Starts a job, or repeats the last event of a known one.
    pub fn start(&self, start: Start) {
        self.send(Order::Start(Box::new(start)));
    }

    /// Sends a signal (by number) to a job's whole tree.
    pub fn kill(&self, id: String, signal: i32) {
        self.send(Order::Kill { id, signal });
    }

    /// Says that a job's end is durable and need not be kept.
    pub fn forget(&self, id: String) {
        self.send(Order::Forget { id });
    }

    /// Has the isolation levels tried.
    pub fn probe(&self) {
        self.send(Order::Probe);
    }

    /// Has the spawner end once it has no jobs. A later start finds a new one.
    pub fn stop(&self) {
        self.send(Order::Stop);
    }

    /// Waits until every order given so far is on its way to the spawner.
    pub async fn flush(&self) {
        let (written, told) = oneshot::channel();
        if self.orders.send(Given::Flush(written)).is_ok() {
            // An error means that the client has ended: nothing is left to write.
            let _ = told.await;
        }
    }

    fn send(&self, order: Order) {
        // Fails only when the receiver of events is gone, and then nobody wants the outcome.
        let _ = self.orders.send(Given::Order(order));
    }
}

/// The task between a [`SpawnerHandle`] and the spawner.
#[derive(Debug)]
pub struct SpawnerClient {
    data_dir: PathBuf,
    exe: PathBuf,
    orders: mpsc::UnboundedReceiver<Given>,
    events: mpsc::Sender<SpawnerEvent>,
    boot: String,
    live: Live,
}

impl SpawnerClient {
    /// Reaches the spawner of `data_dir`, which `exe __spawner --data DIR` starts where none
    /// serves. The first event is [`SpawnerEvent::Connected`]. The client ends when all handles
    /// or the receiver are dropped; jobs and spawner stay.
    ///
    /// To be called in a runtime of tokio with I/O and time.
    ///
    /// # Errors
    /// The system's, if no spawner can be started or reached.
    pub async fn connect(
        data_dir: PathBuf,
        exe: PathBuf,
    ) -> io::Result<(SpawnerHandle, mpsc::Receiver<SpawnerEvent>)> {
        let (orders, orders_given) = mpsc::unbounded_channel();
        let (events_told, events) = mpsc::channel(EVENTS_WAITING);
        let first = Connection::open(&data_dir, &exe).await?;
        let client = Self {
            data_dir,
            exe,
            orders: orders_given,
            events: events_told,
            boot: String::new(),
            live: Live::default(),
        };
        tokio::spawn(client.run(first));
        Ok((SpawnerHandle { orders }, events))
    }

    async fn run(mut self, mut connection: Connection) {
        let mut pause = PAUSES[0];
        loop {
            let since = Instant::now();
            let talked = match self.greet(&mut connection).await {
                Ok(()) => self.talk(&mut connection).await,
                Err(ended) => Err(ended),
            };
            if talked.is_ok() || self.is_unheard() {
                return;
            }
            // A connection that is lost at once, again and again, must not keep a core busy.
            pause = if since.elapsed() > PAUSES[1] { PAUSES[0] } else { pause };
            let Some(next) = self.reconnect(&mut pause).await else { return };
            connection = next;
        }
    }

    /// A new connection; none if nobody listens any more.
    async fn reconnect(&mut self, pause: &mut Duration) -> Option<Connection> {
        loop {
            sleep(*pause).await;
            if self.is_unheard() {
                return None;
            }
            *pause = (*pause * 2).min(PAUSES[1]);
            match Connection::open(&self.data_dir, &self.exe).await {
                Ok(connection) => return Some(connection),
                Err(error) => {
                    let message = error.to_string();
                    self.events.send(SpawnerEvent::Unreachable { message }).await.ok()?;
                }
            }
        }
    }

    /// Whether nobody listens any more, or gives orders.
    fn is_unheard(&self) -> bool {
        self.events.is_closed() || self.orders.is_closed() && self.orders.is_empty()
    }

    /// Tells of a new connection and repeats what the last one may have swallowed.
    async fn greet(&mut self, connection: &mut Connection) -> io::Result<()> {
        let same = self.boot == connection.boot;
        self.boot.clone_from(&connection.boot);
        let known: Vec<_> =
            std::mem::take(&mut connection.known).into_iter().filter_map(event).collect();
        let (again, ids) = self.live.reconcile(same, &known);
        for order in &again {
            // It has been encoded once, so it fits a frame.
            encode(order, &mut connection.out)?;
        }
        let boot = self.boot.clone();
        self.tell(SpawnerEvent::Connected { boot, known }).await?;
        if !ids.is_empty() {
            self.tell(SpawnerEvent::Lost { ids }).await?;
        }
        Ok(())
    }

    /// Passes orders and events; `Ok` when all handles are gone, an error when the connection is.
    async fn talk(&mut self, connection: &mut Connection) -> io::Result<()> {
        let (mut orders, mut flushing) = (Vec::new(), Vec::new());
        let mut silence = Silence::default();
        loop {
            if connection.out.is_empty() {
                for written in flushing.drain(..) {
                    tell_written(written);
                }
            }
            tokio::select! {
                count = self.orders.recv_many(&mut orders, ORDERS_A_WRITE),
                    if connection.out.is_empty() =>
                {
                    if count == 0 {
                        return Ok(());
                    }
                    for given in orders.drain(..) {
                        match given {
                            Given::Order(order) => self.give(order, &mut connection.out).await?,
                            Given::Flush(written) => flushing.push(written),
                        }
                    }
                    if connection.out.is_empty() {
                        continue;
                    }
                }
                () = self.events.closed() => return Ok(()),
                heard = connection.exchange() => silence.heard(heard?),
                () = silence.lasts(), if !self.live.is_empty() => {
                    // The answer is of no interest, but that there is one.
                    encode(&silence.question()?, &mut connection.out)?;
                }
            }
            while let Some(report) = connection.next_report()? {
                let Some(event) = event(report) else { continue };
                self.live.saw(&event);
                self.tell(event).await?;
            }
        }
    }

    async fn give(&mut self, order: Order, out: &mut Vec<u8>) -> io::Result<()> {
        match (encode(&order, out), order) {
            (Ok(()), order) => self.live.gave(order),
            (Err(error), Order::Start(start)) => {
                let message = format!("the order to start it cannot be sent: {error}");
                let reason = Reason::Invalid;
                self.tell(SpawnerEvent::Refused { id: start.id, reason, message }).await?;
            }
            // No other order has content of any size.
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }

    async fn tell(&self, event: SpawnerEvent) -> io::Result<()> {
        self.events.send(event).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// How long a spawner has said nothing.
#[derive(Debug, Default)]
struct Silence {
    since: Option<Instant>,
    asked: bool,
}

impl Silence {
    /// Whether bytes of the spawner have come.
    fn heard(&mut self, any: bool) {
        if any {
            *self = Self::default();
        }
    }

    /// Ends when it has lasted too long. Nothing is lost if it is cancelled.
    async fn lasts(&mut self) {
        let since = *self.since.get_or_insert_with(Instant::now);
        sleep_until(since + SILENCE[usize::from(self.asked)]).await;
    }

    /// What is asked then; an error if it has been, and nothing came.
    fn question(&mut self) -> io::Result<Order> {
        if std::mem::replace(&mut self.asked, true) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.since = None;
        Ok(Order::List)
    }
}

fn tell_written(written: oneshot::Sender<()>) {
    // Whoever waited may have gone away.
    let _ = written.send(());
}

/// A report that concerns the caller.
fn event(report: Report) -> Option<SpawnerEvent> {
    Some(match report {
        Report::Started { id, pid, at_ms } => SpawnerEvent::Started { id, pid, at_ms },
        Report::Refused { id, reason, message } => SpawnerEvent::Refused { id, reason, message },
        Report::Exited { id, exit } => SpawnerEvent::Exited { id, exit },
        Report::Probed(abilities) => SpawnerEvent::Probed(abilities),
        Report::Welcome { .. } | Report::Listed => return None,
    })
}
