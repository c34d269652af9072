//! Following runs to their end.

use std::collections::HashMap;
use std::process::ExitCode;

use futures::StreamExt;
use serde_json::Value;

use super::Context;
use super::get::{now_ms, path};
use crate::cli::Output;
use crate::client::{Client, Results, quote};
use crate::failure::{Failure, RUN_FAILED};
use crate::out::{self, note, say};
use crate::show;

/// How often a drawing is refreshed while nothing changes, so that durations go on.
const REDRAW: std::time::Duration = std::time::Duration::from_secs(1);

/// How a run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// Drawn anew at each change.
    Tree,
    /// A line for each step that changes.
    Lines,
    /// Not at all, but all of its end is wanted.
    Nothing,
    /// Not at all, and nothing but how it ends is wanted.
    Outcome,
}

impl Show {
    /// The tree where somebody looks, lines elsewhere.
    pub(super) fn live() -> Show {
        if out::is_screen() { Show::Tree } else { Show::Lines }
    }

    /// Lines end with the tree; one that was drawn stands there already.
    pub(super) fn close(self, end: &Value) -> Result<(), Failure> {
        match self {
            Show::Lines => out::text(&show::run(end, now_ms(), false)),
            Show::Tree | Show::Nothing | Show::Outcome => Ok(()),
        }
    }
}

pub(super) async fn watch(context: &Context, run: &str) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let name = named(&client, run).await?;
    let how = Show::live();
    let end = follow(&client, &name, how).await?;
    how.close(&end)?;
    Ok(exit_code(&[end]))
}

/// The name of a run that a person has called by it, or otherwise.
async fn named(client: &Client, run: &str) -> Result<String, Failure> {
    let workflow = client.get(&format!("{}?argosy.nodes=false", path(client, run))).await?;
    Ok(workflow["metadata"]["name"].as_str().unwrap_or_default().to_owned())
}

pub(super) async fn wait(context: &Context, runs: &[String]) -> Result<ExitCode, Failure> {
    let client = context.client().await?;
    let mut ends = Vec::new();
    for run in runs {
        let name = &*named(&client, run).await?;
        let is_whole = matches!(context.output, Output::Json | Output::Yaml);
        let how = if is_whole { Show::Nothing } else { Show::Outcome };
        let end = follow(&client, name, how).await?;
        if !context.print(&end)? {
            let phase = end["status"]["phase"].as_str().unwrap_or_default();
            say!("{name} {}", show::paint(phase, phase))?;
        }
        ends.push(end);
    }
    Ok(exit_code(&ends))
}

/// 0 when all succeeded, 1 when one failed.
pub(super) fn exit_code(ends: &[Value]) -> ExitCode {
    let succeeded = ends.iter().all(|end| end["status"]["phase"] == "Succeeded");
    if succeeded { ExitCode::SUCCESS } else { ExitCode::from(RUN_FAILED) }
}

/// Follows a run to its end and returns it.
async fn follow(client: &Client, name: &str, how: Show) -> Result<Value, Failure> {
    Following::begin(client, name, how).await?.end().await
}

/// A run that is followed. Its last state reaches whoever has begun, even where it is deleted as
/// soon as it has ended.
pub(super) struct Following {
    client: Client,
    name: String,
    how: Show,
    events: Results,
}

impl Following {
    pub(super) async fn begin(
        client: &Client,
        name: &str,
        how: Show,
    ) -> Result<Following, Failure> {
        let events = events(client, name, how).await?;
        Ok(Following { client: client.clone(), name: name.to_owned(), how, events })
    }

    /// Follows it to its end and returns it, also over a restart of the server.
    pub(super) async fn end(mut self) -> Result<Value, Failure> {
        let mut screen = Screen::default();
        loop {
            let away = match self.end_here(&mut screen).await {
                Err(failure) if failure.is_unreachable() => failure,
                ended => return ended,
            };
            self.begin_again(away).await?;
        }
    }

    async fn begin_again(&mut self, mut away: Failure) -> Result<(), Failure> {
        loop {
            note!("the server is away: waiting for it, for a minute");
            self.client = self.client.again().await.ok_or(away)?;
            match events(&self.client, &self.name, self.how).await {
                Err(failure) if failure.is_unreachable() => away = failure,
                begun => {
                    // It may have been deleted meanwhile, which is told.
                    self.events = begun?;
                    return Ok(());
                }
            }
        }
    }

    /// The same, as long as the server lives.
    async fn end_here(&mut self, screen: &mut Screen) -> Result<Value, Failure> {
        let mut last = Value::Null;
        loop {
            let next = tokio::time::timeout(REDRAW, self.events.next()).await;
            match next {
                Ok(Some(event)) => last = event?["object"].take(),
                Ok(None) if self.how == Show::Nothing => {
                    let last = over(last)?;
                    // A run with a short time to live may be gone by now.
                    let whole = self.client.get(&path(&self.client, &self.name)).await;
                    return Ok(whole.unwrap_or(last));
                }
                Ok(None) => return over(last),
                Err(_) => {}
            }
            match self.how {
                Show::Tree => screen.draw(&show::run(&last, now_ms(), false))?,
                Show::Lines => screen.lines(&last)?,
                Show::Nothing | Show::Outcome => {}
            }
        }
    }
}

/// The run now, and at every change.
async fn events(client: &Client, name: &str, how: Show) -> Result<Results, Failure> {
    let selector = quote(&format!("metadata.name={name}"));
    let path = format!(
        "/api/v1/workflow-events/{}?listOptions.fieldSelector={selector}&listOptions.resourceVersion=0&argosy.nodes={}",
        quote(&client.space),
        matches!(how, Show::Tree | Show::Lines)
    );
    client.lines(&path).await
}

fn over(last: Value) -> Result<Value, Failure> {
    if last["status"]["finishedAt"].is_null() {
        return Err(Failure::unreachable(
            "the server stopped before the run ended",
            "start it again; the run goes on",
        ));
    }
    Ok(last)
}

/// What is on the screen, or was printed.
#[derive(Default)]
struct Screen {
    height: usize,
    phases: HashMap<String, String>,
}

impl Screen {
    /// Draws over the last picture.
    fn draw(&mut self, picture: &str) -> Result<(), Failure> {
        out::over(self.height, picture)?;
        self.height = picture.lines().count();
        Ok(())
    }

    /// A line for each step whose phase is another than before.
    fn lines(&mut self, workflow: &Value) -> Result<(), Failure> {
        let nodes = workflow["status"]["nodes"].as_object();
        for node in nodes.into_iter().flat_map(serde_json::Map::values) {
            let text = |name: &str| node[name].as_str().unwrap_or_default();
            if !matches!(text("type"), "Pod" | "Suspend" | "Skipped" | "Retry") {
                continue;
            }
            let known = self.phases.insert(text("id").to_owned(), text("phase").to_owned());
            if known.as_deref() != Some(text("phase")) {
                let suspended = text("type") == "Suspend" && text("phase") == "Running";
                let mark = show::mark(text("phase"), suspended);
                say!("{mark} {} {} {}", text("name"), text("phase"), text("message"))?;
            }
        }
        Ok(())
    }
}
