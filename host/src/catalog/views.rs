//! What callers of each view see of the catalog, and what they have been told of it.
//!
//! Invariants: a view's snapshot is the one of a host that has the view's providers only, so what others claim, shadow or still load is
//! not there. It is made once for all callers of equal views, when the first of them asks, and again only after a place of it changed: whatever
//! becomes of the other providers, its number and that of its lists stay. Views that nobody listens in are forgotten past [`KEPT_VIEWS`],
//! and keep no generation from ending. [`View::Everything`] costs nothing of all this: its snapshot is the catalog's own.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use lru::LruCache;
use parking_lot::Mutex;

use super::{
    Catalog, View,
    snapshot::{Merged, Place, Snapshot},
};

/// Views that are remembered while nobody listens in them. Each has a list and an index of its own, of some hundred bytes for a resource; and a
/// host has a few kinds of agents, not thousands.
pub const KEPT_VIEWS: usize = 64;

/// The lists of a view count from its own number, moved by this: so no two lists of one catalog have the same number, whatever the view.
const LISTS_OF_A_VIEW: u32 = 32;

/// What of the merged lists callers have been told, and what they may have seen (law 8).
#[derive(Default)]
pub(super) struct Told {
    /// None: nobody listened when the last one was to be told, so whatever is looked at next is the first.
    pub announced: Option<Arc<Merged>>,
    /// A list that says something else was served since.
    pub other_served: bool,
}

impl Told {
    /// Takes note that this list was served. Returns whether it has to be taken back, and nobody knew.
    pub fn serves(&mut self, list: &Arc<Merged>) -> bool {
        let announced = self.announced.get_or_insert_with(|| list.clone());
        let fresh = !self.other_served && !list.says_the_same(announced);
        self.other_served |= fresh;
        fresh
    }

    /// Takes note that this is announced, where that is due.
    pub fn announce(&mut self, newest: Arc<Merged>) -> bool {
        let due = self.other_served || self.announced.as_ref().is_some_and(|announced| !newest.says_the_same(announced));
        *self = Self { announced: Some(newest), other_served: false };
        due
    }
}

struct Newest {
    /// The number of the catalog's own snapshot that it was made of.
    of: u64,
    snapshot: Arc<Snapshot>,
}

/// One view, for all its callers. Whoever listens in it keeps it.
pub(crate) struct Seen {
    view: View,
    newest: Mutex<(Option<Newest>, Arc<Merged>)>,
    told: Mutex<Told>,
}

impl Seen {
    fn snapshot(&self, whole: &Arc<Snapshot>) -> Arc<Snapshot> {
        let (newest, list) = &mut *self.newest.lock();
        let places = || whole.places.iter().filter(|place| self.view.shows(&place.name));
        let snapshot = match newest {
            Some(newest) if newest.of >= whole.number => return newest.snapshot.clone(),
            Some(newest) if are_as(&newest.snapshot.places, places()) => newest.snapshot.clone(),
            _ => Arc::new(Snapshot::new(whole.number, places().cloned().collect(), list)),
        };
        *list = snapshot.merged.clone();
        *newest = Some(Newest { of: whole.number, snapshot: snapshot.clone() });
        snapshot
    }

    /// Lets go of a snapshot that is old by now, unless it is in use.
    fn forget(&self) {
        let old = self.newest.try_lock().and_then(|mut newest| newest.0.take());
        drop(old);
    }
}

fn are_as<'a>(places: &[Place], mut others: impl Iterator<Item = &'a Place>) -> bool {
    places.iter().all(|place| others.next().is_some_and(|other| place.is_as(other))) && others.next().is_none()
}

/// All views that somebody has, or had a while ago.
pub(super) struct Views {
    kept: Mutex<LruCache<View, Arc<Seen>>>,
    made: AtomicU64,
}

impl Default for Views {
    fn default() -> Self {
        Self { kept: Mutex::new(LruCache::unbounded()), made: AtomicU64::new(0) }
    }
}

impl Views {
    fn of(&self, view: &View) -> Arc<Seen> {
        let mut kept = self.kept.lock();
        if let Some(seen) = kept.get(view) {
            return seen.clone();
        }
        let number = (self.made.fetch_add(1, Relaxed) + 1) << LISTS_OF_A_VIEW;
        let list = Arc::new(Merged { number, view: view.clone(), ..Merged::default() });
        let seen = Arc::new(Seen { view: view.clone(), newest: Mutex::new((None, list)), told: Mutex::default() });
        kept.put(view.clone(), seen.clone());
        // There may be many: none of those that were listened in could go when they became too many.
        let surplus = kept.len().saturating_sub(KEPT_VIEWS);
        let unused: Vec<_> = kept.iter().rev().filter(|(_, seen)| is_unused(seen)).take(surplus).map(|(view, _)| view.clone()).collect();
        let forgotten: Vec<_> = unused.iter().filter_map(|view| kept.pop(view)).collect();
        // One may be the last that holds a provider, so they go when nothing is locked.
        drop(kept);
        drop(forgotten);
        seen
    }

    /// There is a newer snapshot of everything.
    pub fn outdate(&self) {
        let unused: Vec<_> = self.kept.lock().iter().filter(|(_, seen)| is_unused(seen)).map(|(_, seen)| seen.clone()).collect();
        unused.iter().for_each(|seen| seen.forget());
    }

    /// Takes note that this list was served, as [`Told::serves`].
    pub fn serves(&self, list: &Arc<Merged>) -> bool {
        self.of(&list.view).told.lock().serves(list)
    }

    /// The views that somebody listens in whose callers have to be told.
    pub fn announce(&self, whole: &Arc<Snapshot>) -> Vec<View> {
        let all: Vec<_> = self.kept.lock().iter().map(|(_, seen)| (is_unused(seen), seen.clone())).collect();
        let due = |(unused, seen): (bool, Arc<Seen>)| {
            if unused {
                *seen.told.lock() = Told::default();
                return None;
            }
            let newest = seen.snapshot(whole).merged.clone();
            seen.told.lock().announce(newest).then(|| seen.view.clone())
        };
        all.into_iter().filter_map(due).collect()
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.kept.lock().len()
    }
}

fn is_unused(seen: &Arc<Seen>) -> bool {
    Arc::strong_count(seen) == 1
}

impl Catalog {
    /// The newest state of what callers of this view see: of the providers that it takes in and no others, as if there were no others.
    pub fn seen_in(&self, view: &View) -> Arc<Snapshot> {
        match view {
            View::Everything => self.snapshot(),
            View::Only(_) => self.views.of(view).snapshot(&self.snapshot()),
        }
    }

    /// Somebody listens in this view, as long as what this gives is kept: from now on [`Catalog::announce`] has it. Nothing for
    /// [`View::Everything`], which it has anyway.
    pub(crate) fn listen(&self, view: &View) -> Option<Arc<Seen>> {
        if *view == View::Everything {
            return None;
        }
        let seen = self.views.of(view);
        let newest = seen.snapshot(&self.snapshot()).merged.clone();
        seen.told.lock().announced.get_or_insert(newest);
        Some(seen)
    }
}
