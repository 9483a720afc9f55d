//! The one channel in which everything that providers announce comes up.
//!
//! It never blocks a guest and never loses anything, in bounded memory: what a generation announced and nobody took yet is joined, and
//! past a bound the URIs are replaced by "all of them".

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use indexmap::IndexSet;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Ledger, Source};

/// URIs of one generation that may wait; past it, all of its URIs count as updated. As many as one listener may subscribe to.
const WAITING_URIS: usize = 10_000;
/// Their bytes, likewise.
const WAITING_BYTES: usize = 1 << 20;

/// Which resources of a generation changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Updated {
    /// These; maybe none.
    These(IndexSet<Arc<str>>),
    /// More than the host cares to remember: whoever subscribed to anything of this generation is told.
    All,
}

impl Default for Updated {
    fn default() -> Self {
        Self::These(IndexSet::new())
    }
}

/// What happened in one generation since its last event. To be taken in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEvent {
    /// Where.
    pub source: Source,
    /// Its instance died, once or more.
    pub down: bool,
    /// It has a fresh instance.
    pub up: bool,
    /// It announced that these changed.
    pub updated: Updated,
    /// It announced that its list or its templates changed.
    pub list_changed: bool,
}

/// One thing that can happen, as an [`Announcer`] is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occurrence {
    /// These resources have changed, or may have.
    Updated(Vec<Arc<str>>),
    /// The list or the templates would be answered differently now.
    ListChanged,
    /// The instance died.
    Down,
    /// There is a fresh instance.
    Up,
}

#[derive(Default)]
struct Waiting {
    down: bool,
    up: bool,
    updated: Updated,
    bytes: usize,
    list_changed: bool,
}

impl Waiting {
    fn join(&mut self, what: Occurrence) {
        match what {
            Occurrence::Updated(uris) => {
                for uri in uris {
                    let Updated::These(waiting) = &mut self.updated else { return };
                    let length = uri.len();
                    if waiting.insert(uri) {
                        self.bytes += length;
                    }
                    if waiting.len() > WAITING_URIS || self.bytes > WAITING_BYTES {
                        self.updated = Updated::All;
                    }
                }
            }
            Occurrence::ListChanged => self.list_changed = true,
            Occurrence::Down => (self.down, self.up) = (true, false),
            Occurrence::Up => self.up = true,
        }
    }
}

#[derive(Default)]
struct State {
    /// Those with something waiting, in the order in which it began to.
    order: VecDeque<Source>,
    waiting: HashMap<Source, Waiting>,
}

/// The channel: many [`Announcer`]s, one receiver.
#[derive(Default)]
pub struct EventQueue {
    state: Mutex<State>,
    arrived: Notify,
    announced: AtomicU64,
}

impl EventQueue {
    /// Waits for the next event. Cancel safe.
    pub async fn recv(&self) -> ProviderEvent {
        loop {
            if let Some(event) = self.try_recv() {
                return event;
            }
            self.arrived.notified().await;
        }
    }

    /// The next event, if one waits.
    pub fn try_recv(&self) -> Option<ProviderEvent> {
        let mut state = self.state.lock();
        let source = state.order.pop_front()?;
        let Waiting { down, up, updated, list_changed, .. } = state.waiting.remove(&source)?;
        Some(ProviderEvent { source, down, up, updated, list_changed })
    }

    /// How many updates were announced so far, joined ones each for itself.
    pub fn announced(&self) -> u64 {
        self.announced.load(Relaxed)
    }

    fn push(&self, source: Source, what: Occurrence) {
        if let Occurrence::Updated(uris) = &what {
            self.announced.fetch_add(uris.len() as u64, Relaxed);
        }
        let mut state = self.state.lock();
        let State { order, waiting } = &mut *state;
        waiting
            .entry(source)
            .or_insert_with(|| {
                order.push_back(source);
                Waiting::default()
            })
            .join(what);
        drop(state);
        self.arrived.notify_one();
    }
}

/// One generation's end of the channel, handed to its provider when it is made.
#[derive(Clone)]
pub struct Announcer {
    source: Source,
    ledger: Arc<Ledger>,
    queue: Arc<EventQueue>,
}

