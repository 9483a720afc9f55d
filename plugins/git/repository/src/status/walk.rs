//! The walk through the working tree: each file that git knows against the index, and what it does not know.

use std::{
    fs::{self, File, Metadata},
    io::Read,
    path::Path,
    rc::Rc,
    time::{SystemTime, UNIX_EPOCH},
};

use sha1::{Digest, Sha1};

use super::{MAX_LISTED, State};
use crate::{
    error::Result,
    files,
    id::ObjectId,
    ignore::Level,
    index::{Index, IndexEntry},
    refs::Head,
    repository::{MAX_DEPTH, Repository},
    tree::EntryKind,
};

/// Names in one folder.
const MAX_NAMES: usize = 200_000;
/// Bytes hashed at once.
const CHUNK: usize = 64 << 10;

/// What was found.
#[derive(Default)]
pub struct Found {
    pub unstaged: Vec<(Vec<u8>, State)>,
    pub untracked: Vec<String>,
    pub unreadable: Vec<String>,
    pub more: bool,
}

impl Found {
    pub fn change(&mut self, path: &[u8], state: State) {
        if self.unstaged.len() < MAX_LISTED {
            self.unstaged.push((path.to_vec(), state));
        } else {
            self.more = true;
        }
    }

    fn unknown(&mut self, path: String) {
        if self.untracked.len() < MAX_LISTED {
            self.untracked.push(path);
        } else {
            self.more = true;
        }
    }
}

/// One walk.
pub struct Walk<'a> {
    pub repository: &'a Repository,
    pub work: &'a Path,
    pub index: &'a Index,
    /// When the index was written.
    pub written: Option<SystemTime>,
    /// Entries of the index that are in the working tree.
    pub seen: Vec<bool>,
    pub found: Found,
}

