//! The example of each page under `docs/errors` that is about a manifest gives the output that the
//! page shows.

use std::path::Path;

use argosy_api::argo::{Shelf, lint, load};
use argosy_model::Diagnostic;

/// The text between a line and the next fence.
fn block<'t>(page: &'t str, fence: &str) -> Option<&'t str> {
    page.split_once(fence)?.1.split_once("\n```").map(|(block, _)| block)
}

fn found(manifest: &str) -> Vec<Diagnostic> {
    let loaded = match load("example.yaml", manifest) {
        Ok(loaded) => loaded,
        Err(errors) => return errors,
    };
    let mut library = Shelf::default();
    loaded.objects.iter().for_each(|object| library.add(object.clone()));
    let lints = loaded.objects.iter().map(|object| lint(object, "default", &library));
    lints.filter_map(Result::err).flatten().collect()
}

/// The help is in a line of its own.
fn shown_by_the_command(mut error: Diagnostic) -> String {
    let help = std::mem::take(&mut error.help);
    if help.is_empty() { error.line() } else { format!("{}\n  {help}", error.line()) }
}

#[test]
fn every_page_shows_what_its_example_gives() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let mut checked = 0;
    let mut wrong = String::new();
    for entry in std::fs::read_dir(folder).expect("the pages are there").flatten() {
        let page = std::fs::read_to_string(entry.path()).expect("a page is text");
        let console = block(&page, "```console\n$ argosy lint example.yaml\n");
        let (Some(manifest), Some(shown)) = (block(&page, "```yaml\n"), console) else { continue };
        checked += 1;
        let given: Vec<String> =
            found(&format!("{manifest}\n")).into_iter().map(shown_by_the_command).collect();
        let given = given.join("\n");
        if given != shown {
            let name = entry.file_name();
            wrong.push_str(&format!("{name:?}\nshown: {shown}\ngiven: {given}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(checked > 10, "{checked} pages are about manifests");
}
