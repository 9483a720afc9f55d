//! When to try again after an instance died.

use std::time::Duration;

use tokio::time::Instant;

/// The pause before the second restart in a row; it doubles with each further one. The first restart has none.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// It grows up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// An instance that lived so long has shown that it can: its death counts as the first.
const HEALTHY: Duration = Duration::from_secs(60);

/// How often in a row the instances of one provider died.
#[derive(Debug)]
pub(super) struct Health {
    /// Absent once the death of that instance was counted.
    started: Option<Instant>,
    deaths: u32,
}

impl Health {
    pub fn new(now: Instant) -> Self {
        Self { started: Some(now), deaths: 0 }
    }

    /// An instance started.
    pub fn started(&mut self, now: Instant) {
        self.started = Some(now);
    }

    /// It died, or did not start: the pause before the next try.
    pub fn died(&mut self, now: Instant) -> Duration {
        if self.started.take().is_some_and(|started| now.duration_since(started) >= HEALTHY) {
            self.deaths = 0;
        }
        let pause = match self.deaths {
            0 => Duration::ZERO,
            more => FIRST_PAUSE.saturating_mul(1u32.checked_shl(more - 1).unwrap_or(u32::MAX)).min(LONGEST_PAUSE),
        };
        self.deaths = self.deaths.saturating_add(1);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_a_healthy_minute_resets_them() {
        let start = Instant::now();
        let mut health = Health::new(start);
        let pauses: Vec<u128> = (0..12).map(|_| health.died(start).as_millis()).collect();
        assert_eq!(pauses, [0, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
        for _ in 0..100 {
            assert_eq!(health.died(start), LONGEST_PAUSE);
        }
        health.started(start);
        assert_eq!(health.died(start + HEALTHY), Duration::ZERO);
    }

    #[test]
    fn what_does_not_start_after_a_healthy_minute_is_tried_with_growing_pauses() {
        let start = Instant::now();
        let mut health = Health::new(start);
        let pauses: Vec<u128> = (0..4).map(|_| health.died(start + HEALTHY).as_millis()).collect();
        assert_eq!(pauses, [0, 100, 200, 400]);
    }
}
