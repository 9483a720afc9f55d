//! What is watched for those who wait by a tool call, and when each of it changed last.
//!
//! Between two calls nobody listens, so this does: one listener of the host's subscriptions for all callers, which keeps a URI subscribed
//! while somebody waits for it and for [`HELD`] after the last one left. The history of this host is a number that is raised by each batch of
//! changes and by each beginning of a watch; a token names a point in it, and whoever shows one is told what changed since.
//!
//! Invariants:
//! - A URI that a token was given for, and that was watched without a gap since the point it names, counts as changed exactly if a change
//!   of it was told since. Any other counts as changed, as far as anyone can know. So no change between two calls is lost: at worst one
//!   that was none is told.
//! - `since`, the point from which on a URI is watched, is set only once its subscribe was answered: from then on whatever nobody
//!   could watch is told later as an update (laws 5 and 11), so the point never has to be moved.
//! - A URI is unsubscribed in the same turn in which it is forgotten, so what is not in the table is not subscribed, and a subscribe
//!   that comes later reaches the reducer later.
//! - What is held is bounded: [`WATCHED`] URIs of [`WATCHED_BYTES`], [`WAITS`] calls, [`WAITED`] URIs of all calls together. A call holds
//!   the table's copy of a URI, never its own. URIs that nobody waits for make room for those that somebody does.

mod callers;
mod pump;
#[cfg(test)]
mod tests;
mod token;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use indexmap::IndexSet;
use parking_lot::Mutex;
use tokio::{sync::Notify, task::AbortHandle, time::Instant};

pub use self::{
    callers::{KEPT_CALLERS, Watchers},
    token::{Known, Point, digest, set},
};
use crate::{
    catalog::Caller,
    subscriptions::{Listener, SUBSCRIPTIONS_PER_LISTENER, SubscribeError, Subscriptions},
    uri,
};

/// How long a URI stays watched after the last call that waited for it: what a model needs to read, think and call again.
pub const HELD: Duration = Duration::from_secs(60);
/// How often those are looked for that were held long enough.
const SWEPT_EVERY: Duration = Duration::from_secs(5);
/// URIs watched at a time for one caller: what one listener may have.
pub const WATCHED: usize = SUBSCRIPTIONS_PER_LISTENER;
/// Their bytes: a quarter of what all subscriptions of the host may take, so that those who wait leave room for those who listen.
pub const WATCHED_BYTES: usize = crate::subscriptions::SUBSCRIPTION_BYTES / 4;
/// Calls of one caller that wait at a time: as many as there may be listens.
pub const WAITS: usize = 16_384;
/// URIs of all calls of one caller that wait, together: what 1,000 callers with 1,000 URIs have, at some 40 bytes each.
pub const WAITED: usize = 1 << 20;

/// Why a call cannot wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// It is no absolute URI of at most 8 KiB; which, and why.
    #[error("{0:?} is no resource URI: {1}")]
    InvalidUri(String, &'static str),
    /// A cap was hit; says which.
    #[error("{0}")]
    Limit(String),
}

/// See the module's page.
pub struct Watches {
    shared: Arc<Shared>,
    pump: AbortHandle,
}

struct Shared {
    listener: Listener,
    mark: u32,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// The newest point of the history.
    number: u64,
    entries: HashMap<Arc<str>, Entry>,
    bytes: usize,
    waits: HashMap<u64, Arc<Notify>>,
    /// The number of the newest call.
    newest: u64,
    waited: usize,
}

struct Entry {
    /// From this point on no change of it is missed. None while its subscribe is not answered.
    since: Option<u64>,
    /// The point at which it changed last.
    changed: u64,
    waits: HashSet<u64>,
    /// When the last call left it.
    left: Instant,
}

/// What a call finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// These changed.
    pub changed: Vec<Arc<str>>,
    /// Of these nobody can know.
    pub unsure: Vec<Arc<str>>,
    /// The point of the history up to which that is all.
    pub number: u64,
}

impl Watches {
    /// Nothing watched yet. `mark` tells this host's tokens from those of any other, so it should be random. Needs a tokio runtime.
    pub fn new(subscriptions: &Subscriptions, caller: Caller, mark: u32) -> Self {
        let listener = subscriptions.listen(caller, false);
        let shared = Arc::new(Shared { listener, mark, table: Mutex::default() });
        let pump = tokio::spawn(pump::pump(shared.clone())).abort_handle();
        Self { shared, pump }
    }

    /// The point a token names.
    pub fn point(&self, token: &str) -> Point {
        token::read(self.shared.mark, token)
    }

    /// The newest point of the history.
    pub fn number(&self) -> u64 {
        self.shared.table.lock().number
    }

