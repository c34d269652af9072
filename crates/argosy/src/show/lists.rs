//! Tables of runs, explanations and timelines.

use std::fmt::Write as _;

use argosy_engine::names;
use argosy_model::attempt::{Exit, Kill};
use serde::Deserialize;
use serde_json::Value;

use super::{age, duration, paint, time};

/// Runs, one a line.
pub(crate) fn list(items: &[Value], now_ms: i64, wide: bool) -> String {
    let mut titles = vec!["NAME", "STATUS", "AGE", "DURATION", "PRIORITY", "MESSAGE"];
    if wide {
        titles.extend(["PROGRESS", "PARAMETERS"]);
    }
    let rows = items.iter().map(|item| {
        let (meta, status) = (&item["metadata"], &item["status"]);
        let created = time::parse(meta["creationTimestamp"].as_str()).unwrap_or(now_ms);
        let finished = time::parse(status["finishedAt"].as_str()).unwrap_or(now_ms);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut row = vec![
            text(&meta["name"]),
            super::tree::shown_status(item),
            age(now_ms - created),
            duration(finished - created),
            item["spec"]["priority"].as_i64().unwrap_or(0).to_string(),
            text(&status["message"]).replace('\n', " "),
        ];
        if wide {
            let parameters = item["spec"]["arguments"]["parameters"].as_array();
            let parameters = parameters.into_iter().flatten().map(|parameter| {
                format!(
                    "{}={}",
                    parameter["name"].as_str().unwrap_or_default(),
                    names::plain(&parameter["value"])
                )
            });
            row.extend([text(&status["progress"]), parameters.collect::<Vec<_>>().join(",")]);
        }
        row
    });
    table(&titles, rows.collect())
}

/// Columns as wide as their widest cell.
fn table(titles: &[&str], rows: Vec<Vec<String>>) -> String {
    let width = |text: &str| anstream::adapter::strip_str(text).to_string().chars().count();
    let mut widths: Vec<usize> = titles.iter().map(|title| width(title)).collect();
    for row in &rows {
        for (at, cell) in row.iter().enumerate() {
            widths[at] = widths[at].max(width(cell));
        }
    }
    let mut text = String::new();
    let titles = titles.iter().map(|title| (*title).to_owned()).collect();
    for row in std::iter::once(titles).chain(rows) {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let pad = widths[at] - width(cell) + 2;
            line.push_str(cell);
            line.push_str(&" ".repeat(pad));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Why steps wait: a sentence each.
pub(crate) fn explanation(answer: &Value) -> String {
    let steps = answer["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let run = answer["run"].as_str().unwrap_or_default();
    let phase = answer["phase"].as_str().unwrap_or_default();
    if steps.is_empty() {
        return format!("{run} is {}; nothing of it waits\n", paint(phase, phase));
    }
    let rows = steps.iter().map(|step| {
        let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
        vec![text("step"), text("sentence")]
    });
    format!("{run} is {}\n\n{}", paint(phase, phase), table(&["STEP", "WHY"], rows.collect()))
}

/// What a step has come to, and the times of every attempt.
pub(crate) fn timeline(step: &Value) -> String {
    let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} {}", text("name"), paint(&text("phase"), &text("phase")));
    if !text("message").is_empty() {
        let _ = writeln!(out, "  {}", text("message"));
    }
    let outputs = &step["outputs"];
    let value = |parameter: &Value| names::plain(&parameter["value"]);
    for (title, list, shown) in [
        ("outputs", &outputs["parameters"], &value as &dyn Fn(&Value) -> String),
        ("artifacts", &outputs["artifacts"], &super::tree::stored_at),
    ] {
        for (at, one) in list.as_array().into_iter().flatten().enumerate() {
            let title = if at == 0 { title } else { "" };
            let name = one["name"].as_str().unwrap_or_default();
            let _ = writeln!(out, "  {title:<9} {name}: {}", shown(one));
        }
    }
    let attempts = step["attempts"].as_array().map(Vec::as_slice).unwrap_or_default();
    for attempt in attempts {
        let _ = writeln!(out, "\nattempt {}: {}", attempt["number"], exit(attempt));
        let queued = attempt["queuedMs"].as_i64().unwrap_or(0);
        for name in ["queued", "placed", "staged", "started", "ended", "saved"] {
            let at = attempt[format!("{name}Ms")].as_i64().unwrap_or(0);
            if at != 0 {
                let when =
                    argosy_template::go::time::format_ms("2006-01-02T15:04:05.000Z07:00", at);
                let _ = writeln!(out, "  {name:<8} {when}  +{} ms", at - queued);
            }
        }
        if let Some(usage) = attempt["usage"].as_object().filter(|_| !attempt["exit"].is_null()) {
            let number = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
            let _ = writeln!(
                out,
                "  cpu {} ms user, {} ms system; {} MiB at most",
                number("user_us") / 1000,
                number("system_us") / 1000,
                number("max_rss_bytes") >> 20
            );
        }
    }
    out
}

/// How an attempt has ended, or where it is.
fn exit(attempt: &Value) -> String {
    let message = attempt["message"].as_str().unwrap_or_default();
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    // A server of another version may know other words; they are shown as they are.
    let how = match Option::<Exit>::deserialize(&attempt["exit"]) {
        Ok(Some(exit)) => of_exit(&exit),
        Ok(None) => attempt["phase"].as_str().unwrap_or_default().to_lowercase(),
        Err(_) => attempt["exit"].to_string(),
    };
    let why = match Option::<Kill>::deserialize(&attempt["kill"]) {
        Ok(Some(kill)) => format!(" ({})", of_kill(kill)),
        _ => String::new(),
    };
    format!("{how}{why}{message}")
}

fn of_exit(exit: &Exit) -> String {
    let words = match exit {
        Exit::Code(code) => return format!("exit code {code}"),
        Exit::Signal(signal) => {
            return format!("ended by signal {signal}, which was not sent from here");
        }
        Exit::Killed => "ended from here",
        Exit::OutOfMemory => "ended by the kernel for want of memory",
        // The message says with what, or for want of what.
        Exit::Lost => "lost",
        Exit::NotStarted => "never started",
        Exit::Refused => "could not be started",
        Exit::OutputsLost => "ended well, but its outputs could not be kept",
    };
    words.to_owned()
}

fn of_kill(kill: Kill) -> &'static str {
    match kill {
        Kill::Deadline => "the time of its step was over",
        Kill::RunDeadline => "the time of its run was over",
        Kill::Shutdown => "its run was stopped or terminated",
        Kill::NotNeeded => "what needed it has ended",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_end_of_an_attempt_is_said_in_words() {
        for (attempt, words) in [
            (json!({"phase": "Queued", "exit": null}), "queued"),
            (json!({"exit": Exit::Code(3), "message": ""}), "exit code 3"),
            (
                json!({"exit": Exit::OutputsLost, "message": "no file /tmp/x"}),
                "ended well, but its outputs could not be kept: no file /tmp/x",
            ),
            (
                json!({"exit": Exit::Killed, "kill": Kill::RunDeadline}),
                "ended from here (the time of its run was over)",
            ),
            (json!({"exit": "Evaporated"}), "\"Evaporated\""),
        ] {
            assert_eq!(exit(&attempt), words);
        }
    }
}
