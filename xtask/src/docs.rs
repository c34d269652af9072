//! Documents that are made from tables in the code.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use argosy_api::argo::schema::{self, Treatment};
use argosy_model::limits;

use crate::{Task, root};

/// Writes the generated documents, or checks that they are as they would be written.
pub(crate) fn docs(check: bool) -> Task {
    put(&root().join("docs/limits.md"), &limits_page(), check)?;
    let compat = root().join("COMPAT.md");
    let old = fs::read_to_string(&compat).unwrap_or_default();
    put(&compat, &compat_page(&old), check)
}

fn put(path: &Path, text: &str, check: bool) -> Task {
    let old = fs::read_to_string(path).unwrap_or_default();
    if old == text {
        return Ok(());
    }
    if check {
        return Err(format!("{} is not up to date: run `cargo xtask docs`", path.display()));
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn limits_page() -> String {
    let mut page = String::from(
        "# Limits\n\n\
         Made by `cargo xtask docs` from `crates/model/src/limits.rs`. A value of exactly the limit\n\
         passes; one more is refused, and the refusal names the limit.\n\n\
         | name | at most | unit | what it bounds |\n| --- | ---: | --- | --- |\n",
    );
    for limit in limits::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            limit.name, limit.max, limit.unit, limit.bounds
        );
    }
    page
}

/// The mark behind which the corpus writes its own table.
const CORPUS: &str = "<!-- corpus -->\n";

/// COMPAT.md: the loader's fields, and behind them whatever the corpus run wrote.
fn compat_page(old: &str) -> String {
    let mut page = String::from(
        "# Compatibility with Argo Workflows\n\n\
         Made by `cargo xtask docs` from the loader's own tables (`crates/api/src/argo/schema`) and by\n\
         `cargo xtask corpus argo --write` from a run of upstream's examples. A field that is not\n\
         listed is refused as unknown.\n\n## Fields\n\n\
         | object | field | treatment | note |\n| --- | --- | --- | --- |\n",
    );
    for (object, field) in schema::fields() {
        let (treatment, note) = match field.treatment {
            Treatment::Works => ("works", ""),
            Treatment::Ignored(why) => ("accepted and ignored", why),
            Treatment::Refused(why) => ("refused", why),
            Treatment::Deprecated(instead) => ("works, deprecated", instead),
        };
        let note = note.replace('|', "\\|");
        let _ = writeln!(page, "| {} | `{}` | {treatment} | {note} |", object.name, field.name);
    }
    page.push('\n');
    page.push_str(CORPUS);
    if let Some((_, corpus)) = old.split_once(CORPUS) {
        page.push_str(corpus);
    }
    page
}

/// Puts the corpus table into COMPAT.md.
pub(crate) fn write_corpus(table: &str) -> Task {
    let path = root().join("COMPAT.md");
    let page = compat_page("");
    fs::write(&path, format!("{page}{table}"))
        .map_err(|error| format!("{}: {error}", path.display()))
}
