//! One subscribed URI: its listeners, its owner, and how far the search for the owner is.

use std::collections::HashMap;

use super::reducer::{ListenerId, Ticket, Timer};
use crate::{catalog::Candidate, provider::Source};

/// How one listener stands.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Its subscribe has been answered.
    pub answered: bool,
    /// It was answered while nobody watched: it gets one `updated` when somebody does (law 11).
    pub owed: bool,
    /// What waits for this URI to be settled before it is answered.
    pub tickets: Vec<Ticket>,
}

/// Whether the owner watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// Its `subscribe` succeeded.
    Watched,
    /// It has no subscriptions, or said that this one cannot be watched (law 10).
    Unwatchable,
    /// Its `subscribe` failed for now; tried again when the timer fires.
    Paused { attempt: u32, timer: Timer },
    /// Its `subscribe` is to be called.
    Due { attempt: u32 },
    /// Its instance died; there is no other yet.
    Down,
}

#[derive(Debug)]
pub(super) struct Owner {
    pub candidate: Candidate,
    pub watch: Watch,
}

impl Owner {
    /// Whether no change is missed any more that could be heard of at all.
    pub fn is_settled(&self) -> bool {
        matches!(self.watch, Watch::Watched | Watch::Unwatchable)
    }
}

/// A provider whose `subscribe` succeeded, and has not been taken back.
#[derive(Debug)]
pub(super) struct Held {
    pub candidate: Candidate,
    /// The instance that watches.
    pub instance: u64,
}

impl Held {
    pub fn is_alive(&self) -> bool {
        self.candidate.ledger.instance() == self.instance
    }
}

/// The one call in flight.
#[derive(Debug)]
pub(super) enum Call {
    /// `before`: the owner that it is compared with, where that decides whether listeners are told. Which instance is asked only the answer
    /// says: the call may have to wait, and the instance may be another by then.
    Subscribe {
        candidate: Candidate,
        before: Option<Source>,
    },
    Probe(Candidate),
    Unsubscribe,
}

/// See the module's page. A new one is entered and nothing else: it is looked up when it is marked `dirty`.
#[derive(Debug, Default)]
pub(super) struct Binding {
    pub listeners: HashMap<ListenerId, Standing>,
    /// Absent: pending, if it was `walked`.
    pub owner: Option<Owner>,
    /// Usually the owner, and during a change of owner the one before.
    pub held: Vec<Held>,
    pub call: Option<Call>,
    /// The candidates that are still to be asked.
    pub walk: Option<std::vec::IntoIter<Candidate>>,
    /// The candidates of the last walk, up to the owner it found, and whether they list the URI.
    pub path: Vec<(Source, bool)>,
    /// The search is to begin anew.
    pub dirty: bool,
    /// A walk came to its end once.
    pub walked: bool,
    /// The catalog changed again before a walk had come to its end: there may have been an owner between the one before and the next.
    pub passed: bool,
    /// Walks that announcements asked for since one found something else than the one before.
    pub searches: u32,
    /// Fires when the next walk that an announcement asks for may begin.
    pub search: Option<Timer>,
}

impl Binding {
    pub fn begin_walk(&mut self, candidates: Vec<Candidate>) {
        self.path.clear();
        self.walk = Some(candidates.into_iter());
    }

    /// Drops what dead instances watched. If the owner's did, the listeners are owed an `updated`. Whoever comes by first finds out; the event
    /// that says so comes later.
    pub fn bury(&mut self) {
        self.held.retain(Held::is_alive);
        if let Some(Owner { candidate, watch }) = &mut self.owner
            && *watch == Watch::Watched
            && !self.held.iter().any(|held| held.candidate.source == candidate.source)
        {
            *watch = Watch::Down;
            self.owe();
        }
    }

    /// Whoever was answered is to be told as soon as somebody watches.
    pub fn owe(&mut self) {
        self.listeners.values_mut().for_each(|standing| standing.owed |= standing.answered);
    }

    /// Whether this source is just being asked to watch.
    pub fn asks(&self, source: Source) -> bool {
        matches!(&self.call, Some(Call::Subscribe { candidate, .. }) if candidate.source == source)
    }

    /// Whether it is entered, and nobody has asked for its lookup yet.
    pub fn is_deferred(&self) -> bool {
        self.owner.is_none() && self.walk.is_none() && !self.walked && !self.dirty
    }

    /// Whether a walk over these would take the same way to the same owner, so that nobody need be asked again. A pending URI is always
    /// looked for again: a template's family may have grown.
    pub fn is_found_again(&self, candidates: &[Candidate]) -> bool {
        self.owner.is_some()
            && self.walk.is_none()
            && !self.dirty
            && candidates.len() >= self.path.len()
            && candidates.iter().zip(&self.path).all(|(candidate, step)| candidate.step() == *step)
    }

    /// Whether this source owns it.
    pub fn is_owned_by(&self, source: Source) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.candidate.source == source)
    }

    /// How often in a row this source's `subscribe` failed for now.
    pub fn attempt(&self, source: Source) -> u32 {
        match &self.owner {
            Some(Owner { candidate, watch: Watch::Due { attempt } | Watch::Paused { attempt, .. } }) if candidate.source == source => {
                *attempt
            }
            _ => 0,
        }
    }
}
