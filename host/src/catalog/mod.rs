//! What there is: the providers in their order, their lists merged, and who owns a URI.
//!
//! The order is that of design: direct registrations, then the providers that wharf.toml names, then the other files of the plugins folder. It
//! is precedence everywhere: a URI that is listed goes before any template, a direct one before a provider's, an earlier provider's
//! before a later one's. Readers see a [`Snapshot`] that never changes; each change of anything publishes another, with a higher number.

mod caller;
mod changes;
mod completing;
mod explaining;
mod generations;
mod lists;
mod pages;
mod reading;
mod readings;
mod refreshing;
mod snapshot;
#[cfg(test)]
mod tests;
mod upkeep;
mod views;

use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout_at},
};

pub use caller::{Caller, View};
pub use changes::Change;
pub use completing::{COMPLETION_VALUES, CompleteError};
pub use explaining::{Explanation, KeptOut, NEAR_URIS};
pub use generations::Prepared;
pub use lists::{ENTRY_BYTES, LIST_BYTES, LIST_ENTRIES, LIST_PAGES, LIST_REUSE, LIST_TEMPLATES, LIST_TIME, Lists};
pub use pages::{CURSOR_LIFE, CursorError, PAGE_BYTES, PAGE_ENTRIES, PINNED_BYTES, Page};
pub use reading::{Answered, ReadError};
pub use readings::{KEPT_ANSWER_BYTES, KEPT_BYTES};
pub use snapshot::{Candidate, Merged, Place, Rules, Serving, Snapshot, State};
pub use views::KEPT_VIEWS;
pub(crate) use views::Seen;

use self::{
    pages::{Kind, Pins},
    readings::Readings,
    upkeep::Upkeep,
    views::{Told, Views},
};
use crate::provider::Source;

/// Shadowed URIs that the log names before it says no more.
const SHADOWED_NAMED: usize = 100;

/// Where a provider is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Its number, from [`Catalog::new_slot`].
    pub slot: u32,
    /// Its name.
    pub name: Arc<str>,
    /// What the user decided about it.
    pub rules: Rules,
}

/// The catalog. Shared by everyone who asks and whoever loads providers.
pub struct Catalog {
    this: Weak<Self>,
    current: ArcSwap<Snapshot>,
    changes: watch::Sender<u64>,
    /// Held by whoever publishes.
    publishing: Mutex<()>,
    upkeep: Upkeep,
    pins: Pins,
    readings: Readings,
    /// The right to compare a new owner with the one before.
    comparing: Semaphore,
    /// To those who see everything.
    told: Mutex<Told>,
    views: Views,
    loading_time: Duration,
    shadowed_named: Mutex<HashSet<(Arc<str>, Arc<str>)>>,
    slots: AtomicU32,
}

