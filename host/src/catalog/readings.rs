//! Answers that are kept because their provider said for how long, or gave them a version.
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

    /// Keeps an answer, if it is good for anything, in place of the one before.
    pub(super) fn keep(
        &self,
        source: Source,
        uri: &Arc<str>,
        contents: &Arc<Vec<Contents>>,
        version: Option<String>,
        reuse: Option<Reuse>,
        moment: Moment,
    ) {
        let mut state = self.state.lock();
        let key = (source, uri.clone());
        if version.is_none() && reuse.is_none() && state.kept.is_empty() {
            return;
        }
        if let Some(before) = state.kept.pop(&key) {
            state.bytes -= before.bytes;
        }
        let bytes = weight(uri, contents, version.as_deref());
        if (version.is_none() && reuse.is_none()) || bytes > KEPT_ANSWER_BYTES {
            return;
        }
        state.bytes += bytes;
        state.kept.put(key, Kept { contents: contents.clone(), version, reuse, moment, since: Instant::now(), bytes });
        while state.bytes > KEPT_BYTES {
            let Some((_, oldest)) = state.kept.pop_lru() else { break };
            state.bytes -= oldest.bytes;
        }
    }

    /// The provider said that a kept answer still holds: it is as good as new.
    pub(super) fn renew(&self, source: Source, uri: &Arc<str>, kept: Kept, moment: Moment) {
        self.keep(source, uri, &kept.contents, kept.version, kept.reuse, moment);
    }
}

fn weight(uri: &str, contents: &[Contents], version: Option<&str>) -> usize {
    uri.len() + size_of::<Kept>() + version.map_or(0, str::len) + contents.iter().map(Contents::weight).sum::<usize>()
}
