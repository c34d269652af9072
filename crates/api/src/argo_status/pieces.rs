//! A run's Workflow object as text in pieces: that of a million steps as a whole would take
//! gigabytes.

use std::fmt::Write as _;

use argosy_engine::Run;
use argosy_model::StepKey;
use serde_json::{Map, Value};

use super::nodes::{Index, Nodes};
use super::outline;

/// A piece ends with the node that brings it to this many bytes.
const PIECE: usize = 64 << 10;

/// What is left to be told of a run that does not change meanwhile.
pub struct Pieces {
    index: Index,
    next: Next,
}

enum Next {
    Head,
    /// The nodes of this step; whether there was one before.
    Step(StepKey, bool),
    Nothing,
}

impl Pieces {
    /// All of it is left.
    #[must_use]
    pub fn of(run: &Run) -> Pieces {
        Pieces { index: Index::of(run), next: Next::Head }
    }

    /// The next piece of the run that this was made of; `None` after the last.
    pub fn next(&mut self, run: &Run) -> Option<String> {
        let mut text = String::new();
        let (mut key, mut comma) = match self.next {
            Next::Head => {
                text = head(run);
                (StepKey::ROOT, false)
            }
            Next::Step(key, comma) => (key, comma),
            Next::Nothing => return None,
        };
        let all = Nodes::of(run, &self.index);
        while text.len() < PIECE && key.index() < run.steps.len() {
            let mut map = Map::new();
            all.add(key, &mut map);
            for (id, node) in map {
                if std::mem::replace(&mut comma, true) {
                    text.push(',');
                }
                // Writing to a String cannot fail.
                let _ = write!(text, "{}:{}", Value::from(id), node);
            }
            key = StepKey(key.0 + 1);
        }
        self.next = Next::Step(key, comma);
        if key.index() >= run.steps.len() {
            text.push_str("}}}");
            self.next = Next::Nothing;
        }
        Some(text)
    }
}

/// Everything in front of the first node. There are some other fields in each object, and the
/// brackets behind them are taken away.
fn head(run: &Run) -> String {
    let mut object = outline(run);
    let status = object.as_object_mut().and_then(|object| object.remove("status"));
    let open = |object: Value| {
        let mut text = object.to_string();
        text.pop();
        text
    };
    format!("{},\"status\":{},\"nodes\":{{", open(object), open(status.unwrap_or_default()))
}