impl Announcer {
    /// An end for this generation, with a ledger of its own.
    pub fn new(source: Source, queue: Arc<EventQueue>) -> Self {
        Self { source, ledger: Arc::default(), queue }
    }

    /// Whose it is.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The freshness of its URIs.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Says what happened. Returns at once; by then every answer that this makes stale is stale (law 7).
    pub fn announce(&self, what: Occurrence) {
        match &what {
            Occurrence::Updated(uris) => uris.iter().for_each(|uri| self.ledger.raise(uri)),
            Occurrence::Down => self.ledger.next_instance(),
            Occurrence::ListChanged | Occurrence::Up => {}
        }
        if !matches!(&what, Occurrence::Updated(uris) if uris.is_empty()) {
            self.queue.push(self.source, what);
        }
    }

    /// [`Occurrence::Updated`] for one URI.
    pub fn updated(&self, uri: impl Into<Arc<str>>) {
        self.announce(Occurrence::Updated(vec![uri.into()]));
    }
}

impl std::fmt::Debug for Announcer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Announcer").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Updated {
    /// Adds to it. Past 10,000 URIs, all count as updated.
    pub fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::These(waiting), Self::These(more)) if waiting.len() + more.len() <= WAITING_URIS => waiting.extend(more),
            _ => *self = Self::All,
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::These(uris) if uris.is_empty())
    }
}

impl ProviderEvent {
    /// Splits off what the catalog has to know, leaving the rest.
    pub fn take_list_changed(&mut self) -> bool {
        mem::take(&mut self.list_changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source = Source { slot: 1, generation: 1 };

    fn announcer() -> (Announcer, Arc<EventQueue>) {
        let queue = Arc::new(EventQueue::default());
        (Announcer::new(SOURCE, queue.clone()), queue)
    }

    #[tokio::test]
    async fn what_nobody_took_yet_is_joined() {
        let (announcer, queue) = announcer();
        announcer.updated("x://a");
        announcer.updated("x://b");
        announcer.updated("x://a");
        announcer.announce(Occurrence::ListChanged);
        let event = queue.recv().await;
        assert_eq!(event.updated, Updated::These(["x://a".into(), "x://b".into()].into()));
        assert!(event.list_changed && !event.down && !event.up);
        assert_eq!(queue.try_recv(), None);
    }

    #[test]
    fn past_the_bound_all_uris_count_as_updated() {
        let (announcer, queue) = announcer();
        for n in 0..=WAITING_URIS {
            announcer.updated(format!("x://{n}"));
        }
        assert_eq!(queue.try_recv().map(|event| event.updated), Some(Updated::All));
        announcer.announce(Occurrence::Updated((0..300).map(|n| format!("x://{n}/{}", "a".repeat(8000)).into()).collect()));
        assert_eq!(queue.try_recv().map(|event| event.updated), Some(Updated::All));
    }

    #[test]
    fn what_is_joined_is_bounded_too() {
        let these = |range: std::ops::Range<usize>| Updated::These(range.map(|n| Arc::from(format!("x://{n}"))).collect());
        let mut updated = these(0..WAITING_URIS - 1);
        updated.join(these(WAITING_URIS - 1..WAITING_URIS));
        assert!(matches!(&updated, Updated::These(uris) if uris.len() == WAITING_URIS));
        updated.join(these(0..1));
        assert_eq!(updated, Updated::All);
        updated.join(these(0..1));
        assert_eq!(updated, Updated::All);
    }

    #[test]
    fn the_last_state_of_an_instance_counts() {
        let (announcer, queue) = announcer();
        for what in [Occurrence::Down, Occurrence::Up, Occurrence::Down] {
            announcer.announce(what);
        }
        assert!(queue.try_recv().is_some_and(|event| event.down && !event.up));
        announcer.announce(Occurrence::Up);
        assert!(queue.try_recv().is_some_and(|event| !event.down && event.up));
    }

    #[test]
    fn a_uri_is_stale_as_soon_as_it_is_announced() {
        let (announcer, _queue) = announcer();
        let then = announcer.ledger().now("x://a");
        announcer.updated("x://a");
        assert!(!announcer.ledger().still("x://a", &then));
    }
}
