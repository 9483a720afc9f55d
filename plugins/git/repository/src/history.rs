//! The history of a commit, newest first, in the order of `git log`.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
};

use crate::{
    commit::{Commit, begin},
    error::{Error, Result},
    id::ObjectId,
    repository::Repository,
    tree::EntryKind,
};

/// Commits of one walk that are remembered as seen, 20 bytes each.
const MAX_SEEN: usize = 2_000_000;

/// Bytes of a message in a log, where there are many; the commit itself has it whole.
pub const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// A part of a history.
#[derive(Debug, Default)]
pub struct Log {
    /// Newest first; of a message, the first 4 KiB.
    pub commits: Vec<(ObjectId, Commit)>,
    /// There are more than were asked for.
    pub more: bool,
    /// Time ran out: how many commits were looked at until then.
    pub stopped_after: Option<usize>,
}

impl Repository {
    /// At most so many commits that `from` has in its history, itself the first; with a path, those that changed what is there.
    ///
    /// # Errors
    /// What reading gives. When time runs out there is no error, but `stopped_after`.
    pub fn log(&self, from: &ObjectId, path: Option<&[u8]>, limit: usize) -> Result<Log> {
        let shallow: HashSet<ObjectId> = self.shallow()?.into_iter().collect();
        let mut log = Log::default();
        let mut seen = HashSet::from([*from]);
        let mut waiting = BinaryHeap::new();
        // By date; of the same date, the one that was found first.
        let mut number = 0u64;
        waiting.push((self.commit(from)?.committer.seconds, Reverse(number), *from));
        let mut looked_at = 0;
        'walk: while let Some((_, _, id)) = waiting.pop() {
            let (commit, changed, next) = match self.step(&id, path, &shallow) {
                Err(Error::TooLong) => {
                    log.stopped_after = Some(looked_at);
                    break;
                }
                step => step?,
            };
            looked_at += 1;
            if changed {
                if log.commits.len() == limit {
                    log.more = true;
                    break;
                }
                let message = begin(&commit.message, MAX_MESSAGE_BYTES).to_owned();
                log.commits.push((id, Commit { message, ..commit }));
            }
            for parent in next {
                if seen.len() < MAX_SEEN && seen.insert(parent) {
                    number += 1;
                    let commit = match self.commit(&parent) {
                        // Without it the order of the others is not known.
                        Err(Error::TooLong) => {
                            log.stopped_after = Some(looked_at);
                            break 'walk;
                        }
                        commit => commit?,
                    };
                    waiting.push((commit.committer.seconds, Reverse(number), parent));
                }
            }
        }
        Ok(log)
    }

    /// The commit, whether it is one to show, and where to go on.
    fn step(&self, id: &ObjectId, path: Option<&[u8]>, shallow: &HashSet<ObjectId>) -> Result<(Commit, bool, Vec<ObjectId>)> {
        let commit = self.commit(id)?;
        let parents = if shallow.contains(id) { Vec::new() } else { commit.parents.clone() };
        let Some(path) = path else { return Ok((commit, true, parents)) };
        let here = self.at(&commit, path)?;
        for parent in &parents {
            // A parent that has the same there explains all of it: the others are not followed, as in git.
            if self.at(&self.commit(parent)?, path)? == here {
                return Ok((commit, false, vec![*parent]));
            }
        }
        let changed = here.is_some() || !parents.is_empty();
        Ok((commit, changed, parents))
    }

    fn at(&self, commit: &Commit, path: &[u8]) -> Result<Option<(EntryKind, ObjectId)>> {
        Ok(self.entry(&commit.tree, path)?.map(|entry| (entry.kind, entry.id)))
    }

    /// Where two histories parted: the newest commit that is in both and that no other such one follows. `None`: they have nothing in common.
    ///
    /// # Errors
    /// What reading gives, [`Error::TooLong`] too.
    pub fn merge_base(&self, one: &ObjectId, other: &ObjectId) -> Result<Option<ObjectId>> {
        // As git does it: two colours run down from both, newest first; where both meet, all below is of no more interest.
        const BOTH: u8 = 0b011;
        const OLD: u8 = 0b100;
        let shallow: HashSet<ObjectId> = self.shallow()?.into_iter().collect();
        let mut colours: HashMap<ObjectId, u8> = HashMap::new();
        let mut waiting = BinaryHeap::new();
        for (id, colour) in [(one, 0b001), (other, 0b010)] {
            *colours.entry(*id).or_default() |= colour;
            waiting.push((self.commit(id)?.committer.seconds, *id));
        }
        let mut found = Vec::new();
        while waiting.iter().any(|(_, id)| colours.get(id).is_some_and(|colour| colour & OLD == 0)) {
            let Some((_, id)) = waiting.pop() else { break };
            let mut colour = colours.get(&id).copied().unwrap_or_default();
            if colour == BOTH {
                if !found.contains(&id) {
                    found.push(id);
                }
                colour |= OLD;
            }
            if shallow.contains(&id) {
                continue;
            }
            for parent in self.commit(&id)?.parents {
                let known = colours.entry(parent).or_default();
                if *known & colour != colour {
                    *known |= colour;
                    waiting.push((self.commit(&parent)?.committer.seconds, parent));
                }
            }
        }
        // One that turned out to be below another is not the newest.
        Ok(found.into_iter().find(|id| colours.get(id).is_some_and(|colour| colour & OLD == 0)))
    }

    /// The parents of a commit that are here.
    pub fn parents(&self, id: &ObjectId, commit: &Commit) -> Result<Vec<ObjectId>> {
        if !commit.parents.is_empty() && self.shallow()?.contains(id) {
            return Ok(Vec::new());
        }
        Ok(commit.parents.clone())
    }
}
