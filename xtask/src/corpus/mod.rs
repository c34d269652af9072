//! Public manifests, run and compared with what reading them says.

mod check;
mod expect;
mod how;
mod play;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::run::{print, say};
use crate::{Task, docs, root};
use expect::Expected;
use how::How;
use play::{Played, Player};
use table::Row;

/// Runs at the same time. Most of the time they sleep.
const WORKERS: usize = 4;

/// What came of one file.
enum Outcome {
    /// As expected.
    Passed,
    /// There is nothing in it to run; all of it is stored.
    Loaded,
    /// The loader refuses it, as was expected.
    Refused { code: String, what: String },
    /// Not as expected, and why.
    Failed(String),
}

/// A file of the corpus.
struct File<'e> {
    path: String,
    class: String,
    /// `None` where nothing is expected but a refusal.
    expected: Option<&'e Expected>,
}

/// `corpus argo [--write] [--nobody] [--mutant] [FILTER]`
pub(crate) fn argo(args: &[&str]) -> Task {
    let given = |option: &str| args.contains(&option);
    let filter = args.iter().find(|arg| !arg.starts_with("--"));
    let folder = folder()?;
    let expected = expect::read(&root().join("xtask/corpus/argo.toml"))?;
    let mut files = all(&expected, &folder)?;
    files.retain(|file| filter.is_none_or(|part| file.path.contains(part)));
    let for_root = |file: &File<'_>| file.expected.is_some_and(|expected| expected.root);
    files.retain(|file| !given("--nobody") || !for_root(file));
    let how = How::new(given("--nobody"), given("--mutant"))?;
    let reported = report(run_all(&files, &folder, &how), given("--write"));
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

/// Every file of the corpus with its class, and with what is expected of it.
fn all<'e>(expected: &'e [Expected], folder: &Path) -> Result<Vec<File<'e>>, String> {
    let list = folder.join("classes.tsv");
    let text = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let mut known: BTreeMap<&str, &Expected> =
        expected.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let class = names.iter().position(|name| *name == "class").ok_or("no column `class`")?;
    let mut files = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let path = (*cells.first().unwrap_or(&"")).to_owned();
        let class = (*cells.get(class).ok_or_else(|| format!("{path} has no class"))?).to_owned();
        let expected = known.remove(path.as_str());
        if expected.is_none() && (class == "A" || class == "E") {
            return Err(format!("{path} is of class {class}, and nothing says what to expect"));
        }
        files.push(File { path, class, expected });
    }
    match known.keys().next() {
        Some(path) => Err(format!("{path} is not in the corpus")),
        None => Ok(files),
    }
}

/// Runs them side by side, the longest first.
fn run_all(files: &[File<'_>], folder: &Path, how: &How) -> Vec<Row> {
    let slow = |at: &usize| files[*at].expected.map_or(0.0, |expected| expected.slow);
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by(|a, b| slow(b).total_cmp(&slow(a)));
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = files.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (next, outcomes, order) = (&next, &outcomes, &order);
            scope.spawn(move || {
                let player = Player { how, folder, worker };
                while let Some(at) = order.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let outcome = run_one(&files[*at], &player);
                    if let Ok(mut slot) = outcomes[*at].lock() {
                        *slot = Some(outcome);
                    }
                }
            });
        }
    });
    let taken = outcomes.into_iter().map(|slot| slot.into_inner().ok().flatten());
    let row = |(file, outcome): (&File<'_>, Option<Outcome>)| Row {
        path: file.path.clone(),
        class: file.class.clone(),
        expected: file.expected.map(|expected| expected.phase.clone()),
        gate: file.expected.is_some_and(|expected| expected.gate),
        outcome: outcome.unwrap_or_else(|| Outcome::Failed("its worker died".to_owned())),
    };
    files.iter().zip(taken).map(row).collect()
}

fn run_one(file: &File<'_>, player: &Player<'_>) -> Outcome {
    let Some(expected) = file.expected else {
        return match player.refusal(&file.path) {
            Ok(Some((code, what))) => Outcome::Refused { code, what },
            Ok(None) => Outcome::Failed(
                "it is not refused, and nothing says what to expect of it".to_owned(),
            ),
            Err(why) => Outcome::Failed(why),
        };
    };
    match player.play(expected) {
        Ok(played) => judge(expected, played),
        Err(why) => Outcome::Failed(why),
    }
}

fn judge(expected: &Expected, played: Played) -> Outcome {
    match played {
        Played::Refused { code, what } if code == expected.refused => {
            Outcome::Refused { code, what }
        }
        Played::Refused { code, what } => Outcome::Failed(format!("refused ({code}): {what}")),
        _ if !expected.refused.is_empty() => {
            Outcome::Failed(format!("not refused with {}", expected.refused))
        }
        Played::Stored(_) if expected.phase == "none" => Outcome::Loaded,
        Played::Stored(objects) => Outcome::Failed(format!("no run; stored {objects:?}")),
        Played::Run(_) if expected.phase == "none" => {
            Outcome::Failed("a run, and none was expected".to_owned())
        }
        Played::Run(seen) => match check::check(expected, &seen) {
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        },
    }
}

fn report(rows: Vec<Row>, write: bool) -> Task {
    let tables = table::of(&rows);
    print(&tables.text);
    say(&tables.summary);
    if write {
        docs::write_corpus(&format!("{}\n{}.\n", tables.text, tables.summary))?;
    }
    if tables.good { Ok(()) } else { Err("the corpus does not come to what it should".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(phase: &str, refused: &str) -> Expected {
        toml::from_str(&format!("path = 'x'\nphase = '{phase}'\nrefused = '{refused}'")).unwrap()
    }

    #[test]
    fn a_refusal_passes_only_where_it_is_expected_and_with_that_code() {
        let refused = || Played::Refused { code: "E0211".into(), what: "no".into() };
        let stored = || Played::Stored(vec!["ConfigMap/x".into()]);
        for (expected, played, good) in [
            (expected("Succeeded", "E0211"), refused(), true),
            (expected("none", "E0211"), refused(), true),
            (expected("none", "E0106"), refused(), false),
            (expected("Succeeded", ""), refused(), false),
            (expected("none", "E0211"), stored(), false),
            (expected("none", ""), stored(), true),
            (expected("Succeeded", ""), stored(), false),
        ] {
            let outcome = judge(&expected, played);
            assert_eq!(!matches!(outcome, Outcome::Failed(_)), good, "{expected:?}");
        }
    }
}
