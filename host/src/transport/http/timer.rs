//! One timer for each connection, which hyper's time limits share.
//!
//! hyper begins a timer for the headers of each request and ends it when they are there. To tokio each such timer is the next one to fire,
//! so that beginning it wakes the thread that waits for the sockets, which then finds nothing to do: a third of what a small request
//! costs. Here the connection's one timer stays as it was set, and is set anew only once it has fired too early.
//!
//! Invariant: a limit passes at its time, neither before nor after, whatever the timer was set to before.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

/// What hyper gets as its timer. One for each connection: only one of its limits is waited for at a time.
#[derive(Default)]
pub struct ConnectionTimer {
    shared: Arc<Shared>,
}

/// Nothing before the first limit.
type Shared = Mutex<Option<Pin<Box<tokio::time::Sleep>>>>;

impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Limit { shared: self.shared.clone(), deadline: deadline.into() })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

struct Limit {
    shared: Arc<Shared>,
    deadline: tokio::time::Instant,
}

impl Sleep for Limit {}

impl Future for Limit {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.shared.lock();
        let timer = shared.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.deadline)));
        if timer.deadline() > self.deadline {
            timer.as_mut().reset(self.deadline);
        }
        while timer.as_mut().poll(context).is_ready() {
            if timer.deadline() >= self.deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(self.deadline);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{self, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn limits_that_share_a_timer_pass_each_at_its_own_time() {
        let timer = ConnectionTimer::default();
        let began = time::Instant::now();
        // Given up, as hyper does when the headers are there; the next one is later.
        assert!(timeout(SECOND, timer.sleep(30 * SECOND)).await.is_err());
        timer.sleep(30 * SECOND).await;
        assert_eq!(began.elapsed(), 31 * SECOND);
        // Earlier than what the timer was set to.
        assert!(timeout(SECOND, timer.sleep(30 * SECOND)).await.is_err());
        timer.sleep(2 * SECOND).await;
        assert_eq!(began.elapsed(), 34 * SECOND);
        // One that has passed already.
        timer.sleep_until(timer.now() - SECOND).await;
        assert_eq!(began.elapsed(), 34 * SECOND);
    }
}