    /// The token of a read that began at this point.
    pub fn token(&self, number: u64, uri: &str, read: u64) -> String {
        token::write(self.shared.mark, Known { number, set: set([uri].into_iter()), read: Some(read) })
    }

    /// Begins to wait. Returns once all of these are watched, or their providers have said why not, as [`Listener::subscribe`] does.
    ///
    /// # Errors
    /// [`WaitError`]; then nothing is watched for this call.
    pub async fn wait(&self, uris: &[&str], point: Point) -> Result<Wait, WaitError> {
        for uri in uris {
            uri::check(uri).map_err(|reason| WaitError::InvalidUri(uri.chars().take(100).collect(), reason))?;
        }
        let wait = Wait::new(&self.shared, uris.iter().copied().collect(), point)?;
        let unanswered = wait.unanswered();
        if !unanswered.is_empty() {
            self.shared.listener.subscribe(unanswered.clone()).await.map_err(|error| match error {
                SubscribeError::Limit(limit) => WaitError::Limit(limit.to_string()),
                SubscribeError::InvalidUri(reason) => WaitError::InvalidUri(String::new(), reason),
            })?;
            let mut table = self.shared.table.lock();
            // A point of its own: the tokens of before know nothing of the gap that ends here.
            table.number += 1;
            let number = table.number;
            for uri in unanswered {
                if let Some(entry) = table.entries.get_mut(&uri) {
                    entry.since.get_or_insert(number);
                }
            }
        }
        Ok(wait)
    }

    /// Whether anything is watched, or waited for.
    fn is_watching(&self) -> bool {
        let table = self.shared.table.lock();
        !table.entries.is_empty() || !table.waits.is_empty()
    }

    /// How many URIs are watched.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.shared.table.lock().entries.len()
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// A call that waits. Dropping it ends that.
pub struct Wait {
    shared: Arc<Shared>,
    id: u64,
    uris: Vec<Arc<str>>,
    /// [`set`] of them.
    set: u32,
    point: Point,
    /// Those that the caller's token was not given for.
    foreign: HashSet<Arc<str>>,
    /// The newest point when it began.
    began: u64,
    woken: Arc<Notify>,
}

impl Wait {
    fn new(shared: &Arc<Shared>, uris: IndexSet<&str>, point: Point) -> Result<Self, WaitError> {
        let mut table = shared.table.lock();
        if table.waits.len() >= WAITS {
            return Err(WaitError::Limit(format!("{WAITS} calls wait already, and no more may")));
        }
        if table.waited + uris.len() > WAITED {
            return Err(WaitError::Limit(format!("all calls that wait, together, may name {WAITED} resources, and no more")));
        }
        table.make_room(&shared.listener, &uris)?;
        table.newest += 1;
        let id = table.newest;
        let uris: Vec<_> = uris.into_iter().map(|uri| table.enter(uri, id)).collect();
        table.waited += uris.len();
        let woken = Arc::new(Notify::new());
        table.waits.insert(id, woken.clone());
        // A point that is still to come is no point of this history.
        let point = if matches!(point, Point::At(known) if known.number > table.number) { Point::Unknown } else { point };
        let began = table.number;
        drop(table);
        let set = set(uris.iter().map(|uri| &**uri));
        let foreign = match point {
            Point::At(known) if known.set != set => {
                uris.iter().filter(|uri| token::set([&***uri].into_iter()) != known.set).cloned().collect()
            }
            Point::At(_) | Point::Now | Point::Unknown => HashSet::new(),
        };
        Ok(Self { shared: shared.clone(), id, uris, set, point, foreign, began, woken })
    }

    fn unanswered(&self) -> Vec<Arc<str>> {
        let table = self.shared.table.lock();
        let answered = |uri: &Arc<str>| table.entries.get(uri).is_some_and(|entry| entry.since.is_some());
        self.uris.iter().filter(|uri| !answered(uri)).cloned().collect()
    }

    /// How many resources it waits for.
    pub fn count(&self) -> usize {
        self.uris.len()
    }

    /// What it waits for.
    pub fn uris(&self) -> &[Arc<str>] {
        &self.uris
    }

    /// What the caller read at the point of its token.
    pub fn digest(&self) -> Option<u64> {
        match self.point {
            Point::At(known) => known.read,
            Point::Now | Point::Unknown => None,
        }
    }

