//! What makes an answer stale: the epochs of one generation's URIs, and which of them it is watching.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use parking_lot::RwLock;

/// URIs share this many epochs by hash. Two that share one only make each other stale early, which is always right; so a provider that
/// announces ever new URIs costs no memory. 8 KiB a generation.
const EPOCHS: usize = 1024;

/// The freshness of one generation of one provider.
///
/// Invariant: whoever raises an epoch does so before any listener is told. So a read that arrives because of an `updated` sees the raised
/// epoch, and takes no answer from a call that began before it (law 7).
#[derive(Debug)]
pub struct Ledger {
    hasher: RandomState,
    epochs: Box<[AtomicU64]>,
    /// Counts instances: a restart makes everything the last one said stale.
    instance: AtomicU64,
    /// The URIs it watches.
    watched: RwLock<HashMap<Arc<str>, Watched>>,
    watches: AtomicU64,
}

/// A URI that is watched.
#[derive(Debug)]
struct Watched {
    /// Which watch: one that was ended and begun again is another.
    number: u64,
    /// For how many it is watched.
    holders: usize,
    /// How often the URI itself was announced since. Its epoch says less, which others share.
    announced: AtomicU64,
}

impl Watched {
    fn now(&self) -> Watch {
        Watch { number: self.number, announced: self.announced.load(SeqCst) }
    }
}

/// The state of one URI's freshness at one moment. An answer may be reused as long as the moment its call began still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    epoch: u64,
    /// The instance that was asked.
    pub instance: u64,
    /// The watch that held, if one did.
    pub watch: Option<Watch>,
}

/// A watch at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    number: u64,
    /// How often the URI had been announced in it.
    announced: u64,
}

impl Moment {
    /// Whether something of this URI, or of a URI that shares its epoch, became stale between the two.
    pub fn is_before(&self, other: &Self) -> bool {
        (self.instance, self.epoch) < (other.instance, other.epoch)
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            epochs: (0..EPOCHS).map(|_| AtomicU64::new(0)).collect(),
            instance: AtomicU64::new(0),
            watched: RwLock::default(),
            watches: AtomicU64::new(0),
        }
    }
}

impl Ledger {
    /// What holds for this URI now.
    pub fn now(&self, uri: &str) -> Moment {
        Moment {
            epoch: self.epoch(uri).load(SeqCst),
            instance: self.instance.load(SeqCst),
            watch: self.watched.read().get(uri).map(Watched::now),
        }
    }

    /// The number of the instance that answers now.
    pub fn instance(&self) -> u64 {
        self.instance.load(SeqCst)
    }

    /// Whether nothing was announced for this URI since `then`, by the same instance.
    pub fn still(&self, uri: &str, then: &Moment) -> bool {
        self.epoch(uri).load(SeqCst) == then.epoch && self.instance.load(SeqCst) == then.instance
    }

    /// Makes every answer about this URI stale whose call began before now.
    pub fn raise(&self, uri: &str) {
        self.epoch(uri).fetch_add(1, SeqCst);
        if let Some(watched) = self.watched.read().get(uri) {
            watched.announced.fetch_add(1, SeqCst);
        }
    }

    /// The instance died: whatever it said or watched is void.
    pub fn next_instance(&self) {
        self.instance.fetch_add(1, SeqCst);
        self.watched.write().clear();
    }

    /// The URI's `subscribe` succeeded at this instance, for one more who wants it watched. Nothing if the instance is gone.
    pub fn watch(&self, uri: Arc<str>, instance: u64) {
        let mut watched = self.watched.write();
        if self.instance() != instance {
            return;
        }
        let fresh = || Watched { number: self.watches.fetch_add(1, SeqCst), holders: 0, announced: AtomicU64::new(0) };
        watched.entry(uri).or_insert_with(fresh).holders += 1;
    }

    /// One of those who wanted it watched does no longer. After the last of them the watch is over, before its `unsubscribe` is called.
    pub fn unwatch(&self, uri: &str) {
        let mut watched = self.watched.write();
        if let Some(entry) = watched.get_mut(uri) {
            entry.holders -= 1;
            if entry.holders == 0 {
                watched.remove(uri);
            }
        }
    }

    fn epoch(&self, uri: &str) -> &AtomicU64 {
        &self.epochs[self.hasher.hash_one(uri) as usize % EPOCHS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_ends_the_moment_of_its_uri() {
        let ledger = Ledger::default();
        let then = ledger.now("x://a");
        assert!(ledger.still("x://a", &then));
        ledger.raise("x://a");
        assert!(!ledger.still("x://a", &then));
    }

    #[test]
    fn a_restart_ends_every_moment_and_every_watch() {
        let ledger = Ledger::default();
        ledger.watch("x://a".into(), 0);
        let then = ledger.now("x://a");
        assert!(then.watch.is_some());
        ledger.next_instance();
        assert!(!ledger.still("x://a", &then));
        assert_eq!(ledger.now("x://a").watch, None);
    }

    #[test]
    fn a_watch_knows_the_announcements_of_its_own_uri_alone() {
        let ledger = Ledger::default();
        ledger.watch("x://a".into(), 0);
        let first = ledger.now("x://a").watch;
        (0..10 * EPOCHS).for_each(|n| ledger.raise(&format!("x://{n}")));
        assert_eq!(ledger.now("x://a").watch, first, "others share its epoch");
        ledger.raise("x://a");
        assert_ne!(ledger.now("x://a").watch, first);
    }

    #[test]
    fn a_watch_that_began_anew_is_another() {
        let ledger = Ledger::default();
        ledger.watch("x://a".into(), 0);
        let first = ledger.now("x://a").watch;
        ledger.unwatch("x://a");
        ledger.watch("x://a".into(), 0);
        assert_ne!(ledger.now("x://a").watch, first);
    }

    #[test]
    fn a_watch_lasts_until_the_last_who_wanted_it_and_none_begins_at_an_instance_that_is_gone() {
        let ledger = Ledger::default();
        ledger.watch("x://a".into(), 0);
        let first = ledger.now("x://a").watch;
        ledger.watch("x://a".into(), 0);
        ledger.unwatch("x://a");
        assert_eq!(ledger.now("x://a").watch, first, "it is the same one for both");
        ledger.unwatch("x://a");
        assert_eq!(ledger.now("x://a").watch, None);
        ledger.next_instance();
        ledger.watch("x://a".into(), 0);
        assert_eq!(ledger.now("x://a").watch, None);
    }
}
