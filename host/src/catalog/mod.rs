//! What there is: the providers in their order, their lists merged, and who owns a URI.
//!
//! The order is that of design: direct registrations, then the providers that wharf.toml names, then the other files of the plugins folder. It
//! is precedence everywhere: a URI that is listed goes before any template, a direct one before a provider's, an earlier provider's
//! before a later one's. Readers see a [`Snapshot`] that never changes; each change of anything publishes another, with a higher number.

mod completing;
mod lists;
mod pages;
mod readings;
mod snapshot;
pub mod template;
#[cfg(test)]
mod tests;
mod upkeep;

use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};

pub use completing::{COMPLETION_VALUES, CompleteError};
pub use lists::{LIST_BYTES, LIST_ENTRIES, LIST_PAGES, LIST_REUSE, LIST_TIME, Lists};
pub use pages::{CURSOR_LIFE, CursorError, PAGE_ENTRIES, PINNED_BYTES, Page};
pub use readings::{KEPT_ANSWER_BYTES, KEPT_BYTES};
pub use snapshot::{Candidate, Merged, Place, Rules, Serving, Snapshot, State};
pub use template::{ExpandError, TEMPLATE_BYTES, TEMPLATE_VARIABLES, Template, TemplateError};

use self::{
    pages::{Kind, Pins},
    readings::{Found, Readings},
    upkeep::{Turn, Upkeep},
};
use crate::provider::{Announcer, Contents, Error, Provider, ReadRequest, Reading, Reuse, Source, uri};

/// Walks over the candidates of one read; a second one only if the catalog changed.
const READ_WALKS: usize = 2;

/// Shadowed URIs that the log names before it says no more.
const SHADOWED_NAMED: usize = 100;

/// Who asks. Everything that lists, reads or subscribes is told; today there is one: anyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Caller;

/// Where a provider is to stand.
#[derive(Debug, Clone)]
pub struct Position {
    /// Its number, from [`Catalog::new_slot`].
    pub slot: u32,
    /// Its name.
    pub name: Arc<str>,
    /// What the user decided about it.
    pub rules: Rules,
}

/// A resource that was read.
#[derive(Debug, Clone)]
pub struct Answered {
    /// One or more, each with its URI and the media type that the list says where the provider says none.
    pub contents: Arc<Vec<Contents>>,
    /// What remains of the time for which it may be reused; zero if it may not, or until announced.
    pub reuse: Duration,
    /// Whether caches may share it: the user said that the provider says the same to everyone.
    pub public: bool,
}

/// Why a read gave nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// Nobody owns it.
    #[error("Resource not found")]
    NotFound,
    /// It is no absolute URI of at most 8 KiB; says why.
    #[error("not a valid resource URI: {0}")]
    InvalidUri(&'static str),
    /// Its owner said no.
    #[error("{provider}: {error}")]
    Provider {
        /// The owner's name.
        provider: Arc<str>,
        /// What it said; never [`Error::NotFound`].
        error: Error,
    },
}

/// What of the merged lists clients have been told, and what they may have seen (law 8).
struct Told {
    announced: Arc<Merged>,
    /// A list that says something else was served since.
    other_served: bool,
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
    told: Mutex<Told>,
    loading_time: Duration,
    shadowed_named: Mutex<HashSet<(Arc<str>, Arc<str>)>>,
    slots: AtomicU32,
}

