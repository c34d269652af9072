//! The folders that processes are given.

use crate::house::{House, container, input, parameter, raw, shell};
use argosy_model::Exit;
use argosy_model::process::{Mount, Volume, VolumeSource};

fn volume(name: &str, source: VolumeSource) -> Volume {
    Volume { name: name.into(), source }
}

fn mount(volume: &str, path: &str) -> Mount {
    Mount { volume: volume.into(), path: path.into(), ..Mount::default() }
}

#[tokio::test]
async fn processes_share_an_empty_folder_wherever_they_see_it() {
    let mut house = House::new().await;
    let mut spec = shell("cat /work/x; cat /work/sub/y; echo p > /work/p");
    spec.volumes = vec![volume("v", VolumeSource::EmptyDir)];
    spec.main.mounts = vec![mount("v", "/work")];
    let mut init = container("init", "echo 1 > /srv/elsewhere/x; echo 2 > /tmp/part/y");
    let part = Mount { sub_path: "sub".into(), ..mount("v", "/tmp/part") };
    init.mounts = vec![mount("v", "/srv/elsewhere"), part];
    spec.init = vec![init];
    spec.outputs.parameters = vec![parameter("/work/p", None)];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.result.as_deref(), Some("1\n2"));
    assert_eq!(end.outputs.parameter("p"), Some(&"p".into()));
}

#[tokio::test]
async fn a_volume_may_be_tmp_itself() {
    let mut house = House::new().await;
    let mut spec = shell("");
    (spec.main.command, spec.main.args) = (vec!["sh".into()], vec![]);
    spec.main.script = Some("cat /tmp/in; argosay echo $ARGOSY_STEP /tmp/p".into());
    spec.volumes = vec![volume("v", VolumeSource::EmptyDir)];
    spec.main.mounts = vec![mount("v", "/tmp")];
    spec.inputs = vec![input("/tmp/in", raw("text"))];
    spec.outputs.parameters = vec![parameter("/tmp/p", None)];
    let end = house.success(&spec).await;
    assert_eq!(end.outputs.result.as_deref(), Some("text"));
    assert_eq!(end.outputs.parameter("p"), Some(&"wf.step".into()));
}

#[tokio::test]
async fn inputs_may_lie_in_a_volume_and_a_volume_may_be_read_only() {
    let mut house = House::new().await;
    let mut spec = shell("cat /work/in; ! touch /work/x 2> /dev/null");
    spec.volumes = vec![volume("v", VolumeSource::EmptyDir)];
    spec.main.mounts = vec![mount("v", "/work")];
    spec.inputs = vec![input("/work/in", raw("text"))];
    spec.main.args = vec!["cat /work/in; touch /work/x".into()];
    assert_eq!(house.success(&spec).await.outputs.result.as_deref(), Some("text"));

    spec.inputs.clear();
    spec.main.mounts[0].read_only = true;
    spec.main.args = vec!["! touch /work/x 2> /dev/null".into()];
    house.run(1, &spec);
    assert_eq!(house.end().await.exit, Exit::Code(0));
}

#[tokio::test]
async fn secrets_and_maps_are_shown_as_files_that_cannot_be_written() {
    let mut house = House::new().await;
    let secret = |items: &[(&str, &str)], name: &str, optional| VolumeSource::Secret {
        name: name.into(),
        items: items.iter().map(|(key, path)| ((*key).into(), (*path).into())).collect(),
        optional,
    };
    let map = VolumeSource::ConfigMap { name: "settings".into(), items: vec![], optional: false };
    for (number, source, script, because) in [
        (0, map, "cat /v/colour /v/size; ! touch /v/x 2> /dev/null", Ok("blue7")),
        (1, secret(&[], "login", false), "cat /v/password", Ok("hunter2")),
        (2, secret(&[("password", "a/b")], "login", false), "cat /v/a/b; ls /v", Ok("hunter2a")),
        (3, secret(&[], "none", true), "ls /v", Ok("")),
        (4, secret(&[], "none", false), "", Err("secret \"none\" does not exist")),
        (5, secret(&[("k", "k")], "login", false), "", Err("has no key \"k\"")),
    ] {
        let mut spec = shell(script);
        spec.volumes = vec![volume("v", source)];
        spec.main.mounts = vec![mount("v", "/v")];
        house.run(number, &spec);
        let end = house.end().await;
        match because {
            Ok(text) => assert_eq!(end.outputs.result.as_deref(), Some(text), "{}", end.message),
            Err(because) => {
                assert_eq!(end.exit, Exit::Refused);
                assert!(end.message.contains(because), "{}", end.message);
            }
        }
    }
}

#[tokio::test]
async fn folders_of_the_machine_are_shown_only_where_that_is_allowed() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    for name in ["allowed/deep", "denied"] {
        std::fs::create_dir_all(at(name)).unwrap();
        std::fs::write(at(name).join("f"), name).unwrap();
    }
    std::os::unix::fs::symlink(at("denied"), at("allowed/link")).unwrap();
    let allowed = at("allowed");
    let mut house = House::with(|options| options.allow_host_paths = vec![allowed]).await;
    for (number, path, expected) in [
        (0, at("allowed/deep"), Ok("allowed/deep")),
        (1, at("allowed/../allowed/deep"), Ok("allowed/deep")),
        (2, at("denied"), Err("--allow-host-path")),
        (3, at("allowed/link"), Err("--allow-host-path")),
        (4, at("allowed/../denied"), Err("--allow-host-path")),
        (5, at("allowed/none"), Err("cannot be found")),
    ] {
        let mut spec = shell("cat /v/f");
        let path = path.to_str().unwrap();
        spec.volumes = vec![volume("v", VolumeSource::HostPath(path.into()))];
        spec.main.mounts = vec![mount("v", "/v")];
        house.run(number, &spec);
        let end = house.end().await;
        match expected {
            Ok(text) => assert_eq!(end.outputs.result.as_deref(), Some(text), "{path}"),
            Err(because) => {
                assert_eq!(end.exit, Exit::Refused, "{path}");
                assert!(end.message.contains(because), "{}", end.message);
            }
        }
    }
}

#[tokio::test]
async fn a_link_that_an_earlier_process_made_is_not_mounted() {
    let mut house = House::new().await;
    let mut spec = shell("ls /v");
    spec.volumes = vec![volume("v", VolumeSource::EmptyDir)];
    spec.main.mounts = vec![Mount { sub_path: "sub".into(), ..mount("v", "/v") }];
    let mut init = container("init", "ln -s /etc /all/sub");
    init.mounts = vec![mount("v", "/all")];
    spec.init = vec![init];
    let end = house.end_of(&spec).await;
    let told = "[E0303] volume \"v\" has no part \"sub\"";
    assert_eq!((end.exit, &*end.message), (Exit::Refused, told));
    spec.main.mounts[0].volume = "none".into();
    house.run(1, &spec);
    assert_eq!(house.end().await.message, "[E0303] there is no volume \"none\"");
}
