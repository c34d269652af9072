//! Lists as S3 has them: keys with a delimiter behind the prefix are rolled up to one entry.

use crate::{Folder, Object, Space, Store};
use std::io;

/// Most entries of a page, as in S3.
pub(super) const LARGEST_PAGE: usize = 1_000;

/// Objects that are looked at at once where many of them may be rolled up.
const SMALL_STEP: usize = 32;

/// Comes after all that follows a rolled-up prefix: no key has it in practice, and one that does
/// is rolled up all the same.
const LAST: char = char::MAX;

/// What is asked for.
#[derive(Debug, Default)]
pub(super) struct Ask<'a> {
    pub prefix: &'a str,
    /// Empty if there is none.
    pub delimiter: &'a str,
    /// A key or a rolled-up prefix: what comes after it, in the order of bytes.
    pub after: &'a str,
    /// Entries at most.
    pub limit: usize,
}

/// A page.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub objects: Vec<Object>,
    /// Rolled-up prefixes, the delimiter included.
    pub prefixes: Vec<String>,
    /// The last entry if more follow.
    pub next: Option<String>,
}

impl Page {
    fn len(&self) -> usize {
        self.objects.len() + self.prefixes.len()
    }
}

impl Ask<'_> {
    /// What a key is rolled up to.
    fn roll_up<'k>(&self, key: &'k str) -> Option<&'k str> {
        if self.delimiter.is_empty() {
            return None;
        }
        let rest = key.strip_prefix(self.prefix)?;
        let end = rest.find(self.delimiter)? + self.delimiter.len();
        key.get(..self.prefix.len() + end)
    }
}

/// The page that is asked for.
pub(super) async fn page(store: &Folder, space: &Space, ask: &Ask<'_>) -> io::Result<Page> {
    let mut page = Page::default();
    let mut rolled = ask.roll_up(ask.after).map(str::to_owned);
    let mut after = place_after(ask.after, rolled.as_deref());
    let mut step = LARGEST_PAGE;
    let mut last = ask.after.to_owned();
    if ask.limit == 0 {
        return Ok(page);
    }
    loop {
        let listing = store.list(space, ask.prefix, &after, step).await?;
        step = LARGEST_PAGE;
        for object in listing.objects {
            let up = ask.roll_up(&object.key);
            if up.is_some() && up == rolled.as_deref() {
                step = SMALL_STEP;
                continue;
            }
            if page.len() == ask.limit {
                page.next = Some(last);
                return Ok(page);
            }
            rolled = up.map(str::to_owned);
            last = rolled.clone().unwrap_or_else(|| object.key.clone());
            match &rolled {
                Some(up) => page.prefixes.push(up.clone()),
                None => page.objects.push(object),
            }
        }
        after = place_after(&last, rolled.as_deref());
        if !listing.more {
            return Ok(page);
        }
    }
}

/// Where a store goes on behind an entry.
fn place_after(entry: &str, rolled: Option<&str>) -> String {
    rolled.map_or_else(|| entry.to_owned(), |rolled| format!("{rolled}{LAST}"))
}
