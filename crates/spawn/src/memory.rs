//! Limits of the memory of a job's whole tree, by control groups of the kernel.
//!
//! All jobs of a spawner that have a limit get a group each, below one folder of the spawner's.
//! That folder is made in the nearest group around the spawner where it may be made: groups of
//! others are not changed, and no process but a job's is moved.

use crate::message::Reason;
use crate::notes::{Blame, Fault};
use crate::sys;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::exit;

/// Bytes with which it is tried whether limits can be set.
const TRIAL: u64 = 64 << 20;

/// The two kinds of control groups that kernels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// The memory controller has a tree of its own.
    One,
    /// One tree for all controllers, which each level passes on to the next.
    Two,
}

/// Where jobs get groups of their own.
#[derive(Debug)]
pub struct Groups {
    version: Version,
    home: PathBuf,
    made: u64,
    /// Of jobs that have ended, as long as a process of theirs is left.
    leaving: Vec<PathBuf>,
}

/// The group of one job.
#[derive(Debug)]
pub struct Group {
    version: Version,
    path: PathBuf,
    /// A process that writes here joins.
    members: File,
}

impl Groups {
    /// Finds a place for groups, and removes those that an earlier spawner with this mark has
    /// left.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(mark: &str) -> Result<Self, String> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let places = places(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        let mut refused = None;
        for (version, place) in places {
            match Self::at(version, &place, mark).and_then(Self::tried) {
                Ok(groups) => return Ok(groups),
                // Says nothing where another tree has the controller.
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                // What is nearest tells most.
                Err(error) => {
                    refused.get_or_insert(format!("no group in {}: {error}", place.display()));
                }
            }
        }
        Err(refused
            .unwrap_or_else(|| "there are no control groups with a memory controller".to_owned()))
    }

    fn at(version: Version, place: &Path, mark: &str) -> io::Result<Self> {
        if version == Version::Two {
            pass_memory_on(place)?;
        }
        let home = place.join(format!("argosy-{mark}"));
        let mut groups = Self { version, home, made: 0, leaving: Vec::new() };
        // There is nothing to read where nothing was left.
        let left = fs::read_dir(&groups.home).into_iter().flatten().flatten();
        let left = left.map(|entry| entry.path()).filter(|path| path.is_dir());
        groups.leaving = left.collect();
        groups.tidy();
        Ok(groups)
    }

    /// Makes the folder of all groups where it is not there.
    fn make_home(&self) -> io::Result<()> {
        match fs::create_dir(&self.home) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        match self.version {
            Version::One => Ok(()),
            Version::Two => pass_memory_on(&self.home),
        }
    }

    /// The same, if a process can join a group.
    fn tried(mut self) -> io::Result<Self> {
        let group = self.make(TRIAL)?;
        let Some(pid) = sys::fork(0)? else { exit(i32::from(group.join().is_err())) };
        let status = sys::reap(pid)?.status;
        self.remove(group.path);
        match status {
            0 => Ok(self),
            _ => Err(io::Error::new(ErrorKind::PermissionDenied, "no process may join it")),
        }
    }

    /// Makes a group whose processes have at most so many bytes together, swap among them.
    pub fn make(&mut self, bytes: u64) -> io::Result<Group> {
        self.made += 1;
        self.make_home()?;
        let path = self.home.join(format!("{}-{}", std::process::id(), self.made));
        fs::create_dir(&path)?;
        limit(self.version, &path, bytes).inspect_err(|_| drop(fs::remove_dir(&path)))?;
        let members = OpenOptions::new().write(true).open(path.join("cgroup.procs"));
        let members = members.inspect_err(|_| drop(fs::remove_dir(&path)))?;
        Ok(Group { version: self.version, path, members })
    }

    /// Removes a group once its last process is gone; those that are left are killed if the
    /// kernel can.
    pub fn remove(&mut self, path: PathBuf) {
        self.leaving.push(path);
        self.tidy();
    }

    /// Tries to remove again what could not be removed.
    pub fn tidy_again(&mut self) {
        if !self.leaving.is_empty() {
            self.tidy();
        }
    }

    fn tidy(&mut self) {
        self.leaving.retain(|path| match fs::remove_dir(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                // Missing before Linux 5.14; their job's end has them killed then.
                let _ = fs::write(path.join("cgroup.kill"), "1");
                true
            }
            _ => false,
        });
        // Fails while there is a group in it. Nobody else would remove it, should the data
        // directory never be used again.
        let _ = fs::remove_dir(&self.home);
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.tidy();
    }
}

