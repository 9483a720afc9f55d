//! One test and more per law. Laws 1 to 5 and 10 on the reducer; 6, 8, 9 and 11 with the driver around it; 7 is the catalog's.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::time::{Instant, advance, timeout};

use super::{
    super::{
        LimitError, Listener, Notice, SUBSCRIPTION_BYTES, SUBSCRIPTIONS_PER_LISTENER, SubscribeError, Subscriptions,
        driver::{ANSWER_WAIT, LIST_QUIET, LIST_WAIT, TEARDOWN_WAIT},
        reducer::Reducer,
    },
    world::{Verdict, World},
};
use crate::{
    catalog::{Caller, Catalog, Position, Rules},
    provider::{
        Error, EventQueue, Source, Updated,
        memory::{Memory, live},
    },
};

/// One provider that lists `x://a` and takes everything.
fn one() -> World {
    let mut world = World::new(1, &[]);
    world.players[0].lists.insert("x://a".into());
    world.publish();
    world.seen();
    world
}

#[test]
fn law_1_subscriptions_are_a_set() {
    let mut world = one();
    world.subscribe(7, "x://a");
    world.complete("x://a");
    world.subscribe(7, "x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "answer 2"]);
    world.change(0, "x://a");
    assert_eq!(world.seen(), ["tell 7 x://a"]);
    world.unsubscribe(7, "x://a");
    assert_eq!(world.seen(), ["unsubscribe 0.1 x://a"]);
    world.unsubscribe(7, "x://a");
    world.unsubscribe(7, "x://never");
    assert_eq!(world.seen(), [""; 0]);
}

#[test]
fn law_2_a_provider_hears_of_the_first_listener_and_of_the_last() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.subscribe(2, "x://a");
    world.unsubscribe(1, "x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "answer 2"]);
    world.leave(2);
    assert_eq!(world.seen(), ["unsubscribe 0.1 x://a"]);
}

#[test]
fn law_2_calls_for_one_uri_go_one_after_the_other_in_order() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.unsubscribe(1, "x://a");
    world.subscribe(1, "x://a");
    world.unsubscribe(1, "x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "answer 2"], "it is under way; who has left is not kept waiting");
    world.complete("x://a");
    world.subscribe(2, "x://a");
    assert_eq!(world.seen(), ["unsubscribe 0.1 x://a"]);
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a"]);
}

#[test]
fn law_2_a_subscribe_that_failed_is_no_subscription() {
    let mut world = one();
    world.players[0].verdicts.insert("x://a".into(), Verdict::Denies);
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.leave(1);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1"], "so there is nothing to unsubscribe");
}

#[test]
fn law_2_what_is_unavailable_is_tried_again_with_growing_pauses() {
    let mut world = one();
    world.subscribe(1, "x://a");
    let mut pauses = Vec::new();
    for _ in 0..12 {
        world.players[0].fails = true;
        world.complete("x://a");
        pauses.push(world.last_pause);
        world.fire(0);
    }
    assert_eq!(pauses[..3], [100, 200, 400].map(Duration::from_millis));
    assert_eq!(pauses[11], Duration::from_secs(30));
    assert_eq!(world.seen().len(), 13, "a subscribe each time, and no answer yet");
    world.complete("x://a");
    assert_eq!(world.seen(), ["answer 1"]);
}

#[test]
fn law_2_a_dead_instance_is_subscribed_again_and_told_once() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.fall(0);
    world.hear(0);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1"]);
    world.rise(0);
    world.hear(0);
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "tell 1 x://a"]);
}

#[test]
fn law_3_a_uri_without_an_owner_is_pending_and_bound_with_one_updated() {
    let mut world = one();
    world.subscribe(1, "x://b");
    world.complete("x://b");
    assert_eq!(world.seen(), ["subscribe 0.1 x://b", "answer 1"], "its template matches, and it says not-found");
    world.players[0].lists.insert("x://b".into());
    world.publish();
    world.complete("x://b");
    assert_eq!(world.seen(), ["subscribe 0.1 x://b", "tell 1 x://b"]);
}

