//! What waits to be brought out, of how many at most.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{BATCH, QUEUE, span::Span};
use crate::trace::Counts;

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Queue {
    open: AtomicBool,
    /// A trace that begins here is recorded if the last half of its id is less.
    threshold: AtomicU64,
    waiting: Mutex<Vec<Span>>,
    /// There is enough for a batch.
    pub ripe: Notify,
    pub counts: Arc<Counts>,
}

impl Queue {
    /// From now on spans are taken: of the traces that begin here this part, from 0 to 1.
    pub fn open(&self, ratio: f64) {
        self.threshold.store(threshold(ratio), Relaxed);
        self.turn(true);
    }

    /// From now on none is.
    pub fn close(&self) {
        self.turn(false);
    }

    fn turn(&self, open: bool) {
        self.open.store(open, Relaxed);
        // Each place that makes spans has remembered whether anybody wants them.
        tracing::callsite::rebuild_interest_cache();
    }

    pub fn is_open(&self) -> bool {
        self.open.load(Relaxed)
    }

    /// Whether a trace that begins here is recorded (OpenTelemetry's `TraceIdRatioBased`: decided by the id, which is random).
    pub fn samples(&self, trace: &[u8; 16]) -> bool {
        let [.., a, b, c, d, e, f, g, h] = *trace;
        let threshold = self.threshold.load(Relaxed);
        threshold == u64::MAX || u64::from_be_bytes([a, b, c, d, e, f, g, h]) < threshold
    }

    /// Lets a span wait, or drops it.
    pub fn push(&self, span: Span) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= QUEUE || !self.is_open() {
            drop(waiting);
            return self.counts.add_dropped(1);
        }
        waiting.push(span);
        let ripe = waiting.len() == BATCH;
        drop(waiting);
        if ripe {
            self.ripe.notify_one();
        }
    }

    /// Takes those that have waited longest, for one batch.
    pub fn take(&self) -> Vec<Span> {
        let mut waiting = self.waiting.lock();
        let count = BATCH.min(waiting.len());
        let rest = waiting.split_off(count);
        std::mem::replace(&mut *waiting, rest)
    }

    pub fn len(&self) -> usize {
        self.waiting.lock().len()
    }
}

/// Of 2^64, as far as that can be said by a double.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn threshold(ratio: f64) -> u64 {
    // Such a cast goes to the bound of what is out of it, and 1 has to be all.
    (ratio * u64::MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_recorded_or_none_or_a_part() {
        let queue = Queue::default();
        let recorded = |last: u8| queue.samples(&[last; 16]);
        queue.open(1.0);
        assert!(recorded(0) && recorded(0xff));
        queue.open(0.0);
        assert!(!recorded(0) && !recorded(0xff));
        queue.open(0.5);
        assert!(recorded(0x7f) && !recorded(0x80));
    }
}
