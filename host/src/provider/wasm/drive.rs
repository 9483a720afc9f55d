//! Where a call runs: on the task that makes it, or on the threads for guests; and what it cost.

use std::{
    future::poll_fn,
    panic::AssertUnwindSafe,
    task::Poll,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tokio::runtime::Handle;

/// Host code panicked inside the call.
pub(super) struct Panicked;

/// Runs a call that owns its instance: here if it ends at its first poll, else on the threads for guests. Gives the time for which it
/// computed too. What it waited for a thread is no part of that: else a quick provider that once had to move there would not come back
/// as long as others keep the threads busy.
pub(super) async fn drive<T: Send + 'static>(
    guests: &Handle,
    here: bool,
    call: impl Future<Output = T> + Send + 'static,
) -> Result<(T, Duration), Panicked> {
    // The instance is inside the call, and goes with it: nobody sees what a panic left behind.
    let mut call = Box::pin(AssertUnwindSafe(timed(call)).catch_unwind());
    if here && let Poll::Ready(ended) = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await {
        return ended.map_err(|_| Panicked);
    }
    match guests.spawn(call).await {
        Ok(ended) => ended.map_err(|_| Panicked),
        Err(_) => Err(Panicked),
    }
}

/// The call, and the time for which it was polled.
async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let mut call = std::pin::pin!(call);
    let mut computed = Duration::ZERO;
    let ended = poll_fn(|context| {
        let began = Instant::now();
        let poll = call.as_mut().poll(context);
        computed += began.elapsed();
        poll
    })
    .await;
    (ended, computed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the only thread is kept busy.
    const HELD: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_panic_in_host_code_is_caught_here_and_on_the_threads_for_guests() {
        let guests = Handle::current();
        let panics = |yields: bool| async move {
            if yields {
                tokio::task::yield_now().await;
            }
            panic!("as this test wants");
        };
        for (here, yields) in [(true, false), (true, true), (false, false)] {
            assert!(drive(&guests, here, panics(yields)).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_call_moves_only_if_it_does_not_end_at_once() {
        let guests = Handle::current();
        let task = || async { tokio::task::try_id() };
        assert!(drive(&guests, true, task()).await.is_ok_and(|(task, _)| task.is_none()));
        assert!(drive(&guests, false, task()).await.is_ok_and(|(task, _)| task.is_some()));
        let moved = drive(&guests, true, async {
            tokio::task::yield_now().await;
            tokio::task::try_id()
        });
        // The test itself is no task.
        assert!(moved.await.is_ok_and(|(task, _)| task.is_some()));
    }

    #[tokio::test]
    async fn what_a_call_waits_for_a_thread_is_no_computing() {
        let guests = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (release, released) = std::sync::mpsc::channel();
        guests.spawn(async move { released.recv() });
        let mut call = Box::pin(drive(guests.handle(), false, async {}));
        assert!(call.as_mut().now_or_never().is_none());
        let began = Instant::now();
        while began.elapsed() < HELD {
            std::thread::yield_now();
        }
        release.send(()).unwrap();
        assert!(call.await.is_ok_and(|((), computed)| computed < HELD / 2));
        guests.shutdown_background();
    }
}
