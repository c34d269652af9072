//! Marks and colours. Colour only repeats what the mark says.

use anstyle::{AnsiColor, Style};

/// Every sequence that [`paint`] writes.
pub(crate) const COLOURS: [&str; 5] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[0m"];

/// The mark of a node phase, as Argo's command line draws it.
pub(crate) fn mark(phase: &str, suspended: bool) -> &'static str {
    match phase {
        _ if suspended => "ǁ",
        "Pending" | "" => "◷",
        "Running" => "●",
        "Succeeded" => "✔",
        "Skipped" | "Omitted" => "○",
        "Failed" => "✖",
        "Error" => "⚠",
        _ => "?",
    }
}

fn style(phase: &str) -> Style {
    let colour = match phase {
        "Succeeded" => AnsiColor::Green,
        "Failed" | "Error" => AnsiColor::Red,
        "Running" => AnsiColor::Cyan,
        "Pending" => AnsiColor::Yellow,
        _ => return Style::new(),
    };
    Style::new().fg_color(Some(colour.into()))
}

/// The text in the colour of a phase. The stream that it is printed to takes the colour out again
/// where it is not wanted.
pub(crate) fn paint(phase: &str, text: &str) -> String {
    let style = style(phase);
    format!("{style}{text}{style:#}")
}
