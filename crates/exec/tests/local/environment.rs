//! Variables, secrets, images and scripts.

use crate::house::{Fixed, House, SPACE, shell};
use argosy_exec::Values;
use argosy_exec::images::{Image, Kind};
use argosy_exec::logs::Stream;
use argosy_model::process::{EnvFrom, EnvValue, EnvVar, KeyRef};
use argosy_model::{Exit, ProcessSpec};
use std::path::Path;
use std::process::Command;

fn variable(name: &str, value: EnvValue) -> EnvVar {
    EnvVar { name: name.into(), value }
}

fn key(name: &str, key: &str) -> KeyRef {
    KeyRef { name: name.into(), key: key.into(), optional: false }
}

#[tokio::test]
async fn variables_come_from_the_spec_maps_and_secrets() {
    let mut house = House::new().await;
    let mut spec = shell("echo $A $B $C $P $S_colour $S_size $TMPDIR; test -z \"$CARGO\"");
    spec.main.env_from =
        vec![EnvFrom { name: "settings".into(), prefix: "S_".into(), ..EnvFrom::default() }];
    spec.main.env = vec![
        variable("A", EnvValue::Text("one".into())),
        variable("B", EnvValue::Text("$(A)-$(S_size)".into())),
        variable("C", EnvValue::ConfigMap(key("settings", "colour"))),
        variable("P", EnvValue::Secret(key("login", "password"))),
        variable("S_size", EnvValue::Text("8".into())),
    ];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.result.as_deref(), Some("one one-7 blue hunter2 blue 8 /tmp"));
}

#[tokio::test]
async fn what_is_missing_is_refused_by_name_unless_it_is_optional() {
    let mut house = House::new().await;
    let optional = |key: KeyRef| KeyRef { optional: true, ..key };
    for (number, value, because) in [
        (0, EnvValue::Secret(key("none", "k")), "no key \"k\" in secret \"none\""),
        (1, EnvValue::Secret(key("login", "k")), "no key \"k\" in secret \"login\""),
        (2, EnvValue::ConfigMap(key("login", "k")), "config map \"login\""),
        (3, EnvValue::Secret(key("login", "binary")), "is no text"),
        (4, EnvValue::Secret(optional(key("none", "k"))), ""),
    ] {
        let mut spec = shell("test -z \"${X+set}\"");
        spec.main.env = vec![variable("X", value)];
        house.run(number, &spec);
        let end = house.end().await;
        let expected = if because.is_empty() { Exit::Code(0) } else { Exit::Refused };
        assert_eq!(end.exit, expected, "{because}");
        assert!(end.message.contains(because), "{}", end.message);
    }
    let mut spec = shell("true");
    spec.main.env_from = vec![EnvFrom { name: "x".into(), secret: true, ..EnvFrom::default() }];
    house.run(9, &spec);
    assert_eq!(house.end().await.message, "[E0303] there is no secret \"x\"");
}

#[tokio::test]
async fn secrets_are_in_no_file_of_the_data_directory() {
    let mut house = House::new().await;
    let mut spec = shell("test \"$P\" = hunter2 && exec no-such-program");
    spec.main.env = vec![variable("P", EnvValue::Secret(key("login", "password")))];
    let end = house.end_of(&spec).await;
    assert_eq!(end.exit, Exit::Code(127));
    let secret = Fixed.secret(SPACE, "login").await.unwrap()["password"].clone();
    assert!(!format!("{end:?}").contains("hunter2"));
    assert_nowhere(&house.data(), &secret);
}

fn assert_nowhere(folder: &Path, secret: &[u8]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            assert_nowhere(&path, secret);
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn images_have_entry_points_and_tools() {
    let mut house = House::new().await;
    let image = |image: &str, command: &[&str], args: &[&str]| {
        let mut spec = ProcessSpec { key_prefix: "k".into(), ..shell("") };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        spec.main.image = image.to_owned();
        (spec.main.command, spec.main.args) = (owned(command), owned(args));
        spec
    };
    for (number, spec, expected) in [
        (0, image("argoproj/argosay:v2", &[], &["echo", "hi"]), "hi"),
        (1, image("argoproj/argosay:v2", &["argosay"], &[]), "hello argo"),
        (2, image("alpine", &[], &["echo", "sh"]), "sh"),
        (3, image("python:3", &["python", "-c"], &["print(6*7)"]), "42"),
        (4, image("python:3", &[], &["python3", "-c", "print(6*7)"]), "42"),
        (5, image("docker/whalesay", &["sh", "-c"], &["cowsay x | head -2 | tail -1"]), "< x >"),
    ] {
        house.run(number, &spec);
        let end = house.end().await;
        assert_eq!(end.outputs.result.as_deref(), Some(expected), "{number}: {}", end.message);
    }
    assert_eq!(house.notes(), [""; 0]);
    house.run(6, &image("somebody/something:1", &["true"], &[]));
    assert_eq!(house.end().await.exit, Exit::Code(0));
    let notes = house.notes();
    assert!(notes.len() == 1 && notes[0].contains("somebody/something:1"), "{notes:?}");
}

#[tokio::test]
async fn a_script_is_a_file_that_is_the_last_argument() {
    let mut house = House::new().await;
    let mut spec = shell("");
    spec.main.command = vec!["sh".into()];
    spec.main.args = vec!["-e".into()];
    spec.main.script = Some("#!/bin/sh\nls -l $0 | cut -c1-10\necho '$HOME'\ntest -x $0".into());
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.result.as_deref(), Some("-rwxr-xr-x\n$HOME"));
}

#[tokio::test]
async fn an_image_may_be_a_folder() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("bin")).unwrap();
    std::fs::create_dir_all(root.path().join("tmp")).unwrap();
    // A shell with the libraries that it loads.
    let libraries = Command::new("ldd").arg("/bin/sh").output().unwrap();
    let libraries = String::from_utf8(libraries.stdout).unwrap();
    let files = libraries.split_whitespace().filter(|word| word.starts_with('/'));
    for file in files.chain(["/bin/sh"]) {
        let copy = root.path().join(file.trim_start_matches('/'));
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
    std::fs::write(root.path().join("marker"), "inside").unwrap();
    let folder = root.path().to_owned();
    let mut house = House::with(|options| {
        let image = Image {
            entrypoint: vec!["/bin/sh".into()],
            working_dir: "/bin".into(),
            ..Image::of(Kind::Folder(folder))
        };
        options.images.insert("mine", image);
    })
    .await;
    let mut spec = shell("");
    spec.main.image = "mine".into();
    spec.main.command = vec![];
    spec.main.args = vec!["-c".into(), "read x < /marker; echo $x $PWD".into()];
    let end = house.end_of(&spec).await;
    let err = house.log(0, "main", Stream::Err);
    assert_eq!(end.outputs.result.as_deref(), Some("inside /bin"), "{} {err}", end.message);
}
