//! Keeping lists fresh: when a provider is to be asked again, and that only one asks at a time.
//!
//! Invariants: a provider is asked at most once per [`PAUSE`], but direct registrations at once; an announced change is always followed by an
//! asking that began after it, also one that is announced while the provider is being loaded.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use crate::provider::{Reuse, Source};

/// The least time between two askings of one provider.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

struct Standing {
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

/// What is known of every generation's lists. A slot has two while a new one is being loaded.
#[derive(Default)]
pub(super) struct Upkeep {
    standings: Mutex<HashMap<Source, Standing>>,
    /// Wakes when an asking is over.
    finished: watch::Sender<()>,
}

/// The right to ask one provider. Whoever got it asks after `at`, and then calls [`Upkeep::asked`].
pub(super) struct Turn {
    pub source: Source,
    pub at: Instant,
}

impl Upkeep {
    /// A generation is about to be asked for its lists for the first time, by whoever loads it.
    pub(super) fn loading(&self, source: Source, pause: Duration) {
        let standing = Standing { pause, expires: None, announced: false, asking: true, asked: Instant::now() };
        self.standings.lock().insert(source, standing);
    }

    /// Its lists have come: they are good for so long, and those of the generations before it are of no interest any more. Returns a turn if
    /// it announced a change meanwhile.
    pub(super) fn loaded(&self, source: Source, reuse: Reuse) -> Option<Turn> {
        self.standings.lock().retain(|other, _| other.slot != source.slot || other.generation >= source.generation);
        self.asked(source, Some(reuse))
    }

    /// A generation that was to be loaded is given up.
    pub(super) fn abandoned(&self, source: Source) {
        self.standings.lock().remove(&source);
        self.finished.send_modify(|_| ());
    }

    /// The slot is gone.
    pub(super) fn removed(&self, slot: u32) {
        self.standings.lock().retain(|source, _| source.slot != slot);
    }

    /// Its lists are said to have changed. Returns a turn if nobody has it.
    pub(super) fn announced(&self, source: Source) -> Option<Turn> {
        let mut standings = self.standings.lock();
        let standing = standings.get_mut(&source)?;
        standing.announced = true;
        if std::mem::replace(&mut standing.asking, true) {
            return None;
        }
        Some(Turn { source, at: standing.asked + standing.pause })
    }

    /// The turns of all of these whose time has run out and who may be asked at once.
    pub(super) fn stale(&self, these: impl Fn(Source) -> bool) -> Vec<Turn> {
        let now = Instant::now();
        let is_due = |standing: &Standing| {
            !standing.asking && standing.asked + standing.pause <= now && standing.expires.is_some_and(|at| at <= now)
        };
        let mut standings = self.standings.lock();
        let due = standings.iter_mut().filter(|(source, standing)| is_due(standing) && these(**source));
        due.map(|(source, standing)| {
            standing.asking = true;
            Turn { source: *source, at: now }
        })
        .collect()
    }

    /// Waits until none of these is being asked who is asked without a pause: what was registered before now is in the lists then.
    pub(super) async fn settled(&self, these: impl Fn(Source) -> bool) {
        let mut finished = self.finished.subscribe();
        let is_open = |(source, standing): (&Source, &Standing)| standing.pause.is_zero() && standing.asking && these(*source);
        while self.standings.lock().iter().any(is_open) {
            if finished.changed().await.is_err() {
                return;
            }
        }
    }

    /// The asking begins: what was announced before it is covered.
    pub(super) fn begins(&self, source: Source) {
        if let Some(standing) = self.standings.lock().get_mut(&source) {
            (standing.announced, standing.asked) = (false, Instant::now());
        }
    }

    /// The asking is over; without an answer the lists stay stale. Returns another turn if a change was announced meanwhile.
    pub(super) fn asked(&self, source: Source, reuse: Option<Reuse>) -> Option<Turn> {
        let mut standings = self.standings.lock();
        self.finished.send_modify(|_| ());
        let standing = standings.get_mut(&source)?;
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
