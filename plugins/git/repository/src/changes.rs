//! What differs between two trees.

use std::{cmp::Ordering, collections::HashMap};

use crate::{
    error::{Error, Result},
    id::ObjectId,
    repository::{MAX_DEPTH, Repository},
    tree::{Entry, EntryKind, MAX_PATH_BYTES},
};

/// Files on one side of a change.
pub type Side = Option<(EntryKind, ObjectId)>;

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where it is, or was.
    pub path: Vec<u8>,
    /// What it was; `None`: it is new.
    pub old: Side,
    /// What it is; `None`: it is gone.
    pub new: Side,
    /// Where it was before, with the same content.
    pub renamed_from: Option<Vec<u8>>,
}

impl Change {
    /// Git's letter for it.
    pub fn letter(&self) -> char {
        let type_of =
            |side: &Side| side.map(|(kind, _)| matches!(kind, EntryKind::File | EntryKind::Executable).then_some(()).ok_or(kind.mode()));
        match (&self.old, &self.new) {
            _ if self.renamed_from.is_some() => 'R',
            (None, _) => 'A',
            (_, None) => 'D',
            (old, new) if type_of(old) != type_of(new) => 'T',
            _ => 'M',
        }
    }
}

/// The differences between two trees.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Changes {
    /// By path.
    pub files: Vec<Change>,
    /// There are more than were asked for.
    pub more: bool,
}

impl Repository {
    /// What has to be done to `old` (an empty tree if `None`) to make it `new`: at most so many files. A file that went and one with the
    /// same content that came are one that was renamed.
    ///
    /// # Errors
    /// What reading gives.
    pub fn changes(&self, old: Option<&ObjectId>, new: Option<&ObjectId>, limit: usize) -> Result<Changes> {
        let mut walk = Walk { repository: self, found: Changes::default(), limit };
        walk.compare(old, new, &mut Vec::new(), 0)?;
        let mut changes = walk.found;
        join_renames(&mut changes.files);
        Ok(changes)
    }
}

struct Walk<'a> {
    repository: &'a Repository,
    found: Changes,
    limit: usize,
}

impl Walk<'_> {
    fn compare(&mut self, old: Option<&ObjectId>, new: Option<&ObjectId>, path: &mut Vec<u8>, depth: usize) -> Result<()> {
        if old == new || self.found.more {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(Error::damaged(String::from_utf8_lossy(path), format!("more than {MAX_DEPTH} folders in each other")));
        }
        let read = |id: Option<&ObjectId>| id.map_or(Ok(Vec::new()), |id| self.repository.tree(id));
        let (old, new) = (read(old)?, read(new)?);
        let (mut olds, mut news) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (olds.peek(), news.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.key().cmp(new.key()),
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            self.pair(old, new, path, depth)?;
        }
    }

    /// Two entries of one name and the same type of folder or file, or one that the other side does not have.
    fn pair(&mut self, old: Option<&Entry>, new: Option<&Entry>, path: &mut Vec<u8>, depth: usize) -> Result<()> {
        let Some(entry) = old.or(new) else { return Ok(()) };
        let length = path.len();
        if length + entry.name.len() > MAX_PATH_BYTES {
            return Err(Error::damaged(String::from_utf8_lossy(path), "a path that is longer than any file system's"));
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&entry.name);
        let side = |entry: Option<&Entry>| entry.map(|entry| (entry.kind, entry.id));
        if entry.kind == EntryKind::Tree {
            self.compare(old.map(|old| &old.id), new.map(|new| &new.id), path, depth + 1)?;
        } else if side(old) != side(new) {
            if self.found.files.len() == self.limit {
                self.found.more = true;
            } else {
                self.found.files.push(Change { path: path.clone(), old: side(old), new: side(new), renamed_from: None });
            }
        }
        path.truncate(length);
        Ok(())
    }
}

/// Joins a file that went and one of the same content that came. An empty file is like every other and is not joined.
pub(crate) fn join_renames(files: &mut Vec<Change>) {
    let empty = ObjectId::of("blob", b"");
    let is_file = |kind: EntryKind| matches!(kind, EntryKind::File | EntryKind::Executable);
    let mut gone: HashMap<ObjectId, Vec<usize>> = HashMap::new();
    for (number, change) in files.iter().enumerate().rev() {
        if let (Some((kind, id)), None) = (change.old, change.new)
            && id != empty
            && is_file(kind)
        {
            gone.entry(id).or_default().push(number);
        }
    }
    let mut joined = Vec::new();
    for number in 0..files.len() {
        let Some(change) = files.get(number) else { continue };
        let (None, Some((kind, id))) = (change.old, change.new) else { continue };
        if !is_file(kind) {
            continue;
        }
        if let Some(from) = gone.get_mut(&id).and_then(Vec::pop) {
            joined.push((number, from));
        }
    }
    let mut dropped: Vec<usize> = joined.iter().map(|(_, from)| *from).collect();
    for (number, from) in joined {
        let Some(Change { path, old, .. }) = files.get(from).cloned() else { continue };
        if let Some(change) = files.get_mut(number) {
            (change.old, change.renamed_from) = (old, Some(path));
        }
    }
    dropped.sort_unstable();
    let mut number = 0;
    files.retain(|_| {
        number += 1;
        dropped.binary_search(&(number - 1)).is_err()
    });
}