impl Walk<'_> {
    /// A folder that has files git knows, or the root. Links are not followed.
    pub fn folder(&mut self, level: &Rc<Level>, depth: usize) -> Result<()> {
        let folder = self.work.join(level.path());
        for (name, kind) in files::names(&folder, MAX_NAMES)? {
            self.repository.budget.step()?;
            if name == ".git" {
                continue;
            }
            let path = level.join(&name);
            let tracked = self.index.position(path.as_bytes());
            let entry = tracked.and_then(|at| self.index.entries.get(at));
            if kind.is_dir() {
                match entry {
                    Some(entry) if entry.kind == EntryKind::Submodule => {
                        self.mark(tracked);
                        self.submodule(entry, &path);
                        continue;
                    }
                    _ if !self.index.below(path.as_bytes()).is_empty() => {
                        if depth < MAX_DEPTH {
                            self.folder(&level.enter(self.work, &name), depth + 1)?;
                        }
                    }
                    // In the place of a file that git knows: as git does, it shows as a file that is gone, and no more.
                    Some(_) => {}
                    None if level.ignores(&name, true) => {}
                    None => {
                        if self.has_files(&level.enter(self.work, &name), depth + 1)? {
                            self.found.unknown(format!("{path}/"));
                        }
                    }
                }
            } else if let Some(entry) = entry {
                self.mark(tracked);
                if entry.stage == 0 && !entry.skipped {
                    self.file(entry, &path)?;
                }
            } else if !level.ignores(&name, false) && (kind.is_file() || kind.is_symlink()) {
                self.found.unknown(path);
            }
        }
        Ok(())
    }

    fn mark(&mut self, at: Option<usize>) {
        if let Some(seen) = at.and_then(|at| self.seen.get_mut(at)) {
            *seen = true;
        }
    }

    /// Whether a folder of which git knows nothing has anything that is not ignored.
    fn has_files(&self, level: &Rc<Level>, depth: usize) -> Result<bool> {
        let names = files::names(&self.work.join(level.path()), MAX_NAMES)?;
        // A repository in the repository is not looked into.
        if names.iter().any(|(name, _)| name == ".git") {
            return Ok(true);
        }
        for (name, kind) in &names {
            self.repository.budget.step()?;
            if level.ignores(name, kind.is_dir()) {
                continue;
            }
            if !kind.is_dir() || depth < MAX_DEPTH && self.has_files(&level.enter(self.work, name), depth + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn file(&mut self, entry: &IndexEntry, path: &str) -> Result<()> {
        if entry.intent {
            self.found.change(&entry.path, State::Added);
            return Ok(());
        }
        let full = self.work.join(path);
        let metadata = match fs::symlink_metadata(&full) {
            Ok(metadata) => metadata,
            // Gone since the folder was read.
            Err(error) if files::is_absent(&error) => {
                self.found.change(&entry.path, State::Deleted);
                return Ok(());
            }
            Err(_) => {
                self.unreadable(path);
                return Ok(());
            }
        };
        if metadata.is_symlink() != (entry.kind == EntryKind::Link) {
            self.found.change(&entry.path, State::TypeChanged);
            return Ok(());
        }
        if self.is_as_noted(entry, &metadata) {
            return Ok(());
        }
        // Git writes a size of 0 for what it wants to be looked at again.
        if entry.size != 0 && metadata.len() as u32 != entry.size && !metadata.is_symlink() {
            self.found.change(&entry.path, State::Modified);
            return Ok(());
        }
        match self.hash(&full, &metadata)? {
            Some(id) if id == entry.id => {}
            Some(_) => self.found.change(&entry.path, State::Modified),
            None => self.unreadable(path),
        }
        Ok(())
    }

    fn unreadable(&mut self, path: &str) {
        if self.found.unreadable.len() < MAX_LISTED {
            self.found.unreadable.push(path.to_owned());
        }
    }

    /// Whether size and time are those of the index, and the time is before the index was written.
    fn is_as_noted(&self, entry: &IndexEntry, metadata: &Metadata) -> bool {
        let Some(modified) = metadata.modified().ok() else { return false };
        let Ok(since) = modified.duration_since(UNIX_EPOCH) else { return false };
        let (seconds, nanos) = entry.modified;
        let same =
            since.as_secs() as u32 == seconds && (nanos == 0 || since.subsec_nanos() == nanos) && metadata.len() as u32 == entry.size;
        // Where git notes whole seconds, all of the index's second is too late.
        let settled = self.written.is_some_and(|written| match (nanos, written.duration_since(UNIX_EPOCH)) {
            (0, Ok(written)) => since.as_secs() < written.as_secs(),
            _ => modified < written,
        });
        same && settled
    }

    /// The id that the file would have; `None` if it cannot be read.
    fn hash(&self, path: &Path, metadata: &Metadata) -> Result<Option<ObjectId>> {
        if metadata.is_symlink() {
            return Ok(link(path).ok().map(|target| ObjectId::of("blob", &target)));
        }
        let Ok(mut file) = File::open(path) else { return Ok(None) };
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", metadata.len()));
        let mut chunk = vec![0; CHUNK];
        loop {
            self.repository.budget.step()?;
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => hash.update(chunk.get(..length).unwrap_or_default()),
                Err(_) => return Ok(None),
            }
        }
        Ok(ObjectId::from_bytes(&hash.finalize()))
    }

    /// A submodule is modified where it is at another commit. Its own changes are its own.
    fn submodule(&mut self, entry: &IndexEntry, path: &str) {
        let head = Repository::open(&self.work.join(path)).and_then(|repository| repository.head());
        let id = match head {
            Ok(Head::Detached(id)) => Some(id),
            Ok(Head::Branch { id, .. }) => id,
            // Not fetched, or out of reach.
            Err(_) => return,
        };
        if id.is_some_and(|id| id != entry.id) && entry.stage == 0 && !entry.skipped {
            self.found.change(&entry.path, State::Modified);
        }
    }
}

/// Where a link leads.
pub fn link(path: &Path) -> std::io::Result<Vec<u8>> {
    Ok(fs::read_link(path)?.to_string_lossy().into_owned().into_bytes())
}
