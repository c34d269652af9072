//! What the spawner promises to the server.

use crate::support::{Client, HELPER, House, assert_ends, assert_gets_to, kill, shell, status};
use argosy_spawn::{Bind, Isolation, Limits, Order, Reason, Report, Start, Status};
use rustix::process::Signal;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn every_way_to_end_is_told_exactly_at_every_level() {
    let mut house = House::new();
    let mut client = house.client();
    let ends = [
        ("exit 0", Status::Code(0)),
        ("exit 7", Status::Code(7)),
        // What a shell returns for a child that SIGTERM ended is still a code.
        ("exit 143", Status::Code(143)),
        ("kill -TERM $$", Status::Signal(15)),
        ("kill -KILL $$", Status::Signal(9)),
        ("kill -SEGV $$", Status::Signal(11)),
    ];
    for (case, (script, expected)) in ends.into_iter().enumerate() {
        let names = ["none", "tmp", "root"].map(|level| format!("{level}-{case}"));
        let root = house.private_root(&names[2]);
        for (name, isolation) in
            names.iter().zip([argosy_spawn::Isolation::None, house.private_tmp(), root])
        {
            let start = Start { isolation, ..shell(&house, name, script) };
            let report = client.run(&start);
            assert_eq!(status(&report), expected, "{name}: {script}");
        }
    }
}

#[test]
fn a_known_job_is_not_started_again_until_it_is_forgotten() {
    let mut house = House::new();
    let mut client = house.client();
    let job = shell(&house, "a", "echo once");
    let exited = client.run(&job);
    assert_eq!(client.start(&job), exited);
    assert_eq!(house.read("out"), "once\n");

    let waits = shell(&house, "b", "sleep 600");
    let started = client.start(&waits);
    assert_eq!(client.start(&waits), started);

    client.send(&Order::Forget { id: "a".into() });
    client.run(&job);
    assert_eq!(house.read("out"), "once\nonce\n");
}

