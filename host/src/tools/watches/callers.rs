//! The watches of each caller.
//!
//! Invariant: callers share nothing: what one waits for is watched in its own view, and its tokens are unknown to another, whose
//! history has another mark. The history of one that has nothing watched may be forgotten past [`KEPT_CALLERS`]; then its tokens are unknown.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::Watches;
use crate::{catalog::Caller, subscriptions::Subscriptions};

/// Callers whose history is kept while they have nothing watched: more than a host has agents.
pub const KEPT_CALLERS: usize = 256;

#[derive(Default)]
struct Others {
    by_caller: HashMap<Caller, Arc<Watches>>,
    /// How many there were.
    made: u64,
}

/// See the module's page.
pub struct Watchers {
    subscriptions: Subscriptions,
    mark: u32,
    /// Of those who have proven nothing: on most hosts there are no others.
    anyone: Arc<Watches>,
    others: Mutex<Others>,
}

impl Watchers {
    /// Nothing watched yet. `mark` is that of the host, as for [`Watches::new`].
    pub fn new(subscriptions: &Subscriptions, mark: u32) -> Self {
        let anyone = Arc::new(Watches::new(subscriptions, Caller::anyone(), mark));
        Self { subscriptions: subscriptions.clone(), mark, anyone, others: Mutex::default() }
    }

    /// Those of this caller. They last as long as what this gives.
    pub fn of(&self, caller: &Caller) -> Arc<Watches> {
        if *caller == *<&Caller>::default() {
            return self.anyone.clone();
        }
        let mut others = self.others.lock();
        if let Some(watches) = others.by_caller.get(caller) {
            return watches.clone();
        }
        if others.by_caller.len() >= KEPT_CALLERS {
            others.by_caller.retain(|_, watches| Arc::strong_count(watches) > 1 || watches.is_watching());
        }
        others.made += 1;
        let watches = Arc::new(Watches::new(&self.subscriptions, caller.clone(), self.mark_of(others.made)));
        others.by_caller.insert(caller.clone(), watches.clone());
        watches
    }

    /// Forgets the callers that are valid no more.
    pub fn end(&self, valid: &dyn Fn(&Caller) -> bool) {
        let all: Vec<_> = self.others.lock().by_caller.keys().cloned().collect();
        for caller in all.into_iter().filter(|caller| !valid(caller)) {
            self.others.lock().by_caller.remove(&caller);
        }
    }

    /// The mark of the history that was made as this one.
    fn mark_of(&self, number: u64) -> u32 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.mark.to_be_bytes()).update(&number.to_be_bytes());
        let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
        u32::from_be_bytes([a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalog::View, tools::tests::World, tools::watches::Point};

    const A: &str = "x://a";

    fn caller(name: impl ToString) -> Caller {
        Caller::named(name.to_string(), View::Everything)
    }

    #[tokio::test(start_paused = true)]
    async fn past_a_number_callers_are_forgotten_that_have_nothing_watched() {
        let world = World::new(|memory| memory.put(A, "0")).await;
        let watchers = Watchers::new(&world.subscriptions, 1);
        let busy = watchers.of(&caller("busy")).wait(&[A], Point::Now).await.unwrap();
        let token = busy.token(1);
        let idle = watchers.of(&caller("idle")).token(0, A, 0);
        for n in 0..KEPT_CALLERS {
            watchers.of(&caller(n));
        }
        assert!(watchers.others.lock().by_caller.len() < KEPT_CALLERS);
        assert!(matches!(watchers.of(&caller("busy")).point(&token), Point::At(_)));
        assert_eq!(watchers.of(&caller("idle")).point(&idle), Point::Unknown);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_known_to_its_caller_alone_and_not_after_that_is_one_no_more() {
        let world = World::new(|memory| memory.put(A, "0")).await;
        let watchers = Watchers::new(&world.subscriptions, 1);
        let token = watchers.of(&caller("ann")).token(0, A, 0);
        assert!(matches!(watchers.of(&caller("ann")).point(&token), Point::At(_)));
        assert_eq!(watchers.of(&caller("bob")).point(&token), Point::Unknown);
        assert_eq!(watchers.of(&Caller::anyone()).point(&token), Point::Unknown);
        watchers.end(&|of| *of != caller("ann"));
        assert_eq!(watchers.of(&caller("ann")).point(&token), Point::Unknown);
    }
}
