//! Who compiles next: one at a time, and of those that wait the smallest, since that is done soonest.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering::Relaxed},
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Hands out turns.
#[derive(Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    arrivals: AtomicU64,
}

#[derive(Default)]
struct State {
    taken: bool,
    /// By size, then by arrival.
    waiting: BTreeMap<(u64, u64), oneshot::Sender<Turn>>,
}

/// The right to compile, until it is dropped.
pub(super) struct Turn {
    turns: Option<Arc<Turns>>,
}

impl Turns {
    /// Waits for a turn. Whoever stops waiting is passed over.
    pub async fn take(self: &Arc<Self>, size: u64) -> Turn {
        let coming = {
            let mut state = self.state.lock();
            if !state.taken {
                state.taken = true;
                return Turn { turns: Some(self.clone()) };
            }
            let (turn, coming) = oneshot::channel();
            state.waiting.insert((size, self.arrivals.fetch_add(1, Relaxed)), turn);
            coming
        };
        // The sender leaves the table only to be sent, so this is never an error.
        coming.await.unwrap_or(Turn { turns: None })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.turns.take() else { return };
        loop {
            let next = {
                let mut state = turns.state.lock();
                let Some((_, next)) = state.waiting.pop_first() else {
                    state.taken = false;
                    return;
                };
                next
            };
            match next.send(Turn { turns: Some(turns.clone()) }) {
                Ok(()) => return,
                // It has gone. The turn that came back must not be handed on a second time.
                Err(mut turn) => turn.turns = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, task::Poll};

    use super::*;

    #[tokio::test]
    async fn the_smallest_that_waits_is_next_and_one_that_left_is_passed_over() {
        let turns = Arc::<Turns>::default();
        let first = turns.take(100).await;
        let (mut large, mut left, mut small) = (pin!(turns.take(30)), Box::pin(turns.take(1)), pin!(turns.take(2)));
        poll_fn(|context| {
            assert!(large.as_mut().poll(context).is_pending());
            assert!(left.as_mut().poll(context).is_pending());
            assert!(small.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(left);
        drop(first);
        let turn = poll_fn(|context| {
            assert!(large.as_mut().poll(context).is_pending());
            small.as_mut().poll(context)
        })
        .await;
        drop(turn);
        drop(large.await);
        assert!(!turns.state.lock().taken);
    }

    #[tokio::test]
    async fn a_turn_given_to_one_that_leaves_before_it_looks_goes_on_to_the_next() {
        let turns = Arc::<Turns>::default();
        let first = turns.take(1).await;
        let (mut gone, mut next) = (Box::pin(turns.take(1)), pin!(turns.take(2)));
        poll_fn(|context| {
            assert!(gone.as_mut().poll(context).is_pending() && next.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(first);
        drop(gone);
        drop(next.await);
        assert!(!turns.state.lock().taken);
    }
}
