//! One test and more per law that shows only with the driver around the reducer: 6, 8, 9 and 11.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::time::{Instant, advance, timeout};

use crate::{
    catalog::{Caller, Catalog, Position, Rules},
    provider::{
        Error, EventQueue, Updated,
        memory::{Memory, live},
    },
    subscriptions::{
        Listener, Notice, SubscribeError, Subscriptions,
        driver::{ANSWER_WAIT, LIST_QUIET, LIST_WAIT, TEARDOWN_WAIT},
    },
};

pub(super) struct Host {
    pub catalog: Arc<Catalog>,
    pub subscriptions: Subscriptions,
    pub queue: Arc<EventQueue>,
}

impl Host {
    pub fn new() -> Self {
        let catalog = Catalog::new(Duration::from_secs(3), [0; 8]);
        Self { subscriptions: Subscriptions::new(catalog.clone()), catalog, queue: Arc::default() }
    }

    pub async fn load(&self, provider: &Arc<Memory>) {
        let slot = provider.announcer.source().slot;
        let mut order: Vec<_> = self.catalog.snapshot().places.iter().map(|place| place.slot).collect();
        if !order.contains(&slot) {
            order.push(slot);
            self.arrange(&order);
        }
        self.catalog.load(provider.clone(), &provider.announcer).await.unwrap();
    }

    fn arrange(&self, slots: &[u32]) {
        let position = |slot: &u32| Position { slot: *slot, name: format!("p{slot}").into(), rules: Rules::default() };
        self.catalog.arrange(false, slots.iter().map(position).collect());
    }

    /// Takes what was announced to the driver, as the host's pump does.
    pub fn pump(&self) {
        while let Some(event) = self.queue.try_recv() {
            drop(self.subscriptions.event(event));
        }
    }

    fn listen(&self) -> Listener {
        self.subscriptions.listen(Caller::anyone(), true)
    }

    /// Lets the driver do all it has to do.
    pub async fn rest(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        self.subscriptions.counts().await;
    }
}

pub(super) fn updated(uri: &str) -> Notice {
    Notice::Updated(uri.into())
}

/// The next notice, however long it takes by the paused clock; but a test that waits in vain fails.
pub(super) async fn next(listener: &Listener) -> Notice {
    timeout(Duration::from_secs(3_600), listener.next()).await.expect("nothing is told").1
}

pub(super) fn waits(listener: &Listener) -> Option<Notice> {
    listener.next().now_or_never().map(|(_, notice)| notice)
}

#[tokio::test(start_paused = true)]
async fn law_6_a_listener_that_does_not_read_slows_nobody_and_holds_each_uri_once() {
    let host = Host::new();
    let provider = Memory::new(1, &host.queue, live());
    for uri in ["x://a", "x://b"] {
        provider.put(uri, "");
    }
    host.load(&provider).await;
    let (stalled, reader) = (host.subscriptions.listen(Caller::anyone(), false), host.subscriptions.listen(Caller::anyone(), false));
    for listener in [&stalled, &reader] {
        listener.subscribe(vec!["x://a".into(), "x://b".into()]).await.unwrap();
    }
    for _ in 0..1_000 {
        provider.announcer.updated("x://a");
        host.pump();
        host.rest().await;
        assert_eq!(waits(&reader), Some(updated("x://a")));
        advance(Duration::from_millis(50)).await;
    }
    assert_eq!((waits(&stalled), waits(&stalled)), (Some(updated("x://a")), None));
}

#[tokio::test(start_paused = true)]
async fn law_8_list_changed_goes_out_after_a_moment_of_quiet_and_only_if_something_differs() {
    let host = Host::new();
    let provider = Memory::new(1, &host.queue, live());
    provider.put("x://a", "");
    host.load(&provider).await;
    let listener = host.listen();
    let start = Instant::now();
    assert_eq!(next(&listener).await, Notice::ListChanged);
    assert_eq!(start.elapsed(), LIST_QUIET);

    // There and back again, with nobody looking.
    let second = Memory::new(2, &host.queue, live());
    second.put("x://b", "");
    host.load(&second).await;
    host.arrange(&[1]);
    host.rest().await;
    advance(LIST_WAIT * 2).await;
    host.rest().await;
    assert_eq!(waits(&listener), None);

    // There and back again, and somebody has looked.
    host.load(&second).await;
    host.catalog.resources(&Caller::anyone(), None).await.unwrap();
    host.arrange(&[1]);
    assert_eq!(next(&listener).await, Notice::ListChanged);
}

