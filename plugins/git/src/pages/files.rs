//! Folders and files at a revision.

use git_repository::{EntryKind, Error, Repository, Result};

use super::{Page, ran_out, shown};
use crate::{mime, source::Source, uri};

/// Lines of a folder.
const MAX_SHOWN: usize = 5000;
/// Bytes of a folder's text.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Entries of a folder whose sizes are looked up, each a look into a pack.
const MAX_SIZES: usize = 1000;

pub fn tree(repository: &Repository, source: &Source, place: &str) -> Result<Page> {
    let (commit, path) = uri::split(repository, place)?;
    let root = repository.commit(&commit)?.tree;
    let entry = repository.entry(&root, path.as_bytes())?.ok_or_else(|| Error::NotFound(format!("path {path:?}")))?;
    if entry.kind != EntryKind::Tree {
        return Err(Error::Invalid(format!("{path:?} is no folder: read {}file/{}", source.prefix(), uri::encode(place))));
    }
    let entries = repository.tree(&entry.id)?;
    let mut text = format!(
        "{}, tree {}, {} entries\n\n",
        if path.is_empty() { "/".into() } else { shown(path.as_bytes()) },
        entry.id.short(),
        entries.len()
    );
    let mut whole = true;
    let mut left_out = entries.len();
    for (number, entry) in entries.iter().take(MAX_SHOWN).enumerate() {
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
        left_out -= 1;
        let name = shown(&entry.name);
        let size = if whole && number < MAX_SIZES && matches!(entry.kind, EntryKind::File | EntryKind::Executable) {
            match ran_out(repository.size(&entry.id))? {
                Some(Some(size)) => size.to_string(),
                // Not fetched in a partial clone, which may come to pass; or no time.
                found => {
                    whole = false;
                    if found.is_some() { "missing".into() } else { "-".into() }
                }
            }
        } else {
            "-".into()
        };
        let (kind, end) = match entry.kind {
            EntryKind::Tree => ("folder", "/"),
            EntryKind::File => ("file", ""),
            EntryKind::Executable => ("exec", ""),
            EntryKind::Link => ("link", ""),
            EntryKind::Submodule => ("module", ""),
        };
        text.push_str(&format!("{kind:6} {size:>10}  {name}{end}\n"));
    }
    if left_out > 0 {
        text.push_str(&format!("({left_out} more are not shown)\n"));
    }
    Ok(Page { whole, ..Page::text(text) })
}

pub fn file(repository: &Repository, source: &Source, place: &str) -> Result<Page> {
    let (commit, path) = uri::split(repository, place)?;
    let root = repository.commit(&commit)?.tree;
    let entry = repository.entry(&root, path.as_bytes())?.ok_or_else(|| Error::NotFound(format!("path {path:?}")))?;
    match entry.kind {
        EntryKind::Tree => Err(Error::Invalid(format!("{path:?} is a folder: read {}tree/{}", source.prefix(), uri::encode(place)))),
        EntryKind::Submodule => Err(Error::Invalid(format!("{path:?} is another repository, at its commit {}", entry.id))),
        EntryKind::Link => Ok(Page::text(String::from_utf8_lossy(&repository.object(&entry.id)?.data).into_owned())),
        EntryKind::File | EntryKind::Executable => {
            let body = repository.object(&entry.id)?.data.to_vec();
            let is_text = std::str::from_utf8(&body).is_ok_and(|text| !text.contains('\0'));
            Ok(Page { mime_type: mime::of(path, is_text).into(), body, whole: true })
        }
    }
}
