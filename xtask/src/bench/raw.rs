//! Raw limits of the machine.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Wall and CPU time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) wall: Duration,
    pub(super) cpu: Duration,
}

/// Clock ticks a second, as `/proc` counts CPU time; 100 on every Linux that Rust runs on.
const TICKS: f64 = 100.0;

/// CPU time of a process and of its children that have been waited for.
pub(super) fn cpu_of(pid: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = rest
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    Duration::from_secs_f64(ticks / TICKS)
}

/// `count` times `/bin/true`, two alive at once.
pub(super) fn spawns(count: usize) -> Result<Cost, String> {
    let (began, cpu) = (Instant::now(), cpu_of("self"));
    let mut alive: Vec<Child> = Vec::new();
    for _ in 0..count {
        if alive.len() == 2 {
            alive.remove(0).wait().map_err(|error| error.to_string())?;
        }
        alive.push(Command::new("/bin/true").spawn().map_err(|error| error.to_string())?);
    }
    for mut child in alive {
        child.wait().map_err(|error| error.to_string())?;
    }
    Ok(Cost { wall: began.elapsed(), cpu: cpu_of("self") - cpu })
}

/// `count` times `/bin/true`, one after the other.
pub(super) fn chain(count: usize) -> Result<Cost, String> {
    let (began, cpu) = (Instant::now(), cpu_of("self"));
    for _ in 0..count {
        Command::new("/bin/true").status().map_err(|error| error.to_string())?;
    }
    Ok(Cost { wall: began.elapsed(), cpu: cpu_of("self") - cpu })
}

/// One append of 256 bytes with its sync.
pub(super) fn sync(dir: &Path) -> Result<Duration, String> {
    const TIMES: u32 = 200;
    let failed = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut file = File::create(dir.join("sync")).map_err(failed)?;
    let began = Instant::now();
    for _ in 0..TIMES {
        file.write_all(&[0; 256]).map_err(failed)?;
        file.sync_data().map_err(failed)?;
    }
    Ok(began.elapsed() / TIMES)
}

/// `count` times `/bin/true` in namespaces of its own, two alive at once.
pub(super) fn isolated(count: usize, dir: &Path) -> Result<Cost, String> {
    let tmp = dir.join("tmp");
    std::fs::create_dir_all(&tmp).map_err(|error| error.to_string())?;
    let (began, cpu) = (Instant::now(), cpu_of("self"));
    argosy_spawn::bare_loop(count, &tmp).map_err(|error| error.to_string())?;
    Ok(Cost { wall: began.elapsed(), cpu: cpu_of("self") - cpu })
}