impl Group {
    /// Moves this process into it. Takes no heap memory.
    pub fn join(&self) -> Result<(), Fault> {
        rustix::io::write(&self.members, b"0")
            .map(drop)
            .blame(Reason::Limit, || "cannot limit memory".into())
    }

    /// What is to be kept of it while the job runs.
    pub fn into_watch(self) -> Watch {
        Watch { version: self.version, path: self.path }
    }
}

/// The group of a job that runs.
#[derive(Debug)]
pub struct Watch {
    version: Version,
    pub path: PathBuf,
}

impl Watch {
    /// Whether the kernel has killed a process of it for want of memory.
    pub fn has_killed(&self) -> bool {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        kills(&fs::read_to_string(self.path.join(file)).unwrap_or_default()) > 0
    }
}

/// How many processes were killed, of the text of `memory.events` or `memory.oom_control`.
fn kills(text: &str) -> u64 {
    let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

fn limit(version: Version, group: &Path, bytes: u64) -> io::Result<()> {
    let set = |file: &str, value: &str| fs::write(group.join(file), value);
    let bytes = bytes.to_string();
    match version {
        Version::One => {
            set("memory.limit_in_bytes", &bytes)?;
            // Of memory and swap together; missing where swap is not counted.
            set("memory.memsw.limit_in_bytes", &bytes).or_else(is_missing)
        }
        Version::Two => {
            set("memory.max", &bytes)?;
            set("memory.swap.max", "0").or_else(is_missing)?;
            // The job goes as a whole. Missing before Linux 4.19.
            set("memory.oom.group", "1").or_else(is_missing)
        }
    }
}

/// Files that a kernel does not have cannot be made either.
fn is_missing(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => Ok(()),
        _ => Err(error),
    }
}

/// Has a group of version two pass the memory controller on to those in it. The kernel refuses
/// that where it has processes of its own.
fn pass_memory_on(group: &Path) -> io::Result<()> {
    let names = |file: &str| fs::read_to_string(group.join(file));
    let has = |names: &str| names.split_ascii_whitespace().any(|name| name == "memory");
    if !has(&names("cgroup.controllers")?) {
        return Err(io::Error::new(ErrorKind::Unsupported, "it has no memory controller"));
    }
    if has(&names("cgroup.subtree_control")?) {
        return Ok(());
    }
    fs::write(group.join("cgroup.subtree_control"), "+memory")
}

/// Groups around this process, the nearest first, of the texts of `/proc/self/cgroup` and
/// `/proc/self/mountinfo`. Of version one only its own: there a group may have both processes and
/// groups in it.
fn places(own: &str, mounts: &str) -> Vec<(Version, PathBuf)> {
    let mut places = Vec::new();
    for (version, own) in own.lines().filter_map(membership) {
        let found = mounts.lines().find_map(|line| {
            let (root, point) = mount(line, version)?;
            let inside = own.strip_prefix(root).ok()?;
            // Groups outside this namespace are not to be reached.
            let is_plain = !inside.components().any(|part| part.as_os_str() == "..");
            is_plain.then(|| (Path::new(point), point_and(point, inside)))
        });
        let Some((point, path)) = found else { continue };
        match version {
            Version::One => places.push((version, path)),
            Version::Two => {
                let around = path.ancestors().take_while(|group| group.starts_with(point));
                places.splice(0..0, around.map(|group| (version, group.to_owned())));
            }
        }
    }
    places
}

fn point_and(point: &str, inside: &Path) -> PathBuf {
    // Without the slash that joining nothing would leave.
    Path::new(point).components().chain(inside.components()).collect()
}

/// A line of `/proc/self/cgroup`: `ID:CONTROLLERS:PATH`, the controllers empty for version two.
fn membership(line: &str) -> Option<(Version, &Path)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let version = match controllers {
        "" => Version::Two,
        _ if controllers.split(',').any(|name| name == "memory") => Version::One,
        _ => return None,
    };
    Some((version, Path::new(path)))
}