#[test]
fn law_3_a_uri_no_template_matches_is_accepted_too() {
    let mut world = World::new(0, &[]);
    world.subscribe(1, "y://b");
    assert_eq!(world.seen(), ["answer 1"]);
    assert_eq!(world.reducer.counts().count(), 1);
}

#[test]
fn law_3_a_resource_that_goes_away_is_unsubscribed_told_and_pending_again() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.players[0].present = false;
    world.publish();
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "tell 1 x://a", "unsubscribe 0.1 x://a"]);
    world.complete("x://a");
    world.players[0].present = true;
    world.publish();
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "tell 1 x://a"]);
}

#[test]
fn law_4_only_the_owner_or_who_goes_before_it_is_heard() {
    let mut world = World::new(3, &[]);
    let uri = "x://a";
    world.players[1].verdicts.insert(uri.into(), Verdict::Accepts);
    world.subscribe(1, uri);
    world.complete(uri);
    world.complete(uri);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "subscribe 1.1 x://a", "answer 1"]);

    world.announce(world.players[2].source, uri);
    world.announce(Source { slot: 9, generation: 1 }, "y://foreign");
    assert_eq!((world.seen(), world.reducer.dropped), (vec![], 1), "who comes after the owner is dropped and counted");

    world.announce(world.players[1].source, uri);
    assert_eq!(world.seen(), ["tell 1 x://a"]);

    world.players[0].verdicts.insert(uri.into(), Verdict::Accepts);
    world.announce(world.players[0].source, uri);
    world.complete(uri);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "tell 1 x://a", "unsubscribe 1.1 x://a"], "who comes before it takes it");
}

#[test]
fn law_4_a_pending_uri_hears_any_candidate() {
    let mut world = World::new(2, &[]);
    let uri = "x://a";
    world.subscribe(1, uri);
    while world.complete(uri) {}
    world.seen();
    world.players[1].verdicts.insert(uri.into(), Verdict::Accepts);
    world.announce(world.players[1].source, uri);
    while world.complete(uri) {}
    assert_eq!(world.seen(), ["tell 1 x://a", "subscribe 0.1 x://a", "subscribe 1.1 x://a", "tell 1 x://a"]);
}

#[test]
fn law_4_an_earlier_generation_is_not_heard() {
    let mut world = one();
    let old = world.players[0].source;
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.reload(0);
    world.publish();
    while world.complete("x://a") {}
    world.seen();
    world.announce(old, "x://a");
    assert_eq!((world.seen(), world.reducer.dropped), (vec![], 1));
}

#[test]
fn law_4_a_candidate_that_announces_what_it_does_not_take_does_not_keep_the_host_asking() {
    let mut world = World::new(1, &[]);
    let uri = "x://a";
    world.subscribe(1, uri);
    world.complete(uri);
    for _ in 0..100 {
        world.announce(world.players[0].source, uri);
        world.complete(uri);
    }
    let asked = world.seen().iter().filter(|line| line.starts_with("subscribe")).count();
    assert_eq!((asked, world.timers.len()), (2, 1), "the rest waits for a pause");
}

#[test]
fn law_5_the_new_owner_watches_before_the_old_one_is_let_go() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.seen();
    world.reload(0);
    world.publish();
    assert_eq!(world.seen(), ["subscribe 0.2 x://a"]);
    world.complete("x://a");
    assert_eq!(world.seen(), ["tell 1 x://a", "unsubscribe 0.1 x://a"]);
}

#[test]
fn law_5_what_a_generation_announces_before_it_is_published_is_held_until_then() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.reload(0);
    world.seen();
    world.announce(world.players[0].source, "x://a");
    assert_eq!(world.seen(), [""; 0]);
    world.publish();
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.2 x://a", "tell 1 x://a", "unsubscribe 0.1 x://a"]);
    world.reload(0);
    world.announce(world.players[0].source, "x://b");
    world.complete("x://a");
    world.subscribe(2, "x://b");
    world.complete("x://b");
    world.seen();
    world.players[0].lists.insert("x://b".into());
    world.publish();
    world.complete("x://b");
    assert!(world.seen().contains(&"tell 2 x://b".to_owned()), "held for a URI that is pending");
}

