//! The reducers: one for those who see everything, which is always there, and one for each other view as long as somebody listens in it.
//!
//! Invariants: a reducer sees the newest catalog of its view, and is handed only what comes from providers of its view; what one announcement
//! comes to is counted once, however many views it is handed to.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    Subscribed,
    reducer::{Effect, Reducer},
    sharing::ViewId,
};
use crate::{
    catalog::{Catalog, Seen, Snapshot, View},
    provider::{ProviderEvent, Source},
};

/// Who sees everything.
const EVERYTHING: ViewId = 0;

pub(super) struct Sight {
    view: View,
    pub reducer: Reducer,
    listeners: usize,
    /// Keeps what the catalog knows of the view.
    _seen: Option<Arc<Seen>>,
}

/// See the module's page.
pub(super) struct Sights {
    catalog: Arc<Catalog>,
    /// The newest catalog that all have been shown.
    shown: u64,
    by_id: BTreeMap<ViewId, Sight>,
    ids: HashMap<View, ViewId>,
    newest: ViewId,
    dropped: u64,
}

impl Sights {
    pub fn new(catalog: Arc<Catalog>) -> Self {
        let snapshot = catalog.snapshot();
        let shown = snapshot.number;
        let everything = Sight { view: View::Everything, reducer: Reducer::new(snapshot), listeners: 0, _seen: None };
        let (by_id, ids) = (BTreeMap::from([(EVERYTHING, everything)]), HashMap::from([(View::Everything, EVERYTHING)]));
        Self { catalog, shown, by_id, ids, newest: EVERYTHING, dropped: 0 }
    }

    /// One more listens in this view.
    pub fn join(&mut self, view: &View) -> ViewId {
        let id = self.ids.get(view).copied().unwrap_or_else(|| {
            self.newest += 1;
            let seen = self.catalog.listen(view);
            let reducer = Reducer::new(self.catalog.seen_in(view));
            self.by_id.insert(self.newest, Sight { view: view.clone(), reducer, listeners: 0, _seen: seen });
            self.ids.insert(view.clone(), self.newest);
            self.newest
        });
        if let Some(sight) = self.by_id.get_mut(&id) {
            sight.listeners += 1;
        }
        id
    }

    /// One less.
    pub fn leave(&mut self, id: ViewId) {
        if let Some(sight) = self.by_id.get_mut(&id) {
            sight.listeners -= 1;
        }
    }

    /// Lets go of those that nobody listens in, and that have nothing to do any more.
    pub fn retire(&mut self) {
        // Nearly always there is one view only.
        if self.by_id.len() == 1 {
            return;
        }
        let Self { by_id, ids, .. } = self;
        by_id.retain(|id, sight| {
            let stays = *id == EVERYTHING || sight.listeners > 0 || !sight.reducer.is_idle();
            if !stays {
                ids.remove(&sight.view);
            }
            stays
        });
    }

    /// Hands something to the reducer of this view, if it is still there.
    pub fn with<T>(&mut self, id: ViewId, then: impl FnOnce(&mut Reducer) -> T) -> Option<T> {
        self.by_id.get_mut(&id).map(|sight| then(&mut sight.reducer))
    }

    /// The same, where it matters how much is subscribed in all views.
    pub fn with_budget<T>(&mut self, id: ViewId, then: impl FnOnce(&mut Reducer) -> T) -> Option<T> {
        let all: usize = self.by_id.values().map(|sight| sight.reducer.bytes()).sum();
        self.with(id, |reducer| {
            reducer.bytes_elsewhere = all - reducer.bytes();
            then(reducer)
        })
    }

    /// What is to be done now: for each view in order.
    pub fn effects(&mut self) -> Vec<(ViewId, Effect)> {
        self.by_id.iter_mut().flat_map(|(id, sight)| sight.reducer.effects().into_iter().map(|effect| (*id, effect))).collect()
    }

    pub fn view(&self, id: ViewId) -> Option<&View> {
        self.by_id.get(&id).map(|sight| &sight.view)
    }

    /// Everything is decided on the newest catalog.
    pub fn see_catalog(&mut self) {
        let whole = self.catalog.snapshot();
        if whole.number == self.shown {
            return;
        }
        self.shown = whole.number;
        for sight in self.by_id.values_mut() {
            let snapshot = if sight.view == View::Everything { whole.clone() } else { self.catalog.seen_in(&sight.view) };
            // A change of what a view does not take in is none in it.
            if snapshot.number != sight.reducer.catalog_number() {
                sight.reducer.catalog(snapshot);
            }
        }
    }

    /// What a provider announced, or what became of its instance.
    pub fn event(&mut self, event: ProviderEvent) {
        if self.by_id.len() > 1 {
            let whole = self.catalog.snapshot();
            for sight in self.by_id.values_mut().filter(|sight| sight.view != View::Everything) {
                if shows(&sight.view, &whole, event.source) {
                    sight.hear(event.clone());
                }
            }
        }
        if let Some(everything) = self.by_id.get_mut(&EVERYTHING) {
            everything.hear(event);
        }
    }

    /// How many announcements were not taken so far (law 4).
    pub fn dropped(&mut self) -> u64 {
        let each = self.by_id.values_mut().map(|sight| std::mem::take(&mut sight.reducer.dropped));
        self.dropped += each.max().unwrap_or_default();
        self.dropped
    }

    /// How many listeners each URI has.
    pub fn counts(&self) -> Vec<(Arc<str>, usize)> {
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (uri, count) in self.by_id.values().flat_map(|sight| sight.reducer.counts()) {
            *counts.entry(uri.clone()).or_default() += count;
        }
        counts.into_iter().collect()
    }

    /// Likewise, by their owners, of which a URI may have several.
    pub fn table(&self) -> Vec<Subscribed> {
        let mut table: BTreeMap<(Arc<str>, Option<Arc<str>>), usize> = BTreeMap::new();
        for Subscribed { uri, listeners, provider } in self.by_id.values().flat_map(|sight| sight.reducer.table()) {
            *table.entry((uri, provider)).or_default() += listeners;
        }
        table.into_iter().map(|((uri, provider), listeners)| Subscribed { uri, listeners, provider }).collect()
    }
}

impl Sight {
    fn hear(&mut self, event: ProviderEvent) {
        if event.down || event.up {
            self.reducer.instance(event.source, event.up);
        }
        if !event.updated.is_empty() {
            self.reducer.announce(event.source, event.updated);
        }
    }
}

/// Whether a view takes in this provider. One that has no place yet may turn out to be anybody.
fn shows(view: &View, whole: &Snapshot, source: Source) -> bool {
    whole.places.iter().find(|place| place.slot == source.slot).is_none_or(|place| view.shows(&place.name))
}
