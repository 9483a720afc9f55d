//! The timers of one instance. They end with it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

/// A shorter period is raised to this (`timers.start` in the WIT).
pub(super) const MIN_PERIOD: Duration = Duration::from_millis(100);
/// A guest that restarts a timer of 0 ms whenever it fires is called no more often than this.
const MIN_GAP: Duration = Duration::from_millis(10);
/// Timers of one instance.
pub(super) const MAX_TIMERS: usize = 1024;
/// Bytes of a name (rules at the head of the WIT package).
pub(super) const MAX_NAME_BYTES: usize = 2048;

/// Why a timer was not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Name,
    TooMany,
}

struct Timer {
    key: (Instant, u64),
    every: Option<Duration>,
}

/// Invariant: `due` has exactly one entry for each timer, under its `key`.
pub(super) struct Timers {
    by_name: HashMap<Arc<str>, Timer>,
    /// The number keeps timers of the same instant in the order in which they were set.
    due: BTreeMap<(Instant, u64), Arc<str>>,
    set: u64,
    not_before: Instant,
}

impl Timers {
    pub fn new(now: Instant) -> Self {
        Self { by_name: HashMap::new(), due: BTreeMap::new(), set: 0, not_before: now }
    }

    pub fn start(&mut self, name: &str, after: Duration, every: Option<Duration>, now: Instant) -> Result<(), Refused> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(Refused::Name);
        }
        if !self.by_name.contains_key(name) && self.by_name.len() >= MAX_TIMERS {
            return Err(Refused::TooMany);
        }
        self.cancel(name);
        self.set(name.into(), now + after, every.map(|every| every.max(MIN_PERIOD)));
        Ok(())
    }

    pub fn cancel(&mut self, name: &str) {
        if let Some(timer) = self.by_name.remove(name) {
            self.due.remove(&timer.key);
        }
    }

    /// When [`Timers::take_due`] has something to give next.
    pub fn next(&self) -> Option<Instant> {
        self.due.keys().next().map(|(at, _)| (*at).max(self.not_before))
    }

    /// The names that are due, each once, in the order in which they fell due; the periodic ones are set again.
    pub fn take_due(&mut self, now: Instant) -> Vec<String> {
        if self.next().is_none_or(|at| at > now) {
            return Vec::new();
        }
        let later = self.due.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut self.due, later);
        self.not_before = now + MIN_GAP;
        let mut names = Vec::with_capacity(due.len());
        for ((at, _), name) in due {
            names.push(name.to_string());
            if let Some(Timer { every: Some(every), .. }) = self.by_name.remove(&name) {
                // In step with its start, unless that has passed already: what was missed is not made up for.
                let next = if at + every > now { at + every } else { now + every };
                self.set(name, next, Some(every));
            }
        }
        names
    }

    fn set(&mut self, name: Arc<str>, at: Instant, every: Option<Duration>) {
        let key = (at, self.set);
        self.set += 1;
        self.due.insert(key, name.clone());
        self.by_name.insert(name, Timer { key, every });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn timers() -> (Timers, Instant) {
        let now = Instant::now();
        (Timers::new(now), now)
    }

    #[test]
    fn timers_fire_in_the_order_in_which_they_fall_due() {
        let (mut timers, now) = timers();
        timers.start("late", ms(30), None, now).unwrap();
        timers.start("early", ms(20), None, now).unwrap();
        timers.start("early too", ms(20), None, now).unwrap();
        assert_eq!(timers.next(), Some(now + ms(20)));
        assert!(timers.take_due(now + ms(19)).is_empty());
        assert_eq!(timers.take_due(now + ms(30)), ["early", "early too", "late"]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_late_timer_fires_once_and_not_for_each_period_missed() {
        let (mut timers, now) = timers();
        timers.start("t", ms(100), Some(ms(100)), now).unwrap();
        assert_eq!(timers.take_due(now + ms(1050)), ["t"]);
        assert_eq!(timers.next(), Some(now + ms(1150)));
        assert_eq!(timers.take_due(now + ms(1160)), ["t"]);
        assert_eq!(timers.next(), Some(now + ms(1250)), "a timer that is hardly late keeps its step");
    }

    #[test]
    fn a_period_below_the_minimum_is_raised_to_it() {
        let (mut timers, now) = timers();
        timers.start("t", ms(1), Some(ms(1)), now).unwrap();
        assert_eq!(timers.take_due(now + ms(1)), ["t"]);
        assert_eq!(timers.next(), Some(now + ms(101)));
    }

    #[test]
    fn starting_a_name_again_replaces_it_and_cancelling_ends_it() {
        let (mut timers, now) = timers();
        timers.start("t", ms(10), Some(ms(200)), now).unwrap();
        timers.start("t", ms(50), None, now).unwrap();
        assert_eq!(timers.take_due(now + ms(49)), [""; 0]);
        assert_eq!(timers.take_due(now + ms(50)), ["t"]);
        timers.start("t", ms(10), None, now).unwrap();
        timers.cancel("t");
        timers.cancel("none");
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_timer_restarted_at_zero_waits_for_the_gap() {
        let (mut timers, now) = timers();
        timers.start("t", ms(0), None, now).unwrap();
        assert_eq!(timers.take_due(now), ["t"]);
        timers.start("t", ms(0), None, now).unwrap();
        assert!(timers.take_due(now).is_empty());
        assert_eq!(timers.next(), Some(now + MIN_GAP));
        assert_eq!(timers.take_due(now + MIN_GAP), ["t"]);
    }

    #[test]
    fn names_have_1_to_2048_bytes() {
        let (mut timers, now) = timers();
        assert_eq!(timers.start("", ms(1), None, now), Err(Refused::Name));
        assert_eq!(timers.start(&"x".repeat(MAX_NAME_BYTES + 1), ms(1), None, now), Err(Refused::Name));
        assert_eq!(timers.start(&"x".repeat(MAX_NAME_BYTES), ms(1), None, now), Ok(()));
    }

    #[test]
    fn one_timer_more_than_allowed_is_refused_and_replacing_one_is_not() {
        let (mut timers, now) = timers();
        for n in 0..MAX_TIMERS {
            timers.start(&n.to_string(), ms(1), None, now).unwrap();
        }
        assert_eq!(timers.start("more", ms(1), None, now), Err(Refused::TooMany));
        assert_eq!(timers.start("0", ms(1), None, now), Ok(()));
        timers.cancel("0");
        assert_eq!(timers.start("more", ms(1), None, now), Ok(()));
    }
}
