//! What is not committed: HEAD against the index, the index against the working tree, files that git does not know.
//!
//! A file counts as unchanged where its size and time are those of the index; if not, or if it was changed as late as the index was
//! written, its content is hashed. The bit for executing is not compared, which WASI does not show. Filters and conversion of line
//! ends are not applied: a file that needs them, and that was touched, shows as modified.

mod walk;

use std::{collections::BTreeMap, fs, path::Path, rc::Rc};

use walk::{Found, Walk, link};

use crate::{
    changes::{Change, Changes, join_renames},
    error::{Error, Result},
    files,
    id::ObjectId,
    ignore::Level,
    index::Index,
    refs::Head,
    repository::{MAX_DEPTH, Repository},
    tree::{EntryKind, MAX_PATH_BYTES},
};

/// Files of one kind that are listed.
const MAX_LISTED: usize = 5_000;

/// What became of a file in the working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its content differs.
    Modified,
    /// It is not there.
    Deleted,
    /// It is a link and was a file, or the other way round.
    TypeChanged,
    /// `git add --intent-to-add`.
    Added,
}

impl State {
    /// Git's letter for it.
    pub fn letter(self) -> char {
        match self {
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::TypeChanged => 'T',
            Self::Added => 'A',
        }
    }
}

/// What is not committed.
#[derive(Debug)]
pub struct Status {
    /// What is checked out.
    pub head: Head,
    /// What the next commit would change.
    pub staged: Changes,
    /// What is changed and not staged, by path.
    pub unstaged: Vec<(Vec<u8>, State)>,
    /// Conflicts, with git's two letters for them.
    pub unmerged: Vec<(Vec<u8>, &'static str)>,
    /// What git does not know; a folder of nothing else ends with `/`.
    pub untracked: Vec<String>,
    /// Files that could not be looked at.
    pub unreadable: Vec<String>,
    /// A merge, rebase or the like that is not finished.
    pub operation: Option<&'static str>,
    /// There are more files than are listed.
    pub more: bool,
    /// Time ran out before all of the working tree was looked at.
    pub stopped: bool,
}

impl Repository {
    /// What is not committed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a bare repository; what reading gives. When time runs out in the working tree there is no error, but `stopped`.
    pub fn status(&self) -> Result<Status> {
        let work = self.work.as_deref().ok_or_else(|| Error::Unsupported("a bare repository has no working tree".into()))?;
        let index_path = self.git.join("index");
        // Before it is read: what changes meanwhile is hashed.
        let written = fs::metadata(&index_path).and_then(|metadata| metadata.modified()).ok();
        let index = Index::read(&index_path)?;
        let head = self.head()?;
        let commit = match &head {
            Head::Branch { id, .. } => *id,
            Head::Detached(id) => Some(*id),
        };
        let tree = commit.map(|id| self.commit(&id)).transpose()?.map(|commit| commit.tree);
        let staged = self.staged(tree.as_ref(), &index)?;
        let mut walk =
            Walk { repository: self, work, index: &index, written, seen: vec![false; index.entries.len()], found: Found::default() };
        let root = Level::root(work, &self.common)?;
        let stopped = match walk.folder(&root, 0) {
            Ok(()) => false,
            Err(Error::TooLong) => true,
            Err(error) => return Err(error),
        };
        let Walk { seen, mut found, .. } = walk;
        if !stopped {
            for (entry, _) in index.entries.iter().zip(&seen).filter(|(entry, seen)| !**seen && !entry.skipped && entry.stage == 0) {
                // A submodule that was never fetched has no folder worth speaking of.
                if entry.kind != EntryKind::Submodule {
                    found.change(&entry.path, State::Deleted);
                }
            }
        }
        found.unstaged.sort_by(|a, b| a.0.cmp(&b.0));
        found.untracked.sort();
        let more = found.more || staged.more;
        let Found { unstaged, untracked, unreadable, .. } = found;
        let unmerged = unmerged(&index);
        Ok(Status { head, staged, unstaged, unmerged, untracked, unreadable, operation: self.operation(), more, stopped })
    }

    /// What the next commit would change in this tree.
    fn staged(&self, tree: Option<&ObjectId>, index: &Index) -> Result<Changes> {
        let mut known = vec![false; index.entries.len()];
        let mut changes = Changes::default();
        if let Some(tree) = tree {
            self.compare(tree, &mut Vec::new(), index, &mut known, &mut changes, 0)?;
        }
        for (entry, _) in index.entries.iter().zip(&known).filter(|(entry, known)| !**known && entry.stage == 0 && !entry.intent) {
            add(&mut changes, Change { path: entry.path.clone(), old: None, new: Some((entry.kind, entry.id)), renamed_from: None });
        }
        changes.files.sort_by(|a, b| a.path.cmp(&b.path));
        join_renames(&mut changes.files);
        Ok(changes)
    }

