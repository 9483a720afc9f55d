//! What is counted of one provider, over all of its generations, for whoever runs the host.
//!
//! Invariants: counting takes no lock and no memory, whatever is counted, unless a call failed or somebody watches; a number never goes
//! down but those of memory; what is told of a call has no secret that its error had not.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;

use super::Error;

/// Upper bounds of the buckets of a call's duration, in microseconds: from a call into a guest that is at hand (some microseconds) to the
/// default deadline (5 s), and one for those with a longer one.
pub const BUCKETS: [u64; 14] = [5, 10, 25, 50, 100, 250, 1_000, 5_000, 25_000, 100_000, 500_000, 1_000_000, 5_000_000, 30_000_000];
/// Characters of an error's message that are kept: a guest chooses them.
const SHOWN: usize = 500;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// With what was asked for.
    Ok,
    /// What the caller has is still so.
    NotModified,
    /// [`Error::NotFound`].
    NotFound,
    /// [`Error::Invalid`].
    Invalid,
    /// [`Error::Denied`].
    Denied,
    /// [`Error::Unavailable`], said by the guest or in its place.
    Unavailable,
    /// [`Error::Failed`].
    Failed,
    /// [`Error::Trapped`].
    Trap,
    /// [`Error::DeadlineExceeded`].
    Deadline,
    /// Likewise trapped, after it was refused memory over its limit.
    Memory,
    /// It was not made, since too many wait.
    QueueFull,
}

impl Outcome {
    /// All there are, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::NotModified,
        Self::NotFound,
        Self::Invalid,
        Self::Denied,
        Self::Unavailable,
        Self::Failed,
        Self::Trap,
        Self::Deadline,
        Self::Memory,
        Self::QueueFull,
    ];

    /// Its name, as in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotModified => "not-modified",
            Self::NotFound => "not-found",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Trap => "trap",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::QueueFull => "queue-full",
        }
    }

    /// Whether the provider is at fault.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::Failed | Self::Trap | Self::Deadline | Self::Memory)
    }
}

impl From<&Error> for Outcome {
    fn from(error: &Error) -> Self {
        match error {
            Error::NotFound => Self::NotFound,
            Error::Invalid(_) => Self::Invalid,
            Error::Denied(_) => Self::Denied,
            Error::Unavailable { .. } => Self::Unavailable,
            Error::Failed(_) => Self::Failed,
            Error::Trapped(_) => Self::Trap,
            Error::DeadlineExceeded(_) => Self::Deadline,
        }
    }
}

/// Durations by bucket.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The last one is for what took longer than all bounds.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durations {
    /// How many took no longer than each of [`BUCKETS`]; each with all of those before.
    pub up_to: [u64; BUCKETS.len()],
    /// How many there are.
    pub count: u64,
    /// How long all of them took, in microseconds.
    pub micros: u64,
}

impl Histogram {
    /// Counts one.
    pub fn record(&self, took: Duration) {
        let nanos = took.as_nanos();
        let bucket = BUCKETS.partition_point(|bound| u128::from(*bound) * 1_000 < nanos);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.micros.fetch_add(u64::try_from(nanos / 1_000).unwrap_or(u64::MAX), Relaxed);
    }

    /// What there is. Those that are counted meanwhile may be in some of the numbers only.
    pub fn durations(&self) -> Durations {
        let mut count = 0;
        let mut up_to = [0; BUCKETS.len()];
        for (sum, bucket) in up_to.iter_mut().zip(&self.buckets) {
            count += bucket.load(Relaxed);
            *sum = count;
        }
        count += self.buckets[BUCKETS.len()].load(Relaxed);
        Durations { up_to, count, micros: self.micros.load(Relaxed) }
    }
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    /// Of which provider.
    pub provider: &'a str,
    /// Which call: `read`, `resources.list`, `timer-handler.fired`.
    pub call: &'static str,
    /// Empty if it is about none.
    pub uri: &'a str,
    /// How long it ran, without the time for which it waited.
    pub took: Duration,
    /// How it ended.
    pub outcome: Outcome,
}

/// Who watches what providers do, as it happens. Its calls come from many threads and must not take long.
pub trait Witness: fmt::Debug + Send + Sync + 'static {
    /// Whether it is told at all, for now.
    fn is_watching(&self) -> bool;

    /// A call has ended.
    fn called(&self, called: &Called<'_>);

    /// A provider was denied something, so often by now; the line would allow it.
    fn denied(&self, provider: &str, line: &str, times: u64);
}

/// What a call last failed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// How.
    pub outcome: Outcome,
    /// Which call.
    pub call: &'static str,
    /// What it said, cut to 500 characters.
    pub message: String,
    /// When.
    pub at: SystemTime,
}

/// How its instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// There is one.
    Alive,
    /// It died, and a fresh one is being made.
    Restarting,
    /// It keeps dying, and there is a pause before the next.
    Parked,
}

/// See the module's page.
#[derive(Debug, Default)]
pub struct Tally {
    provider: Arc<str>,
    witness: Option<Arc<dyn Witness>>,
    calls: [AtomicU64; Outcome::ALL.len()],
    durations: Histogram,
    restarts: AtomicU64,
    memory: AtomicU64,
    life: AtomicU8,
    /// Milliseconds since 1970.
    life_since: AtomicU64,
    last_error: Mutex<Option<LastError>>,
}

