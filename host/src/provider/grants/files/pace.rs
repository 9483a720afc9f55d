//! When changes are told: after some quiet, and where there is none, after a while.

use std::time::{Duration, Instant};

/// So long nothing may happen before what happened is told (`file-handler.changed` in the WIT).
pub(super) const QUIET: Duration = Duration::from_millis(100);
/// And so long it waits at the most.
pub(super) const AT_MOST: Duration = Duration::from_secs(1);

/// The changes of one tree that wait.
#[derive(Debug, Default)]
pub(super) struct Pace {
    waits: Option<(Instant, Instant)>,
}

impl Pace {
    /// Something happened.
    pub fn touch(&mut self, now: Instant) {
        let (first, last) = self.waits.unwrap_or((now, now));
        self.waits = Some((first.min(now), last.max(now)));
    }

    /// When it is to be told.
    pub fn due(&self) -> Option<Instant> {
        self.waits.map(|(first, last)| (last + QUIET).min(first + AT_MOST))
    }

    /// It is told.
    pub fn clear(&mut self) {
        self.waits = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_change_is_told_after_100_ms_of_quiet() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert_eq!(pace.due(), None);
        pace.touch(now);
        pace.touch(now + ms(60));
        assert_eq!(pace.due(), Some(now + ms(160)));
        pace.clear();
        assert_eq!(pace.due(), None);
    }

    #[test]
    fn where_there_is_no_quiet_it_is_told_after_1_s() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        (0..2000).for_each(|n| pace.touch(now + ms(n)));
        assert_eq!(pace.due(), Some(now + ms(1000)));
    }
}
