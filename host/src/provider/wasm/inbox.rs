//! What has come in for an instance from outside, and waits to be handed over: one inbox an instance, since the names that a guest gives
//! to its watches and fetches end with it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    bindings::exports::wharf::provider::{
        fetch_handler::FetchOutcome,
        file_handler::{self, FileChange},
    },
    limits::MAX_ANSWER_BYTES,
};
use crate::provider::grants::{
    files::{Change, Joined},
    http::Hold,
};

#[derive(Default)]
struct Waiting {
    changes: Joined,
    outcomes: Vec<(FetchOutcome, Hold)>,
}

/// Cheap to clone; whoever brings something keeps one. Its bound is that of who brings: one change for each path that is watched, one
/// outcome for each fetch under way.
#[derive(Clone)]
pub(super) struct Inbox {
    waiting: Arc<Mutex<Waiting>>,
    wake: Arc<Notify>,
}

impl Inbox {
    /// Wakes this when something comes.
    pub fn new(wake: Arc<Notify>) -> Self {
        Self { waiting: Arc::default(), wake }
    }

    /// Files have changed, for a watch of this name and path. Once it has ended nothing is taken in any more.
    pub fn changed(&self, name: &Arc<str>, path: &str, ended: &AtomicBool, changes: Vec<(String, Change)>) {
        let mut waiting = self.waiting.lock();
        if ended.load(SeqCst) {
            return;
        }
        waiting.changes.add(name, path, changes);
        drop(waiting);
        self.wake.notify_one();
    }

    /// A fetch has ended, or a poll has brought something new, which takes the place of what that brought before. What it holds on to
    /// is let go when it is handed over.
    pub fn fetched(&self, outcome: FetchOutcome, hold: Hold) {
        let mut waiting = self.waiting.lock();
        waiting.outcomes.retain(|(other, _)| other.name != outcome.name);
        waiting.outcomes.push((outcome, hold));
        drop(waiting);
        self.wake.notify_one();
    }

    /// Takes back what a fetch of this name has brought.
    pub fn forget_fetch(&self, name: &str) {
        self.waiting.lock().outcomes.retain(|(outcome, _)| outcome.name != name);
    }

    /// Takes back what a watch of this name has brought.
    pub fn forget_watch(&self, name: &str) {
        self.waiting.lock().changes.forget(name);
    }

    pub fn take_changes(&self) -> Vec<FileChange> {
        let changes = self.waiting.lock().changes.take();
        changes.map(|(name, path, change)| FileChange { name: name.to_string(), path, change: change.into() }).collect()
    }

    /// As many as a guest is given at once: one, and more as long as their bodies have no more bytes than an answer of its own may.
    pub fn take_outcomes(&self) -> Vec<FetchOutcome> {
        let mut waiting = self.waiting.lock();
        let mut bytes = 0;
        let mut fits = |(outcome, _): &(FetchOutcome, Hold)| {
            bytes += outcome.answer.as_ref().map_or(0, |answer| answer.body.len());
            bytes <= MAX_ANSWER_BYTES
        };
        let count = waiting.outcomes.iter().take_while(|waits| fits(waits)).count().max(1).min(waiting.outcomes.len());
        waiting.outcomes.drain(..count).map(|(outcome, _)| outcome).collect()
    }
}

impl From<Change> for file_handler::Change {
    fn from(change: Change) -> Self {
        match change {
            Change::Created => Self::Created,
            Change::Modified => Self::Modified,
            Change::Removed => Self::Removed,
            Change::Rescan => Self::Rescan,
        }
    }
}