#[test]
fn law_10_what_cannot_be_watched_is_subscribed_all_the_same() {
    let mut world = World::new(2, &[1]);
    world.players[0].verdicts.insert("x://a".into(), Verdict::Denies);
    world.players[1].verdicts.insert("x://b".into(), Verdict::Accepts);
    world.subscribe(1, "x://a");
    world.subscribe(1, "x://b");
    for uri in ["x://a", "x://b", "x://b"] {
        world.complete(uri);
    }
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "subscribe 0.1 x://b", "answer 1", "probe 1.1 x://b", "answer 2"]);
    world.announce(world.players[0].source, "x://a");
    world.announce(world.players[1].source, "x://b");
    assert_eq!(world.seen(), ["tell 1 x://a", "tell 1 x://b"], "what they announce by themselves is heard");
    world.reload(0);
    world.publish();
    while world.complete("x://a") | world.complete("x://b") {}
    assert!(world.seen().contains(&"tell 1 x://a".to_owned()), "and so is a reload");
}

#[test]
fn a_listener_has_at_most_ten_thousand_subscriptions() {
    let mut reducer = Reducer::new(Arc::default());
    reducer.join(1);
    let uris: Vec<Arc<str>> = (0..=SUBSCRIPTIONS_PER_LISTENER).map(|n| format!("x://{n}").into()).collect();
    assert!(matches!(reducer.subscribe(1, &uris), Err(LimitError { cap: SUBSCRIPTIONS_PER_LISTENER, .. })));
    assert_eq!(reducer.counts().count(), 0, "all or nothing");
    assert!(reducer.subscribe(1, &uris[1..]).is_ok());
    assert!(reducer.subscribe(1, &uris[1..]).is_ok(), "these it has already");
    assert!(reducer.subscribe(1, &uris[..1]).is_err());
    reducer.unsubscribe(1, "x://5");
    assert!(reducer.subscribe(1, &uris[..1]).is_ok());
}

#[test]
fn all_subscriptions_of_a_host_are_bounded_in_bytes() {
    let mut reducer = Reducer::new(Arc::default());
    let uri = |listener: u64, n: usize| -> Arc<str> { format!("x://{listener}/{n}/{}", "a".repeat(8_000)).into() };
    let mut refused = None;
    for listener in 0..3 {
        reducer.join(listener);
        let uris: Vec<_> = (0..4_000).map(|n| uri(listener, n)).collect();
        refused = refused.or(reducer.subscribe(listener, &uris).err());
    }
    assert!(matches!(refused, Some(LimitError { cap: SUBSCRIPTION_BYTES, .. })));
    reducer.leave(0);
    reducer.leave(1);
    let uris: Vec<_> = (0..4_000).map(|n| uri(2, n)).collect();
    assert!(reducer.subscribe(2, &uris).is_ok(), "who leaves makes room");
    reducer.join(0);
    assert!(reducer.subscribe(0, &uris).is_ok());
    assert!(reducer.subscribe(0, &[uri(0, 0)]).is_ok());
    assert!(reducer.subscribe(0, &(1..4_000).map(|n| uri(0, n)).collect::<Vec<_>>()).is_err());
    uris.iter().for_each(|uri| reducer.unsubscribe(0, uri));
    assert!(reducer.subscribe(0, &(1..4_000).map(|n| uri(0, n)).collect::<Vec<_>>()).is_ok(), "and so does who unsubscribes");
}

// With the driver around it.

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
        self.subscriptions.listen(Caller, true)
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
    let (stalled, reader) = (host.subscriptions.listen(Caller, false), host.subscriptions.listen(Caller, false));
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
    host.catalog.resources(&Caller, None).await.unwrap();
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
