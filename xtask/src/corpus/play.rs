//! One file, run to its end by the product's own verbs. Where somebody is waited for, that somebody
//! is played here.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

use super::check::Seen;
use super::expect::{Act, Expected};
use super::how::How;
use crate::root;

/// What a file came to.
pub(super) enum Played {
    /// A run that is over.
    Run(Seen),
    /// No run, but objects that were stored, as `KIND/NAME`.
    Stored(Vec<String>),
    /// A refusal: the code of its first error, and what that says.
    Refused { code: String, what: String },
}

/// A file with all that it needs, on a data directory of its own.
pub(super) struct Player<'c> {
    pub(super) how: &'c How,
    /// The corpus.
    pub(super) folder: &'c Path,
    /// Who plays: no two at a time may be the same.
    pub(super) worker: usize,
}

/// What the longest sleep of a file may be late by, with all else that runs beside it.
const PATIENCE_S: f64 = 180.0;

impl Player<'_> {
    /// Runs a file and looks at all that is left of it.
    pub(super) fn play(&self, file: &Expected) -> Result<Played, String> {
        let data = self.how.data(self.worker);
        let call = Call { how: self.how, data: &data, seconds: (PATIENCE_S + file.slow) as u64 };
        let files = self.files(file)?;
        let (workflow, told) = match file.acts.as_slice() {
            [] => {
                let output = call.output(&["-o", "json", "run"], &files, &file.args)?;
                (first(&output.stdout), told(&output)?)
            }
            acts => (Some(self.with_acts(&call, &files, file, acts)?), Told::default()),
        };
        if let Some((code, what)) = told.refused {
            return Ok(Played::Refused { code, what });
        }
        let missing = file.stored.iter().find(|object| !told.stored.contains(object));
        if let Some(missing) = missing {
            return Err(format!("{missing} is not stored"));
        }
        let Some(workflow) = workflow else { return Ok(Played::Stored(told.stored)) };
        let name = name_of(&workflow);
        let logs = call.output(&["-o", "json", "logs", &name], &[], &[])?;
        Ok(Played::Run(Seen::new(workflow, &String::from_utf8_lossy(&logs.stdout))))
    }

    /// Checks a file as `lint` does, without running it: the refusal, if it is refused.
    pub(super) fn refusal(&self, path: &str) -> Result<Option<(String, String)>, String> {
        let data = self.how.data(self.worker);
        let call = Call { how: self.how, data: &data, seconds: PATIENCE_S as u64 };
        let file = self.how.lend(&self.folder.join(path), &format!("{}-lint.yaml", self.worker))?;
        let output = call.output(&["-o", "json", "lint", "--offline"], &[file], &[])?;
        let report: Value = first(&output.stdout).ok_or("lint says nothing")?;
        let error = &report["errors"][0];
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        Ok((!error.is_null()).then(|| (text("code"), text("what"))))
    }

    /// The files of a run in the order in which they are loaded.
    fn files(&self, file: &Expected) -> Result<Vec<PathBuf>, String> {
        let own = file.own.iter().map(|name| root().join("xtask/corpus").join(name));
        let needs = file.needs.iter().map(|path| self.folder.join(path));
        let all = own.chain(needs).chain([self.folder.join(&file.path)]).enumerate();
        let lend = |(at, path): (usize, PathBuf)| {
            self.how.lend(&path, &format!("{}-{at}.yaml", self.worker))
        };
        let mut files = all.map(lend).collect::<Result<Vec<_>, _>>()?;
        if let Some(stored) = &file.from {
            let text = format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{generateName: from-}}\n\
                 spec: {{workflowTemplateRef: {{name: {}, clusterScope: {}}}}}\n",
                stored.name, stored.cluster
            );
            files.push(self.how.make(&text, &format!("{}-from.yaml", self.worker))?);
        }
        Ok(files)
    }

    /// Submits to a server, does what is to be done when its time has come, and gives the run as it
    /// has ended.
    fn with_acts(
        &self,
        call: &Call<'_>,
        files: &[PathBuf],
        file: &Expected,
        acts: &[Act],
    ) -> Result<Value, String> {
        let up = Up::start(call)?;
        let output = call.output(&["-o", "json", "submit"], files, &file.args)?;
        let run = first(&output.stdout).ok_or_else(|| error_of(&output))?;
        let name = name_of(&run);
        for act in acts {
            call.wait_for(act, &name)?;
            let mut args = vec![act.verb.as_str(), &name];
            args.extend(act.args.iter().map(String::as_str));
            let output = call.output(&args, &[], &[])?;
            if !output.status.success() {
                return Err(format!("{}: {}", act.verb, error_of(&output)));
            }
        }
        let output = call.output(&["-o", "json", "wait", &name], &[], &[])?;
        drop(up);
        first(&output.stdout).ok_or_else(|| error_of(&output))
    }
}

