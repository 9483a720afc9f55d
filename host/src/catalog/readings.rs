//! Answers that are kept because their provider said for how long, or gave them a version; and the last answers of what is watched, with which
//! a new owner is compared (law 5).
//!
//! Invariant (law 7): a kept answer is given again only if nothing was announced for its URI since its call began, by the same generation
//! and instance; one that is good until announced only while the watch holds that held when its call began. A version is handed back only to
//! the generation that gave it, and if the provider is live, to the instance.

use std::{sync::Arc, time::Duration};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::provider::{Contents, Ledger, Moment, Reuse, Source};

/// What all kept answers may take together; past it the ones longest unused go.
pub const KEPT_BYTES: usize = 64 << 20;
/// What one may take; a larger one is not kept.
pub const KEPT_ANSWER_BYTES: usize = 8 << 20;

/// An answer, and what it is good for.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub contents: Arc<Vec<Contents>>,
    pub version: Option<String>,
    pub reuse: Option<Reuse>,
    /// When its call began.
    pub moment: Moment,
    /// When its time of reuse began.
    pub since: Instant,
    bytes: usize,
}

/// What is kept for a URI at one moment.
pub(super) enum Found {
    /// It may be given again as it is; what remains of its time.
    Fresh(Arc<Vec<Contents>>, Duration),
    /// The provider may say that it still holds.
    Stale(Kept),
    /// Nothing of use.
    Nothing,
}

type Key = (Source, Arc<str>);

struct State {
    kept: LruCache<Key, Kept>,
    bytes: usize,
}

/// See the module's page.
pub(super) struct Readings {
    state: Mutex<State>,
}

impl Default for Readings {
    fn default() -> Self {
        Self { state: Mutex::new(State { kept: LruCache::unbounded(), bytes: 0 }) }
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
            Some(left) => Found::Fresh(kept.contents.clone(), left),
            None if kept.version.is_some() && (!live || kept.moment.instance == now.instance) => Found::Stale(kept.clone()),
            None => Found::Nothing,
        }
    }

    /// Keeps an answer, if it is good for anything, in place of the one before: if it may be given again, or if the URI is `watched`, so that
    /// this is what its listeners know.
    pub(super) fn keep(&self, source: Source, uri: &Arc<str>, kept: Kept, watched: bool) {
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
        state.remove(&key);
        if !useful || kept.bytes > KEPT_ANSWER_BYTES {
            return;
        }
        state.bytes += kept.bytes;
        state.kept.put(key, kept);
        while state.bytes > KEPT_BYTES {
            let Some((_, oldest)) = state.kept.pop_lru() else { break };
            state.bytes -= oldest.bytes;
        }
    }

    /// The last answer that was served, if it is kept.
    pub(super) fn last(&self, source: Source, uri: &Arc<str>) -> Option<Arc<Vec<Contents>>> {
        self.state.lock().kept.peek(&(source, uri.clone())).map(|kept| kept.contents.clone())
    }

    /// The last answer was an error.
    pub(super) fn failed(&self, source: Source, uri: &Arc<str>) {
        self.state.lock().remove(&(source, uri.clone()));
    }
}

impl State {
    fn remove(&mut self, key: &Key) {
        if let Some(before) = self.kept.pop(key) {
            self.bytes -= before.bytes;
        }
    }
}

impl Kept {
    pub(super) fn new(uri: &str, contents: Vec<Contents>, version: Option<String>, reuse: Option<Reuse>, moment: Moment) -> Self {
        let bytes =
            uri.len() + size_of::<Self>() + version.as_deref().map_or(0, str::len) + contents.iter().map(Contents::weight).sum::<usize>();
        Self { contents: Arc::new(contents), version, reuse, moment, since: Instant::now(), bytes }
    }

    /// The provider said that it still holds: it is as good as new.
    pub(super) fn renewed(self, moment: Moment) -> Self {
        Self { moment, since: Instant::now(), ..self }
    }
}
