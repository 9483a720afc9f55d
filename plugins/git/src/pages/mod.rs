//! What each resource says, as text in the manner of git's own commands, which every model knows.
//!
//! Each text is bounded: by the number of its lines, by bytes, by the time of one question. Where something is left out it says so, and
//! the page is not `whole` if another time may find more.

mod files;
mod history;
mod names;
mod patches;
mod work;

use git_repository::{Error, ObjectId, Repository, Result};

use crate::{
    source::Source,
    uri::{self, Resource},
};

const TEXT: &str = "text/plain";

/// The content of a resource.
pub struct Page {
    pub body: Vec<u8>,
    pub mime_type: String,
    /// Nothing is missing because time ran out.
    pub whole: bool,
}

impl Page {
    fn text(text: String) -> Self {
        Self { body: text.into_bytes(), mime_type: TEXT.into(), whole: true }
    }
}

/// A short text that differs whenever the page does, without making the page; `None` where that is as much work.
pub fn version(repository: &Repository, resource: &Resource) -> Result<Option<String>> {
    // A history may grow at its far end, when a shallow clone is made deeper.
    let history = |id: ObjectId| -> Result<Option<String>> { Ok(Some(format!("{id} {}", repository.shallow()?.len()))) };
    match resource {
        Resource::Branches => names::branches_version(repository).map(Some),
        Resource::Tags => names::tags_version(repository).map(Some),
        Resource::Status | Resource::Diff => Ok(None),
        Resource::Log { revision, .. } => history(repository.revision_commit(revision)?),
        Resource::Compare { from, to, parted } => {
            let (base, to) = history::ends(repository, from, to, *parted)?;
            Ok(Some(format!("{base} {to}")))
        }
        // The tag of that name is told, too.
        Resource::Commit { revision } => history(repository.revision(revision)?),
        Resource::Tree { place } | Resource::File { place } => {
            let (commit, path) = uri::split(repository, place)?;
            let tree = repository.commit(&commit)?.tree;
            let entry = repository.entry(&tree, path.as_bytes())?;
            // With its kind: a link and a file may have the same content.
            Ok(entry.map(|entry| format!("{} {}", entry.kind.mode(), entry.id)))
        }
    }
}

/// The content.
pub fn page(repository: &Repository, source: &Source, resource: &Resource) -> Result<Page> {
    match resource {
        Resource::Branches => names::branches(repository),
        Resource::Tags => names::tags(repository),
        Resource::Status | Resource::Diff => page_of_work(repository, resource),
        Resource::Log { revision, path, limit } => history::log(repository, source, revision, path.as_deref(), *limit),
        Resource::Commit { revision } => history::commit(repository, revision),
        Resource::Compare { from, to, parted } => history::compare(repository, from, to, *parted),
        Resource::Tree { place } => files::tree(repository, source, place),
        Resource::File { place } => files::file(repository, source, place),
    }
}

/// The content of what depends on the working tree.
pub fn page_of_work(repository: &Repository, resource: &Resource) -> Result<Page> {
    match resource {
        Resource::Diff => work::diff(repository),
        _ => work::status(repository),
    }
}

/// Of a page that has no cheaper version.
pub fn hash(body: &[u8]) -> String {
    ObjectId::sha1(body).to_string()
}

/// A path or name as it is shown: in one line, whatever is in it.
fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// Whether time ran out, which is no failure where something can be shown already.
fn ran_out<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::TooLong) => Ok(None),
        Err(error) => Err(error),
    }
}
