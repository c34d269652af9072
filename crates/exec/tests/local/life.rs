//! How attempts start, end, are killed and outlive the server.

use crate::house::{House, attempt, container, output, parameter, shell};
use argosy_exec::local::{Level, Report};
use argosy_exec::logs::{self, Log, Stream};
use argosy_model::process::{OutputArtifact, SetMember};
use argosy_model::{Archive, Exit, ProcessSpec, RunId, limits};
use rustix::process::Signal;
use std::io::Read;

#[tokio::test]
async fn a_process_ends_with_its_code_and_its_output_is_the_result() {
    let mut house = House::new().await;
    house.run(0, &shell("echo one; echo two; echo three >&2; exit 3"));
    let Report::Started { at_ms, .. } = house.report().await else { panic!("not started") };
    let end = house.end().await;
    assert_eq!((end.exit, end.outputs.exit_code), (Exit::Code(3), Some(3)));
    assert_eq!(end.outputs.result.as_deref(), Some("one\ntwo"));
    assert_eq!(end.started_ms, at_ms);
    assert!(end.staged_ms <= at_ms && at_ms <= end.ended_ms && end.ended_ms <= end.saved_ms);
    assert_eq!(house.log(0, "main", Stream::Out), "one\ntwo\n");
    assert_eq!(house.log(0, "main", Stream::Err), "three\n");
}

#[tokio::test]
async fn what_another_attempt_of_its_number_wrote_is_not_its_own() {
    // As after the database was taken from a backup, and the folder was not.
    let mut house = House::new().await;
    let log = Log { attempt: attempt(0), container: "main".into(), stream: Stream::Out };
    let path = log.path(&house.data());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "of another one\n").unwrap();
    house.run(0, &shell("echo own"));
    assert_eq!(house.end().await.outputs.result.as_deref(), Some("own"));
    assert_eq!(house.log(0, "main", Stream::Out), "own\n");
}

#[tokio::test]
async fn exits_are_facts() {
    // `$$` stands for `$`, as in Kubernetes.
    let mut house = House::new().await;
    for (number, script, exit) in [
        (0, "exit 0", Exit::Code(0)),
        (1, "exit 137", Exit::Code(137)),
        (2, "kill -9 $$$$", Exit::Signal(9)),
        (3, "kill -15 $$$$", Exit::Signal(15)),
    ] {
        house.run(number, &shell(script));
        assert_eq!(house.end().await.exit, exit, "{script}");
    }
}

#[tokio::test]
async fn what_cannot_start_is_refused_and_said() {
    let mut house = House::new().await;
    let spec = |change: &dyn Fn(&mut ProcessSpec)| {
        let mut spec = shell("true");
        change(&mut spec);
        spec
    };
    for (number, spec, because) in [
        (0, spec(&|spec| spec.main.command = vec!["no-such-program".into()]), "no-such-program"),
        (
            1,
            spec(&|spec| (spec.main.command, spec.main.image) = (vec![], "x".into())),
            "no command",
        ),
        (2, spec(&|spec| spec.main.working_dir = "relative".into()), "not absolute"),
        (3, spec(&|spec| spec.main.name = "../x".into()), "not a name"),
        (4, spec(&|spec| spec.sidecars = vec![container("main", "true")]), "two containers"),
    ] {
        house.run(number, &spec);
        let end = house.end().await;
        assert_eq!(end.exit, Exit::Refused, "{because}");
        assert!(end.message.contains(because), "{}", end.message);
    }
}

#[tokio::test]
async fn logs_are_kept_and_empty_ones_are_not() {
    let mut house = House::new().await;
    house.success(&shell("printf 'a\\377'")).await;
    house.local().forget(attempt(0));
    house.local().flush().await;
    let found = logs::list(&house.data(), RunId(1)).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].stream, Stream::Out);
    assert_eq!(std::fs::read(found[0].path(&house.data())).unwrap(), b"a\xff");
}