impl Tally {
    /// Of this provider; told to the witness too, if there is one.
    pub fn new(provider: Arc<str>, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { provider, witness, ..Self::default() }
    }

    /// Whose it is.
    pub fn provider(&self) -> &Arc<str> {
        &self.provider
    }

    /// A call has ended, after so long.
    pub(super) fn called(&self, call: &'static str, uri: &str, took: Duration, outcome: Outcome, error: Option<&Error>) {
        self.durations.record(took);
        self.count(call, outcome, error);
        if let Some(witness) = self.witness.as_ref().filter(|witness| witness.is_watching()) {
            witness.called(&Called { provider: &self.provider, call, uri, took, outcome });
        }
    }

    /// A call was answered in the guest's place.
    pub(super) fn refused(&self, call: &'static str, outcome: Outcome, error: &Error) {
        self.count(call, outcome, Some(error));
    }

    fn count(&self, call: &'static str, outcome: Outcome, error: Option<&Error>) {
        self.calls[outcome as usize].fetch_add(1, Relaxed);
        if let Some(error) = error.filter(|_| outcome.is_fault()) {
            let mut message: String = error.to_string();
            if let Some((at, _)) = message.char_indices().nth(SHOWN) {
                message.truncate(at);
                message.push('…');
            }
            *self.last_error.lock() = Some(LastError { outcome, call, message, at: SystemTime::now() });
        }
    }

    /// A fresh instance took the place of one that died.
    pub(super) fn restarted(&self) {
        self.restarts.fetch_add(1, Relaxed);
        self.lives(Life::Alive);
    }

    /// This is how its instance is from now on.
    pub(super) fn lives(&self, life: Life) {
        if self.life.swap(life as u8, Relaxed) != life as u8 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.life_since.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Relaxed);
        }
    }

    pub(super) fn grew(&self, bytes: u64) {
        self.memory.fetch_add(bytes, Relaxed);
    }

    pub(super) fn shrank(&self, bytes: u64) {
        self.memory.fetch_sub(bytes, Relaxed);
    }

    /// How many calls ended so.
    pub fn calls(&self, outcome: Outcome) -> u64 {
        self.calls[outcome as usize].load(Relaxed)
    }

    /// How many were the provider's fault.
    pub fn errors(&self) -> u64 {
        Outcome::ALL.into_iter().filter(|outcome| outcome.is_fault()).map(|outcome| self.calls(outcome)).sum()
    }

    /// How long calls ran that were made.
    pub fn durations(&self) -> Durations {
        self.durations.durations()
    }

    /// How often a fresh instance took the place of one that died. One that there was besides the first is not replaced, and not counted.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Relaxed)
    }

    /// Bytes of all memories of its instances: of one, of more while calls wait (`[provider.limits] instances`), and of both generations while it is
    /// replaced.
    pub fn memory(&self) -> u64 {
        self.memory.load(Relaxed)
    }

    /// How its instance is, and since when that is known; not if it never died.
    pub fn life(&self) -> (Life, Option<SystemTime>) {
        let life = match self.life.load(Relaxed) {
            0 => Life::Alive,
            1 => Life::Restarting,
            _ => Life::Parked,
        };
        let since = self.life_since.load(Relaxed);
        (life, (since > 0).then(|| UNIX_EPOCH + Duration::from_millis(since)))
    }

    /// What a call last failed with.
    pub fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::default();
        for took in
            [Duration::ZERO, Duration::from_micros(5), Duration::from_nanos(5_001), Duration::from_secs(30), Duration::from_secs(31)]
        {
            histogram.record(took);
        }
        let Durations { up_to, count, micros } = histogram.durations();
        assert_eq!((up_to[0], up_to[1], up_to[12], up_to[13], count), (2, 3, 3, 4, 5));
        assert_eq!(micros, 5 + 5 + 61_000_000);
        assert!(up_to.is_sorted() && BUCKETS.is_sorted());
    }

    #[test]
    fn outcomes_are_counted_each_for_itself_and_only_faults_are_errors() {
        let tally = Tally::default();
        for outcome in Outcome::ALL {
            for _ in 0..=outcome as usize {
                tally.called("read", "x://a", Duration::ZERO, outcome, Some(&Error::Failed(outcome.name().into())));
            }
        }
        for (number, outcome) in (1..).zip(Outcome::ALL) {
            assert_eq!(tally.calls(outcome), number, "{outcome:?}");
        }
        assert_eq!(tally.errors(), 7 + 8 + 9 + 10);
        assert_eq!(tally.last_error().map(|error| error.message), Some("memory".into()));
        assert_eq!(tally.durations().count, (1..=11).sum::<u64>());
    }

    #[test]
    fn a_long_error_is_cut() {
        let tally = Tally::default();
        tally.refused("read", Outcome::Failed, &Error::Failed("ü".repeat(SHOWN + 1)));
        assert_eq!(tally.last_error().map(|error| error.message.chars().count()), Some(SHOWN + 1));
        assert_eq!(tally.durations().count, 0, "what was not made took no time");
    }

    #[test]
    fn life_is_what_it_was_last_said_to_be() {
        let tally = Tally::default();
        assert_eq!(tally.life(), (Life::Alive, None));
        tally.lives(Life::Parked);
        assert!(matches!(tally.life(), (Life::Parked, Some(_))));
        tally.restarted();
        assert_eq!((tally.life().0, tally.restarts()), (Life::Alive, 1));
    }
}