#[test]
fn jobs_survive_a_server_that_is_killed_and_are_handed_to_the_next() {
    let mut house = House::empty();
    let mut server = Command::new(HELPER)
        .arg("serve")
        .arg(house.data.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It is connected now, so that it does not take over later.
    server.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    // Two launches start one spawner.
    argosy_spawn::launch(house.data.path(), Path::new(HELPER)).unwrap();
    let mut client = house.client();
    let (boot, job) = (client.boot.clone(), shell(&house, "a", "read go < go; exit 5"));
    assert!(Command::new("mkfifo").arg(house.path("go")).status().unwrap().success());
    let started = client.start(&Start { cwd: house.data.path().into(), ..job });
    drop(client);
    server.kill().unwrap();
    server.wait().unwrap();

    let mut next = house.client();
    assert_eq!(next.boot, boot);
    assert_eq!(next.known["a"], started);
    fs::write(house.path("go"), "go\n").unwrap();
    assert_eq!(status(&next.next().unwrap()), Status::Code(5));
}

#[test]
fn a_spawner_whose_socket_is_removed_makes_another() {
    let mut house = House::new();
    let mut client = house.client();
    let job = shell(&house, "a", "exec sleep 1000");
    let process = client.started(&job);
    let socket = house.path("spawner.sock");
    fs::remove_file(&socket).unwrap();
    drop(client);
    while !socket.exists() {
        std::thread::yield_now();
    }
    let next = house.client();
    assert!(matches!(next.known["a"], Report::Started { pid, .. } if pid == process));

    // With all of the directory it ends, and what ran in it.
    let spawner = house.spawner.unwrap();
    fs::remove_dir_all(house.data.path()).unwrap();
    drop(next);
    assert_ends(spawner);
    assert_ends(process);
}

#[test]
fn a_job_survives_that_its_namespace_is_stopped_and_continued() {
    let mut house = House::new();
    let mut client = house.client();
    for name in ["up", "go"] {
        assert!(Command::new("mkfifo").arg(house.path(name)).status().unwrap().success());
    }
    let [up, go] = ["up", "go"].map(|name| house.path(name));
    let bind = |source: &PathBuf, target: &str| Bind {
        source: source.clone(),
        target: target.into(),
        read_only: false,
    };
    let script = "echo up > /tmp/up; read go < /tmp/go; exit 5";
    let first = client.started(&Start {
        isolation: house.private_tmp(),
        binds: vec![bind(&up, "/tmp/up"), bind(&go, "/tmp/go")],
        ..shell(&house, "a", script)
    });
    assert_eq!(fs::read_to_string(&up).unwrap(), "up\n");
    // The first process has started the job, and sleeps only when it waits for its end.
    assert_gets_to(first, 'S');
    kill(first, Signal::STOP);
    assert_gets_to(first, 'T');
    kill(first, Signal::CONT);
    fs::write(&go, "go\n").unwrap();
    assert_eq!(status(&client.next().unwrap()), Status::Code(5));
}

#[test]
fn a_job_whose_namespace_is_ended_by_somebody_else_is_unwatched() {
    let mut house = House::new();
    let mut client = house.client();
    let up = house.path("up");
    assert!(Command::new("mkfifo").arg(&up).status().unwrap().success());
    let bind = Bind { source: up.clone(), target: "/tmp/up".into(), read_only: false };
    // (the job, whether it is killed by order, whether it counts as unwatched)
    for (id, ordered, unwatched) in [("first", false, true), ("ordered", true, false)] {
        let first = client.started(&Start {
            isolation: house.private_tmp(),
            binds: vec![bind.clone()],
            ..shell(&house, id, "echo up > /tmp/up; exec sleep 600")
        });
        assert_eq!(fs::read_to_string(&up).unwrap(), "up\n");
        if ordered {
            client.send(&Order::Kill { id: id.to_owned(), signal: Signal::KILL.as_raw() });
        } else {
            kill(first, Signal::KILL);
        }
        match client.next().unwrap() {
            Report::Exited { exit, .. } => assert_eq!(exit.unwatched, unwatched, "{id} {exit:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_end_is_repeated_to_every_client_until_it_is_forgotten() {
    let mut house = House::new();
    let mut client = house.client();
    let exited = client.run(&shell(&house, "a", "exit 3"));
    let refused = client.run(&Start { cwd: "/none".into(), ..shell(&house, "b", "exit") });
    for _ in 0..2 {
        client = house.client();
        assert_eq!(client.known.len(), 2);
        assert_eq!((&client.known["a"], &client.known["b"]), (&exited, &refused));
    }
    for id in ["a", "b"] {
        client.send(&Order::Forget { id: id.into() });
    }
    assert!(client.list().is_empty());
    assert!(house.client().known.is_empty());
}

#[test]
fn a_running_job_cannot_be_forgotten() {
    let mut house = House::new();
    let mut client = house.client();
    client.started(&shell(&house, "a", "sleep 600"));
    client.send(&Order::Forget { id: "a".into() });
    assert!(matches!(client.list()["a"], Report::Started { .. }));
}

#[test]
fn a_newer_connection_takes_over() {
    let mut house = House::new();
    let mut old = house.client();
    let mut new = house.client();
    assert!(old.next().is_none());
    assert_eq!(status(&new.run(&shell(&house, "a", "exit 0"))), Status::Code(0));
}

#[test]
fn a_client_that_sends_nonsense_is_dropped_and_no_job_suffers() {
    let too_long = u32::MAX.to_le_bytes();
    let not_json = [3, 0, 0, 0, b'n', b'o', b'!'];
    let unknown = [&[14, 0, 0, 0][..], br#"{"order":"no"}"#].concat();
    let mut house = House::new();
    let mut client = house.client();
    let started = client.start(&shell(&house, "a", "sleep 600"));
    for nonsense in [&too_long[..], &not_json[..], &unknown[..]] {
        client.raw(nonsense);
        assert!(client.next().is_none());
        client = house.client();
        assert_eq!(client.known["a"], started);
    }
}

#[test]
fn when_the_spawner_is_killed_its_jobs_die_and_no_stray_outlives_the_next_one() {
    let mut house = House::new();
    let mut client = house.client();
    let stray = "setsid sleep 600 & echo $!; exec sleep 600";
    let bare = client.started(&shell(&house, "bare", stray));
    let nested = Start { isolation: house.private_tmp(), ..shell(&house, "nested", "sleep 600") };
    let nested = client.started(&nested);
    let stray = wait_for_line(&house.path("out")).parse().unwrap();
    let boot = client.boot.clone();
    house.kill_spawner();
    assert_ends(bare);
    assert_ends(nested);

    argosy_spawn::launch(house.data.path(), Path::new(HELPER)).unwrap();
    assert_ends(stray);
    let next = house.client();
    assert_ne!(next.boot, boot);
    assert!(next.known.is_empty());
}

/// The first line of a file that a job is about to write, without a poll: `tail` waits for it.
fn wait_for_line(path: &Path) -> String {
    OpenOptions::new().create(true).append(true).open(path).unwrap();
    let mut tail = Command::new("tail")
        .args(["-n", "+1", "-f"])
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(tail.stdout.take().unwrap()).read_line(&mut line).unwrap();
    tail.kill().unwrap();
    tail.wait().unwrap();
    line.trim_end().to_owned()
}

#[test]
fn what_a_job_left_behind_dies_with_it_at_every_level() {
    // In the group, out of the session, and one whose own parent is such a stray.
    let script = "sleep 600 & setsid sleep 600 & setsid sh -c 'sleep 600 & wait' & \
                  exit 4";
    let mut house = House::new();
    let mut client = house.client();
    for (id, isolation) in [
        ("none", argosy_spawn::Isolation::None),
        ("tmp", house.private_tmp()),
        ("root", house.private_root("root")),
    ] {
        let start = Start { isolation, ..shell(&house, id, script) };
        assert_eq!(status(&client.run(&start)), Status::Code(4), "{id}");
    }
    // The spawner tells an exit before it has reaped what that left: its list of children empties.
    let left = || {
        let path = format!("/proc/{0}/task/{0}/children", client.spawner);
        fs::read_to_string(path).unwrap()
    };
    let deadline = std::time::Instant::now() + crate::support::DEADLINE;
    while !left().is_empty() {
        assert!(std::time::Instant::now() < deadline, "left: {}", left());
        std::thread::yield_now();
    }
}

#[test]
fn a_stray_of_one_job_is_not_killed_at_the_end_of_another() {
    let mut house = House::new();
    let mut client = house.client();
    // The daemon's parent ends at once, so the spawner inherits it while its job runs.
    let daemon = "sh -c 'setsid sleep 600 & echo $!'; exec sleep 600";
    client.started(&shell(&house, "a", daemon));
    let stray: u32 = wait_for_line(&house.path("out")).parse().unwrap();
    client.run(&shell(&house, "b", "exit 0"));
    assert!(Path::new(&format!("/proc/{stray}/cmdline")).exists());
    client.send(&Order::Kill { id: "a".into(), signal: 15 });
    assert_eq!(status(&client.next().unwrap()), Status::Signal(15));
    assert_ends(stray);
}

#[test]
fn a_kill_reaches_the_whole_tree_and_is_told_with_the_exit() {
    let mut house = House::new();
    let mut client = house.client();
    let script = "trap 'exit 9' TERM; (trap 'echo child; exit' TERM; echo up; sleep 600 & wait) & \
                  wait; wait";
    for (id, isolation) in [("none", argosy_spawn::Isolation::None), ("tmp", house.private_tmp())] {
        let stdout = Some(house.path(&format!("{id}.out")));
        let start = Start { isolation, stdout, ..shell(&house, id, script) };
        client.started(&start);
        assert_eq!(wait_for_line(&house.path(&format!("{id}.out"))), "up");
        client.send(&Order::Kill { id: id.into(), signal: 15 });
        let report = client.next().unwrap();
        let Report::Exited { exit, .. } = &report else { panic!("{report:?}") };
        assert_eq!((exit.status, exit.killed), (Status::Code(9), Some(15)), "{id}");

        client.started(&Start { id: format!("{id}-2"), ..shell(&house, "", "sleep 600") });
        client.send(&Order::Kill { id: format!("{id}-2"), signal: 9 });
        assert_eq!(status(&client.next().unwrap()), Status::Signal(9));
    }
    client.send(&Order::Kill { id: "none".into(), signal: 9 });
    assert_eq!(status(&client.next().unwrap()), Status::Code(9), "the last report is repeated");
}

#[test]
fn what_cannot_run_is_refused_by_name() {
    let mut house = House::new();
    let mut client = house.client();
    let base = shell(&house, "a", "exit 0");
    fs::write(house.path("text"), "no program").unwrap();
    let text = house.path("text").to_str().unwrap().to_owned();
    let missing = house.path("none/out");
    let tmp = house.private_tmp();
    let bind = argosy_spawn::Bind {
        source: "/no/source".into(),
        target: "/tmp/x".into(),
        read_only: true,
    };
    let cases = [
        (
            Start { argv: vec!["no-such-program".into()], ..base.clone() },
            Reason::ProgramNotFound,
            "no-such-program",
        ),
        (Start { argv: vec![text.clone()], ..base.clone() }, Reason::Program, &*text),
        (Start { argv: vec![], ..base.clone() }, Reason::Invalid, "program"),
        (Start { cwd: "/no/cwd".into(), ..base.clone() }, Reason::Cwd, "/no/cwd"),
        (Start { cwd: "relative".into(), ..base.clone() }, Reason::Invalid, "absolute"),
        (
            Start { stdout: Some(missing.clone()), ..base.clone() },
            Reason::Log,
            missing.to_str().unwrap(),
        ),
        (Start { id: "a b".into(), ..base.clone() }, Reason::Invalid, "id"),
        (Start { binds: vec![bind.clone()], ..base.clone() }, Reason::Invalid, "binds"),
        (
            Start { binds: vec![bind], isolation: tmp.clone(), ..base.clone() },
            Reason::Mount,
            "/no/source",
        ),
        (
            Start { argv: vec!["no-such-program".into()], isolation: tmp, ..base },
            Reason::ProgramNotFound,
            "no-such-program",
        ),
    ];
    for (case, (mut start, expected, word)) in cases.into_iter().enumerate() {
        if start.id == "a" {
            start.id = case.to_string();
        }
        let report = client.run(&start);
        let Report::Refused { reason, message, .. } = &report else { panic!("{case}: {report:?}") };
        assert_eq!(*reason, expected, "{case}: {message}");
        assert!(message.contains(word), "{case}: {message}");
    }
}

#[test]
fn the_environment_is_what_was_ordered_and_logs_are_private() {
    let mut house = House::new();
    let mut client = house.client();
    let start = Start { argv: vec!["env".into()], ..shell(&house, "a", "") };
    client.run(&start);
    let out = house.read("out");
    let mut names: Vec<&str> = out.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ARGOSY_ATTEMPT", "ARGOSY_SPAWNER", "PATH"]);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(house.path("out")), 0o600);
    assert_eq!(mode(house.path("spawner.sock")), 0o600);
    assert_eq!(mode(house.data.path().into()), 0o700);

    let both = Start { stderr: start.stdout.clone(), ..shell(&house, "b", "echo 1; echo 2 >&2") };
    client.run(&both);
    assert!(house.read("out").ends_with("\n1\n2\n"));
}

#[test]
fn no_signal_is_blocked_or_ignored_in_a_job() {
    let mut house = House::new();
    let mut client = house.client();
    for (id, isolation) in [("none", argosy_spawn::Isolation::None), ("tmp", house.private_tmp())] {
        let argv = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"].map(String::from).to_vec();
        let stdout = Some(house.path(&format!("{id}.out")));
        client.run(&Start { argv, isolation, stdout, ..shell(&house, id, "") });
        let out = house.read(&format!("{id}.out"));
        for line in out.lines() {
            let set = line.split('\t').next_back().unwrap();
            // 32 and 33 belong to the C library, which lets nobody change them.
            let set = u64::from_str_radix(set, 16).unwrap() & !(0b11 << 31);
            assert_eq!(set, 0, "{id}: {line}");
        }
        assert_eq!(out.lines().count(), 2);
    }
}

#[test]
fn limits_hold_in_the_job_and_not_in_the_spawner() {
    let mut house = House::new();
    let mut client = house.client();
    let limits = Limits {
        data_bytes: Some(512 << 20),
        cpu_s: Some(77),
        processes: Some(99),
        ..Limits::default()
    };
    let script = "ulimit -d; ulimit -t; ulimit -p 2>/dev/null || echo 99";
    client.run(&Start { limits, ..shell(&house, "a", script) });
    // The shell tells memory in KiB.
    assert_eq!(house.read("out"), "524288\n77\n99\n");
    client.run(&Start { stdout: Some(house.path("b")), ..shell(&house, "b", "ulimit -t") });
    assert_eq!(house.read("b"), "unlimited\n");
}

#[test]
fn use_of_resources_includes_children_that_were_waited_for() {
    let mut house = House::new();
    let mut client = house.client();
    // The loop burns at least one of the shell's clock ticks in a child of the job.
    let script = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; exit 0";
    for (id, isolation) in [("none", argosy_spawn::Isolation::None), ("tmp", house.private_tmp())] {
        let report = client.run(&Start { isolation, ..shell(&house, id, script) });
        let Report::Exited { exit, .. } = report else { panic!("{report:?}") };
        assert!(exit.utime_us > 10_000, "{id}: {exit:?}");
        assert!(exit.max_rss_bytes > 256 << 10, "{id}: {exit:?}");
        assert!(exit.ended_ms >= exit.started_ms, "{id}: {exit:?}");
        assert!(
            u128::from((exit.ended_ms - exit.started_ms) * 1_000 + 1_000)
                >= u128::from(exit.utime_us) / 2,
            "{id}: {exit:?}"
        );
    }
}

#[test]
fn a_batch_in_one_write_is_carried_out_whole() {
    let mut house = House::new();
    let mut client = house.client();
    let mut frames = Vec::new();
    for job in 0..200 {
        let start = shell(&house, &job.to_string(), "exit 2");
        argosy_spawn::encode(&Order::Start(Box::new(start)), &mut frames).unwrap();
    }
    client.raw(&frames);
    let mut ends = 0;
    while ends < 200 {
        match client.next().unwrap() {
            Report::Started { .. } => {}
            report => {
                assert_eq!(status(&report), Status::Code(2));
                ends += 1;
            }
        }
    }
    assert_eq!(client.list().len(), 200);
}

#[test]
fn an_idle_spawner_ends_and_the_next_launch_starts_another() {
    let mut house = House::empty();
    let data = house.data.path().to_str().unwrap();
    let run = ["__spawner", "--data", data, "--idle-ms", "1"];
    let mut child = Command::new(HELPER).args(run).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = child.stdout.take().unwrap();
    child.wait().unwrap();
    // The pipe closes with the spawner itself.
    let mut said = Vec::new();
    ready.read_to_end(&mut said).unwrap();
    assert_eq!(said, b"\n");
    assert!(!house.path("spawner.sock").exists());
    argosy_spawn::launch(house.data.path(), Path::new(HELPER)).unwrap();
    house.client();
}

#[test]
fn a_second_spawner_of_a_directory_does_not_serve() {
    let mut house = House::new();
    let mut client = house.client();
    let second =
        Command::new(HELPER).args(["__spawner", "--data"]).arg(house.data.path()).output().unwrap();
    assert_eq!(second.stdout, b"");
    let told = String::from_utf8(second.stderr).unwrap();
    assert!(told.contains("another spawner serves here"), "{told}");
    assert!(client.list().is_empty());
}

#[test]
fn stop_refuses_new_jobs_and_waits_for_the_old_ones() {
    let mut house = House::new();
    let mut client = house.client();
    client.started(&shell(&house, "a", "sleep 600"));
    client.send(&Order::Stop);
    let report = client.start(&shell(&house, "b", "exit 0"));
    assert!(matches!(report, Report::Refused { reason: Reason::Stopping, .. }), "{report:?}");
    client.send(&Order::Kill { id: "a".into(), signal: 9 });
    assert_eq!(status(&client.next().unwrap()), Status::Signal(9));
    for id in ["a", "b"] {
        client.send(&Order::Forget { id: id.into() });
    }
    assert!(client.next().is_none());
    assert_ends(client.spawner);
    house.spawner = None;
    assert!(!house.path("spawner.sock").exists());
}

#[test]
fn a_terminated_spawner_takes_its_jobs_with_it() {
    let mut house = House::new();
    let mut client = house.client();
    let job = client.started(&shell(&house, "a", "sleep 600"));
    kill(client.spawner, Signal::TERM);
    assert_ends(client.spawner);
    house.spawner = None;
    assert_ends(job);
}

#[test]
fn a_data_directory_may_have_a_path_longer_than_a_socket_address() {
    let mut house = House::empty();
    let long = house.path(&"d".repeat(200));
    argosy_spawn::launch(&long, Path::new(HELPER)).unwrap();
    let client = Client::connect(&long);
    house.spawner = Some(client.spawner);
}

#[test]
fn a_job_inherits_nothing_that_whoever_started_the_spawner_had_open() {
    let (_reader, writer) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).unwrap();
    let mut house = House::new();
    let mut client = house.client();
    for (id, isolation) in
        [("bare", Isolation::None), ("tmp", house.private_tmp()), ("root", house.private_root("r"))]
    {
        let _ = std::fs::remove_file(house.path("out"));
        // The last one is that of the folder which `ls` reads.
        client.run(&Start { isolation, ..shell(&house, id, "exec ls /proc/self/fd") });
        assert_eq!(house.read("out"), "0\n1\n2\n3\n", "{id}");
    }
}
