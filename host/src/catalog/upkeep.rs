//! Keeping lists fresh: when a provider is to be asked again, and that only one asks at a time.
//!
//! Invariants: a provider is asked at most once per [`PAUSE`], but direct registrations at once; an announced change is always followed by an asking that began after it.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use crate::provider::{Reuse, Source};

/// The least time between two askings of one provider.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

struct Standing {
    source: Source,
    /// The least time between two askings.
    pause: Duration,
    /// Until when its lists are good; `None`: until announced.
    expires: Option<Instant>,
    /// It announced a change that no asking has followed yet.
    announced: bool,
    /// An asking is under way, or waits for its turn.
    asking: bool,
    /// When the last one began.
    asked: Instant,
}

/// What is known of every slot's lists.
#[derive(Default)]
pub(super) struct Upkeep {
    standings: Mutex<HashMap<u32, Standing>>,
    /// Wakes when an asking is over.
    finished: watch::Sender<()>,
}

/// The right to ask one provider. Whoever got it asks after `at`, and then calls [`Upkeep::asked`].
pub(super) struct Turn {
    pub source: Source,
    pub at: Instant,
}

impl Upkeep {
    /// A generation's lists have come, with its loading: they are good for so long.
    pub(super) fn loaded(&self, source: Source, pause: Duration, reuse: Reuse) {
        let standing = Standing { source, pause, expires: expires(reuse), announced: false, asking: false, asked: Instant::now() };
        self.standings.lock().insert(source.slot, standing);
    }

    /// The slot is gone.
    pub(super) fn removed(&self, slot: u32) {
        self.standings.lock().remove(&slot);
    }

    /// Its lists are said to have changed. Returns a turn if nobody has it.
    pub(super) fn announced(&self, source: Source) -> Option<Turn> {
        let mut standings = self.standings.lock();
        let standing = standings.get_mut(&source.slot).filter(|standing| standing.source == source)?;
        standing.announced = true;
        if std::mem::replace(&mut standing.asking, true) {
            return None;
        }
        Some(Turn { source, at: standing.asked + standing.pause })
    }

    /// The turns of all whose time has run out and who may be asked at once.
    pub(super) fn stale(&self) -> Vec<Turn> {
        let now = Instant::now();
        let is_due = |standing: &Standing| {
            !standing.asking && standing.asked + standing.pause <= now && standing.expires.is_some_and(|at| at <= now)
        };
        let mut standings = self.standings.lock();
        let due = standings.values_mut().filter(|standing| is_due(standing));
        due.map(|standing| {
            standing.asking = true;
            Turn { source: standing.source, at: now }
        })
        .collect()
    }

    /// Waits until nobody is being asked who is asked without a pause: what was registered before now is in the lists then.
    pub(super) async fn settled(&self) {
        let mut finished = self.finished.subscribe();
        while self.standings.lock().values().any(|standing| standing.pause.is_zero() && standing.asking) {
            if finished.changed().await.is_err() {
                return;
            }
        }
    }

    /// The asking begins: what was announced before it is covered.
    pub(super) fn begins(&self, source: Source) {
        if let Some(standing) = self.standings.lock().get_mut(&source.slot).filter(|standing| standing.source == source) {
            (standing.announced, standing.asked) = (false, Instant::now());
        }
    }

    /// The asking is over; without an answer the lists stay stale. Returns another turn if a change was announced meanwhile.
    pub(super) fn asked(&self, source: Source, reuse: Option<Reuse>) -> Option<Turn> {
        let mut standings = self.standings.lock();
        self.finished.send_modify(|_| ());
        let standing = standings.get_mut(&source.slot).filter(|standing| standing.source == source)?;
        standing.expires = reuse.map_or(Some(Instant::now()), expires);
        standing.asking = standing.announced;
        standing.announced.then(|| Turn { source, at: standing.asked + standing.pause })
    }
}

fn expires(reuse: Reuse) -> Option<Instant> {
    match reuse {
        Reuse::For(time) => Some(Instant::now() + time),
        Reuse::UntilAnnounced => None,
    }
}
