//! More instances of a component that may have several: one that exports neither `subscriptions` nor a handler, and publishes
//! nothing, keeps nothing between calls, so calls that would wait for its first instance are made at another.
//!
//! All instances take their calls from one queue, each by a task of its own. The first lives as long as the provider. Another is made once
//! calls wait while one runs for [`CROWDED`], so quick guests have one, and ends after [`IDLE`] without a call, or when it dies.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use super::component::Maker;

/// Calls wait while another runs for so long: longer than most calls take, and much longer than it takes to hand a call to another task.
pub(super) const CROWDED: Duration = Duration::from_millis(2);
/// An instance besides the first ends after so long without a call. Making one costs less than a millisecond for compiled languages and some
/// ten for interpreted ones.
pub(super) const IDLE: Duration = Duration::from_secs(10);
/// After one has died there are no further ones for so long: what crashes is not made to crash faster.
const PAUSE: Duration = Duration::from_secs(10);

/// How many instances there are.
pub(super) struct Pool {
    /// At the most, the first included.
    most: usize,
    count: AtomicUsize,
    /// One is being made.
    growing: AtomicBool,
    /// No further one before that.
    paused: Mutex<Option<Instant>>,
    /// One has come or gone.
    changes: watch::Sender<()>,
}

/// A place for one instance besides the first. Dropping it gives it back.
pub(super) struct Place(Arc<Pool>);

impl Pool {
    /// One that has its first instance.
    pub fn new(maker: &Maker) -> Arc<Self> {
        let most = if maker.offers().live || maker.publishes() { 1 } else { maker.spec.limits.instances };
        Arc::new(Self {
            most,
            count: AtomicUsize::new(1),
            growing: AtomicBool::new(false),
            paused: Mutex::default(),
            changes: watch::Sender::new(()),
        })
    }

    /// Whether there may be one more now.
    pub fn may_grow(&self) -> bool {
        !self.growing.load(SeqCst) && self.has_room()
    }

    /// Takes the place of one more, if there may be one. None other is made until [`Place::filled`].
    pub fn grow(self: &Arc<Self>) -> Option<Place> {
        if self.growing.swap(true, SeqCst) {
            return None;
        }
        if !self.has_room() {
            self.growing.store(false, SeqCst);
            return None;
        }
        self.count.fetch_add(1, SeqCst);
        Some(Place(self.clone()))
    }

    /// Whether the first is not the only one.
    pub fn has_others(&self) -> bool {
        self.count.load(SeqCst) > 1
    }

    /// Changes when one has come or gone.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn has_room(&self) -> bool {
        self.count.load(SeqCst) < self.most && self.paused.lock().is_none_or(|until| Instant::now() >= until)
    }
}

impl Place {
    /// The instance is there, or could not be made.
    pub fn filled(&self, there: bool) {
        if !there {
            self.died();
        }
        self.0.growing.store(false, SeqCst);
        self.0.changes.send_replace(());
    }

    /// The instance died.
    pub fn died(&self) {
        *self.0.paused.lock() = Some(Instant::now() + PAUSE);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, SeqCst);
        self.0.changes.send_replace(());
    }
}
