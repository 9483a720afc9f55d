//! A provider's generations in its place: asked for their lists, published, refused, unloaded.
//!
//! Invariants (design law 5): a generation is published whole, lists and all, in one snapshot, and only in place of an earlier one; what it
//! announced before is not lost; one that is given up leaves nothing behind.

use std::{sync::Arc, time::Duration};

use super::{Catalog, Change, Lists, Serving, Snapshot, State, upkeep};
use crate::provider::{Announcer, Error, Provider, Reuse, Source};

/// A generation that has been asked for its lists. Publish it, or give it up by [`Catalog::abandon`].
pub struct Prepared {
    serving: Serving,
    reuse: Reuse,
}

impl Prepared {
    /// Which generation.
    pub fn source(&self) -> Source {
        self.serving.source
    }

    /// What it lists.
    pub fn lists(&self) -> &Lists {
        &self.serving.lists
    }
}

impl Catalog {
    /// Asks a generation for its lists; nobody sees them yet. It may announce changes meanwhile.
    ///
    /// # Errors
    /// What it answered, or that it listed more than it may. Then publish it without lists ([`Catalog::unlisted`]), or give it up.
    pub async fn prepare(&self, provider: Arc<dyn Provider>, announcer: &Announcer) -> Result<Prepared, Error> {
        let source = announcer.source();
        let (name, direct) = self.name(source.slot);
        self.upkeep.loading(source, if direct { Duration::ZERO } else { upkeep::PAUSE });
        let (lists, reuse) = Lists::fetch(&*provider, direct).await?;
        lists.warn(&name);
        Ok(prepared(provider, announcer, lists, reuse))
    }

    /// A generation whose lists did not come: it can be read and is asked again.
    pub fn unlisted(provider: Arc<dyn Provider>, announcer: &Announcer) -> Prepared {
        prepared(provider, announcer, Lists::default(), Reuse::For(Duration::ZERO))
    }

    /// Publishes it in place of any before it, and says what that changed in its lists: of a first one, all that it lists. None if it was
    /// overtaken by a newer one, or its slot is gone: it is given up then.
    pub fn publish_generation(&self, Prepared { serving, reuse }: Prepared) -> Option<Change> {
        let (source, lists) = (serving.source, serving.lists.clone());
        let mut before = None;
        self.publish(|places| {
            let newer = |state: &State| matches!(state, State::Serving(there) if there.source.generation > source.generation);
            if let Some(place) = places.iter_mut().find(|place| place.slot == source.slot && !newer(&place.state)) {
                before = Some(match std::mem::replace(&mut place.state, State::Serving(serving)) {
                    State::Serving(before) => before.lists,
                    State::Loading(_) | State::Refused => Arc::default(),
                });
            }
        });
        let Some(before) = before else {
            self.abandon(source);
            return None;
        };
        if let Some(turn) = self.upkeep.loaded(source, reuse) {
            self.ask_again(turn);
        }
        Some(lists.change_since(&before))
    }

    /// A generation that is not published is given up.
    pub fn abandon(&self, source: Source) {
        self.upkeep.abandoned(source);
    }

    /// Asks a new generation for its lists, and publishes it in its slot in place of any before it; one that was overtaken by a newer one is
    /// not published any more. One whose lists fail serves without them, and is asked again; the failure is returned.
    pub async fn load(&self, provider: Arc<dyn Provider>, announcer: &Announcer) -> Result<(), Error> {
        let (prepared, result) = match self.prepare(provider.clone(), announcer).await {
            Ok(prepared) => (prepared, Ok(())),
            Err(error) => (Self::unlisted(provider, announcer), Err(error)),
        };
        self.publish_generation(prepared);
        result
    }

    /// A provider cannot be loaded: nobody waits for it any more. One that serves goes on.
    pub fn refuse(&self, slot: u32) {
        self.publish(|places| {
            if let Some(place) = places.iter_mut().find(|place| place.slot == slot && matches!(place.state, State::Loading(_))) {
                place.state = State::Refused;
            }
        });
    }

    /// A provider is taken away, and keeps its place: it owns nothing any more.
    pub fn unload(&self, slot: u32) {
        self.publish(|places| {
            if let Some(place) = places.iter_mut().find(|place| place.slot == slot) {
                place.state = State::Refused;
            }
        });
        self.upkeep.removed(slot);
    }

    /// Whether this generation is the one that serves in its slot. `seen` is a snapshot in which it was.
    pub(super) fn still_serves(&self, source: Source, seen: &Snapshot) -> bool {
        let newest = self.current.load();
        newest.number == seen.number || newest.generation(source.slot) == Some(source.generation)
    }
}

fn prepared(provider: Arc<dyn Provider>, announcer: &Announcer, lists: Lists, reuse: Reuse) -> Prepared {
    let serving = Serving { source: announcer.source(), provider, ledger: announcer.ledger().clone(), lists: Arc::new(lists) };
    Prepared { serving, reuse }
}