#[tokio::test]
async fn a_kill_asks_first_and_reaches_the_whole_tree() {
    let mut house = House::new().await;
    let spec = shell("trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    house.run(0, &spec);
    house.started().await;
    await_log(&house, 0, "up\n").await;
    house.local().kill(attempt(0), 60_000);
    let end = house.end().await;
    assert_eq!(end.exit, Exit::Killed);
    assert_eq!(house.log(0, "main", Stream::Out), "up\nasked\n");

    house.run(1, &shell("trap '' TERM; echo up; sleep 600 & wait; sleep 600"));
    house.started().await;
    await_log(&house, 1, "up\n").await;
    house.local().kill(attempt(1), 1);
    assert_eq!(house.end().await.exit, Exit::Killed);
}

/// Waits until a process has written so much.
async fn await_log(house: &House, number: u32, text: &str) {
    while house.log(number, "main", Stream::Out) != text {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_kill_before_the_start_starts_nothing() {
    let mut house = House::new().await;
    house.run(0, &shell("echo never"));
    house.local().kill(attempt(0), 0);
    assert_eq!(house.end().await.exit, Exit::NotStarted);
    assert_eq!(house.log(0, "main", Stream::Out), "");
}

#[tokio::test]
async fn init_containers_run_first_and_a_failure_of_one_is_the_end() {
    let mut house = House::new().await;
    let mut spec = shell("cat /tmp/x");
    spec.init = vec![container("a", "echo 1 >> /tmp/x"), container("b", "echo 2 >> /tmp/x")];
    assert_eq!(house.success(&spec).await.outputs.result.as_deref(), Some("1\n2"));
    spec.init[0] = container("a", "exit 4");
    house.run(1, &spec);
    let end = house.end().await;
    assert_eq!((end.exit, &*end.message), (Exit::Code(4), "init container a: exit code 4"));
}

#[tokio::test]
async fn sidecars_share_tmp_and_end_with_the_main_process() {
    let mut house = House::new().await;
    let mut spec = shell("until test -e /tmp/ready; do sleep 0.02; done; cat /tmp/ready");
    spec.sidecars =
        vec![container("helper", "echo help > /tmp/r; mv /tmp/r /tmp/ready; sleep 600")];
    assert_eq!(house.success(&spec).await.outputs.result.as_deref(), Some("help"));
    spec.sidecars =
        vec![container("helper", "trap '' TERM; echo help > /tmp/ready; sleep 600; sleep 600")];
    spec.grace_ms = 50;
    house.run(1, &spec);
    let end = house.end().await;
    assert_eq!(end.exit, Exit::Code(0), "one that does not obey is killed");
    let ends: Vec<_> = end.containers.iter().map(|one| (&*one.name, one.exit.clone())).collect();
    assert_eq!(ends, [("main", Exit::Code(0)), ("helper", Exit::Killed)]);
    spec.sidecars = vec![container("helper", "trap 'exit 0' TERM; echo help > /tmp/ready; exit 5")];
    house.run(2, &spec);
    let end = house.end().await;
    // It may have been asked to end before it did so by itself.
    if end.exit != Exit::Code(0) {
        assert_eq!((end.exit, &*end.message), (Exit::Code(5), "sidecar helper: exit code 5"));
    }
}

fn set(members: &[(&str, &str, &[&str])]) -> ProcessSpec {
    let member = |(name, script, needs): &(&str, &str, &[&str])| SetMember {
        container: container(name, script),
        dependencies: needs.iter().map(|name| (*name).to_owned()).collect(),
    };
    let mut spec = shell("");
    spec.set = members.iter().map(member).collect();
    spec
}

#[tokio::test]
async fn a_container_set_runs_in_the_order_of_its_dependencies() {
    let mut house = House::new().await;
    let mut spec = set(&[
        ("main", "cat /tmp/b; echo out > /tmp/out", &["b"]),
        ("b", "cat /tmp/a > /tmp/b; echo b >> /tmp/b", &["a"]),
        ("a", "echo a > /tmp/a", &[]),
    ]);
    spec.outputs.parameters = vec![parameter("/tmp/out", None)];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.result.as_deref(), Some("a\nb"));
    assert_eq!(end.outputs.parameter("p"), Some(&"out".into()));
}

#[tokio::test]
async fn a_failure_in_a_container_set_leaves_out_what_depends_on_it() {
    let mut house = House::new().await;
    let spec = set(&[("a", "exit 6", &[]), ("b", "echo never", &["a"]), ("c", "echo always", &[])]);
    house.run(0, &spec);
    let end = house.end().await;
    assert_eq!((end.exit, &*end.message), (Exit::Code(6), "container a: exit code 6"));
    let ends: Vec<_> = end.containers.iter().map(|one| (&*one.name, one.exit.clone())).collect();
    assert_eq!(ends, [("a", Exit::Code(6)), ("c", Exit::Code(0))], "b never started");
    assert!(end.containers.iter().all(|one| 0 < one.started_ms && one.started_ms <= one.ended_ms));
    assert_eq!(house.log(0, "b", Stream::Out), "");
    assert_eq!(house.log(0, "c", Stream::Out), "always\n");
    for (number, needs) in [(1, ["none"]), (2, ["a"])] {
        house.run(number, &set(&[("a", "true", &needs)]));
        assert_eq!(house.end().await.exit, Exit::Refused, "{needs:?}");
    }
}

#[tokio::test]
async fn a_running_attempt_is_taken_over_by_the_next_server() {
    let mut house = House::new().await;
    let mut spec =
        shell("echo up; until test -e /tmp/go; do sleep 0.02; done; echo done; echo v > /tmp/p");
    spec.outputs.parameters = vec![parameter("/tmp/p", None)];
    house.run(0, &spec);
    house.started().await;
    await_log(&house, 0, "up\n").await;
    house.restart().await;
    house.run(0, &spec);
    house.started().await;
    std::fs::write(house.folder(0).join("tmp/go"), "").unwrap();
    let end = house.end().await;
    assert_eq!(end.exit, Exit::Code(0));
    assert_eq!(end.outputs.result.as_deref(), Some("up\ndone"), "it ran once");
    assert_eq!(end.outputs.parameter("p"), Some(&"v".into()));
}

#[tokio::test]
async fn an_end_that_was_not_forgotten_is_told_again_and_the_same() {
    let mut house = House::new().await;
    let mut spec = shell("cat /tmp/x; echo v > /tmp/p");
    spec.init = vec![container("first", "echo 1 >> /tmp/x")];
    spec.outputs.parameters = vec![parameter("/tmp/p", None)];
    let end = house.success(&spec).await;
    house.restart().await;
    let again = house.success(&spec).await;
    assert_eq!(again.outputs, end.outputs);
    assert_eq!((again.started_ms, again.ended_ms), (end.started_ms, end.ended_ms));
    house.local().forget(attempt(0));
    await_gone(&house, 0).await;
}

async fn await_gone(house: &House, number: u32) {
    while house.folder(number).exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn attempts_that_nobody_wants_after_a_restart_are_ended_and_removed() {
    let mut house = House::new().await;
    for number in [0, 1] {
        house.run(number, &shell("echo up; until test -e /tmp/go; do sleep 0.02; done"));
        house.started().await;
        await_log(&house, number, "up\n").await;
    }
    house.restart().await;
    house.local().forget_all_but(&[attempt(1)].into());
    await_gone(&house, 0).await;
    std::fs::write(house.folder(1).join("tmp/go"), "").unwrap();
    house.run(1, &shell("echo up; until test -e /tmp/go; do sleep 0.02; done"));
    assert_eq!(house.end().await.exit, Exit::Code(0));
}

#[tokio::test]
async fn the_spawner_keeps_no_end_that_a_later_server_does_not_want() {
    let mut house = House::new().await;
    for number in [0, 1] {
        house.run(number, &shell("true"));
        house.end().await;
    }
    // Their server was killed before it had them forgotten, and one folder is gone already.
    house.local = None;
    std::fs::remove_dir_all(house.folder(0)).unwrap();
    house.restart().await;
    house.local().forget_all_but(&[attempt(1)].into());
    // What the spawner had to say comes before the answer to this.
    assert!(house.local().abilities().await.is_some());
    house.local().flush().await;
    assert_eq!(known_to_spawner(&house), [format!("{}/0", attempt(1))]);
}

/// The jobs that the spawner knows, which it tells to every new connection.
fn known_to_spawner(house: &House) -> Vec<String> {
    let mut stream = argosy_spawn::connect(&house.data()).unwrap();
    let mut decoder = argosy_spawn::Decoder::default();
    let (mut known, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(report) = decoder.take().unwrap() {
            match report {
                argosy_spawn::Report::Exited { id, .. } => known.push(id),
                argosy_spawn::Report::Listed => return known,
                _ => {}
            }
        }
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "the spawner has gone");
        decoder.push(&buffer[..length]);
    }
}

#[tokio::test]
async fn an_attempt_can_be_ended_while_its_outputs_are_kept() {
    let mut house = House::new().await;
    let mut spec = shell("echo 1 > /tmp/f");
    let stuck = OutputArtifact { key: Some("stuck".into()), ..output("/tmp/f", Archive::None) };
    spec.outputs.artifacts = vec![stuck];
    let attempt = house.run(0, &spec);
    house.started().await;
    house.stuck.notified().await;
    house.local().kill(attempt, 0);
    assert_eq!(house.end().await.exit, Exit::Killed);
}

#[tokio::test]
async fn an_attempt_says_that_its_spawner_is_stopped() {
    let mut house = House::new().await;
    house.run(0, &shell("sleep 600"));
    house.started().await;
    let before = house.notes();
    house.signal_spawner(Signal::STOP);
    // From here on time passes as soon as nothing else happens.
    tokio::time::pause();
    let note = house.note().await;
    assert!(note.contains("kill -CONT"), "{note} after {before:?}");
    // One that is ordered now says so as well.
    house.run(1, &shell("exit 4"));
    assert_eq!(house.note().await, note);
    tokio::time::resume();
    house.signal_spawner(Signal::CONT);
    assert_eq!(house.end().await.exit, Exit::Code(4));
    house.local().kill(attempt(0), 0);
    assert_eq!(house.end().await.exit, Exit::Killed);
}

#[tokio::test]
async fn an_attempt_whose_spawner_died_is_lost() {
    let mut house = House::new().await;
    let spec = shell("sleep 600");
    house.run(0, &spec);
    house.started().await;
    house.kill_spawner();
    assert_eq!(house.end().await.exit, Exit::Lost, "while the server lives");

    house.run(1, &spec);
    house.started().await;
    house.local = None;
    house.kill_spawner();
    house.restart().await;
    house.run(1, &spec);
    assert_eq!(house.end().await.exit, Exit::Lost, "while it does not");
    house.run(2, &shell("true"));
    assert_eq!(house.end().await.exit, Exit::Code(0));
}

#[tokio::test]
async fn a_forgotten_attempt_is_killed_and_tells_nothing() {
    let mut house = House::new().await;
    house.run(0, &shell("sleep 600"));
    house.started().await;
    house.local().forget(attempt(0));
    house.run(1, &shell("echo next"));
    let end = house.end().await;
    assert_eq!(end.outputs.result.as_deref(), Some("next"));
}

#[tokio::test]
async fn without_isolation_plain_processes_run_and_private_paths_are_refused() {
    let mut house = House::with(|options| options.max_isolation = Level::None).await;
    let mut spec = shell("pwd; echo $TMPDIR");
    let end = house.success(&spec).await;
    let tmp = std::fs::canonicalize(house.folder(0).join("tmp")).unwrap();
    assert_eq!(end.outputs.result.as_deref(), Some(&*format!("{0}\n{0}", tmp.display())));
    spec.outputs.parameters = vec![parameter("/tmp/p", None)];
    house.run(1, &spec);
    let end = house.end().await;
    assert_eq!(end.exit, Exit::Refused);
    assert!(end.message.contains("output /tmp/p needs a private /tmp"), "{}", end.message);
    let mut script = shell("");
    (script.main.args, script.main.command) = (vec![], vec!["sh".into()]);
    script.main.script = Some("echo $0".into());
    house.run(2, &script);
    let result = house.end().await.outputs.result.unwrap();
    assert!(result.ends_with("attempts/1/2.2/own/script-0"), "{result}");
}

#[tokio::test]
async fn what_no_program_can_be_given_is_refused_before_it_starts() {
    let mut house = House::new().await;
    // The limits of Linux: 128 KiB with the byte that ends a text.
    let limit = 131_071;
    let with = |args: Vec<String>, script: &str| {
        let mut spec = shell(script);
        spec.main.args.push("name".into());
        spec.main.args.extend(args);
        spec
    };
    let longest = house.end_of(&with(vec!["x".repeat(limit)], "echo ${#1}")).await;
    assert_eq!(longest.outputs.result.as_deref(), Some("131071"), "{}", longest.message);
    let all = usize::try_from(limits::ARGUMENTS_BYTES.max).unwrap();
    // Room for the shell's own words and its variables.
    let many = vec!["x".repeat(100_000); all / 100_009 - 1];
    house.run(1, &with(many.clone(), "echo $#"));
    assert_eq!(house.end().await.exit, Exit::Code(0));
    for (number, args, because) in [
        (2, vec!["x".repeat(limit + 1)], "[E0107] argument 4 of container \"main\": 131072 bytes"),
        (3, [&many[..], &many[..2]].concat(), "`arguments-bytes`"),
    ] {
        house.run(number, &with(args, "echo started"));
        let end = house.end().await;
        assert_eq!(end.exit, Exit::Refused, "{}", end.message);
        assert!(
            end.message.contains(because) && end.message.contains("artifact"),
            "{}",
            end.message
        );
    }
    // A script is a file.
    let mut spec = shell("");
    (spec.main.command, spec.main.args) = (vec!["sh".into()], vec![]);
    spec.main.script = Some(format!("#{}\necho script", "x".repeat(1 << 20)));
    house.run(4, &spec);
    assert_eq!(house.end().await.outputs.result.as_deref(), Some("script"));
}

#[tokio::test]
async fn what_there_was_no_room_for_is_lost_and_not_refused() {
    let mut house = House::new().await;
    house.success(&shell("true")).await;
    house.limit_descriptors(Some(1));
    house.run(1, &shell("true"));
    let end = house.end().await;
    assert_eq!((end.exit, end.started_ms), (Exit::Lost, 0));
    assert!(end.message.contains("Too many open files"), "{}", end.message);
    house.limit_descriptors(None);
    house.run(2, &shell("true"));
    assert_eq!(house.end().await.exit, Exit::Code(0));
}
