//! How much is subscribed and told, for whoever runs the host.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// A subscribed URI.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subscribed {
    /// Which.
    pub uri: Arc<str>,
    /// How many listen to it.
    pub listeners: usize,
    /// The name of its owner, if it has one.
    pub provider: Option<Arc<str>>,
}

/// Counts of one host. None of them goes down but the number of listeners.
#[derive(Debug, Default)]
pub struct Traffic {
    listeners: AtomicUsize,
    delivered: AtomicU64,
    coalesced: AtomicU64,
    dropped: AtomicU64,
}

impl Traffic {
    pub(super) fn listening(&self, listeners: usize) {
        self.listeners.store(listeners, Relaxed);
    }

    pub(super) fn delivered(&self) {
        self.delivered.fetch_add(1, Relaxed);
    }

    pub(super) fn coalesced(&self) {
        self.coalesced.fetch_add(1, Relaxed);
    }

    pub(super) fn dropped_so_far(&self, dropped: u64) {
        self.dropped.store(dropped, Relaxed);
    }

    /// How many listeners there are: legacy sessions, listens, and what tools watch.
    pub fn listeners(&self) -> usize {
        self.listeners.load(Relaxed)
    }

    /// Updates that went to a listener's stream.
    pub fn updates_delivered(&self) -> u64 {
        self.delivered.load(Relaxed)
    }

    /// Updates of a URI that already waited for that listener (law 6).
    pub fn updates_coalesced(&self) -> u64 {
        self.coalesced.load(Relaxed)
    }

    /// Announcements that were not taken, since they came from somebody who does not own the URI, or from an earlier generation (law 4).
    pub fn announcements_dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}
