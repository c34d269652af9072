//! One call, made once for each item (argo-workflows `workflow/controller/{steps,operator}.go`
//! `expandStep`, `expandSequence`).

use std::sync::Arc;

use argosy_model::event::StepSeed;
use argosy_model::graph::{Call, Each, Sequence};
use argosy_model::{Code, Diagnostic, Event, Item, Kind, Phase, Role, StepKey, limits};
use serde_json::Value;

use super::bind::{eval, render_text};
use super::steps::child_failed;
use super::turn::Turn;
use crate::fault::evaluation;
use crate::item;
use crate::scope::View;

impl Turn<'_> {
    pub(super) fn make_fan_out(
        &mut self,
        parent: StepKey,
        role: Role,
        owner: StepKey,
        each: &Each,
        call: &Call,
    ) {
        let view = self.view(owner);
        let template = match &call.target {
            argosy_model::graph::Target::Template(at) => *at,
            argosy_model::graph::Target::Named { .. } => StepSeed::NO_TEMPLATE,
        };
        let items = match items(&view, each) {
            Ok(items) => items,
            Err(why) => return self.add_refused(parent, role, template, &why),
        };
        let weight = self.run.compiled.item_weight(call);
        if !self.may_add((items.len() as u64).saturating_mul(weight).saturating_add(1)) {
            return;
        }
        let key = self.add(parent, role, Kind::FanOut, template, None);
        let count = items.len();
        self.spend(count as u64);
        self.emit(Event::ItemsListed { step: key, items: Arc::new(items) });
        if count == 0 {
            let text = "Skipped, empty params".to_owned();
            return self.end(key, Phase::Skipped, Some(text), None);
        }
        self.emit(Event::StepStarted { step: key });
        if self.expect_calls(key, count, weight) {
            self.make_later(key);
        }
    }

    /// Whether an item of a loop has failed that nothing continues on, in a template where the
    /// first failure keeps the rest from starting.
    pub(super) fn failed_fast(&self, key: StepKey) -> bool {
        let failed = self.run.frames.get(key).is_some_and(|frame| frame.first_failed.is_some());
        let owner = self.run.template_of(self.run.boundary(key));
        failed && owner.is_some_and(|template| template.fail_fast == Some(true))
    }

    /// An item has settled, or no further one is made.
    pub(super) fn advance_fan_out(&mut self, key: StepKey) {
        let frame = self.run.frames.get(key);
        let Some(frame) = frame.filter(|frame| frame.open == 0) else { return };
        let calls = frame.calls;
        if calls.made < calls.total {
            return;
        }
        // The last failure decides, as upstream's loop over the children has it.
        if let Some(child) = frame.last_failed {
            let (phase, text) = (self.run.at(child).phase, child_failed(self.run, child));
            return self.end(key, phase, Some(text), None);
        }
        let all = self.run.items.get(&key).map_or(0, |items| items.len());
        match self.refusal(key, Role::Item(0)).filter(|_| calls.made < all) {
            Some(text) => self.end(key, Phase::Failed, Some(text), None),
            None => self.end(key, Phase::Succeeded, None, None),
        }
    }
}

/// What is no list of items.
fn bad(what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::BadFanOut, what)
}

/// The items of a loop, evaluated.
fn items(view: &View<'_>, each: &Each) -> Result<Vec<Item>, Diagnostic> {
    let items = match each {
        Each::Items(items) => {
            let items =
                items.iter().map(|item| item::of_value(&render_item(view, item)?).map_err(bad));
            items.collect::<Result<_, _>>()?
        }
        Each::Param(text) => listed(view, text)?,
        Each::Sequence(sequence) => numbers(view, sequence)?,
    };
    limits::ITEMS.check(items.len() as u64, "loop")?;
    for item in &items {
        limits::PARAMETER_BYTES.check(size(item), "item")?;
    }
    Ok(items)
}

/// Bytes of an item as a value: of a string without quotes and escapes.
fn size(item: &Item) -> u64 {
    if let Some(text) = item.as_plain() {
        return text.len() as u64;
    }
    let json = item.json();
    let text = json.starts_with('"').then(|| serde_json::from_str::<String>(&json).ok());
    text.flatten().map_or(json.len(), |text| text.len()) as u64
}

fn render_item(view: &View<'_>, item: &Value) -> Result<Value, Diagnostic> {
    Ok(match item {
        Value::String(text) => Value::from(render_text(view, text).map_err(evaluation)?),
        Value::Array(list) => {
            Value::from(list.iter().map(|i| render_item(view, i)).collect::<Result<Vec<_>, _>>()?)
        }
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| Ok((key.clone(), render_item(view, value)?)))
                .collect::<Result<_, Diagnostic>>()?,
        ),
        other => other.clone(),
    })
}

fn listed(view: &View<'_>, text: &str) -> Result<Vec<Item>, Diagnostic> {
    let rendered = match sole_expression(text) {
        Some(source) => match eval(view, source).map_err(evaluation)? {
            Value::String(text) => text,
            other => argosy_template::to_go_json(&other),
        },
        None => render_text(view, text).map_err(evaluation)?,
    };
    match item::listed(&rendered) {
        Ok(Ok(list)) => Ok(list),
        Ok(Err(kind)) => Err(bad(format!("withParam value must be a JSON list, not {kind}"))),
        Err(error) => {
            let shown: String = rendered.chars().take(100).collect();
            let what =
                format!("withParam value could not be parsed as a JSON list: {shown:?}: {error}");
            Err(bad(what))
        }
    }
}

