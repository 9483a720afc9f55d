//! Answers that are kept because their provider said for how long, or gave them a version; and the last answers of what is watched, with which
//! a new owner is compared (law 5).
//!
//! Invariant (law 7): a kept answer is given again only if nothing was announced for its URI since its call began, by the same generation
//! and instance; one that is good until announced only while the watch holds that held when its call began. A version is handed back only to
//! the generation that gave it, and if the provider is live, to the instance. The form of an answer is made of its contents and of nothing
//! else, and comes and goes with them; it counts in the same cap.
//!
//! It knows too what the listeners of a URI know (law 5): the last answer, if all answers that were served since the URI was announced last
//! were the same. Content that changed without a word before a provider is replaced is so announced by its successor.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::provider::{Contents, Ledger, Moment, Reading, Reuse, Source};

/// What all kept answers may take together, with their forms; past it the ones longest unused go.
pub const KEPT_BYTES: usize = 64 << 20;
/// What one may take; a larger one is not kept, and neither is a form that would take it past this.
pub const KEPT_ANSWER_BYTES: usize = 8 << 20;

/// An answer, and what it is good for.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub contents: Arc<Vec<Contents>>,
    /// None if the answer is never given again.
    pub form: Option<Arc<Form>>,
    pub version: Option<String>,
    pub reuse: Option<Reuse>,
    /// When its call began.
    pub moment: Moment,
    /// When its time of reuse began.
    pub since: Instant,
    /// Whether all answers in its watch since the URI was announced last were the same.
    steady: bool,
    /// What it takes without its form.
    own_bytes: usize,
}

/// The form in which an answer goes out that is kept, or is given to several at once.
#[derive(Debug, Default)]
pub(super) struct Form {
    /// Of what is kept. None if the form goes with those to whom it is given.
    key: Option<Key>,
    /// Of what is kept it is set only while the state is locked, since it counts from then on.
    bytes: OnceLock<Bytes>,
}

impl Form {
    /// It, if it is there.
    pub(super) fn get(&self) -> Option<Bytes> {
        self.bytes.get().cloned()
    }
}

/// What is kept for a URI at one moment.
pub(super) enum Found {
    /// It may be given again as it is; what remains of its time.
    Fresh { contents: Arc<Vec<Contents>>, form: Option<Arc<Form>>, left: Duration },
    /// The provider may say that it still holds.
    Stale(Kept),
    /// Nothing of use.
    Nothing,
}

type Key = (Source, Arc<str>);

struct State {
    kept: LruCache<Key, Kept>,
    bytes: usize,
    /// Of each slot, the last generation of which an answer to a watched URI was let go: what its listeners know is not known any more.
    forgetful: HashMap<u32, u64>,
}

/// See the module's page.
pub(super) struct Readings {
    state: Mutex<State>,
}

impl Default for Readings {
    fn default() -> Self {
        Self { state: Mutex::new(State { kept: LruCache::unbounded(), bytes: 0, forgetful: HashMap::new() }) }
    }
}

impl Readings {
    /// What a read that arrives now may use.
    pub(super) fn find(&self, source: Source, uri: &Arc<str>, ledger: &Ledger, live: bool) -> Found {
        let mut state = self.state.lock();
        if state.kept.is_empty() {
            return Found::Nothing;
        }
        let Some(kept) = state.kept.get(&(source, uri.clone())) else { return Found::Nothing };
        let now = ledger.now(uri);
        let left = match kept.reuse {
            _ if !ledger.still(uri, &kept.moment) => None,
            Some(Reuse::For(time)) => time.checked_sub(kept.since.elapsed()).filter(|left| !left.is_zero()),
            Some(Reuse::UntilAnnounced) => (kept.moment.watch.is_some() && kept.moment.watch == now.watch).then_some(Duration::ZERO),
            None => None,
        };
        match left {
            Some(left) => Found::Fresh { contents: kept.contents.clone(), form: kept.form.clone(), left },
            None if kept.version.is_some() && (!live || kept.moment.instance == now.instance) => Found::Stale(kept.clone()),
            None => Found::Nothing,
        }
    }

