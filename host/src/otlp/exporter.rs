//! The task that brings batches out, one after the other.
//!
//! Invariants: a batch is in the collector, or counted as dropped, and never both; that the collector takes nothing is said once until it
//! takes something again; at the end everything is tried once more, and nothing is waited for past the deadline.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout_at},
};

use super::{
    BACKOFF, DELAY, MAX_BACKOFF, TRIES,
    client::{Answer, Client},
    encode::{self, Resource},
    queue::Queue,
};
use crate::trace::{Counts, Export};

/// See the module's page. Ends with whoever has it.
pub struct Exporter {
    queue: Arc<Queue>,
    /// Spans of the batch that is under way.
    under_way: Arc<AtomicU64>,
    ending: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").field("counts", &self.queue.counts).finish_non_exhaustive()
    }
}

impl Exporter {
    pub(super) fn start(queue: Arc<Queue>, client: Client, resource: Resource) -> Arc<Self> {
        let ending = watch::Sender::new(false);
        let under_way = Arc::<AtomicU64>::default();
        let run = Run { queue: queue.clone(), client, resource, under_way: under_way.clone(), ending: ending.subscribe(), is_down: false };
        let task = Mutex::new(Some(tokio::spawn(run.run())));
        Arc::new(Self { queue, under_way, ending, task })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(task) = self.task.get_mut() {
            task.abort();
        }
    }
}

impl Export for Exporter {
    fn counts(&self) -> &Counts {
        &self.queue.counts
    }

    fn finish(&self, by: Instant) -> BoxFuture<'_, ()> {
        async move {
            let Some(mut task) = self.task.lock().take() else { return };
            self.ending.send_replace(true);
            let in_time = timeout_at(by, &mut task).await.is_ok();
            if !in_time {
                task.abort();
                // Then it drops nothing any more.
                let _ = task.await;
            }
            // What ends from now on is nobody's; what ended since the last look counts.
            self.queue.close();
            let left = self.queue.len() as u64 + self.under_way.swap(0, Relaxed);
            self.queue.counts.add_dropped(left);
            if !in_time {
                tracing::warn!(spans = left, "the collector took too long at the end: these are lost");
            }
        }
        .boxed()
    }
}

struct Run {
    queue: Arc<Queue>,
    client: Client,
    resource: Resource,
    under_way: Arc<AtomicU64>,
    ending: watch::Receiver<bool>,
    /// That it takes nothing has been said.
    is_down: bool,
}

impl Run {
    async fn run(mut self) {
        loop {
            let ends = self.ripe().await;
            loop {
                let left = self.queue.len();
                if left == 0 {
                    break;
                }
                self.bring().await;
                // What came meanwhile may wait for more, unless this is the end.
                if left <= super::BATCH && !ends {
                    break;
                }
            }
            if ends && self.queue.len() == 0 {
                return;
            }
        }
    }

    /// Waits for a batch, or for the time for which one may wait. Says whether this is the end.
    async fn ripe(&mut self) -> bool {
        tokio::select! {
            () = self.queue.ripe.notified() => false,
            () = sleep(DELAY) => false,
            () = ended(&mut self.ending) => true,
        }
    }

    async fn bring(&mut self) {
        let spans = self.queue.take();
        let count = spans.len() as u64;
        let Ok(body) = encode::request(&self.resource, &spans) else { return self.queue.counts.add_dropped(count) };
        drop(spans);
        self.under_way.store(count, Relaxed);
        let taken = self.deliver(body.into()).await;
        self.under_way.store(0, Relaxed);
        let rejected = taken.map_or(count, |rejected| rejected.min(count));
        self.queue.counts.add_dropped(rejected);
        self.queue.counts.add_exported(count - rejected);
    }

    /// Sends a batch until it is taken, or not worth a further try. Gives how many of it were not taken, if any were.
    async fn deliver(&mut self, body: Bytes) -> Option<u64> {
        let mut backoff = BACKOFF;
        for tried in 1..=TRIES {
            let asked = match self.client.send(body.clone()).await {
                Answer::Taken { rejected: 0, .. } => {
                    self.is_back();
                    return Some(0);
                }
                Answer::Taken { rejected, why } => {
                    self.is_away(&format!("it takes only a part: {why}"));
                    return Some(rejected);
                }
                Answer::Refused(reason) => {
                    self.is_away(&reason);
                    return None;
                }
                Answer::Later(reason, asked) => {
                    self.is_away(&reason);
                    asked
                }
            };
            if tried == TRIES || *self.ending.borrow() {
                break;
            }
            tokio::select! {
                () = sleep(asked.unwrap_or_else(|| jittered(backoff)).min(MAX_BACKOFF)) => {}
                // Once more, at once.
                () = ended(&mut self.ending) => {}
            }
            backoff *= 2;
        }
        None
    }

    fn is_away(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.is_down, true) {
            let endpoint = self.client.endpoint();
            tracing::warn!("the collector at {endpoint} does not take spans: {reason}; it is tried again, and this is not said again");
        }
    }

    fn is_back(&mut self) {
        if std::mem::replace(&mut self.is_down, false) {
            tracing::info!("the collector at {} takes spans again", self.client.endpoint());
        }
    }
}

async fn ended(ending: &mut watch::Receiver<bool>) {
    // A sender that is gone counts as well.
    drop(ending.wait_for(|ending| *ending).await);
}

/// From half of it to all of it: hosts that lost their collector together do not come back together.
fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.5 + getrandom::u32().map_or(0.25, |random| f64::from(random) / f64::from(u32::MAX) / 2.0))
}