/// How commands are called for one file.
struct Call<'c> {
    how: &'c How,
    data: &'c Path,
    /// The longest that one may take.
    seconds: u64,
}

impl Call<'_> {
    fn output(&self, args: &[&str], files: &[PathBuf], more: &[String]) -> Result<Output, String> {
        let mut command = self.how.argosy(self.data, self.seconds, args);
        let output = command.args(files).args(more).output().map_err(|error| error.to_string())?;
        match output.status.code() {
            Some(124) => Err(format!("{args:?} is not over after {} s", self.seconds)),
            _ => Ok(output),
        }
    }

    /// Until a step runs, or has printed the line.
    fn wait_for(&self, act: &Act, run: &str) -> Result<(), String> {
        let args = match act.line {
            Some(_) => vec!["logs", run, "--follow", "--no-prefix"],
            None => vec!["watch", run],
        };
        let mut follow = Following::start(self.how.argosy(self.data, self.seconds, &args))?;
        while let Some(line) = follow.line()? {
            let here = match &act.line {
                Some(wanted) => line == *wanted,
                // A mark, the full name and the phase.
                None => {
                    let mut words = line.split(' ').skip(1);
                    let named = words.next().is_some_and(|name| is_step(name, run, &act.step));
                    named && words.next() == Some("Running")
                }
            };
            if here {
                return Ok(());
            }
        }
        Err(format!("the run ended, and {:?} could not be done at {:?}", act.verb, act.step))
    }
}

/// Whether a node's full name is that of a step of the entry template.
fn is_step(name: &str, run: &str, step: &str) -> bool {
    if step.is_empty() { name == run } else { name.ends_with(&format!(".{step}")) }
}

/// A command that prints as long as a run goes on; it ends with this.
struct Following {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn start(mut command: Command) -> Result<Following, String> {
        let spawned = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.map_err(|error| error.to_string())?;
        let out = child.stdout.take().ok_or("no output")?;
        Ok(Following { child, lines: BufReader::new(out).lines() })
    }

    fn line(&mut self) -> Result<Option<String>, String> {
        self.lines.next().transpose().map_err(|error| error.to_string())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // `timeout` hands this on to what it runs. Neither may be there any more.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// A server, which ends with this.
struct Up {
    _following: Following,
}

impl Up {
    fn start(call: &Call<'_>) -> Result<Up, String> {
        let args = ["up", "--listen", "127.0.0.1:0"];
        let mut following = Following::start(call.how.argosy(call.data, call.seconds, &args))?;
        while let Some(line) = following.line()? {
            if line.starts_with("for hera") {
                return Ok(Up { _following: following });
            }
        }
        Err("the server does not start".to_owned())
    }
}

/// The first JSON value of an output.
fn first(output: &[u8]) -> Option<Value> {
    serde_json::Deserializer::from_slice(output).into_iter::<Value>().next()?.ok()
}

fn name_of(workflow: &Value) -> String {
    workflow["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a command says beside its result.
#[derive(Default)]
struct Told {
    stored: Vec<String>,
    refused: Option<(String, String)>,
}

fn told(output: &Output) -> Result<Told, String> {
    let text = error_of(output);
    let stored = text.lines().filter_map(|line| line.strip_prefix("stored ")).map(str::to_owned);
    let mut told = Told { stored: stored.collect(), refused: None };
    if output.status.code() == Some(2) {
        // FILE:LINE:COLUMN: [CODE] what
        let coded = text.lines().find_map(|line| line.split_once(": [")?.1.split_once("] "));
        let (code, what) = coded.ok_or_else(|| format!("refused without a code: {text}"))?;
        told.refused = Some((code.to_owned(), what.to_owned()));
    }
    Ok(told)
}