    /// Keeps an answer, if it is good for anything, in place of the one before: if it may be given again, or if the URI is `watched`, so that
    /// this is what its listeners know.
    pub(super) fn keep(&self, source: Source, uri: &Arc<str>, mut kept: Kept, watched: bool) {
        let mut state = self.state.lock();
        let useful = watched || kept.version.is_some() || kept.reuse.is_some();
        if !useful && state.kept.is_empty() {
            return;
        }
        let key = (source, uri.clone());
        if state.kept.peek(&key).is_some_and(|there| kept.moment.is_before(&there.moment)) {
            // The call began before a change that the kept answer knows already.
            return;
        }
        if let Some(before) = state.remove(&key) {
            kept.steady = before.moment.watch != kept.moment.watch || (before.steady && before.says_the_same(&kept));
        }
        if !useful {
            return;
        }
        if kept.bytes() > KEPT_ANSWER_BYTES {
            return state.forget(source, &kept);
        }
        state.bytes += kept.bytes();
        state.kept.put(key, kept);
        state.fit();
    }

    /// Keeps the form of an answer, as long as the answer itself.
    pub(super) fn keep_form(&self, form: &Arc<Form>, bytes: Bytes) {
        let Some(key) = &form.key else {
            // Whoever was first: all of them are the same.
            let _ = form.bytes.set(bytes);
            return;
        };
        let mut state = self.state.lock();
        let is_of = |kept: &&Kept| kept.form.as_ref().is_some_and(|own| Arc::ptr_eq(own, form));
        let Some(kept) = state.kept.peek(key).filter(is_of) else { return };
        let length = bytes.len();
        if kept.bytes() + length <= KEPT_ANSWER_BYTES && form.bytes.set(bytes).is_ok() {
            state.bytes += length;
            state.fit();
        }
    }

    /// What all listeners know that were not told of something newer, if that is known.
    pub(super) fn known(&self, source: Source, uri: &Arc<str>) -> Option<Arc<Vec<Contents>>> {
        let state = self.state.lock();
        if state.forgetful.get(&source.slot) == Some(&source.generation) {
            return None;
        }
        state.kept.peek(&(source, uri.clone())).filter(|kept| kept.steady).map(|kept| kept.contents.clone())
    }

    /// What counts, and what is there.
    #[cfg(test)]
    pub(super) fn counted(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.bytes, state.kept.iter().map(|(_, kept)| kept.bytes()).sum())
    }

    /// The last answer was an error.
    pub(super) fn failed(&self, source: Source, uri: &Arc<str>) {
        let mut state = self.state.lock();
        if let Some(kept) = state.remove(&(source, uri.clone())) {
            state.forget(source, &kept);
        }
    }
}

impl State {
    fn remove(&mut self, key: &Key) -> Option<Kept> {
        let before = self.kept.pop(key)?;
        self.bytes -= before.bytes();
        Some(before)
    }

    /// An answer that listeners may know is let go.
    fn forget(&mut self, source: Source, kept: &Kept) {
        if kept.moment.watch.is_some() {
            self.forgetful.insert(source.slot, source.generation);
        }
    }

    fn fit(&mut self) {
        while self.bytes > KEPT_BYTES {
            let Some(((source, _), oldest)) = self.kept.pop_lru() else { break };
            self.bytes -= oldest.bytes();
            self.forget(source, &oldest);
        }
    }
}

impl Kept {
    pub(super) fn new(source: Source, uri: &Arc<str>, reading: Reading, moment: Moment) -> Self {
        let Reading { contents, version, reuse } = reading;
        let own_bytes =
            uri.len() + size_of::<Self>() + version.as_deref().map_or(0, str::len) + contents.iter().map(Contents::weight).sum::<usize>();
        let given_again = version.is_some() || reuse.is_some();
        let form = given_again.then(|| Arc::new(Form { key: Some((source, uri.clone())), bytes: OnceLock::new() }));
        Self { contents: Arc::new(contents), form, version, reuse, moment, since: Instant::now(), steady: true, own_bytes }
    }

    fn says_the_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.contents, &other.contents) || self.contents == other.contents
    }

    fn bytes(&self) -> usize {
        self.own_bytes + self.form.as_ref().and_then(|form| form.bytes.get()).map_or(0, Bytes::len)
    }

    /// The provider said that it still holds: it is as good as new.
    pub(super) fn renewed(self, moment: Moment) -> Self {
        Self { moment, since: Instant::now(), ..self }
    }
}