impl Catalog {
    /// An empty one. `loading_time` is how long a request waits for providers that still load; `mark` tells its cursors from
    /// those of any other catalog, so it should be random.
    pub fn new(loading_time: Duration, mark: [u8; 8]) -> Arc<Self> {
        let snapshot = Snapshot::default();
        let told = Told { announced: snapshot.merged.clone(), other_served: false };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            current: ArcSwap::from_pointee(snapshot),
            changes: watch::channel(0).0,
            publishing: Mutex::default(),
            upkeep: Upkeep::default(),
            pins: Pins::new(mark),
            readings: Readings::default(),
            told: Mutex::new(told),
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
                    None => State::Loading,
                };
                places.push(Place { slot, name, direct, rules, state });
            }
            places.sort_by_key(|place| !place.direct);
            for gone in before {
                self.upkeep.removed(gone.slot);
            }
        });
    }

    /// Asks a new generation for its lists, and publishes it in its slot in place of any before it. One whose lists fail serves without
    /// them, and is asked again; the failure is returned.
    pub async fn load(&self, provider: Arc<dyn Provider>, announcer: &Announcer) -> Result<(), Error> {
        let source = announcer.source();
        let (name, direct) = self.name(source.slot);
        let (lists, reuse, result) = match Lists::fetch(&name, &*provider, direct).await {
            Ok((lists, reuse)) => (lists, reuse, Ok(())),
            Err(error) => (Lists::default(), Reuse::For(Duration::ZERO), Err(error)),
        };
        let serving = Serving { source, provider, ledger: announcer.ledger().clone(), lists: Arc::new(lists) };
        self.upkeep.loaded(source, if direct { Duration::ZERO } else { upkeep::PAUSE }, reuse);
        self.publish(|places| {
            if let Some(place) = places.iter_mut().find(|place| place.slot == source.slot) {
                place.state = State::Serving(serving);
            }
        });
        result
    }

    /// A provider cannot be loaded: nobody waits for it any more. One that serves goes on.
    pub fn refuse(&self, slot: u32) {
        self.publish(|places| {
            if let Some(place) = places.iter_mut().find(|place| place.slot == slot && matches!(place.state, State::Loading)) {
                place.state = State::Refused;
            }
        });
    }

    /// A provider said that its lists changed, or has a fresh instance that may list something else: they are asked for.
    pub fn list_changed(&self, source: Source) {
        if let Some(turn) = self.upkeep.announced(source) {
            self.ask_again(turn);
        }
    }

    /// Whether clients are to be told that the lists changed: they differ from those last announced, or others were served since (law 8).
    /// From now on the newest ones count as announced.
    pub fn announce(&self) -> bool {
        let newest = self.snapshot().merged.clone();
        let mut told = self.told.lock();
        let due = told.other_served || !newest.says_the_same(&told.announced);
        *told = Told { announced: newest, other_served: false };
        due
    }

    // Asking.

    /// A page of all resources. Waits for providers that still load, at most the loading time.
    ///
    /// # Errors
    /// [`CursorError`].
    pub async fn resources(&self, _caller: &Caller, cursor: Option<&str>) -> Result<Page, CursorError> {
        self.page(Kind::Resources, cursor).await
    }

    /// A page of all templates, likewise.
    ///
    /// # Errors
    /// [`CursorError`].
    pub async fn templates(&self, _caller: &Caller, cursor: Option<&str>) -> Result<Page, CursorError> {
        self.page(Kind::Templates, cursor).await
    }

    async fn page(&self, kind: Kind, cursor: Option<&str>) -> Result<Page, CursorError> {
        if cursor.is_none() {
            let deadline = Instant::now() + self.loading_time;
            self.wait_until(deadline, |snapshot| !snapshot.waits_for(None)).await;
            self.refresh(deadline).await;
        }
        let page = self.pins.page(&self.snapshot().merged, kind, cursor)?;
        self.served(&page.list);
        Ok(page)
    }

    fn served(&self, list: &Arc<Merged>) {
        let mut told = self.told.lock();
        if told.other_served || list.says_the_same(&told.announced) {
            return;
        }
        told.other_served = true;
        drop(told);
        // Nothing may change any more, and yet this list has to be taken back.
        self.changes.send_modify(|_| ());
    }

    /// Reads a resource from the first candidate that does not answer `not-found`. Waits for providers that still load and may go before
    /// it, at most the loading time. Dropping the future gives up waiting.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&self, _caller: &Caller, uri: &str) -> Result<Answered, ReadError> {
        uri::check(uri).map_err(ReadError::InvalidUri)?;
        let uri: Arc<str> = uri.into();
        let mut seen = None;
        for _ in 0..READ_WALKS {
            let snapshot = self.find(&uri, seen).await.ok_or(ReadError::NotFound)?;
            for candidate in snapshot.candidates(&uri) {
                match self.read_at(&candidate, &uri).await {
                    Err(Error::NotFound) => {}
                    Err(error) => return Err(ReadError::Provider { provider: candidate.name, error }),
                    Ok(answered) => return Ok(answered),
                }
            }
            // Nobody wants it. Perhaps the lists are old: once more, if there is a newer catalog.
            seen = Some(snapshot.number);
        }
        Err(ReadError::NotFound)
    }

    /// A snapshot with candidates for this URI, newer than one that was seen already; waits for loading and refreshes as is needed.
    async fn find(&self, uri: &str, seen: Option<u64>) -> Option<Arc<Snapshot>> {
        let mut snapshot = self.snapshot();
        let useful = |snapshot: &Snapshot, first: Option<&Candidate>| first.is_some() && seen.is_none_or(|seen| snapshot.number > seen);
        let first = snapshot.candidates(uri).into_iter().next();
        if useful(&snapshot, first.as_ref()) && !snapshot.waits_for(first.as_ref()) {
            return Some(snapshot);
        }
        let deadline = Instant::now() + self.loading_time;
        self.loaded_for_one(uri, deadline).await;
        snapshot = self.snapshot();
        if !useful(&snapshot, snapshot.candidates(uri).first()) {
            self.refresh(deadline).await;
            snapshot = self.snapshot();
        }
        useful(&snapshot, snapshot.candidates(uri).first()).then_some(snapshot)
    }

    async fn read_at(&self, candidate: &Candidate, uri: &Arc<str>) -> Result<Answered, Error> {
        let Candidate { source, provider, ledger, .. } = candidate;
        let kept = match self.readings.find(*source, uri, ledger, provider.offers().live) {
            Found::Fresh(contents, reuse) => return Ok(Answered { contents, reuse, public: candidate.public }),
            Found::Stale(kept) => Some(kept),
            Found::Nothing => None,
        };
        let moment = ledger.now(uri);
        let if_none_match = kept.as_ref().and_then(|kept| kept.version.clone());
        let request = ReadRequest { uri: uri.clone(), matched: candidate.matched.clone(), if_none_match };
        match (provider.read(request).await?, kept) {
            (Some(Reading { mut contents, version, reuse }), _) => {
                for part in &mut contents {
                    part.uri.get_or_insert_with(|| uri.clone());
                    if part.mime_type.is_none() {
                        part.mime_type.clone_from(&candidate.mime_type);
                    }
                }
                let contents = Arc::new(contents);
                self.readings.keep(*source, uri, &contents, version, reuse, moment);
                Ok(Answered { contents, reuse: remaining(reuse), public: candidate.public })
            }
            (None, Some(kept)) => {
                let answered = Answered { contents: kept.contents.clone(), reuse: remaining(kept.reuse), public: candidate.public };
                self.readings.renew(*source, uri, kept, moment);
                Ok(answered)
            }
            (None, None) => Err(Error::Failed("it answered that nothing changed to a read that named no version".into())),
        }
    }

    /// Waits until no provider that still loads could be the owner of one of these, at most the loading time; then asks those again whose
    /// lists are old, if one of the URIs has no candidate.
    pub async fn loaded_for(&self, uris: &[Arc<str>]) {
        let deadline = Instant::now() + self.loading_time;
        for uri in uris {
            self.loaded_for_one(uri, deadline).await;
        }
        let snapshot = self.snapshot();
        if uris.iter().any(|uri| snapshot.candidates(uri).is_empty()) {
            self.refresh(deadline).await;
        }
    }

    async fn loaded_for_one(&self, uri: &str, deadline: Instant) {
        self.wait_until(deadline, |snapshot| !snapshot.waits_for(snapshot.candidates(uri).first())).await;
    }

    async fn wait_until(&self, deadline: Instant, is_so: impl Fn(&Snapshot) -> bool) {
        if is_so(&self.current.load()) {
            return;
        }
        let mut changes = self.changes();
        while !is_so(&self.current.load()) {
            if !matches!(timeout_at(deadline, changes.changed()).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    // Keeping lists fresh.

    /// Asks all whose lists are old, and waits for them until the deadline; those that take longer are not disturbed.
    async fn refresh(&self, deadline: Instant) {
        let asking: Vec<_> = self.upkeep.stale().into_iter().filter_map(|turn| self.ask_again(turn)).collect();
        let settled = async {
            join_all(asking).await;
            self.upkeep.settled().await;
        };
        let _ = timeout_at(deadline, settled).await;
    }

    fn ask_again(&self, turn: Turn) -> Option<tokio::task::JoinHandle<()>> {
        let this = self.this.upgrade()?;
        Some(tokio::spawn(async move {
            let mut turn = Some(turn);
            while let Some(Turn { source, at }) = turn {
                sleep_until(at).await;
                turn = this.ask(source).await;
            }
        }))
    }

    async fn ask(&self, source: Source) -> Option<Turn> {
        let snapshot = self.snapshot();
        let found = snapshot.serving().find(|(_, serving)| serving.source == source);
        let Some((place, serving)) = found else { return self.upkeep.asked(source, None) };
        self.upkeep.begins(source);
        let reuse = match Lists::fetch(&place.name, &*serving.provider, place.direct).await {
            Ok((lists, reuse)) => {
                if !lists.says_the_same(&serving.lists) {
                    self.replace(source, lists);
                }
                Some(reuse)
            }
            Err(error) => {
                tracing::warn!(provider = %place.name, kind = error.kind(), "its list is kept as it was, since it failed to list: {error}");
                None
            }
        };
        self.upkeep.asked(source, reuse)
    }

    fn replace(&self, source: Source, lists: Lists) {
        self.publish(|places| {
            let serving = places.iter_mut().find_map(|place| match &mut place.state {
                State::Serving(serving) if serving.source == source => Some(serving),
                _ => None,
            });
            if let Some(serving) = serving {
                serving.lists = Arc::new(lists);
            }
        });
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

fn remaining(reuse: Option<Reuse>) -> Duration {
    match reuse {
        Some(Reuse::For(time)) => time,
        Some(Reuse::UntilAnnounced) | None => Duration::ZERO,
    }
}