/// The expression of a text that is one expression tag and nothing else.
fn sole_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{=")?.strip_suffix("}}")?;
    (!inner.contains("{{")).then_some(inner)
}

fn numbers(view: &View<'_>, sequence: &Sequence) -> Result<Vec<Item>, Diagnostic> {
    let number = |text: &Option<String>| -> Result<Option<i64>, Diagnostic> {
        let Some(text) = text else { return Ok(None) };
        let rendered = render_text(view, text).map_err(evaluation)?;
        let parsed = rendered.trim().parse();
        parsed
            .map(Some)
            .map_err(|_| bad(format!("withSequence: {rendered:?} is not a whole number")))
    };
    let start = number(&sequence.start)?.unwrap_or(0);
    let end = match (number(&sequence.count)?, number(&sequence.end)?) {
        (Some(0), _) => return Ok(Vec::new()),
        (Some(count), _) if count > 0 => start.saturating_add(count - 1),
        (Some(count), _) => return Err(bad(format!("withSequence: count {count} is negative"))),
        (None, Some(end)) => end,
        (None, None) => return Err(bad("withSequence: neither count nor end is given")),
    };
    let length = start.abs_diff(end).saturating_add(1);
    limits::ITEMS.check(length, "withSequence")?;
    let values: Vec<i64> =
        if start <= end { (start..=end).collect() } else { (end..=start).rev().collect() };
    let Some(format) = sequence.format.as_deref() else {
        return texts(values.into_iter().map(|value| value.to_string()));
    };
    let format = Format::parse(format)?;
    texts(values.into_iter().map(|value| format.print(value)))
}

fn texts(texts: impl Iterator<Item = String>) -> Result<Vec<Item>, Diagnostic> {
    texts.map(|text| item::of_text(text).map_err(bad)).collect()
}

/// `%d` and its relatives with flags and width, as Go's `fmt.Sprintf` prints one whole number.
struct Format<'f> {
    before: &'f str,
    flags: &'f str,
    width: usize,
    verb: char,
    after: &'f str,
}

impl Format<'_> {
    fn parse(format: &str) -> Result<Format<'_>, Diagnostic> {
        let refuse = || bad(format!("withSequence: format {format:?} is not for one whole number"));
        let (before, rest) = format.split_once('%').ok_or_else(refuse)?;
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(refuse)?;
        let (spec, after) = rest.split_at(end);
        let verb = after.chars().next().ok_or_else(refuse)?;
        let after = &after[verb.len_utf8()..];
        let width_at = spec.find(|c: char| c.is_ascii_digit() && c != '0').unwrap_or(spec.len());
        let (flags, width) = spec.split_at(width_at);
        let width: usize =
            if width.is_empty() { 0 } else { width.parse().map_err(|_| refuse())? };
        let known = "dvxXob".contains(verb) && flags.chars().all(|c| "0-+ #".contains(c));
        if width > 100 || !known || after.contains('%') {
            return Err(refuse());
        }
        Ok(Format { before, flags, width, verb, after })
    }

    fn print(&self, value: i64) -> String {
        let Format { before, flags, width, verb, after } = *self;
        let sign = if value < 0 {
            "-"
        } else if flags.contains('+') {
            "+"
        } else {
            ""
        };
        let (prefix, magnitude) = (flags.contains('#'), value.unsigned_abs());
        let digits = match verb {
            'x' => format!("{}{magnitude:x}", if prefix { "0x" } else { "" }),
            'X' => format!("{}{magnitude:X}", if prefix { "0X" } else { "" }),
            'o' => format!("{}{magnitude:o}", if prefix { "0" } else { "" }),
            'b' => format!("{magnitude:b}"),
            _ => magnitude.to_string(),
        };
        let pad = width.saturating_sub(sign.len() + digits.len());
        let (left, zeros, right) = if flags.contains('-') {
            (0, 0, pad)
        } else if flags.contains('0') {
            (0, pad, 0)
        } else {
            (pad, 0, 0)
        };
        format!("{before}{:left$}{sign}{:0<zeros$}{digits}{:right$}{after}", "", "", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_print_as_go_prints_them() {
        for (format, value, shown) in [
            ("%d", 7, "7"),
            ("testuser%02X", 200, "testuserC8"),
            ("%03d", 7, "007"),
            ("%03d", -7, "-07"),
            ("%5d|", 7, "    7|"),
            ("%-5d|", 7, "7    |"),
            ("%+d", 7, "+7"),
            ("%x", 255, "ff"),
            ("a%db", 1, "a1b"),
        ] {
            let printed = Format::parse(format).map(|format| format.print(value));
            assert_eq!(printed.as_deref(), Ok(shown), "{format}");
        }
        for bad in ["", "x", "%", "%s", "%d%d", "%999999999d"] {
            assert!(Format::parse(bad).is_err(), "{bad}");
        }
    }
}
