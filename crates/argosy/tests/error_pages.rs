//! The example of each page under `docs/errors`, carried out: what the page shows is what is shown.
//! A line `...` of a page stands for any lines.

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use argosy_model::Code;
use common::{Place, Server, signal, spawner_of};

/// Pages whose example needs more than a process can make for itself.
const NOT_HERE: [(&str, &str); 2] =
    [("E0412", "a medium that is mounted to be read only"), ("E0413", "a second user")];

const HELLO: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: hello}
spec:
  entrypoint: hello
  templates: [{name: hello, container: {image: busybox, command: [sleep, '600']}}]
";

const WAITS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: waits}
spec:
  entrypoint: waits
  templates: [{name: waits, suspend: {}}]
";

/// What goes on beside an example.
#[derive(Default)]
struct Beside {
    server: Option<Server>,
    run: Option<Child>,
}

/// The text between a line and the next fence.
fn block<'t>(page: &'t str, fence: &str) -> Option<&'t str> {
    page.split_once(fence)?.1.split_once("\n```").map(|(block, _)| block)
}

/// What a person who types this sees. Both streams end in one pipe, in the order of the writing.
fn typed(place: &Place, line: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_argosy"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let mut shell = Command::new("sh");
    shell.env_clear().env("PATH", path).current_dir(place.root.path());
    let shown = shell.arg("-c").arg(format!("{{ {line}\n}} 2>&1")).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    shown.replace(place.root.path().to_str().unwrap(), "/home/me")
}

/// Whether the lines are those of the page.
fn fits(page: &[&str], given: &[&str]) -> bool {
    match page {
        [] => given.is_empty(),
        ["...", rest @ ..] => (0..=given.len()).any(|at| fits(rest, &given[at..])),
        [first, rest @ ..] => given.first() == Some(first) && fits(rest, &given[1..]),
    }
}

/// Goes on once the text is shown.
fn wait_for(place: &Place, line: &str, text: &str) {
    let began = Instant::now();
    while !typed(place, line).contains(text) {
        assert!(began.elapsed() < Duration::from_secs(60), "{line} does not show {text:?}");
        std::thread::yield_now();
    }
}

/// Makes what the page says is there already.
fn set_up(place: &Place, code: &str) -> Beside {
    let mut beside = Beside::default();
    place.file("hello.yaml", HELLO);
    place.file("waits.yaml", WAITS);
    let quick = HELLO.replace("sleep, '600'", "'true'");
    place.file("quick.yaml", &quick);
    match code {
        "E0401" | "E0410" | "E0411" => drop(typed(place, "argosy run quick.yaml")),
        "E0403" => beside.server = place.up(None),
        "E0406" => {
            let mut run = Command::new(env!("CARGO_BIN_EXE_argosy"));
            run.current_dir(place.root.path()).args(["run", "waits.yaml", "--data", "busy"]);
            beside.run = Some(run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
            wait_for(place, "argosy list --data busy", "waits");
        }
        "E0405" => {
            typed(place, "argosy run --data newer quick.yaml");
            let newer = "UPDATE meta SET value = value + 1 WHERE name = 'format'";
            let script = format!(
                "import sqlite3; d = sqlite3.connect('newer/argosy.db'); d.execute(\"{newer}\"); d.commit()"
            );
            place.file("newer.py", &script);
            assert_eq!(typed(place, "python3 newer.py"), "");
        }
        "E0305" => {
            beside.server = place.up(None);
            typed(place, "argosy submit hello.yaml");
            wait_for(place, "argosy get hello hello", "started");
            signal(spawner_of(&place.data()).unwrap(), "KILL");
            wait_for(place, "argosy get hello hello", "attempt 1");
        }
        _ => {}
    }
    beside
}

/// The lines of a page's console, as they come out.
fn carried_out(place: &Place, console: &str) -> String {
    let mut out = String::new();
    for line in console.lines().filter_map(|line| line.strip_prefix("$ ")) {
        out.push_str(&format!("$ {line}\n{}", typed(place, line)));
    }
    out
}

fn check(code: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let page = std::fs::read_to_string(folder.join(format!("{code}.md"))).unwrap();
    let console = block(&page, "```console\n").expect("a page has an example");
    let place = Place::new();
    std::fs::create_dir(place.data()).unwrap();
    std::os::unix::fs::symlink(place.data(), place.root.path().join(".argosy")).unwrap();
    if let Some(manifest) = block(&page, "```yaml\n") {
        place.file("example.yaml", &format!("{manifest}\n"));
    }
    let beside = set_up(&place, code);
    let given = carried_out(&place, console);
    if let Some(server) = beside.server {
        typed(&place, "argosy stop hello");
        server.stop();
    }
    if let Some(mut run) = beside.run {
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let (shown, lines): (Vec<_>, Vec<_>) = (console.lines().collect(), given.lines().collect());
    if fits(&shown, &lines) && console.contains(&format!("[{code}] ")) {
        return Ok(());
    }
    Err(format!("{code}\nshown:\n{console}\ngiven:\n{given}\n"))
}

#[test]
fn every_page_shows_what_its_example_gives() {
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let here = codes.filter(|code| NOT_HERE.iter().all(|(not, _)| not != code));
    let wrong: Vec<String> = here.filter_map(|code| check(code).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_that_shows_another_text_is_noticed() {
    assert!(fits(&["a", "...", "c"], &["a", "b", "b", "c"]) && fits(&["..."], &[]));
    assert!(!fits(&["a", "c"], &["a", "b", "c"]) && !fits(&["a", "..."], &["b"]));
    assert!(!fits(&["a"], &["a", "b"]) && !fits(&["a", "b"], &["a"]));
}
