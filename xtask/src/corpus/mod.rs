//! Public manifests, run and compared with what reading them says.

mod check;
mod expect;
mod how;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::run::{print, say};
use crate::{Task, docs, root};
use check::Seen;
use expect::Expected;
use how::How;

/// Runs at the same time.
const WORKERS: usize = 4;

/// The longest that one manifest may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// What came of one file.
enum Outcome {
    /// As expected.
    Passed,
    /// The loader refuses it, with this code.
    Refused(String),
    /// Not as expected, and why.
    Failed(String),
    /// Not run, and why.
    Left(&'static str),
}

/// `corpus argo [--write] [--nobody] [--mutant] [FILTER]`
pub(crate) fn argo(args: &[&str]) -> Task {
    let given = |option: &str| args.contains(&option);
    let filter = args.iter().find(|arg| !arg.starts_with("--"));
    let folder = folder()?;
    let all = expect::read(&root().join("xtask/corpus/argo.toml"))?;
    let wanted: Vec<&Expected> =
        all.iter().filter(|file| filter.is_none_or(|part| file.path.contains(part))).collect();
    let how = How::new(given("--nobody"), given("--mutant"))?;
    let outcomes = run_all(&wanted, &folder, &how);
    let reported = report(&wanted, &outcomes, given("--write"));
    if !how.mutant {
        return reported;
    }
    match reported {
        Err(_) => {
            say("outputs were exchanged, and that was noticed");
            Ok(())
        }
        Ok(()) => Err("outputs were exchanged, and nobody noticed".to_owned()),
    }
}

/// Where the corpus is: beside the checkout, or where `ARGOSY_CORPUS` says.
fn folder() -> Result<PathBuf, String> {
    let beside = root().join("../shared/corpus");
    let named = std::env::var_os("ARGOSY_CORPUS").map(PathBuf::from);
    let folder = named.unwrap_or(beside).join("argo");
    if folder.is_dir() { Ok(folder) } else { Err(format!("no corpus at {}", folder.display())) }
}

fn run_all(files: &[&Expected], folder: &Path, how: &How) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = files.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (next, outcomes) = (&next, &outcomes);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let Some(file) = files.get(at) else { return };
                    let outcome = run_one(file, folder, how, worker);
                    if let Ok(mut slot) = outcomes[at].lock() {
                        *slot = Some(outcome);
                    }
                }
            });
        }
    });
    let taken = outcomes.into_iter().map(|slot| slot.into_inner().ok().flatten());
    taken.map(|outcome| outcome.unwrap_or(Outcome::Left("its worker died"))).collect()
}

fn run_one(file: &Expected, folder: &Path, how: &How, worker: usize) -> Outcome {
    if file.phase == "none" {
        return Outcome::Left("no Workflow in it");
    }
    if file.uses.iter().any(|used| used == "resume" || used == "supplied") {
        return Outcome::Left("waits for somebody");
    }
    if file.slow > PATIENCE.as_secs_f64() {
        return Outcome::Left("takes longer than the limit of the corpus run");
    }
    match seen(file, folder, how, worker) {
        Ok(Ok(seen)) => match check::check(file, &seen) {
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        },
        Ok(Err(code)) => Outcome::Refused(code),
        Err(why) => Outcome::Failed(why),
    }
}

/// Runs a file and looks at all that is left of it; or the code with which it was refused.
fn seen(
    file: &Expected,
    folder: &Path,
    how: &How,
    worker: usize,
) -> Result<Result<Seen, String>, String> {
    let data = how.data(worker);
    let mut run = how.argosy(&data, PATIENCE.as_secs(), &["-o", "json", "run"]);
    let own = file.own.iter().map(|name| root().join("xtask/corpus").join(name));
    let needs = file.needs.iter().map(|path| folder.join(path));
    for (at, path) in own.chain(needs).chain([folder.join(&file.path)]).enumerate() {
        run.arg(how.lend(&path, &format!("{worker}-{at}.yaml"))?);
    }
    run.args(&file.args);
    let output = limited(&mut run)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(2) {
        let code = told.split_once('[').and_then(|(_, rest)| rest.get(..5)).unwrap_or("?");
        return Ok(Err(code.to_owned()));
    }
    let mut runs = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let Some(Ok(workflow)) = runs.next() else { return Err(format!("no run: {told}")) };
    let name = workflow["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut logs = how.argosy(&data, PATIENCE.as_secs(), &["-o", "json", "logs", &name]);
    let output = limited(&mut logs)?;
    let logs = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Ok(Seen::new(workflow, &logs)))
}

/// The output of a command that `timeout` ends.
fn limited(command: &mut std::process::Command) -> Result<std::process::Output, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.code() {
        Some(124) => Err(format!("not over after {} s", PATIENCE.as_secs())),
        _ => Ok(output),
    }
}

fn report(files: &[&Expected], outcomes: &[Outcome], write: bool) -> Task {
    let (mut table, mut failed, mut passed, mut gate_left) = (String::new(), 0, 0, 0);
    table.push_str("\n## Upstream's examples\n\n| file | gate | expected | outcome |\n| --- | --- | --- | --- |\n");
    for (file, outcome) in files.iter().zip(outcomes) {
        let shown = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Refused(code) => format!("refused ({code})"),
            Outcome::Failed(why) => format!("FAILED: {why}"),
            Outcome::Left(why) => format!("not run: {why}"),
        };
        passed += usize::from(matches!(outcome, Outcome::Passed));
        failed += usize::from(matches!(outcome, Outcome::Failed(_)));
        gate_left += usize::from(file.gate && !matches!(outcome, Outcome::Passed));
        let gate = if file.gate { "yes" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {} | {gate} | {} | {} |",
            file.path,
            file.phase,
            shown.replace('|', "\\|")
        );
    }
    print(&table);
    let summary = format!(
        "{passed} passed, {failed} failed, {} not run or refused; of the gate {gate_left} have not passed",
        files.len() - passed - failed
    );
    say(&summary);
    if write {
        docs::write_corpus(&format!("{table}\n{summary}.\n"))?;
    }
    if failed == 0 && gate_left == 0 {
        Ok(())
    } else {
        Err("the corpus does not come to what it should".to_owned())
    }
}
