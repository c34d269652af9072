//! What came of the files, as tables.

use std::fmt::Write as _;

use super::Outcome;

/// A line of a table.
pub(super) struct Row {
    pub(super) path: String,
    /// `None` for a file of which no more is expected than that it is refused.
    pub(super) expected: Option<String>,
    pub(super) class: String,
    pub(super) gate: bool,
    pub(super) outcome: Outcome,
}

/// Both tables, and how many came to what.
pub(super) struct Tables {
    pub(super) text: String,
    pub(super) summary: String,
    pub(super) good: bool,
}

pub(super) fn of(rows: &[Row]) -> Tables {
    let mut text = String::from(
        "\n## Upstream's examples\n\n\
         Class A are those that need processes alone, E those that are meant to fail, B those that\n\
         need something set up, C those that need Kubernetes, D those that need other services or\n\
         systems.\n\n\
         | file | class | gate | expected | outcome |\n| --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let Some(expected) = &row.expected else { continue };
        let gate = if row.gate { "yes" } else { "" };
        let outcome = shown(&row.outcome);
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "| {} | {} | {gate} | {expected} | {outcome} |", row.path, row.class);
    }
    text.push_str(
        "\nThe rest is refused before anything runs:\n\n\
         | file | class | outcome |\n| --- | --- | --- |\n",
    );
    for row in rows.iter().filter(|row| row.expected.is_none()) {
        let _ = writeln!(text, "| {} | {} | {} |", row.path, row.class, shown(&row.outcome));
    }
    let count = |is: fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let left = rows.iter().filter(|row| row.gate && !matches!(row.outcome, Outcome::Passed));
    let left = left.count();
    let summary = format!(
        "{} passed, {} only stored, {} refused by name, {failed} failed; of the gate {left} have not passed",
        count(|outcome| matches!(outcome, Outcome::Passed)),
        count(|outcome| matches!(outcome, Outcome::Loaded)),
        count(|outcome| matches!(outcome, Outcome::Refused { .. })),
    );
    Tables { text, summary, good: failed == 0 && left == 0 }
}

fn shown(outcome: &Outcome) -> String {
    let text = match outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Loaded => "stored".to_owned(),
        Outcome::Refused { code, what } => format!("refused ({code}): {what}"),
        Outcome::Failed(why) => format!("FAILED: {why}"),
    };
    text.replace('|', "\\|")
}
