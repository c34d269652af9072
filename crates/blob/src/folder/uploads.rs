//! Objects that come in parts, until they are complete or given up.
//!
//! `<root>/uploads/<id>/upload` says where the object goes and what is kept with it; its parts lie
//! beside it as files of objects. Whatever a crash leaves behind is removed once it is old.

use super::{Draft, Folder, When, file, hex, is_missing, sync};
use crate::{Address, Meta, Object, Space};
use argosy_model::AttemptId;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The file that makes a folder an upload.
const UPLOAD: &str = "upload";

/// The uploads of a folder of objects.
#[derive(Clone, Debug)]
pub(crate) struct Uploads {
    store: Folder,
    folder: PathBuf,
}

/// Where an upload goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct UploadAt {
    pub space: String,
    pub key: String,
    /// With whose key pair it was begun, if it was an attempt's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AttemptId>,
}

/// An upload that was begun.
#[derive(Debug)]
pub(crate) struct Upload {
    pub id: String,
    pub at: UploadAt,
    pub meta: Meta,
    /// Unix ms at which it was begun.
    pub begun_ms: i64,
}

/// A part that came in.
#[derive(Debug)]
pub(crate) struct PartOf {
    /// From 1.
    pub number: u16,
    /// What is known of it; its key is empty.
    pub object: Object,
}

impl Uploads {
    /// The uploads beside the objects.
    pub fn of(store: &Folder) -> io::Result<Self> {
        let folder = store.root.join("uploads");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        sync(&store.root)?;
        Ok(Self { store: store.clone(), folder })
    }

    /// Begins one: its id.
    pub fn begin(&self, at: &Address, owner: Option<AttemptId>, meta: Meta) -> io::Result<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let id = hex(&random);
        let folder = self.folder.join(&id);
        DirBuilder::new().mode(0o700).create(&folder)?;
        let (space, key) = (at.space().as_str().to_owned(), at.key().to_owned());
        let at = UploadAt { space, key, owner };
        let mut draft = self.store.draft()?;
        draft.append(&serde_json::to_vec(&at)?)?;
        let (written, _) = draft.finish(meta, None)?;
        written.persist(folder.join(UPLOAD)).map_err(|failed| failed.error)?;
        sync(&folder)?;
        sync(&self.folder)?;
        Ok(id)
    }

    /// The folder of an upload; `None` if that is no id.
    fn folder_of(&self, id: &str) -> Option<PathBuf> {
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| self.folder.join(id))
    }

    /// The upload with an id.
    pub fn find(&self, id: &str) -> io::Result<Option<Upload>> {
        let Some(folder) = self.folder_of(id) else { return Ok(None) };
        let Some((mut file, head, begun_ms)) = file::open(&folder.join(UPLOAD))? else {
            return Ok(None);
        };
        let object = head.object("", begun_ms);
        let mut text = Vec::new();
        (&mut file).take(object.size).read_to_end(&mut text)?;
        let at = serde_json::from_slice(&text)?;
        Ok(Some(Upload { id: id.to_owned(), at, meta: object.meta, begun_ms }))
    }

    fn every(&self) -> io::Result<Vec<Upload>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            found.extend(name.to_str().map_or(Ok(None), |id| self.find(id))?);
        }
        Ok(found)
    }

    /// Gives all uploads up but those whose owners count.
    pub fn keep_only(&self, counts: impl Fn(Option<AttemptId>) -> bool) -> io::Result<()> {
        let all = self.every()?;
        all.iter().filter(|upload| !counts(upload.at.owner)).try_for_each(|one| self.abort(one))
    }

    /// All uploads of a space in the order of their keys and ids.
    pub fn all(&self, space: &Space) -> io::Result<Vec<Upload>> {
        let mut found = self.every()?;
        found.retain(|upload| upload.at.space == space.as_str());
        found.sort_unstable_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        Ok(found)
    }

    /// Keeps a part in place of an earlier one with its number; `None` if the upload is gone.
    pub fn keep(&self, upload: &Upload, number: u16, draft: Draft) -> io::Result<Option<Object>> {
        let folder = self.folder.join(&upload.id);
        let path = folder.join(part_name(number));
        let (written, head) = draft.finish(Meta::default(), None)?;
        match written.persist(&path) {
            Err(failed) if is_missing(&failed.error) => return Ok(None),
            Err(failed) => return Err(failed.error),
            Ok(()) => {}
        }
        match sync(&folder).and_then(|()| fs::metadata(&path)) {
            Err(error) if is_missing(&error) => Ok(None),
            metadata => Ok(Some(head.object("", file::modified_ms(&metadata?)))),
        }
    }

    /// The parts that came in, by number.
    pub fn parts(&self, upload: &Upload) -> io::Result<Vec<PartOf>> {
        let folder = self.folder.join(&upload.id);
        let mut parts = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let Some(number) = path.file_name().and_then(|name| part_number(name.to_str()?)) else {
                continue;
            };
            if let Some((_, head, modified_ms)) = file::open(&path)? {
                parts.push(PartOf { number, object: head.object("", modified_ms) });
            }
        }
        parts.sort_unstable_by_key(|part| part.number);
        Ok(parts)
    }

    /// Joins the parts with these numbers and etags to the object. `None` if a part has changed
    /// meanwhile or the condition does not hold.
    pub fn complete(
        &self,
        upload: &Upload,
        at: &Address,
        parts: &[PartOf],
        etag: String,
        when: &When,
    ) -> io::Result<Option<Object>> {
        let folder = self.folder.join(&upload.id);
        let mut draft = self.store.draft()?;
        for part in parts {
            let found = file::open(&folder.join(part_name(part.number)))?;
            match found {
                Some((file, head, _)) if head.etag() == part.object.etag => {
                    draft.splice(&file, part.object.size)?;
                }
                _ => return Ok(None),
            }
        }
        let put = self.store.put_draft(at, draft, upload.meta.clone(), Some(etag), when)?;
        if put.is_some() {
            remove(&folder)?;
        }
        Ok(put)
    }

    /// Gives an upload up.
    pub fn abort(&self, upload: &Upload) -> io::Result<()> {
        remove(&self.folder.join(&upload.id))
    }

    /// Removes what was last added to before a time in Unix ms.
    pub fn sweep(&self, before_ms: i64) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if file::modified_ms(&entry.metadata()?) < before_ms {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Removes an upload. It is none any more once the first file is gone.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(UPLOAD)) {
        Err(error) if !is_missing(&error) => return Err(error),
        _ => {}
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn part_name(number: u16) -> String {
    format!("part-{number:05}")
}

fn part_number(name: &str) -> Option<u16> {
    name.strip_prefix("part-")?.parse().ok()
}