#[tokio::test(start_paused = true)]
async fn law_8_changes_without_end_are_announced_after_a_second_at_the_latest() {
    let host = Host::new();
    let listener = host.listen();
    let start = Instant::now();
    let changing = async {
        for slot in 1.. {
            let provider = Memory::new(slot, &host.queue, live());
            provider.put(&format!("x://{slot}"), "");
            host.load(&provider).await;
            tokio::time::sleep(LIST_QUIET / 2).await;
        }
    };
    tokio::select! {
        notice = next(&listener) => assert_eq!(notice, Notice::ListChanged),
        () = changing => {}
    }
    assert!(start.elapsed() <= LIST_WAIT + LIST_QUIET, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn law_9_teardown_tells_every_provider_and_waits_two_seconds_for_one_that_hangs() {
    let host = Host::new();
    let (hangs, answers) = (Memory::new(1, &host.queue, live()), Memory::new(2, &host.queue, live()));
    hangs.put("x://a", "");
    answers.put("x://b", "");
    host.load(&hangs).await;
    host.load(&answers).await;
    let listener = host.listen();
    listener.subscribe(vec!["x://a".into(), "x://b".into()]).await.unwrap();
    hangs.stuck.store(true, std::sync::atomic::Ordering::SeqCst);
    let start = Instant::now();
    host.subscriptions.close().await;
    assert_eq!(start.elapsed(), TEARDOWN_WAIT);
    for (provider, uri) in [(&hangs, "x://a"), (&answers, "x://b")] {
        assert!(provider.calls().contains(&format!("unsubscribe {uri}")), "{:?}", provider.calls());
    }
}

#[tokio::test(start_paused = true)]
async fn law_11_the_answer_waits_for_the_provider_a_second_at_most_and_one_updated_follows() {
    let host = Host::new();
    let provider = Memory::new(1, &host.queue, live());
    provider.put("x://a", "");
    provider.put("x://b", "");
    host.load(&provider).await;
    let listener = host.listen();
    let start = Instant::now();
    listener.subscribe(vec!["x://b".into()]).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "it answers as soon as the provider does");

    provider.shut();
    listener.subscribe(vec!["x://a".into(), "x://b".into()]).await.unwrap();
    assert_eq!(start.elapsed(), ANSWER_WAIT);
    while waits(&listener).is_some_and(|notice| notice == Notice::ListChanged) {}
    assert_eq!(waits(&listener), None);
    provider.open();
    host.rest().await;
    assert_eq!(waits(&listener), Some(updated("x://a")), "and not for the one that was watched already");
    assert_eq!(waits(&listener), None);
}

#[tokio::test(start_paused = true)]
async fn law_11_a_second_listener_of_a_watched_uri_is_answered_at_once() {
    let host = Host::new();
    let provider = Memory::new(1, &host.queue, live());
    provider.put("x://a", "");
    host.load(&provider).await;
    let (first, second) = (host.listen(), host.listen());
    first.subscribe(vec!["x://a".into()]).await.unwrap();
    provider.shut();
    assert!(second.subscribe(vec!["x://a".into()]).now_or_never().is_none(), "it goes through the driver");
    let start = Instant::now();
    second.subscribe(vec!["x://a".into()]).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(provider.calls().iter().filter(|call| call.starts_with("subscribe")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_subscribe_waits_for_a_provider_that_still_loads_and_may_own_the_uri() {
    let host = Host::new();
    host.arrange(&[1]);
    let provider = Memory::new(1, &host.queue, live());
    provider.put("x://a", "");
    let listener = host.listen();
    let subscribing = listener.subscribe(vec!["x://a".into()]);
    tokio::pin!(subscribing);
    for _ in 0..3 {
        assert!((&mut subscribing).now_or_never().is_none());
        host.rest().await;
    }
    host.load(&provider).await;
    subscribing.await.unwrap();
    assert!(provider.shelf.lock().watched.contains("x://a"), "so the provider watches when the answer goes out");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_uri_is_refused_and_nothing_is_subscribed() {
    let host = Host::new();
    let listener = host.listen();
    let refused = listener.subscribe(vec!["x://a".into(), "no uri".into()]).await;
    assert!(matches!(refused, Err(SubscribeError::InvalidUri(_))));
    assert_eq!(host.subscriptions.counts().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_is_dropped_leaves() {
    let host = Host::new();
    let provider = Memory::new(1, &host.queue, live());
    provider.put("x://a", "");
    host.load(&provider).await;
    let listener = host.listen();
    listener.subscribe(vec!["x://a".into()]).await.unwrap();
    assert_eq!(host.subscriptions.counts().await, [("x://a".into(), 1)]);
    drop(listener);
    host.rest().await;
    assert!(provider.shelf.lock().watched.is_empty());
    assert_eq!(host.subscriptions.counts().await, []);
}

#[tokio::test(start_paused = true)]
async fn past_the_bound_every_subscriber_of_the_provider_is_told() {
    let host = Host::new();
    let (flood, other) = (Memory::new(1, &host.queue, live()), Memory::new(2, &host.queue, live()));
    flood.put("x://a", "");
    other.put("x://b", "");
    host.load(&flood).await;
    host.load(&other).await;
    let listener = host.listen();
    listener.subscribe(vec!["x://a".into(), "x://b".into()]).await.unwrap();
    let event = crate::provider::ProviderEvent {
        source: flood.announcer.source(),
        down: false,
        up: false,
        updated: Updated::All,
        list_changed: false,
    };
    let mut dealt_with = Box::pin(host.subscriptions.event(event));
    assert!((&mut dealt_with).now_or_never().is_none(), "whoever passes events on waits, so that they are joined and not queued");
    dealt_with.await;
    let notices: Vec<_> = std::iter::from_fn(|| waits(&listener)).filter(|notice| *notice != Notice::ListChanged).collect();
    assert_eq!(notices, [updated("x://a")]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_fails_its_call_and_nothing_else() {
    let host = Host::new();
    let provider = Memory::new(1, &host.queue, live());
    provider.put("x://a", "");
    provider.put("x://b", "");
    provider.shelf.lock().refusals.insert("x://a".into(), Error::Failed("panic".into()));
    host.load(&provider).await;
    let listener = host.listen();
    let start = Instant::now();
    listener.subscribe(vec!["x://a".into(), "x://b".into()]).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "a call that panicked has ended");
    provider.announcer.updated("x://b");
    host.pump();
    host.rest().await;
    let notices: Vec<_> = std::iter::from_fn(|| waits(&listener)).collect();
    assert!(notices.contains(&updated("x://b")));
}