/// Root and mount point of a line of `/proc/self/mountinfo`, if it is a tree of this version.
fn mount(line: &str, version: Version) -> Option<(&str, &str)> {
    let (head, tail) = line.split_once(" - ")?;
    let mut tail = tail.split(' ');
    let (kind, options) = (tail.next()?, tail.nth(1)?);
    let fits = match version {
        Version::One => kind == "cgroup" && options.split(',').any(|name| name == "memory"),
        Version::Two => kind == "cgroup2",
    };
    let mut head = head.split(' ').skip(3);
    fits.then_some((head.next()?, head.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

    fn found(own: &str, mounts: &str) -> Vec<(Version, String)> {
        let places = places(own, mounts).into_iter();
        places.map(|(version, path)| (version, path.to_str().unwrap().to_owned())).collect()
    }

    fn two(paths: &[&str]) -> Vec<(Version, String)> {
        paths.iter().map(|path| (Version::Two, (*path).to_owned())).collect()
    }

    #[test]
    fn the_groups_around_a_process_are_found_from_the_inside_out() {
        let own = "0::/user.slice/app.slice/x.scope\n";
        let expected = two(&[
            "/sys/fs/cgroup/user.slice/app.slice/x.scope",
            "/sys/fs/cgroup/user.slice/app.slice",
            "/sys/fs/cgroup/user.slice",
            "/sys/fs/cgroup",
        ]);
        assert_eq!(found(own, UNIFIED), expected);
        assert_eq!(found("0::/\n", UNIFIED), two(&["/sys/fs/cgroup"]));
    }

    #[test]
    fn a_tree_that_is_mounted_from_a_group_on_is_entered_there() {
        let mounts = UNIFIED.replace(" / ", " /docker/1 ");
        let expected = two(&["/sys/fs/cgroup/a", "/sys/fs/cgroup"]);
        assert_eq!(found("0::/docker/1/a\n", &mounts), expected);
        assert_eq!(found("0::/elsewhere\n", &mounts), []);
        assert_eq!(found("0::/../elsewhere\n", UNIFIED), []);
    }

    #[test]
    fn version_one_is_looked_at_after_version_two() {
        let own = "9:name=systemd:/\n4:cpu,memory:/job/7\n3:cpuset:/\n0::/\n";
        let mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory,cpu\n\
                      34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let one = (Version::One, "/sys/fs/cgroup/memory/job/7".to_owned());
        let mut expected = two(&["/sys/fs/cgroup/unified"]);
        expected.push(one.clone());
        assert_eq!(found(own, mounts), expected);
        assert_eq!(found("4:memory:/job/7\n", mounts), [one]);
        assert_eq!(found(own, ""), []);
    }

    /// A folder that looks like a group of version two.
    fn fake(controllers: &str, passed_on: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        fs::write(folder.path().join("cgroup.subtree_control"), passed_on).unwrap();
        folder
    }

    #[test]
    fn memory_is_passed_on_only_where_it_is_not_yet() {
        for (controllers, before, after) in [
            ("cpu memory pids\n", "memory\n", Some("memory\n")),
            ("cpu memory pids\n", "cpu\n", Some("+memory")),
            ("hugetlb\n", "", None),
        ] {
            let group = fake(controllers, before);
            let passed = pass_memory_on(group.path());
            let now = fs::read_to_string(group.path().join("cgroup.subtree_control")).unwrap();
            assert_eq!(passed.is_ok().then_some(&*now), after, "{controllers}");
        }
    }

    #[test]
    fn a_group_of_version_two_bounds_memory_without_swap_and_goes_as_a_whole() {
        let group = tempfile::tempdir().unwrap();
        limit(Version::Two, group.path(), 300).unwrap();
        let read = |name: &str| fs::read_to_string(group.path().join(name)).unwrap();
        let set = ["memory.max", "memory.swap.max", "memory.oom.group"].map(read);
        assert_eq!(set, ["300", "0", "1"]);
    }

    #[test]
    fn kills_are_counted_as_the_kernel_counts_them() {
        for (text, expected) in [
            ("low 0\nhigh 0\nmax 31\noom 2\noom_kill 1\noom_group_kill 1\n", 1),
            ("low 0\nhigh 0\nmax 31\noom 2\noom_kill 0\n", 0),
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 3),
            ("oom_kill_disable 1\nunder_oom 1\n", 0),
            ("", 0),
        ] {
            assert_eq!(kills(text), expected, "{text}");
        }
    }
}