    fn compare(
        &self,
        tree: &ObjectId,
        path: &mut Vec<u8>,
        index: &Index,
        known: &mut [bool],
        changes: &mut Changes,
        depth: usize,
    ) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::damaged(String::from_utf8_lossy(path), format!("more than {MAX_DEPTH} folders in each other")));
        }
        let below = index.below(path);
        // Git notes which folders of the index are a tree that it knows: most of them.
        if index.trees.get(path.as_slice()) == Some(&(below.len(), *tree)) {
            known.iter_mut().take(below.end).skip(below.start).for_each(|known| *known = true);
            return Ok(());
        }
        for entry in self.tree(tree)? {
            let length = path.len();
            if length + entry.name.len() > MAX_PATH_BYTES {
                return Err(Error::damaged(String::from_utf8_lossy(path), "a path that is longer than any file system's"));
            }
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry.name);
            if entry.kind == EntryKind::Tree {
                self.compare(&entry.id, path, index, known, changes, depth + 1)?;
            } else {
                let old = Some((entry.kind, entry.id));
                let at = index.position(path);
                let staged = at.and_then(|at| index.entries.get(at));
                if let Some(known) = at.and_then(|at| known.get_mut(at)) {
                    *known = true;
                }
                let new = staged.filter(|staged| !staged.intent).map(|staged| (staged.kind, staged.id));
                if staged.is_none_or(|staged| staged.stage == 0) && new != old {
                    add(changes, Change { path: path.clone(), old, new, renamed_from: None });
                }
            }
            path.truncate(length);
        }
        Ok(())
    }

    /// What has been begun and is not finished.
    fn operation(&self) -> Option<&'static str> {
        [
            ("MERGE_HEAD", "merge"),
            ("rebase-merge", "rebase"),
            ("rebase-apply", "rebase"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
            ("BISECT_LOG", "bisect"),
        ]
        .into_iter()
        .find(|(name, _)| self.git.join(name).exists())
        .map(|(_, operation)| operation)
    }

    /// Of these paths of the working tree, relative to it, whether any is one that `status` would speak of: none of git's own, and
    /// not ignored. Paths that are not there any more count as files.
    pub fn any_counts<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Result<bool> {
        let Some(work) = self.work.as_deref() else { return Ok(false) };
        let root = Level::root(work, &self.common)?;
        let mut levels: BTreeMap<String, Rc<Level>> = BTreeMap::new();
        for path in paths {
            // Out of time: better one announcement too many.
            if self.budget.step().is_err() {
                return Ok(true);
            }
            let Some(names) = path.iter().map(|name| name.to_str()).collect::<Option<Vec<&str>>>() else { continue };
            let Some((last, folders)) = names.split_last() else { return Ok(true) };
            if names.contains(&".git") {
                continue;
            }
            let mut level = root.clone();
            for name in folders {
                let next = levels.get(&level.join(name)).cloned().unwrap_or_else(|| level.enter(work, name));
                levels.insert(next.path().to_owned(), next.clone());
                level = next;
            }
            let is_folder = !level.is_ignored() && work.join(path).is_dir();
            if !level.ignores(last, is_folder) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The content of a file of the working tree, or where a link leads; `None` if it is not there.
    pub fn work_file(&self, path: &[u8], limit: u64) -> Result<Option<Vec<u8>>> {
        let work = self.work.as_deref().ok_or_else(|| Error::Unsupported("a bare repository has no working tree".into()))?;
        let Ok(path) = std::str::from_utf8(path) else { return Ok(None) };
        let full = work.join(path);
        match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_symlink() => Ok(link(&full).ok()),
            _ => files::read(&full, limit),
        }
    }
}

fn add(changes: &mut Changes, change: Change) {
    if changes.files.len() < MAX_LISTED {
        changes.files.push(change);
    } else {
        changes.more = true;
    }
}

fn unmerged(index: &Index) -> Vec<(Vec<u8>, &'static str)> {
    let mut sides: BTreeMap<&[u8], u8> = BTreeMap::new();
    for entry in index.entries.iter().filter(|entry| entry.stage > 0).take(MAX_LISTED) {
        *sides.entry(&entry.path).or_default() |= 1 << (entry.stage - 1);
    }
    let letters = |sides| match sides {
        1 => "DD",
        2 => "AU",
        3 => "UD",
        4 => "UA",
        5 => "DU",
        6 => "AA",
        _ => "UU",
    };
    sides.into_iter().map(|(path, sides)| (path.to_vec(), letters(sides))).collect()
}
