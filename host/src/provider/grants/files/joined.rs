//! Changes that wait to be told, joined: at most one for each watch and path.

use std::sync::Arc;

use indexmap::IndexMap;

use super::MAX_CHANGES;

/// What happened at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There was nothing before.
    Created,
    /// It is there as it was, with another content.
    Modified,
    /// There is nothing any more.
    Removed,
    /// It is not known what happened: everything below is to be looked at.
    Rescan,
}

impl Change {
    /// What both come to, one after the other; nothing, for what came and went.
    fn then(self, later: Self) -> Option<Self> {
        use Change::{Created, Modified, Removed, Rescan};
        match (self, later) {
            (Rescan, _) | (_, Rescan) => Some(Rescan),
            (Created, Removed) => None,
            (Created, _) => Some(Created),
            (_, Removed) => Some(Removed),
            (Modified | Removed, _) => Some(Modified),
        }
    }
}

/// Changes of the watches of one instance.
///
/// Invariant: of each watch at most one change for each path waits, and at most [`MAX_CHANGES`]; where a rescan waits, nothing else does.
#[derive(Debug, Default)]
pub struct Joined {
    watches: IndexMap<Arc<str>, IndexMap<String, Change>>,
}

impl Joined {
    /// More has happened. `whole` is the watch's own path, for when it is too much.
    pub fn add(&mut self, name: &Arc<str>, whole: &str, changes: impl IntoIterator<Item = (String, Change)>) {
        let waiting = self.watches.entry(name.clone()).or_default();
        let rescan = |waiting: &mut IndexMap<String, Change>, path: String| {
            waiting.clear();
            waiting.insert(path, Change::Rescan);
        };
        for (path, change) in changes {
            if waiting.values().next() == Some(&Change::Rescan) {
                return;
            }
            if change == Change::Rescan {
                rescan(waiting, path);
                continue;
            }
            match waiting.get(&path).copied() {
                None => drop(waiting.insert(path, change)),
                Some(earlier) => match earlier.then(change) {
                    Some(joined) => drop(waiting.insert(path, joined)),
                    None => drop(waiting.swap_remove(&path)),
                },
            }
            if waiting.len() > MAX_CHANGES {
                rescan(waiting, whole.to_owned());
            }
        }
    }

    /// Nothing of this watch waits any more.
    pub fn forget(&mut self, name: &str) {
        self.watches.shift_remove(name);
    }

    /// Takes all: watch, path, and what happened there.
    pub fn take(&mut self) -> impl Iterator<Item = (Arc<str>, String, Change)> + use<> {
        std::mem::take(&mut self.watches)
            .into_iter()
            .flat_map(|(name, changes)| changes.into_iter().map(move |(path, change)| (name.clone(), path, change)))
    }
}

#[cfg(test)]
mod tests {
    use Change::{Created, Modified, Removed, Rescan};

    use super::*;

    fn joined(changes: &[(&str, Change)]) -> Vec<(String, Change)> {
        let mut joined = Joined::default();
        for (path, change) in changes {
            joined.add(&"w".into(), "/", [((*path).to_owned(), *change)]);
        }
        joined.take().map(|(_, path, change)| (path, change)).collect()
    }

    #[test]
    fn of_what_happened_at_a_path_one_change_is_told() {
        for (one, two, both) in [
            (Created, Modified, Some(Created)),
            (Created, Created, Some(Created)),
            (Created, Removed, None),
            (Modified, Modified, Some(Modified)),
            (Modified, Created, Some(Modified)),
            (Modified, Removed, Some(Removed)),
            (Removed, Created, Some(Modified)),
            (Removed, Modified, Some(Modified)),
            (Removed, Removed, Some(Removed)),
        ] {
            let told = joined(&[("a", one), ("a", two)]);
            assert_eq!(told, both.map(|change| ("a".to_owned(), change)).into_iter().collect::<Vec<_>>(), "{one:?}, then {two:?}");
        }
        assert_eq!(joined(&[("a", Created), ("b", Removed)]).len(), 2);
    }

    #[test]
    fn a_rescan_stands_for_all_that_was_and_comes() {
        assert_eq!(joined(&[("/a/b", Created), ("/a", Rescan), ("/a/c", Removed)]), [("/a".to_owned(), Rescan)]);
    }

    #[test]
    fn one_change_more_than_may_wait_makes_a_rescan_of_all() {
        let mut joined = Joined::default();
        let name: Arc<str> = "w".into();
        let many = |n: usize| (0..n).map(|n| (format!("/a/{n}"), Created));
        joined.add(&name, "/a", many(MAX_CHANGES));
        joined.add(&"other".into(), "/b", [("/b".to_owned(), Modified)]);
        assert_eq!(joined.take().count(), MAX_CHANGES + 1);
        joined.add(&name, "/a", many(MAX_CHANGES + 1));
        assert_eq!(joined.take().collect::<Vec<_>>(), [(name.clone(), "/a".to_owned(), Rescan)]);
        joined.add(&name, "/a", many(2));
        joined.forget("w");
        assert_eq!(joined.take().count(), 0);
    }
}
