//! The isolation levels, seen from inside and from the host.

use crate::support::{Client, HELPER, House, shell, status};
use argosy_spawn::{Ability, Bind, Isolation, Order, Reason, Report, Start, Status};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const NOBODY: u32 = 65_534;

#[test]
fn a_private_tmp_is_private_and_the_rest_is_the_host() {
    let mut house = House::new();
    let client = house.client();
    see_private_tmp(&house, client);
}

fn see_private_tmp(house: &House, mut client: Client) {
    let script = "ls -A /tmp /var/tmp; echo $$; echo hello > /tmp/made; cat /var/tmp/made";
    let start = Start { isolation: house.private_tmp(), ..shell(house, "a", script) };
    assert_eq!(status(&client.run(&start)), Status::Code(0), "{}", house.read("err"));
    // Process 1 is the namespace's first process.
    assert_eq!(house.read("out"), "/tmp:\n\n/var/tmp:\n2\nhello\n");
    assert_eq!(house.read("tmp/made"), "hello\n");
    assert!(!Path::new("/tmp/made").exists());
}

#[test]
fn a_private_root_takes_writes_anywhere_and_the_host_has_none() {
    let mut house = House::new();
    let client = house.client();
    see_private_root(&house, client);
}

fn see_private_root(house: &House, mut client: Client) {
    let script = "set -e; id -u; echo made > /result.txt; mkdir /work-made; cat /result.txt; \
                  echo tmp > /tmp/made; rm /etc/hostname; test ! -e /etc/hostname; touch /srv/made; \
                  head -c1 /dev/zero | wc -c; echo x > /dev/null; ls -d /proc/1 /sys/class";
    let start = Start { isolation: house.private_root("r"), ..shell(house, "a", script) };
    let report = client.run(&start);
    assert!(matches!(report, Report::Exited { .. }), "{report:?}");
    assert_eq!(status(&report), Status::Code(0), "{}", house.read("err"));
    assert_eq!(house.read("out"), "0\nmade\n1\n/proc/1\n/sys/class\n");
    assert_eq!(house.read("r/upper/result.txt"), "made\n");
    assert_eq!(house.read("r/tmp/made"), "tmp\n");
    assert!(house.path("r/upper/work-made").is_dir());
    assert!(house.path("r/upper/srv/made").is_file());
    assert!(!Path::new("/srv/made").exists());
    assert!(!Path::new("/result.txt").exists());
    assert!(!Path::new("/tmp/made").exists());
    assert!(Path::new("/etc/hostname").exists());
    assert_eq!(fs::read_dir(house.path("r/merged")).unwrap().count(), 0);
}

#[test]
fn binds_come_from_hidden_places_are_made_where_that_is_private_and_may_be_read_only() {
    let mut house = House::new();
    let mut client = house.client();
    // The house is below /tmp, which both levels hide.
    fs::write(house.path("input"), "input").unwrap();
    let folder = house.dir("folder");
    let bind = |source: &Path, target: &str, read_only| Bind {
        source: source.into(),
        target: target.into(),
        read_only,
    };
    let binds = |prefix: &str| {
        vec![
            bind(&house.path("input"), &format!("{prefix}/deep/input"), true),
            bind(&folder, &format!("{prefix}/folder"), false),
        ]
    };
    let script = |prefix: &str, name: &str| {
        format!("cat {prefix}/deep/input; echo > {prefix}/deep/input; touch {prefix}/folder/{name}")
    };
    let tmp = house.private_tmp();
    let root = house.private_root("root");
    for (id, isolation, prefix) in [("tmp", tmp, "/tmp/in"), ("root", root, "/in/it")] {
        let stdout = Some(house.path(id).with_extension("out"));
        let base = shell(&house, id, &script(prefix, id));
        client.run(&Start { isolation, binds: binds(prefix), stdout, ..base });
        assert_eq!(house.read(&format!("{id}.out")), "input", "{id}");
        assert!(house.read("err").contains("Read-only file system"), "{id}");
        assert!(folder.join(id).exists(), "{id}");
    }
    assert_eq!(house.read("input"), "input");

    let outside = vec![bind(&folder, "/no-such-place", false)];
    let isolation = house.private_tmp();
    let report = client.run(&Start { isolation, binds: outside, ..shell(&house, "c", "exit") });
    let Report::Refused { reason, message, .. } = report else { panic!("{report:?}") };
    assert_eq!(reason, Reason::Mount);
    assert!(message.contains("/no-such-place"), "{message}");
    assert!(!Path::new("/no-such-place").exists());
}

