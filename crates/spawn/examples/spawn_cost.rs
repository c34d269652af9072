//! What the spawner adds to the cost of processes: N of `/bin/true`, two alive at a time, against
//! a bare loop that makes the same processes and namespaces.
//!
//! `cargo run --release -p argosy-spawn --example spawn_cost [N]`

use argosy_spawn::{Decoder, Isolation, Limits, Order, Report, Start};
use std::io::{Error, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const ALIVE: usize = 2;

/// Wall and processor time.
struct Cost {
    wall: Duration,
    cpu: Duration,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, _, data] = &arguments[..]
        && command == "__spawner"
    {
        return argosy_spawn::run(Path::new(data), argosy_spawn::IDLE);
    }
    let count = arguments.first().and_then(|count| count.parse().ok()).unwrap_or(1_000);
    let data = tempfile::tempdir()?;
    argosy_spawn::launch(data.path(), &std::env::current_exe()?)?;
    let mut client = Client::connect(data.path())?;
    let tmp = data.path().join("tmp");
    std::fs::create_dir(&tmp)?;
    let private_tmp = Isolation::PrivateTmp { tmp: tmp.clone() };
    let mut out = std::io::stdout();
    // Twice, as the first round also warms up.
    for _ in 0..2 {
        for (name, isolation, bare) in [
            ("none", Isolation::None, None),
            ("private tmp", private_tmp.clone(), Some((&*tmp, false))),
            ("private tmp, waiting first process", private_tmp.clone(), Some((&*tmp, true))),
        ] {
            let bare = measured(|| bare_loop(count, bare), || Ok(Duration::ZERO))?;
            let job = job(data.path(), &isolation);
            let pid = client.spawner;
            let ours = measured(|| client.run(count, &job), || cpu_of(pid))?;
            let per = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(count);
            writeln!(
                out,
                "{name}: bare wall {:.3} cpu {:.3} ms, spawner wall {:.3} cpu {:.3} ms, ratio wall \
                 {:.2} cpu {:.2}",
                per(bare.wall),
                per(bare.cpu),
                per(ours.wall),
                per(ours.cpu),
                ours.wall.as_secs_f64() / bare.wall.as_secs_f64(),
                ours.cpu.as_secs_f64() / bare.cpu.as_secs_f64(),
            )?;
        }
    }
    client.send(&[Order::Stop])
}

/// Measures `work` in this process, its children and what `elsewhere` tells.
fn measured(
    work: impl FnOnce() -> Result<()>,
    elsewhere: impl Fn() -> Result<Duration>,
) -> Result<Cost> {
    let (before, start) = (own_cpu()? + elsewhere()?, Instant::now());
    work()?;
    Ok(Cost { wall: start.elapsed(), cpu: own_cpu()? + elsewhere()? - before })
}

fn own_cpu() -> Result<Duration> {
    cpu_of(std::process::id())
}

/// Processor time of a process and its reaped children.
fn cpu_of(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(4);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn bare_loop(count: u32, private_tmp: Option<(&Path, bool)>) -> Result<()> {
    let mut alive = Vec::new();
    for _ in 0..count {
        if alive.len() == ALIVE {
            wait_one(&mut alive)?;
        }
        alive.push(match private_tmp {
            None => i32::try_from(Command::new("/bin/true").spawn()?.id()).unwrap_or(0),
            Some((tmp, first_waits)) => bare_namespaces(tmp, first_waits)?,
        });
    }
    while !alive.is_empty() {
        wait_one(&mut alive)?;
    }
    Ok(())
}

fn wait_one(alive: &mut Vec<i32>) -> Result<()> {
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    let pid = unsafe { libc::wait(&raw mut status) };
    if pid < 0 || status != 0 {
        return Err(Error::other(format!("a bare process failed: {status}")));
    }
    alive.retain(|one| *one != pid);
    Ok(())
}

/// What the spawner does for a private tmp; the first process is the program itself, or one that
/// only waits for it, without which a job could not be signalled nor reap as usual.
fn bare_namespaces(tmp: &Path, first_waits: bool) -> Result<i32> {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
    let flags = i64::from(libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::SIGCHLD);
    // SAFETY: as fork, in a process without threads.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0i64, 0i64, 0i64, 0i64) };
    if pid != 0 {
        return i32::try_from(pid).map_err(Error::other);
    }
    let become_true = || -> Result<()> {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        mount_bind(tmp, "/var/tmp")?;
        mount_bind(tmp, "/tmp")?;
        mount("proc", "/proc", "proc", MountFlags::empty(), None)?;
        let mut program = Command::new("/bin/true");
        if first_waits {
            std::process::exit(program.status()?.code().unwrap_or(1));
        }
        let error = std::os::unix::process::CommandExt::exec(&mut program);
        Err(error)
    };
    let _ = become_true();
    std::process::exit(1)
}

fn job(data: &Path, isolation: &Isolation) -> Start {
    Start {
        id: String::new(),
        argv: vec!["/bin/true".into()],
        env: std::env::vars().collect(),
        cwd: "/".into(),
        stdout: Some(data.join("out")),
        stderr: Some(data.join("err")),
        isolation: isolation.clone(),
        binds: vec![],
        limits: Limits::default(),
    }
}

struct Client {
    stream: UnixStream,
    decoder: Decoder,
    spawner: u32,
    started: u64,
}

impl Client {
    fn connect(data: &Path) -> Result<Self> {
        let stream = argosy_spawn::connect(data)?;
        let mut client = Self { stream, decoder: Decoder::default(), spawner: 0, started: 0 };
        while let report = client.next()?
            && report != Report::Listed
        {
            if let Report::Welcome { spawner_pid, .. } = report {
                client.spawner = spawner_pid;
            }
        }
        Ok(client)
    }

    fn next(&mut self) -> Result<Report> {
        loop {
            if let Some(report) = self.decoder.take()? {
                return Ok(report);
            }
            let mut buffer = [0; 4096];
            let length = self.stream.read(&mut buffer)?;
            if length == 0 {
                return Err(Error::other("the spawner is gone"));
            }
            self.decoder.push(&buffer[..length]);
        }
    }

    fn send(&mut self, orders: &[Order]) -> Result<()> {
        let mut frames = Vec::new();
        for order in orders {
            argosy_spawn::encode(order, &mut frames)?;
        }
        self.stream.write_all(&frames)
    }

    fn start(&mut self, job: &Start) -> Order {
        self.started += 1;
        Order::Start(Box::new(Start { id: self.started.to_string(), ..job.clone() }))
    }

    fn run(&mut self, count: u32, job: &Start) -> Result<()> {
        let first: Vec<Order> = (0..ALIVE).map(|_| self.start(job)).collect();
        self.send(&first)?;
        let last = self.started + u64::from(count) - ALIVE as u64;
        let mut ended = 0;
        while ended < count {
            match self.next()? {
                Report::Exited { id, .. } => {
                    ended += 1;
                    let mut orders = vec![Order::Forget { id }];
                    if self.started < last {
                        orders.push(self.start(job));
                    }
                    self.send(&orders)?;
                }
                Report::Started { .. } => {}
                other => return Err(Error::other(format!("{other:?}"))),
            }
        }
        Ok(())
    }
}
