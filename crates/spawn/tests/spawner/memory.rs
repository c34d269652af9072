//! Limits of the memory of whole jobs. Where this machine has no groups to give, they are refused.

use crate::support::{Client, House, shell};
use argosy_spawn::{Ability, Exit, Isolation, Limits, Order, Reason, Report, Start, Status};
use std::fs;
use std::path::{Path, PathBuf};

/// Uses about 200 MiB in a child of the shell, and then says how that ended.
const IN_A_CHILD: &str = "head -c 200M /dev/zero | tail -c 199M | wc -c; exit 3";

/// Uses about 200 MiB itself.
const ITSELF: &str = "exec python3 -c 'print(len(b\"x\" * (200 << 20)))'";

fn works(client: &mut Client) -> bool {
    client.send(&Order::Probe);
    let Some(Report::Probed(abilities)) = client.next() else { panic!("no answer") };
    abilities.memory == Ability::Works
}

fn limited(house: &House, id: &str, mib: u64, script: &str) -> Start {
    let limits = Limits { memory_bytes: Some(mib << 20), ..Limits::default() };
    Start { limits, ..shell(house, id, script) }
}

fn exit(report: Report) -> Exit {
    let Report::Exited { exit, .. } = report else { panic!("{report:?}") };
    exit
}

/// The folder of the group that a job names in `out`.
fn group(house: &House) -> PathBuf {
    let out = house.read("out");
    let mut lines = out.lines().filter(|line| line.contains("/argosy-"));
    let (id_and_names, path) = lines.next().unwrap().rsplit_once(':').unwrap();
    let mount = if id_and_names == "0:" { "" } else { "memory" };
    let groups = Path::new("/sys/fs/cgroup").join(mount);
    groups.join(path.trim_start_matches('/'))
}

#[test]
fn a_job_over_its_limit_is_killed_and_it_is_known_why() {
    let mut house = House::new();
    let mut client = house.client();
    if !works(&mut client) {
        let Report::Refused { reason, message, .. } = client.run(&limited(&house, "a", 32, "true"))
        else {
            panic!("it ran without its limit")
        };
        assert_eq!(reason, Reason::Limit, "{message}");
        return;
    }
    let levels = [("none", Isolation::None), ("tmp", house.private_tmp())];
    for (level, isolation) in levels {
        let run = |client: &mut Client, what: &str, mib: u64, script: &str| {
            let id = format!("{level}-{what}");
            let start = limited(&house, &id, mib, script);
            exit(client.run(&Start { isolation: isolation.clone(), ..start }))
        };
        let over = run(&mut client, "over", 32, ITSELF);
        assert!(over.out_of_memory, "{level}: {over:?}");
        assert_eq!(over.status, Status::Signal(9), "{level}");
        // The limit is one for all processes of the job.
        let child = run(&mut client, "child", 32, IN_A_CHILD);
        assert!(child.out_of_memory, "{level}: {child:?}");
        let enough = run(&mut client, "enough", 512, ITSELF);
        assert_eq!((enough.status, enough.out_of_memory), (Status::Code(0), false), "{level}");
        // Whoever kills itself so is not short of memory.
        let own = run(&mut client, "own", 512, "kill -9 $$");
        assert_eq!((own.status, own.out_of_memory), (Status::Signal(9), false), "{level}");
    }
}

#[test]
fn the_group_of_a_job_goes_with_it_or_with_the_next_spawner() {
    let mut house = House::new();
    let mut client = house.client();
    if !works(&mut client) {
        return;
    }
    let script = "cat /proc/self/cgroup";
    client.run(&limited(&house, "a", 64, script));
    let own = group(&house);
    let home = own.parent().unwrap();
    assert!(own.starts_with("/sys/fs/cgroup") && !home.exists(), "{}", own.display());
    fs::remove_file(house.path("out")).unwrap();
    client.started(&limited(&house, "b", 64, "sleep 600"));
    assert_eq!(groups_in(home), 1);
    house.kill_spawner();
    // Its process died with the spawner, and nobody was there to remove the group.
    argosy_spawn::launch(house.data.path(), Path::new(crate::support::HELPER)).unwrap();
    let mut client = house.client();
    client.run(&limited(&house, "c", 64, script));
    assert!(!home.exists());
}

fn groups_in(home: &Path) -> usize {
    let entries = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).count()
}
