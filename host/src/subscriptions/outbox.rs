//! What waits to be told to one listener.
//!
//! Invariants (law 6): a URI waits at most once; it is handed out at once, then at most once per [`PAUSE`], the last change always; what is
//! held is bounded by what the listener subscribed to, however often it subscribes anew while nobody empties. Filling never waits for
//! whoever empties.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::Notice;

/// The least time between two notices of one URI to one listener.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Entries that may be void without being most of all.
const VOID_ENTRIES: usize = 64;

#[derive(Default)]
struct State {
    /// The URIs that wait. An entry of `ready` or `later` that is not in here is void.
    waiting: HashSet<Arc<str>>,
    ready: VecDeque<Arc<str>>,
    later: BinaryHeap<Reverse<(Instant, Arc<str>)>>,
    list_waits: bool,
    /// When each URI was last handed out, and under which number.
    told: HashMap<Arc<str>, (Instant, u64)>,
    list_told: u64,
    /// How many notices were handed out.
    number: u64,
}

impl State {
    fn push(&mut self, uri: &Arc<str>, now: Instant) -> bool {
        if !self.waiting.insert(uri.clone()) {
            return false;
        }
        match self.told.get(uri) {
            Some((at, _)) if *at + PAUSE > now => self.later.push(Reverse((*at + PAUSE, uri.clone()))),
            _ => self.ready.push_back(uri.clone()),
        }
        true
    }

    /// Takes void entries out once they are most of all.
    fn tidy(&mut self) {
        if self.ready.len() + self.later.len() > 2 * self.waiting.len() + VOID_ENTRIES {
            let Self { waiting, ready, later, .. } = self;
            // What waits is in one of the two, and once.
            let mut left = waiting.clone();
            ready.retain(|uri| left.remove(uri));
            later.retain(|Reverse((_, uri))| left.remove(uri));
        }
    }

    /// The next notice, or when to look again.
    fn pop(&mut self, now: Instant) -> Result<(u64, Notice), Option<Instant>> {
        if std::mem::take(&mut self.list_waits) {
            self.number += 1;
            self.list_told = self.number;
            return Ok((self.number, Notice::ListChanged));
        }
        while self.later.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            self.ready.extend(self.later.pop().map(|Reverse((_, uri))| uri));
        }
        while let Some(uri) = self.ready.pop_front() {
            if self.waiting.remove(&uri) {
                self.number += 1;
                self.told.insert(uri.clone(), (now, self.number));
                return Ok((self.number, Notice::Updated(uri)));
            }
        }
        Err(self.later.peek().map(|Reverse((at, _))| *at))
    }
}

/// The set of what waits for one listener.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    arrived: Notify,
}

impl Outbox {
    /// This URI is to be told. Returns whether it did not wait already.
    pub(super) fn push(&self, uri: &Arc<str>) -> bool {
        let fresh = self.state.lock().push(uri, Instant::now());
        if fresh {
            self.arrived.notify_one();
        }
        fresh
    }

    /// That the lists changed is to be told.
    pub(super) fn push_list_changed(&self) {
        self.state.lock().list_waits = true;
        self.arrived.notify_one();
    }

    /// The URI is no longer subscribed.
    pub(super) fn forget(&self, uri: &str) {
        let mut state = self.state.lock();
        state.waiting.remove(uri);
        state.told.remove(uri);
        state.tidy();
    }

