//! What a run holds, in bytes: the values and texts that came to it while it went on. Its graph is
//! bounded by what a manifest may be, and the number of its steps by a limit of its own.
//!
//! It is counted as memory is taken: [`VALUE`] for each value, and its text.

use argosy_model::artifact::Location;
use argosy_model::graph::Lock;
use argosy_model::{Artifact, End, Holding, Inputs, Item, Outputs, Step, TaskSpec};
use serde::Serialize;
use serde_json::Value;

use crate::run::Run;

/// What a value takes beside its text.
const VALUE: u64 = 32;

fn text(text: &str) -> u64 {
    text.len() as u64
}

/// JSON with all that is in it.
pub(crate) fn value(value: &Value) -> u64 {
    let inner = match value {
        Value::String(string) => text(string),
        Value::Array(list) => list.iter().map(self::value).sum(),
        Value::Object(map) => map.iter().map(|(name, inner)| text(name) + self::value(inner)).sum(),
        _ => 0,
    };
    VALUE + inner
}

pub(crate) fn items(list: &[Item]) -> u64 {
    let size = |item: &Item| item.as_plain().map_or_else(|| text(&item.json()), text);
    list.iter().map(|item| VALUE + size(item)).sum()
}

pub(crate) fn artifact(artifact: &Artifact) -> u64 {
    let at = match &artifact.at {
        Location::Blob { key } => text(key),
        Location::Raw { data } => text(data),
        Location::Http { url } => text(url),
        Location::S3(at) => text(&at.endpoint) + text(&at.bucket) + text(&at.key),
    };
    VALUE + at + text(&artifact.sub_path)
}

pub(crate) fn inputs(inputs: &Inputs) -> u64 {
    let parameters = inputs.parameters.iter().flatten().map(|parameter| VALUE + text(parameter));
    let artifacts = inputs.artifacts.iter().flatten().map(artifact);
    parameters.chain(artifacts).sum()
}

pub(crate) fn result(result: Option<&str>) -> u64 {
    result.map_or(0, |result| VALUE + text(result))
}

fn outputs(outputs: &Outputs) -> u64 {
    let result = result(outputs.result.as_deref());
    let parameters = outputs.parameters.iter().map(|(name, inner)| text(name) + value(inner));
    let artifacts = outputs.artifacts.iter().map(|(name, inner)| text(name) + artifact(inner));
    result + parameters.chain(artifacts).sum::<u64>()
}

pub(crate) fn end(end: &End) -> u64 {
    let containers = end.containers.iter().map(|container| VALUE + text(&container.name));
    text(&end.message) + outputs(&end.outputs) + containers.sum::<u64>()
}

/// What may change of a step before it ends, and with its end.
pub(crate) fn changing(step: &Step) -> u64 {
    let message = step.message.as_deref().map_or(0, text);
    let recall = step.recall.as_deref().map_or(0, |recall| text(&recall.cache) + text(&recall.key));
    message + recall + step.outputs.as_deref().map_or(0, outputs)
}

fn step(step: &Step) -> u64 {
    let ends = step.attempts.iter().filter_map(|attempt| attempt.end.as_deref()).map(end);
    changing(step) + step.inputs.as_deref().map_or(0, inputs) + ends.sum::<u64>()
}

pub(crate) fn locks(locks: &[Lock]) -> u64 {
    let name = |lock: &Lock| match lock {
        Lock::Mutex { name } => text(name),
        Lock::Semaphore { config_map, key } => text(config_map) + text(key),
    };
    locks.iter().map(|lock| VALUE + name(lock)).sum()
}

pub(crate) fn holding(holding: &Holding) -> u64 {
    locks(&holding.locks)
}

/// A task that another one asked for, as it is written.
pub(crate) fn task(task: &TaskSpec) -> u64 {
    let mut size = Size(0);
    // It is written to the log in the same way; what cannot be written is found out there.
    let _ = task.serialize(&mut serde_json::Serializer::new(&mut size));
    size.0
}

/// Counts what is written.
struct Size(u64);

impl std::io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// All of it, for a run that was just loaded. The run's own task is a part of its graph.
pub(crate) fn of(run: &Run) -> u64 {
    let own_task = usize::from(run.graph().is_none());
    let parts = [
        run.steps.iter().map(step).sum(),
        run.items.values().map(|list| items(list)).sum(),
        run.tasks.iter().skip(own_task).map(|inner| task(inner)).sum(),
        run.globals.iter().map(|(name, inner)| text(name) + value(inner)).sum(),
        run.global_artifacts.iter().map(|(name, inner)| text(name) + artifact(inner)).sum(),
        run.locks.values().map(holding).sum(),
    ];
    parts.iter().sum::<u64>()
}