#[test]
fn a_job_cannot_reach_the_spawner_through_its_namespace() {
    let mut house = House::new();
    let mut client = house.client();
    let script = "ls /proc | grep -c '^[0-9]'; kill -KILL 1; exit 6";
    let start = Start { isolation: house.private_tmp(), ..shell(&house, "a", script) };
    // The first process, the shell, ls and grep; and the first one cannot be killed from inside.
    assert_eq!(status(&client.run(&start)), Status::Code(6));
    assert_eq!(house.read("out"), "4\n");
}

#[test]
fn the_probe_says_what_works() {
    let mut house = House::new();
    let client = house.client();
    see_probe(&house, client);
}

fn see_probe(house: &House, mut client: Client) {
    // Twice, since a probe must not stumble over the last one's scratch directory.
    for _ in 0..2 {
        client.send(&Order::Probe);
        let Some(Report::Probed(abilities)) = client.next() else { panic!("no answer") };
        assert_eq!(abilities.private_tmp, Ability::Works);
        assert_eq!(abilities.private_root, Ability::Works);
        assert!(!house.path("probe").exists());
    }
    assert!(client.list().is_empty());
}

/// A house whose spawner is started by `command`.
fn house_by(command: &mut Command, owned: &[&str]) -> House {
    let house = House::empty();
    own(&house, owned);
    // The helper's own place may be closed to other users.
    fs::copy(HELPER, house.path("helper")).unwrap();
    fs::set_permissions(house.path("helper"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = command
        .arg(house.path("helper"))
        .args(["__spawner", "--data"])
        .arg(house.data.path())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    child.wait().unwrap();
    house
}

/// Runs its arguments as an ordinary user, also where the tests are run by root.
fn unprivileged() -> Command {
    let mut command = Command::new("env");
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn own(house: &House, names: &[&str]) {
    if rustix::process::geteuid().is_root() {
        for name in names {
            chown(house.dir(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
}

#[test]
fn both_levels_work_for_an_ordinary_user() {
    let mut house =
        house_by(&mut unprivileged(), &["", "tmp", "r", "r/upper", "r/work", "r/merged", "r/tmp"]);
    let mut client = house.client();
    let id = Start { isolation: house.private_tmp(), ..shell(&house, "id", "id -u") };
    client.run(&Start { stdout: Some(house.path("id")), ..id });
    let user = rustix::process::geteuid();
    let expected = if user.is_root() { NOBODY } else { user.as_raw() };
    assert_eq!(house.read("id"), format!("{expected}\n"));
    see_private_tmp(&house, client);
    fs::remove_file(house.path("out")).unwrap();
    let mut client = house.client();
    client.send(&Order::Forget { id: "a".into() });
    see_private_root(&house, client);
    fs::remove_file(house.path("out")).unwrap();
    let mut client = house.client();
    client.send(&Order::Forget { id: "a".into() });
    client.send(&Order::Forget { id: "id".into() });
    see_probe(&house, client);
}

#[test]
fn where_namespaces_are_refused_the_job_and_the_probe_say_so() {
    let closed = "for what in user mnt pid; do \
                  echo 0 > /proc/sys/user/max_${what}_namespaces; done; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", closed, "sh"]);
    let mut house = house_by(&mut command, &[]);
    let mut client = house.client();
    for (id, isolation) in [("a", house.private_tmp()), ("b", house.private_root("b"))] {
        let report = client.run(&Start { isolation, ..shell(&house, id, "exit 0") });
        let Report::Refused { reason, message, .. } = report else { panic!("{report:?}") };
        assert_eq!(reason, Reason::Namespace, "{message}");
    }
    let bare = Start { isolation: Isolation::None, ..shell(&house, "c", "exit 8") };
    assert_eq!(status(&client.run(&bare)), Status::Code(8));

    client.send(&Order::Probe);
    let Some(Report::Probed(abilities)) = client.next() else { panic!("no answer") };
    for ability in [abilities.private_tmp, abilities.private_root] {
        let Ability::Refused { reason, remedy, .. } = ability else { panic!("{ability:?}") };
        assert_eq!(reason, Reason::Namespace);
        assert!(remedy.contains("user.max_user_namespaces"), "{remedy}");
    }
}

#[test]
fn where_overlays_are_refused_the_reason_says_so() {
    let mut house = House::new();
    let mut client = house.client();
    let mut isolation = house.private_root("r");
    if let Isolation::PrivateRoot { work, .. } = &mut isolation {
        // Overlayfs wants it on the file system of the upper directory.
        *work = "/dev/shm".into();
    }
    let report = client.run(&Start { isolation, ..shell(&house, "a", "exit 0") });
    let Report::Refused { reason, message, .. } = report else { panic!("{report:?}") };
    assert_eq!(reason, Reason::Overlay, "{message}");
}
