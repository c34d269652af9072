//! Inputs, outputs and what is kept of them.

use crate::house::{House, blob, container, input, output, parameter, raw, shell};
use argosy_exec::images::{Image, Kind};
use argosy_model::process::{Mount, OutputArtifact, OutputFile, Volume, VolumeSource};
use argosy_model::{Archive, Artifact, Exit, Location};
use argosy_model::{artifact::S3Location, limits};
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn what_one_attempt_packs_the_next_one_finds() {
    let mut house = House::new().await;
    for (number, archive, key) in [
        (0, Archive::Default, "run/pod/out.tgz"),
        (2, Archive::Tar(0), "run/pod/out.tar"),
        (4, Archive::Zip, "run/pod/out.zip"),
        (6, Archive::None, "run/pod/dir/"),
    ] {
        let mut spec =
            shell("mkdir -p /tmp/dir/deep; echo 1 > /tmp/dir/a; echo 2 > /tmp/dir/deep/b");
        spec.outputs.artifacts = vec![output("/tmp/dir", archive)];
        house.run(number, &spec);
        let artifact = house.end().await.outputs.artifact("out").cloned().unwrap();
        let expected = Artifact { archive, ..blob(key) };
        assert_eq!(artifact, expected, "{archive:?}");
        let mut spec = shell("cd /tmp/in; find . -type f | sort | xargs cat");
        spec.inputs = vec![input("/tmp/in", artifact)];
        house.run(number + 1, &spec);
        let end = house.end().await;
        assert_eq!(end.outputs.result.as_deref(), Some("1\n2"), "{archive:?}");
    }
    assert_eq!(
        house.keys().await,
        [
            "run/pod/dir/a",
            "run/pod/dir/deep/b",
            "run/pod/out.tar",
            "run/pod/out.tgz",
            "run/pod/out.zip"
        ]
    );
}

