//! What this machine has to give.

use argosy_model::Resources;
use std::fs;
use std::num::NonZero;
use std::thread::available_parallelism;

/// Files that hold a limit of this process's memory in bytes, or a word.
const MEMORY_LIMITS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// The name of this machine, and what it has: CPUs and memory as far as this process's affinity
/// and cgroup let it have them, and NVIDIA's GPUs.
#[must_use]
pub fn machine() -> (String, Resources) {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "localhost" } else { name.trim() };
    let cpus = available_parallelism().map_or(1, NonZero::get) as u64;
    let limits = MEMORY_LIMITS.iter().filter_map(|path| fs::read_to_string(path).ok());
    let limits = limits.filter_map(|text| text.trim().parse().ok());
    let installed = memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
    let memory_bytes = limits.chain([installed]).min().unwrap_or_default();
    (name.to_owned(), Resources { cpu_milli: cpus * 1000, memory_bytes, gpus: gpus() })
}

/// Installed memory in bytes, of the text of `/proc/meminfo`.
fn memory(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}

fn gpus() -> u64 {
    let names = fs::read_dir("/dev").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_gpu = |name: &str| {
        name.strip_prefix("nvidia").is_some_and(|number| number.parse::<u32>().is_ok())
    };
    names.filter(|name| name.to_str().is_some_and(is_gpu)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_memory_is_read_in_bytes() {
        assert_eq!(memory("MemTotal:       24576 kB\nMemFree: 1 kB\n"), 24 << 20);
        assert_eq!(memory("nonsense"), 0);
    }

    #[test]
    fn a_machine_has_a_name_cpus_and_memory() {
        let (name, has) = machine();
        assert!(!name.is_empty() && has.cpu_milli >= 1000 && has.memory_bytes > 1 << 20);
    }
}
