//! One client's round: which of the steps it took, in which order, and when.
//!
//! Invariants: it knows no protocol and no clock; a step counts when the server has answered it, or has told it; that of `read again` only
//! after the client was told of a change.

use std::time::Duration;

use tokio::time::Instant;

/// A step of a round, in the order of an ideal one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It listed the resources.
    List,
    /// It read the resource.
    Read,
    /// It subscribed to it, or listens for its updates.
    Subscribe,
    /// It was told of a change.
    Notified,
    /// It read the resource after that.
    ReadAgain,
    /// It gave up its subscription, or its listen ended.
    Unsubscribe,
}

impl Step {
    pub(super) const ALL: [Self; 6] = [Self::List, Self::Read, Self::Subscribe, Self::Notified, Self::ReadAgain, Self::Unsubscribe];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Subscribe => "subscribe",
            Self::Notified => "notified",
            Self::ReadAgain => "read again",
            Self::Unsubscribe => "unsubscribe",
        }
    }
}

/// See the module's page.
#[derive(Debug)]
pub(super) struct Round {
    began: Instant,
    /// Each step once, in the order in which they were taken.
    taken: Vec<(Step, Duration)>,
}

impl Round {
    /// One that begins now.
    pub(super) fn new(now: Instant) -> Self {
        Self { began: now, taken: Vec::new() }
    }

    pub(super) fn listed(&mut self, now: Instant) {
        self.take(Step::List, now);
    }

    pub(super) fn read(&mut self, now: Instant) {
        self.take(if self.has(Step::Notified) { Step::ReadAgain } else { Step::Read }, now);
    }

    /// True for the first time.
    pub(super) fn subscribed(&mut self, now: Instant) -> bool {
        self.take(Step::Subscribe, now)
    }

    pub(super) fn notified(&mut self, now: Instant) {
        self.take(Step::Notified, now);
    }

    /// Clients may change what they listen to by ending one listen and beginning another, so the last time counts.
    pub(super) fn unsubscribed(&mut self, now: Instant) {
        self.taken.retain(|(step, _)| *step != Step::Unsubscribe);
        self.take(Step::Unsubscribe, now);
    }

    /// The steps it took, with the time since its beginning.
    pub(super) fn taken(&self) -> &[(Step, Duration)] {
        &self.taken
    }

    /// The steps it did not take.
    pub(super) fn missing(&self) -> Vec<Step> {
        Step::ALL.into_iter().filter(|step| !self.has(*step)).collect()
    }

    /// Whether it took every step, and gave up its subscription only after it had been told.
    pub(super) fn is_full(&self) -> bool {
        let at = |wanted: Step| self.taken.iter().position(|(step, _)| *step == wanted);
        self.missing().is_empty() && at(Step::Notified) < at(Step::Unsubscribe)
    }

    fn has(&self, wanted: Step) -> bool {
        self.taken.iter().any(|(step, _)| *step == wanted)
    }

    fn take(&mut self, step: Step, now: Instant) -> bool {
        if self.has(step) {
            return false;
        }
        self.taken.push((step, now - self.began));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn later() -> Instant {
        tokio::time::advance(Duration::from_secs(1)).await;
        Instant::now()
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_round_has_every_step_with_its_time() {
        let mut round = Round::new(Instant::now());
        round.listed(later().await);
        round.read(later().await);
        assert!(round.subscribed(later().await));
        assert!(!round.subscribed(later().await), "only the first counts");
        round.notified(later().await);
        assert!(!round.is_full());
        round.read(later().await);
        round.unsubscribed(later().await);
        let expected = Step::ALL.into_iter().zip([1, 2, 3, 5, 6, 7].map(Duration::from_secs)).collect::<Vec<_>>();
        assert_eq!(round.taken(), expected);
        assert!(round.is_full());
        assert_eq!(round.missing(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn reading_often_before_the_update_is_not_reading_again() {
        let mut round = Round::new(Instant::now());
        for _ in 0..3 {
            round.read(later().await);
        }
        assert_eq!(round.taken(), [(Step::Read, Duration::from_secs(1))]);
        assert_eq!(round.missing(), [Step::List, Step::Subscribe, Step::Notified, Step::ReadAgain, Step::Unsubscribe]);
        assert!(!round.is_full());
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_end_of_a_subscription_counts() {
        let mut round = Round::new(Instant::now());
        round.listed(later().await);
        round.read(later().await);
        round.subscribed(later().await);
        round.unsubscribed(later().await);
        round.notified(later().await);
        round.read(later().await);
        assert_eq!(round.missing(), []);
        assert!(!round.is_full(), "it gave up before it was told");
        round.unsubscribed(later().await);
        assert!(round.is_full());
        assert_eq!(round.taken().last(), Some(&(Step::Unsubscribe, Duration::from_secs(7))));
    }
}