impl Catalog {
    /// An empty one. `loading_time` is how long a request waits for providers that still load; `mark` tells its cursors from
    /// those of any other catalog, so it should be random.
    pub fn new(loading_time: Duration, mark: [u8; 8]) -> Arc<Self> {
        let snapshot = Snapshot::default();
        let told = Told { announced: Some(snapshot.merged.clone()), other_served: false };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            current: ArcSwap::from_pointee(snapshot),
            changes: watch::channel(0).0,
            publishing: Mutex::default(),
            upkeep: Upkeep::default(),
            pins: Pins::new(mark),
            readings: Readings::default(),
            comparing: Semaphore::new(reading::COMPARED_AT_ONCE),
            told: Mutex::new(told),
            views: Views::default(),
            loading_time,
            shadowed_named: Mutex::default(),
            slots: AtomicU32::new(0),
        })
    }

    /// The newest state of everything.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Wakes at each change, and when a list was served that is not the newest.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    // What is there, and in which order.

    /// A number for a provider, never given before.
    pub fn new_slot(&self) -> u32 {
        self.slots.fetch_add(1, Relaxed)
    }

    /// Sets which providers there are, in order: all direct ones, or all others. New ones count as loading until [`Catalog::load`] or
    /// [`Catalog::refuse`]; those that are not named any more are gone.
    pub fn arrange(&self, direct: bool, order: Vec<Position>) {
        self.publish(|places| {
            let (mut before, others): (Vec<_>, Vec<_>) = std::mem::take(places).into_iter().partition(|place| place.direct == direct);
            *places = others;
            for Position { slot, name, rules } in order {
                let state = match before.iter().position(|place| place.slot == slot) {
                    Some(at) => before.swap_remove(at).state,
                    None => State::Loading(Instant::now()),
                };
                places.push(Place { slot, name, direct, rules, state });
            }
            places.sort_by_key(|place| !place.direct);
            for gone in before {
                self.upkeep.removed(gone.slot);
            }
        });
    }

    /// A provider said that its lists changed, or has a fresh instance that may list something else: they are asked for.
    pub fn list_changed(&self, source: Source) {
        if let Some(turn) = self.upkeep.announced(source) {
            self.ask_again(turn);
        }
    }

    /// The views whose callers are to be told that the lists changed: what they see differs from what was announced last, or something else
    /// was served since (law 8). From now on the newest lists count as announced.
    pub fn announce(&self) -> Vec<View> {
        let newest = self.snapshot();
        let mut due = self.views.announce(&newest);
        if self.told.lock().announce(newest.merged.clone()) {
            due.push(View::Everything);
        }
        due
    }

    // Asking.

    /// A page of all resources. Waits for providers that still load, at most the loading time.
    ///
    /// # Errors
    /// [`CursorError`].
    pub async fn resources(&self, caller: &Caller, cursor: Option<&str>) -> Result<Page, CursorError> {
        self.page(caller.view(), Kind::Resources, cursor).await
    }

    /// A page of all templates, likewise.
    ///
    /// # Errors
    /// [`CursorError`].
    pub async fn templates(&self, caller: &Caller, cursor: Option<&str>) -> Result<Page, CursorError> {
        self.page(caller.view(), Kind::Templates, cursor).await
    }

    /// All resources, and where to go on: for whoever goes through them in steps of their own. Without a cursor that is the beginning, and
    /// as for [`Catalog::resources`] providers that still load are waited for.
    ///
    /// # Errors
    /// [`CursorError`]: it is none that [`Catalog::resources_cursor`] gave, or its list is kept no more.
    pub async fn all_resources(&self, caller: &Caller, cursor: Option<&str>) -> Result<(Arc<Merged>, usize), CursorError> {
        self.page(caller.view(), Kind::ResourceSteps, cursor).await.map(|page| (page.list, page.range.start))
    }

    /// All templates, likewise.
    ///
    /// # Errors
    /// [`CursorError`].
    pub async fn all_templates(&self, caller: &Caller, cursor: Option<&str>) -> Result<(Arc<Merged>, usize), CursorError> {
        self.page(caller.view(), Kind::TemplateSteps, cursor).await.map(|page| (page.list, page.range.start))
    }

    /// A cursor to the resource of this number in this list, which is kept for it as for those of pages.
    pub fn resources_cursor(&self, list: &Arc<Merged>, start: usize) -> String {
        self.pins.cursor(list, Kind::ResourceSteps, start)
    }

    /// A cursor to the template of this number, likewise.
    pub fn templates_cursor(&self, list: &Arc<Merged>, start: usize) -> String {
        self.pins.cursor(list, Kind::TemplateSteps, start)
    }

    async fn page(&self, view: &View, kind: Kind, cursor: Option<&str>) -> Result<Page, CursorError> {
        if cursor.is_none() {
            let deadline = Instant::now() + self.loading_time;
            self.wait_until(view, deadline, |snapshot| !snapshot.waits_for(None)).await;
            self.refresh(view, deadline).await;
        }
        let page = self.pins.page(&self.seen_in(view).merged, kind, cursor)?;
        self.served(&page.list);
        Ok(page)
    }

    fn served(&self, list: &Arc<Merged>) {
        let other = match list.view {
            View::Everything => self.told.lock().serves(list),
            View::Only(_) => self.views.serves(list),
        };
        if other {
            // Nothing may change any more, and yet this list has to be taken back.
            self.changes.send_modify(|_| ());
        }
    }

    /// Waits until no provider of the view that still loads could be the owner of one of these, at most the loading time; then asks those again
    /// whose lists are old, if one of the URIs has no candidate.
    pub async fn loaded_for(&self, view: &View, uris: &[Arc<str>]) {
        let deadline = Instant::now() + self.loading_time;
        for uri in uris {
            self.loaded_for_one(view, uri, deadline).await;
        }
        let snapshot = self.seen_in(view);
        if uris.iter().any(|uri| snapshot.candidates(uri).is_empty()) {
            self.refresh(view, deadline).await;
        }
    }

    async fn loaded_for_one(&self, view: &View, uri: &str, deadline: Instant) {
        self.wait_until(view, deadline, |snapshot| !snapshot.waits_for(snapshot.candidates(uri).first())).await;
    }

    async fn wait_until(&self, view: &View, deadline: Instant, is_so: impl Fn(&Snapshot) -> bool) {
        if is_so(&self.seen_in(view)) {
            return;
        }
        let mut changes = self.changes();
        loop {
            let snapshot = self.seen_in(view);
            // The time counts from the beginning of the loading: what takes long then delays the first requests, not each.
            let Some(since) = snapshot.loading_since().filter(|_| !is_so(&snapshot)) else { return };
            let until = deadline.min(since + self.loading_time);
            if until <= Instant::now() {
                return;
            }
            // Whether it changed or the time is up, the next look tells.
            let _ = timeout_at(until, changes.changed()).await;
        }
    }

    fn publish(&self, change: impl FnOnce(&mut Vec<Place>)) {
        let publishing = self.publishing.lock();
        let before = self.current.load_full();
        let mut places = before.places.clone();
        change(&mut places);
        let snapshot = Snapshot::new(before.number + 1, places, &before.merged);
        let snapshot = Arc::new(snapshot);
        self.current.store(snapshot.clone());
        drop(publishing);
        self.views.outdate();
        self.changes.send_replace(snapshot.number);
        self.name_shadowed(&snapshot);
    }

    /// Says once of each URI that more than one provider lists who goes before whom.
    fn name_shadowed(&self, snapshot: &Snapshot) {
        let mut named = self.shadowed_named.lock();
        for (uri, first, other) in snapshot.shadowed() {
            if named.len() < SHADOWED_NAMED && named.insert((uri.clone(), other.clone())) {
                tracing::warn!(provider = %other, "{uri} is listed by {first} too, which goes before it");
            }
        }
    }

    /// Its name, and whether it is direct.
    fn name(&self, slot: u32) -> (Arc<str>, bool) {
        let snapshot = self.snapshot();
        snapshot
            .places
            .iter()
            .find(|place| place.slot == slot)
            .map_or_else(|| ("?".into(), false), |place| (place.name.clone(), place.direct))
    }
}
