//! Lists of keys, in the order of their bytes, page by page.

use super::{file, is_missing};
use crate::Listing;
use crate::key::Entry;
use std::io;
use std::path::{Path, PathBuf};

/// A segment of keys and what stands for it.
struct Segment {
    /// The segment, with a slash at the end if more follows. Keys sort as these do.
    text: String,
    path: PathBuf,
}

/// What is looked for.
struct Query<'a> {
    prefix: &'a str,
    after: &'a str,
    limit: usize,
}

/// The page of keys in the folder of a space.
pub fn list(folder: &Path, prefix: &str, after: &str, limit: usize) -> io::Result<Listing> {
    let mut listing = Listing::default();
    walk(folder, "", &Query { prefix, after, limit }, &mut listing)?;
    Ok(listing)
}

/// The segments in a folder that have more to follow, in order, with their folders.
pub fn folders(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut segments = Vec::new();
    collect(folder, "", &mut segments)?;
    segments.sort_unstable_by(|a, b| a.text.cmp(&b.text));
    let named = |Segment { text, path }: Segment| Some((text.strip_suffix('/')?.to_owned(), path));
    Ok(segments.into_iter().filter_map(named).collect())
}

/// Adds the keys that start with `before`, which are those in `folder`. Keys have few segments, so
/// this is not deep.
fn walk(folder: &Path, before: &str, query: &Query<'_>, listing: &mut Listing) -> io::Result<()> {
    let mut segments = Vec::new();
    collect(folder, "", &mut segments)?;
    segments.sort_unstable_by(|a, b| a.text.cmp(&b.text));
    for Segment { text, path } in segments {
        let key = format!("{before}{text}");
        if listing.more {
            return Ok(());
        }
        if text.ends_with('/') {
            let inside = key.starts_with(query.prefix) || query.prefix.starts_with(&key);
            if inside && (&*key >= query.after || query.after.starts_with(&key)) {
                walk(&path, &key, query, listing)?;
            }
        } else if key.starts_with(query.prefix) && &*key > query.after {
            if listing.objects.len() == query.limit {
                listing.more = true;
            } else if let Some((_, head, modified_ms)) = file::open(&path)? {
                listing.objects.push(head.object(&key, modified_ms));
            }
        }
    }
    Ok(())
}

/// The segments in a folder, those in many parts put together.
fn collect(folder: &Path, part: &str, segments: &mut Vec<Segment>) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if is_missing(&error) => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let path = entry?.path();
        // Names that no key makes are not ours.
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let (name, end) = match Entry::parse(&format!("{part}{name}")) {
            Some(Entry::Longer(longer)) => {
                collect(&path, &longer, segments)?;
                continue;
            }
            Some(Entry::Object(name)) => (name, ""),
            Some(Entry::Folder(name)) => (name, "/"),
            None => continue,
        };
        segments.push(Segment { text: name + end, path });
    }
    Ok(())
}
