//! What jobs write.

use crate::support::{House, assert_ends, kill, pid, shell, status};
use argosy_spawn::{Exit, Isolation, Order, Reason, Report, Start, Status};
use rustix::io::ioctl_fionread;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, prlimit};
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// More than a spawner moves before it has a process do so.
const MUCH: u64 = 48 << 20;

fn levels(house: &House) -> [(&'static str, Isolation); 3] {
    [("none", Isolation::None), ("tmp", house.private_tmp()), ("root", house.private_root("root"))]
}

fn exit(report: Report) -> Exit {
    let Report::Exited { exit, .. } = report else { panic!("{report:?}") };
    exit
}

#[test]
fn a_program_that_opens_its_outputs_again_adds_to_them() {
    let mut house = House::new();
    let mut client = house.client();
    let script = "echo 1; echo a >&2; echo 2 > /dev/stdout; echo b > /dev/stderr;
                  echo 3 | tee /dev/stderr; echo 4";
    for (id, isolation) in levels(&house) {
        let [out, err] = ["out", "err"].map(|name| format!("{id}.{name}"));
        let [stdout, stderr] = [&out, &err].map(|name| Some(house.path(name)));
        let start = Start { isolation, stdout, stderr, ..shell(&house, id, script) };
        assert_eq!(status(&client.run(&start)), Status::Code(0), "{id}");
        assert_eq!(house.read(&out), "1\n2\n3\n4\n", "{id}");
        assert_eq!(house.read(&err), "a\nb\n3\n", "{id}");
    }
}

#[test]
fn a_job_that_writes_nothing_has_no_log() {
    let mut house = House::new();
    let mut client = house.client();
    client.run(&shell(&house, "a", "exit 0"));
    assert!(!house.path("out").exists());
}

#[test]
fn much_output_is_kept_whole_when_the_job_has_ended() {
    let mut house = House::new();
    let mut client = house.client();
    // Two outputs at once, each with a mark at its end.
    let script = format!("yes | head -c {MUCH}; echo end; yes | head -c {MUCH} >&2; echo END >&2");
    for (id, isolation) in levels(&house) {
        let [out, err] = ["out", "err"].map(|name| house.path(&format!("{id}.{name}")));
        let (stdout, stderr) = (Some(out.clone()), Some(err.clone()));
        let start = Start { isolation, stdout, stderr, ..shell(&house, id, &script) };
        assert_eq!(exit(client.run(&start)).lost_output, None);
        for (path, end) in [(out, "\nend\n"), (err, "\nEND\n")] {
            let text = fs::read(path).unwrap();
            assert_eq!(text.len() as u64, MUCH + end.len() as u64 - 1, "{id}");
            assert!(text.ends_with(end.as_bytes()), "{id}");
        }
    }
}

#[test]
fn who_still_has_the_outputs_of_a_job_does_not_hold_up_its_end() {
    let mut house = House::new();
    let mut client = house.client();
    let process = client.started(&shell(&house, "a", "echo 1; exec sleep 1000"));
    // The test takes a writing end, which no kill of the job closes.
    let ours = fs::OpenOptions::new().write(true).open(format!("/proc/{process}/fd/1")).unwrap();
    while !house.path("out").exists() {
        std::thread::yield_now();
    }
    client.send(&Order::Kill { id: "a".into(), signal: 9 });
    assert_eq!(status(&client.next().unwrap()), Status::Signal(9));
    assert_eq!(house.read("out"), "1\n");
    drop(ours);
}

#[test]
fn output_that_cannot_be_kept_is_told() {
    let mut house = House::new();
    let mut client = house.client();
    for (id, script) in [("little", "echo 1".to_owned()), ("much", format!("yes | head -c {MUCH}"))]
    {
        let stdout = Some(PathBuf::from("/dev/full"));
        let exit = exit(client.run(&Start { stdout, ..shell(&house, id, &script) }));
        assert_eq!(exit.status, Status::Code(0), "{id}: it is not disturbed");
        let lost = exit.lost_output.unwrap();
        assert!(lost.contains("/dev/full") && lost.contains("No space left"), "{id}: {lost}");
    }
}

/// The job's process and the one that moves its output, once there is one.
fn children(spawner: u32) -> Vec<u32> {
    loop {
        let text = fs::read_to_string(format!("/proc/{spawner}/task/{spawner}/children")).unwrap();
        let children: Vec<_> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        if children.len() >= 2 {
            return children;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_job_goes_on_when_the_process_that_moves_its_output_is_killed() {
    let mut house = House::new();
    let mut client = house.client();
    let go = house.path("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    // As much as it takes until there is one, and more than a pipe holds after that.
    let go_on = "read go < $0; kill $!; yes | head -c";
    let argv = ["sh", "-c", &format!("yes & {go_on} {MUCH}"), go.to_str().unwrap()];
    let argv = argv.map(String::from).to_vec();
    let stdout = Some(PathBuf::from("/dev/null"));
    let job = client.started(&Start { argv, stdout, ..shell(&house, "a", "") });
    for mover in children(client.spawner).into_iter().filter(|pid| *pid != job) {
        kill(mover, Signal::KILL);
    }
    fs::write(&go, "go\n").unwrap();
    let exit = exit(client.next().unwrap());
    assert_eq!(exit.status, Status::Code(0));
    assert!(exit.lost_output.unwrap().ends_with("was killed"));
}

#[test]
fn a_process_that_moves_output_ends_with_the_spawner() {
    let mut house = House::new();
    let mut client = house.client();
    let stdout = Some(PathBuf::from("/dev/null"));
    client.started(&Start { stdout, ..shell(&house, "a", "exec yes") });
    let spawner = client.spawner;
    let children = children(spawner);
    house.kill_spawner();
    children.into_iter().for_each(assert_ends);
}

/// Leaves the spawner so many descriptors that it may still have.
fn leave(house: &House, count: usize) {
    let spawner = pid(house.spawner.unwrap());
    let had = fs::read_dir(format!("/proc/{spawner}/fd")).unwrap();
    let had: HashSet<u64> =
        had.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    let current = (0..).filter(|number| !had.contains(number)).nth(count);
    let limit = Rlimit { current, maximum: getrlimit(Resource::Nofile).maximum };
    prlimit(Some(spawner), Resource::Nofile, limit).unwrap();
}

/// A job that says something on both outputs once its fifo is written to.
fn waiting(house: &House, id: &str) -> Start {
    let fifo = house.path(&format!("{id}.fifo"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script =
        format!("while read line; do echo $line; echo $line >&2; done < {}", fifo.display());
    let [stdout, stderr] = ["out", "err"].map(|name| Some(house.path(&format!("{id}.{name}"))));
    Start { stdout, stderr, ..shell(house, id, &script) }
}

#[test]
fn outputs_are_kept_and_no_job_is_started_where_descriptors_run_short() {
    let mut house = House::new();
    let mut client = house.client();
    let ids = ["a", "b", "c", "d", "e", "f"];
    for id in ids {
        client.started(&waiting(&house, id));
    }
    let fifos = ids.map(|id| {
        fs::OpenOptions::new().write(true).open(house.path(&format!("{id}.fifo"))).unwrap()
    });
    // Twelve logs are to be written, with four descriptors.
    leave(&house, 4);
    for mut fifo in fifos {
        fifo.write_all(
            b"one
two
",
        )
        .unwrap();
    }
    for _ in ids {
        assert_eq!(exit(client.next().unwrap()).lost_output, None);
    }
    for id in ids {
        for name in ["out", "err"] {
            assert_eq!(
                house.read(&format!("{id}.{name}")),
                "one
two
"
            );
        }
    }
    // Of a few descriptors none is kept for a job; of many some are.
    leave(&house, 4);
    let refused = client.run(&shell(&house, "g", "exit 0"));
    let Report::Refused { reason, message, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(
        (reason, &*message),
        (Reason::Process, "cannot make a pipe: Too many open files (os error 24)")
    );
    leave(&house, 40);
    assert_eq!(status(&client.run(&shell(&house, "h", "exit 0"))), Status::Code(0));
}

#[test]
fn a_log_that_could_not_be_opened_is_tried_again() {
    let mut house = House::new();
    let mut client = house.client();
    let process = client.started(&shell(&house, "a", "exec sleep 1000"));
    let path = format!("/proc/{process}/fd/1");
    let mut output = fs::OpenOptions::new().write(true).open(path).unwrap();
    leave(&house, 0);
    output.write_all(b"one\n").unwrap();
    while ioctl_fionread(&output).unwrap() > 0 {
        std::thread::yield_now();
    }
    leave(&house, 40);
    output.write_all(b"two\n").unwrap();
    client.send(&Order::Kill { id: "a".into(), signal: 9 });
    let lost = exit(client.next().unwrap()).lost_output.unwrap();
    assert!(lost.contains("Too many open files"), "{lost}");
    assert_eq!(house.read("out"), "two\n");
}