    /// Waits for the next notice. Cancel safe; for one at a time.
    pub(super) async fn next(&self) -> (u64, Notice) {
        loop {
            let next = self.state.lock().pop(Instant::now());
            match next {
                Ok(notice) => return notice,
                Err(None) => self.arrived.notified().await,
                Err(Some(at)) => {
                    tokio::select! {
                        () = self.arrived.notified() => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// Puts back what was handed out after this number.
    pub(super) fn resume_after(&self, number: u64) {
        let mut state = self.state.lock();
        let now = Instant::now();
        let mut again: Vec<_> = state.told.iter().filter(|(_, (_, n))| *n > number).map(|(uri, (_, n))| (*n, uri.clone())).collect();
        again.sort_unstable();
        for (_, uri) in again {
            state.push(&uri, now);
        }
        state.list_waits |= state.list_told > number;
        drop(state);
        self.arrived.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn updated(uri: &str) -> Notice {
        Notice::Updated(uri.into())
    }

    fn ready(outbox: &Outbox) -> Option<(u64, Notice)> {
        outbox.next().now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn law_6_a_uri_that_waits_is_not_queued_twice() {
        let outbox = Outbox::default();
        assert!(outbox.push(&"x://a".into()));
        assert!(!outbox.push(&"x://a".into()));
        assert_eq!(ready(&outbox), Some((1, updated("x://a"))));
        assert_eq!(ready(&outbox), None);
    }

    #[tokio::test(start_paused = true)]
    async fn law_6_one_uri_is_told_at_once_then_once_per_pause_and_the_last_change_always() {
        let outbox = Outbox::default();
        outbox.push(&"x://a".into());
        assert_eq!(ready(&outbox), Some((1, updated("x://a"))));
        let start = Instant::now();
        for _ in 0..10 {
            outbox.push(&"x://a".into());
            assert_eq!(ready(&outbox), None);
        }
        outbox.push(&"x://b".into());
        assert_eq!(ready(&outbox), Some((2, updated("x://b"))), "another URI does not wait for it");
        assert_eq!(outbox.next().await, (3, updated("x://a")));
        assert_eq!(start.elapsed(), PAUSE);
        assert_eq!(ready(&outbox), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_after_a_number_comes_once_more() {
        let outbox = Outbox::default();
        for uri in ["x://a", "x://b", "x://c"] {
            outbox.push(&uri.into());
        }
        outbox.push_list_changed();
        for _ in 0..4 {
            assert!(ready(&outbox).is_some());
        }
        outbox.forget("x://c");
        outbox.resume_after(2);
        tokio::time::advance(PAUSE).await;
        assert_eq!(ready(&outbox), Some((5, updated("x://b"))), "the first two were seen, the last is not subscribed any more");
        assert_eq!(ready(&outbox), None);
        outbox.resume_after(0);
        assert_eq!(ready(&outbox), Some((6, Notice::ListChanged)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_put_back_comes_in_its_order_and_wakes_who_waits() {
        let outbox = Outbox::default();
        let uris: Vec<Arc<str>> = (0..20).map(|n| format!("x://{n}").into()).collect();
        for uri in &uris {
            outbox.push(uri);
            assert!(ready(&outbox).is_some());
        }
        tokio::time::advance(PAUSE).await;
        let next = outbox.next();
        tokio::pin!(next);
        // Nothing is due any more, so only a wake can end this wait.
        assert!((&mut next).now_or_never().is_none());
        outbox.resume_after(0);
        let (_, first) = tokio::time::timeout(PAUSE, next).await.expect("it is not woken");
        let rest = std::iter::from_fn(|| ready(&outbox)).map(|(_, notice)| notice);
        let again: Vec<_> = std::iter::once(first).chain(rest).collect();
        assert_eq!(again, uris.iter().map(|uri| updated(uri)).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn an_unsubscribed_uri_is_not_told_any_more() {
        let outbox = Outbox::default();
        outbox.push(&"x://a".into());
        outbox.forget("x://a");
        assert_eq!(ready(&outbox), None);
    }

    #[tokio::test(start_paused = true)]
    async fn subscribing_anew_for_ever_without_a_stream_holds_no_more_than_what_is_subscribed() {
        let outbox = Outbox::default();
        outbox.push(&"x://stays".into());
        for told in [false, true] {
            for n in 0..10_000 {
                let uri = format!("x://{}", n % 3).into();
                outbox.push(&uri);
                // Told once, it waits for its pause the next time.
                while told && ready(&outbox).is_some() {}
                outbox.push(&uri);
                outbox.forget(&uri);
            }
            let state = outbox.state.lock();
            assert!(state.ready.len() + state.later.len() <= VOID_ENTRIES + 2, "{} {}", state.ready.len(), state.later.len());
        }
        outbox.push(&"x://last".into());
        assert_eq!(ready(&outbox).map(|(_, notice)| notice), Some(updated("x://last")));
        assert_eq!(ready(&outbox), None);
    }
}