#[tokio::test]
async fn files_may_lie_anywhere_and_leave_the_machine_as_it_is() {
    let mut house = House::new().await;
    let mut spec = shell("cat /argosy-test/in/x; pwd; echo out > argosy-out; cat /srv/argosy/y");
    spec.inputs =
        vec![input("/argosy-test/in/x", raw("one\n")), input("/srv/argosy/y", raw("two\n"))];
    spec.outputs.parameters = vec![parameter("/argosy-out", None)];
    spec.outputs.artifacts = vec![output("/argosy-test/in/x", Archive::None)];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.result.as_deref(), Some("one\n/\ntwo"));
    assert_eq!(end.outputs.parameter("p"), Some(&"out".into()));
    assert_eq!(house.get("run/pod/x").await.as_deref(), Some(&b"one\n"[..]));
    for path in ["/argosy-test", "/argosy-out", "/srv/argosy"] {
        assert!(!std::path::Path::new(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn inputs_come_from_keys_prefixes_and_parts_of_them() {
    let mut house = House::new().await;
    house.put("file", b"whole").await;
    house.put("dir/a", b"A").await;
    house.put("dir/sub/b", b"B").await;
    let part = |key: &str, sub_path: &str| Artifact { sub_path: sub_path.into(), ..blob(key) };
    for (number, artifact, expected) in [
        (0, blob("file"), "whole"),
        (1, blob("dir/"), "AB"),
        (2, blob("dir"), "AB"),
        (3, part("dir", "sub"), "B"),
        (4, part("dir", "a"), "A"),
        (5, part("dir/", "sub/b"), "B"),
        (6, raw("text"), "text"),
    ] {
        let mut spec = shell("find /tmp/in -type f | sort | xargs cat");
        spec.inputs = vec![input("/tmp/in", artifact.clone())];
        house.run(number, &spec);
        let end = house.end().await;
        assert_eq!(end.outputs.result.as_deref(), Some(expected), "{artifact:?} {}", end.message);
    }
}

#[tokio::test]
async fn a_part_of_an_archive_can_be_meant() {
    let mut house = House::new().await;
    let mut spec = shell("mkdir -p /tmp/d/e; echo deep > /tmp/d/e/f; ln -s /etc/passwd /tmp/d/l");
    spec.outputs.artifacts = vec![output("/tmp/d/e", Archive::Default)];
    let artifact = house.success(&spec).await.outputs.artifact("out").cloned().unwrap();
    for (number, part, expected) in
        [(1, "f", Some("deep")), (2, "none", None), (3, "../..", Some("deep"))]
    {
        let mut spec = shell("find /tmp/in -type f | xargs cat");
        spec.inputs =
            vec![input("/tmp/in", Artifact { sub_path: part.into(), ..artifact.clone() })];
        house.run(number, &spec);
        let end = house.end().await;
        assert_eq!(end.outputs.result.as_deref(), expected, "{part}: {}", end.message);
    }
}

#[tokio::test]
async fn modes_are_set_where_they_are_asked_for() {
    let mut house = House::new().await;
    house.put("dir/a", b"A").await;
    for (number, recurse, expected) in [(0, false, "700 644"), (1, true, "700 700")] {
        let mut spec = shell("echo $(stat -c %a /tmp/in) $(stat -c %a /tmp/in/a)");
        let staged = input("/tmp/in", blob("dir/"));
        spec.inputs = vec![argosy_model::process::StagedInput {
            mode: Some(0o4700),
            recurse_mode: recurse,
            ..staged
        }];
        house.run(number, &spec);
        assert_eq!(house.end().await.outputs.result.as_deref(), Some(expected), "{recurse}");
    }
}

#[tokio::test]
async fn inputs_that_are_not_there_are_refused_unless_they_are_optional() {
    let mut house = House::new().await;
    let foreign =
        Location::S3(Box::new(S3Location { bucket: "b".into(), ..S3Location::default() }));
    for (number, artifact, because) in [
        (0, blob("none"), "[E0302] input artifact \"in\": there is nothing at key \"none\""),
        (1, blob("none/"), "there is nothing at key"),
        (2, blob("../x"), "not a key"),
        (3, Artifact { at: foreign, ..raw("") }, "not in this server's own store"),
        (4, Artifact { archive: Archive::Tar(6), ..raw("no tar") }, "[E0301] "),
    ] {
        let mut spec = shell("true");
        spec.inputs = vec![input("/tmp/in", artifact)];
        house.run(number, &spec);
        let end = house.end().await;
        assert_eq!(end.exit, Exit::Refused, "{because}");
        assert!(end.message.contains(because), "{}", end.message);
        assert!(end.message.contains("input artifact \"in\""), "{}", end.message);
    }
    let mut spec = shell("test ! -e /tmp/in");
    spec.inputs = vec![argosy_model::process::StagedInput {
        optional: true,
        ..input("/tmp/in", blob("none"))
    }];
    house.run(9, &spec);
    assert_eq!(house.end().await.exit, Exit::Code(0));
}

#[tokio::test]
async fn parameters_are_read_from_files() {
    let mut house = House::new().await;
    let limit = limits::PARAMETER_BYTES.max;
    for (number, script, default, expected) in [
        (0, "printf 'a\\n\\n' > /tmp/p".to_owned(), None, Ok("a\n")),
        (1, "true".to_owned(), Some("d"), Ok("d")),
        (2, "true".to_owned(), None, Err("\"p\" was not written to /tmp/p")),
        (3, format!("head -c {} /dev/zero > /tmp/p", limit + 1), None, Err("parameter-bytes")),
        (4, "mkdir /tmp/p".to_owned(), None, Err("not a regular file")),
        (5, "mkfifo /tmp/p".to_owned(), None, Err("not a regular file")),
        (6, "ln -s q /tmp/p; printf x > /tmp/q".to_owned(), None, Ok("x")),
    ] {
        let mut spec = shell(&script);
        spec.outputs.parameters = vec![parameter("/tmp/p", default)];
        house.run(number, &spec);
        let end = house.end().await;
        match expected {
            Ok(text) => assert_eq!(end.outputs.parameter("p"), Some(&text.into()), "{script}"),
            Err(because) => {
                assert_eq!(end.exit, Exit::OutputsLost, "{script}");
                assert_eq!(end.outputs.exit_code, Some(0));
                assert!(end.message.contains(because), "{}", end.message);
            }
        }
    }
}

#[tokio::test]
async fn outputs_that_a_failed_process_has_not_written_are_not_missed() {
    let mut house = House::new().await;
    let mut spec = shell("echo 1 > /tmp/p; exit 2");
    spec.outputs.parameters = vec![parameter("/tmp/p", None)];
    spec.outputs.artifacts = vec![output("/tmp/none", Archive::Default)];
    let end = house.end_of(&spec).await;
    assert_eq!((end.exit, &*end.message), (Exit::Code(2), ""));
    assert_eq!(end.outputs.parameter("p"), Some(&"1".into()));

    spec.main = container("main", "echo 1 > /tmp/p");
    house.run(1, &spec);
    let end = house.end().await;
    assert_eq!(end.exit, Exit::OutputsLost);
    assert_eq!(end.message, "[E0304] output artifact \"out\" was not written to /tmp/none");

    spec.outputs.artifacts[0].optional = true;
    house.run(2, &spec);
    assert_eq!(house.end().await.exit, Exit::Code(0));
}

#[tokio::test]
async fn outputs_are_read_as_the_process_saw_them_and_no_further() {
    let house_secret = tempfile::tempdir_in("/var/tmp").unwrap();
    let outside = house_secret.path().join("secret");
    std::fs::write(&outside, "secret").unwrap();
    std::fs::set_permissions(house_secret.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut house = House::new().await;
    // `/var/tmp` is private, so what is there on the machine is outside.
    let mut spec = shell(&format!(
        "mkdir /tmp/d; ln -s {0} /tmp/d/l; ln -s {0} /tmp/p; mkfifo /tmp/d/pipe; echo 1 > /tmp/d/f",
        outside.display()
    ));
    spec.outputs.parameters = vec![parameter("/tmp/p", Some("default"))];
    spec.outputs.artifacts = vec![
        output("/tmp/d", Archive::None),
        OutputArtifact { name: "packed".into(), ..output("/tmp/d", Archive::Zip) },
    ];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.parameter("p"), Some(&"default".into()));
    assert_eq!(house.keys().await, ["run/pod/d/f", "run/pod/packed.zip"]);
    let packed = house.get("run/pod/packed.zip").await.unwrap();
    assert!(!packed.windows(6).any(|bytes| bytes == b"secret") || packed.len() < 2_000);
    let inside = house.get("run/pod/d/f").await.unwrap();
    assert_eq!(inside, b"1\n");
}

#[tokio::test]
async fn what_an_artifact_lacks_is_said_by_name() {
    let mut house = House::new().await;
    // A name that is not UTF-8 (`\\377`), a pipe, a link that leads nowhere and one to a folder.
    let script = "mkdir -p /tmp/d/in; cd /tmp/d; echo 1 > in/f; mkfifo pipe; ln -s none lost; \
                  ln -s in folder; ln -s in/f file; echo 2 > \"$(printf 'n\\377')\"";
    let kept_without =
        |what: &str| vec![format!("output artifact \"out\" is kept without: {what}")];
    for (archive, expected) in [
        (
            Archive::None,
            "\"folder\" is a link that leads to no file, \"lost\" is a link that leads to no file, \
             \"n\\xFF\" has a name that is not UTF-8, \"pipe\" is neither a file, a folder nor a link",
        ),
        (
            Archive::Default,
            "\"d/n\\xFF\" has a name that is not UTF-8, \"d/pipe\" is neither a file, a folder nor a link",
        ),
        (
            Archive::Zip,
            "\"d/n\\xFF\" has a name that is not UTF-8, \"d/pipe\" is neither a file, a folder nor a link",
        ),
    ] {
        let mut house = House::new().await;
        let mut spec = shell(script);
        spec.outputs.artifacts = vec![output("/tmp/d", archive)];
        house.success(&spec).await;
        assert_eq!(house.notes(), kept_without(expected), "{archive:?}");
    }
    // What a link leads to is kept under the link's name.
    let mut spec = shell(script);
    spec.outputs.artifacts = vec![output("/tmp/d", Archive::None)];
    house.success(&spec).await;
    assert_eq!(house.keys().await, ["run/pod/d/file", "run/pod/d/in/f"]);
    assert_eq!(house.get("run/pod/d/file").await.unwrap(), b"1\n");
}

#[tokio::test]
async fn an_output_of_an_image_that_is_a_folder_ends_inside_of_it() {
    let image = tempfile::tempdir_in("/var/tmp").unwrap();
    let bin = image.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::create_dir(image.path().join("etc")).unwrap();
    std::fs::write(image.path().join("etc/passwd"), "of the image").unwrap();
    let path = image.path().to_owned();
    let mut house = House::with(|options| {
        options.allow_host_paths = vec!["/".into()];
        let kind = Kind::Folder(path);
        let image = Image::of(kind);
        options.images.insert("boxed", image);
    })
    .await;
    let mut spec = shell("ln -s /etc/passwd /p; ln -s ../../../../etc/passwd /tmp/q");
    spec.main.image = "boxed".into();
    // The machine's own shell and its libraries, so that something can run there.
    for folder in ["/bin", "/usr", "/lib", "/lib64"] {
        if std::path::Path::new(folder).exists() {
            let name = folder.trim_start_matches('/');
            std::fs::create_dir_all(image.path().join(name)).unwrap();
            spec.volumes
                .push(Volume { name: name.into(), source: VolumeSource::HostPath(folder.into()) });
            spec.main.mounts.push(Mount {
                volume: name.into(),
                path: folder.into(),
                read_only: true,
                ..Mount::default()
            });
        }
    }
    spec.outputs.parameters = vec![
        parameter("/p", Some("default")),
        OutputFile { name: "q".into(), ..parameter("/tmp/q", Some("default")) },
        OutputFile { name: "proc".into(), ..parameter("/proc/self/environ", Some("default")) },
    ];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.parameter("p"), Some(&"of the image".into()));
    assert_eq!(end.outputs.parameter("q"), Some(&"of the image".into()));
    assert_eq!(end.outputs.parameter("proc"), Some(&"default".into()));
}

#[tokio::test]
async fn all_of_tmp_can_be_kept_and_holds_nothing_of_ours() {
    let mut house = House::new().await;
    let mut spec = shell("echo 1 > /tmp/a");
    spec.outputs.artifacts = vec![output("/tmp", Archive::Default)];
    let artifact = house.success(&spec).await.outputs.artifact("out").cloned().unwrap();
    let mut spec = shell("ls -A /tmp/in");
    spec.inputs = vec![input("/tmp/in", artifact)];
    house.run(1, &spec);
    assert_eq!(house.end().await.outputs.result.as_deref(), Some("a"));
}

#[tokio::test]
async fn what_the_process_has_not_changed_is_kept_as_well() {
    let mut house = House::new().await;
    let mut spec = shell("echo changed > /etc/argosy-new; rm -f /etc/hostname");
    spec.outputs.parameters = vec![parameter("/etc/argosy-new", None)];
    let os = OutputArtifact { name: "os".into(), ..output("/etc/passwd", Archive::None) };
    let gone = OutputArtifact { optional: true, ..output("/etc/hostname", Archive::None) };
    spec.outputs.artifacts = vec![os, gone];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.parameter("p"), Some(&"changed".into()));
    assert_eq!(house.get("run/pod/passwd").await, std::fs::read("/etc/passwd").ok());
    assert_eq!(house.keys().await, ["run/pod/passwd"], "what it removed is not there");
}

#[tokio::test]
async fn keys_of_ones_own_and_logs_as_artifacts() {
    let mut house = House::new().await;
    let mut spec = shell("echo out; echo err >&2; echo 1 > /tmp/f");
    spec.outputs.logs = true;
    spec.outputs.artifacts =
        vec![OutputArtifact { key: Some("my/key".into()), ..output("/tmp/f", Archive::None) }];
    let end = house.success(&spec).await;
    assert_eq!(
        end.outputs.artifact("out"),
        Some(&Artifact { archive: Archive::None, ..blob("my/key") })
    );
    let logs = end.outputs.artifact("main-logs").unwrap();
    assert_eq!(logs.at, Location::Blob { key: "run/pod/main.log".into() });
    assert_eq!(house.get("run/pod/main.log").await.as_deref(), Some(&b"out\nerr\n"[..]));
    assert_eq!(house.get("my/key").await.as_deref(), Some(&b"1\n"[..]));
}

#[tokio::test]
async fn a_long_result_keeps_its_end() {
    let mut house = House::new().await;
    let limit = limits::RESULT_BYTES.max as usize;
    // Three bytes each: the cut falls into a character.
    let script =
        format!("yes '\u{20ac}' | tr -d '\\n' | head -c {}; echo end", 3 * (limit / 3 + 10));
    let result = house.success(&shell(&script)).await.outputs.result.unwrap();
    assert!(result.starts_with('\u{20ac}') && result.ends_with("\u{20ac}end"));
    assert!(result.len() <= limit && result.len() > limit - 6, "{}", result.len());
}