    /// What there is to tell now.
    pub fn look(&self) -> Seen {
        let table = self.shared.table.lock();
        let mut seen = Seen { changed: Vec::new(), unsure: Vec::new(), number: table.number };
        for uri in &self.uris {
            let (changed, since) = table.entries.get(uri).map_or((0, None), |entry| (entry.changed, entry.since));
            match self.point {
                Point::Now if changed > self.began => seen.changed.push(uri.clone()),
                Point::Now => {}
                Point::At(known) if changed > known.number => seen.changed.push(uri.clone()),
                Point::At(known) if since.is_some_and(|since| since <= known.number) && !self.foreign.contains(uri) => {}
                Point::At(..) | Point::Unknown => seen.unsure.push(uri.clone()),
            }
        }
        seen
    }

    /// The token for the next call, up to this point.
    pub fn token(&self, number: u64) -> String {
        token::write(self.shared.mark, Known { number, set: self.set, read: None })
    }

    /// The caller knows everything up to this point after all, whatever its token said.
    pub fn knows(&mut self, number: u64) {
        (self.point, self.began) = (Point::Now, number);
    }

    /// Waits until there is something to tell; see [`Wait::look`]. Cancel safe.
    pub async fn changed(&self) -> Seen {
        loop {
            let seen = self.look();
            if !seen.changed.is_empty() || !seen.unsure.is_empty() {
                return seen;
            }
            self.woken.notified().await;
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut table = self.shared.table.lock();
        table.waits.remove(&self.id);
        table.waited -= self.uris.len();
        for uri in &self.uris {
            table.leave(&self.shared.listener, uri, self.id);
        }
    }
}

impl Table {
    /// The table's own copy of a URI, with this call among those who wait for it.
    fn enter(&mut self, uri: &str, wait: u64) -> Arc<str> {
        let uri = match self.entries.get_key_value(uri) {
            Some((uri, _)) => uri.clone(),
            None => {
                self.bytes += uri.len();
                uri.into()
            }
        };
        let fresh = || Entry { since: None, changed: 0, waits: HashSet::new(), left: Instant::now() };
        self.entries.entry(uri.clone()).or_insert_with(fresh).waits.insert(wait);
        uri
    }

    fn leave(&mut self, listener: &Listener, uri: &Arc<str>, wait: u64) {
        let Some(entry) = self.entries.get_mut(uri) else { return };
        entry.waits.remove(&wait);
        entry.left = Instant::now();
        // One whose subscribe was not waited for is not known to be watched.
        if entry.waits.is_empty() && entry.since.is_none() {
            self.forget(listener, uri);
        }
    }

    fn forget(&mut self, listener: &Listener, uri: &Arc<str>) {
        if self.entries.remove(uri).is_some() {
            self.bytes -= uri.len();
            listener.unsubscribe(uri);
        }
    }

    /// Makes room for these, at the cost of those that nobody waits for, longest left first.
    fn make_room(&mut self, listener: &Listener, uris: &IndexSet<&str>) -> Result<(), WaitError> {
        let fresh: Vec<_> = uris.iter().filter(|uri| !self.entries.contains_key(**uri)).collect();
        let (count, bytes) = (fresh.len(), fresh.iter().map(|uri| uri.len()).sum::<usize>());
        let fits = |table: &Self| table.entries.len() + count <= WATCHED && table.bytes + bytes <= WATCHED_BYTES;
        if fits(self) {
            return Ok(());
        }
        let idle = self.entries.iter().filter(|(uri, entry)| entry.waits.is_empty() && !uris.contains(&***uri));
        let mut idle: Vec<_> = idle.map(|(uri, entry)| (entry.left, uri.clone())).collect();
        let spare: usize = idle.iter().map(|(_, uri)| uri.len()).sum();
        if self.entries.len() - idle.len() + count > WATCHED || self.bytes - spare + bytes > WATCHED_BYTES {
            return Err(WaitError::Limit(format!(
                "all calls that wait, together, may name {WATCHED} different resources of {WATCHED_BYTES} bytes, and no more"
            )));
        }
        idle.sort_unstable();
        for (_, uri) in idle {
            if fits(self) {
                break;
            }
            self.forget(listener, &uri);
        }
        Ok(())
    }
}

impl Shared {
    fn change(&self, uris: &[Arc<str>]) {
        let mut table = self.table.lock();
        table.number += 1;
        let Table { number, entries, waits, .. } = &mut *table;
        for uri in uris {
            let Some(entry) = entries.get_mut(uri) else { continue };
            entry.changed = *number;
            entry.waits.iter().filter_map(|wait| waits.get(wait)).for_each(|woken| woken.notify_one());
        }
    }

    fn sweep(&self) {
        let mut table = self.table.lock();
        let over = |entry: &Entry| entry.waits.is_empty() && entry.left.elapsed() >= HELD;
        let over: Vec<_> = table.entries.iter().filter(|(_, entry)| over(entry)).map(|(uri, _)| uri.clone()).collect();
        for uri in over {
            table.forget(&self.listener, &uri);
        }
    }
}
