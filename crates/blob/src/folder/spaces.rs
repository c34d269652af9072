//! Spaces that exist before their first object, and after their last.

use super::{Folder, file, is_missing, list, sync};
use crate::Space;
use std::io;

impl Folder {
    /// Makes a space; whether it was not there. It is durable when this returns.
    ///
    /// # Errors
    /// The system's.
    pub fn create_space(&self, space: &Space) -> io::Result<bool> {
        let folder = self.spaces().join(space.folder());
        let is_new = !folder.is_dir();
        self.make_folder(&folder)?;
        Ok(is_new)
    }

    /// Whether a space is there.
    pub(crate) fn has_space(&self, space: &Space) -> bool {
        self.spaces().join(space.folder()).is_dir()
    }

    /// The names of all spaces, and the Unix ms of their last change.
    pub(crate) fn all_spaces(&self) -> io::Result<Vec<(String, i64)>> {
        let mut found = Vec::new();
        for (name, path) in list::folders(&self.spaces())? {
            match path.metadata() {
                Err(error) if is_missing(&error) => {}
                metadata => found.push((name, file::modified_ms(&metadata?))),
            }
        }
        Ok(found)
    }

    /// Removes a space without objects.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::DirectoryNotEmpty`] if it has objects.
    pub(crate) fn remove_space(&self, space: &Space) -> io::Result<()> {
        let folder = self.spaces().join(space.folder());
        std::fs::remove_dir(&folder)?;
        folder.parent().map_or(Ok(()), sync)
    }
}
