//! Several views over one provider: that it hears once what they all want.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::laws_driven::{Host, next, updated, waits};
use crate::{
    catalog::{Caller, Position, Rules, View},
    provider::{
        Occurrence, Source,
        memory::{Memory, live},
    },
    subscriptions::{
        LimitError, Listener, Notice, SUBSCRIPTION_BYTES, SUBSCRIPTIONS_PER_LISTENER, Subscribed, reducer::Reducer, sights::Sights,
    },
};

const A: &str = "x://a";

fn of(names: &[&str]) -> Caller {
    Caller::named("c", View::Only(Arc::new(names.iter().map(|name| Arc::from(*name)).collect())))
}

/// Providers `p1` and `p2`, which both list [`A`].
async fn world() -> (Host, [Arc<Memory>; 2]) {
    let host = Host::new();
    let providers = [1, 2].map(|slot| Memory::new(slot, &host.queue, live()));
    for provider in &providers {
        provider.put(A, "");
        host.load(provider).await;
    }
    (host, providers)
}

async fn subscribed(host: &Host, caller: Caller) -> Listener {
    let listener = host.subscriptions.listen(caller, false);
    listener.subscribe(vec![A.into()]).await.unwrap();
    listener
}

fn asked(provider: &Memory) -> Vec<String> {
    provider.calls().into_iter().filter(|call| call.contains("subscribe")).collect()
}

#[tokio::test(start_paused = true)]
async fn law_2_a_provider_is_asked_for_the_first_view_and_told_of_the_last() {
    let (host, [first, second]) = world().await;
    let listeners = [Caller::anyone(), of(&["p1"]), of(&["p1", "p2"])].map(|caller| subscribed(&host, caller));
    let listeners = futures_util::future::join_all(listeners).await;
    assert_eq!((asked(&first), asked(&second)), (vec!["subscribe x://a".to_owned()], vec![]));
    first.announcer.updated(A);
    host.pump();
    for listener in &listeners {
        assert_eq!(next(listener).await, updated(A));
    }
    let expected = Subscribed { uri: A.into(), listeners: 3, provider: Some("p1".into()) };
    assert_eq!(host.subscriptions.table().await, [expected]);
    for listener in listeners {
        assert_eq!(asked(&first).len(), 1);
        drop(listener);
        host.rest().await;
    }
    assert_eq!(asked(&first), ["subscribe x://a", "unsubscribe x://a"]);
}

#[tokio::test(start_paused = true)]
async fn law_4_a_view_hears_only_the_owner_that_it_sees() {
    let (host, [first, second]) = world().await;
    let (all, only) = (subscribed(&host, Caller::anyone()).await, subscribed(&host, of(&["p2"])).await);
    first.announcer.updated(A);
    host.pump();
    assert_eq!(next(&all).await, updated(A));
    sleep(Duration::from_millis(50)).await;
    second.announcer.updated(A);
    host.pump();
    assert_eq!(next(&only).await, updated(A));
    assert_eq!((waits(&all), waits(&only)), (None, None));
    assert_eq!(host.subscriptions.traffic().announcements_dropped(), 1, "those who see everything did not take the second");
}

#[tokio::test(start_paused = true)]
async fn a_view_that_comes_while_the_provider_is_being_asked_waits_for_that_answer() {
    let (host, [first, _]) = world().await;
    first.shut();
    let (one, other) = (host.subscriptions.listen(of(&["p1"]), false), host.subscriptions.listen(Caller::anyone(), false));
    let both = tokio::spawn(async move {
        let answered = tokio::join!(one.subscribe(vec![A.into()]), other.subscribe(vec![A.into()]));
        (answered, one, other)
    });
    host.rest().await;
    assert!(!both.is_finished());
    first.open();
    let (answered, one, other) = both.await.unwrap();
    assert_eq!(answered, (Ok(()), Ok(())));
    assert_eq!(asked(&first), ["subscribe x://a"]);
    drop((one, other));
    host.rest().await;
    assert_eq!(asked(&first), ["subscribe x://a", "unsubscribe x://a"]);
}

#[tokio::test(start_paused = true)]
async fn a_view_that_comes_while_the_provider_is_being_told_has_it_asked_again_afterwards() {
    let (host, [first, _]) = world().await;
    let one = subscribed(&host, of(&["p1"])).await;
    first.shut();
    drop(one);
    host.rest().await;
    let other = host.subscriptions.listen(Caller::anyone(), false);
    let (answered, ()) = tokio::join!(other.subscribe(vec![A.into()]), async {
        host.rest().await;
        assert_eq!(asked(&first), ["subscribe x://a", "unsubscribe x://a"], "one call at a time");
        first.open();
    });
    assert_eq!(answered, Ok(()));
    assert_eq!(asked(&first)[2..], ["subscribe x://a"]);
    first.announcer.updated(A);
    host.pump();
    assert_eq!(next(&other).await, updated(A));
}

#[tokio::test(start_paused = true)]
async fn law_2_a_watch_that_began_at_a_later_instance_is_let_go() {
    let (host, [first, _]) = world().await;
    let one = subscribed(&host, of(&["p1"])).await;
    first.shut();
    drop(one);
    host.rest().await;
    let other = host.subscriptions.listen(Caller::anyone(), false);
    let (answered, ()) = tokio::join!(other.subscribe(vec![A.into()]), async {
        host.rest().await;
        assert_eq!(asked(&first), ["subscribe x://a", "unsubscribe x://a"], "the other wants it, and waits");
        first.announcer.announce(Occurrence::Down);
        first.announcer.announce(Occurrence::Up);
        host.pump();
        host.rest().await;
        first.open();
    });
    assert_eq!(answered, Ok(()));
    // Were it not taken for a watch, it would be asked again by now.
    sleep(Duration::from_secs(1)).await;
    drop(other);
    host.rest().await;
    assert_eq!(asked(&first)[2..], ["subscribe x://a", "unsubscribe x://a"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_came_back_is_asked_once_for_all_views_which_are_all_told() {
    let (host, [first, _]) = world().await;
    let listeners = [subscribed(&host, Caller::anyone()).await, subscribed(&host, of(&["p1"])).await];
    first.announcer.announce(Occurrence::Down);
    first.announcer.announce(Occurrence::Up);
    first.shelf.lock().watched.clear();
    host.pump();
    for listener in &listeners {
        assert_eq!(next(listener).await, updated(A));
    }
    assert_eq!(asked(&first), ["subscribe x://a"; 2]);
    drop(listeners);
    host.rest().await;
    assert_eq!(asked(&first)[2..], ["unsubscribe x://a"]);
}

#[tokio::test(start_paused = true)]
async fn law_5_a_new_generation_watches_before_each_view_is_told_and_the_old_one_is_let_go_by_the_last() {
    let (host, [first, _]) = world().await;
    let listeners = [subscribed(&host, Caller::anyone()).await, subscribed(&host, of(&["p1"])).await];
    let reloaded = Memory::generation(Source { slot: 1, generation: 2 }, &host.queue, live());
    reloaded.put(A, "new");
    host.load(&reloaded).await;
    for listener in &listeners {
        assert_eq!(next(listener).await, updated(A));
    }
    host.rest().await;
    assert_eq!(
        (asked(&reloaded), asked(&first)),
        (vec!["subscribe x://a".to_owned()], vec!["subscribe x://a".to_owned(), "unsubscribe x://a".to_owned()])
    );
}

#[tokio::test(start_paused = true)]
async fn law_8_a_listener_is_told_of_the_list_that_it_sees_and_of_no_other() {
    let (host, [_, second]) = world().await;
    let (one, two) = (host.subscriptions.listen(of(&["p1"]), true), host.subscriptions.listen(of(&["p2"]), true));
    host.rest().await;
    second.put("x://more", "");
    host.catalog.list_changed(second.announcer.source());
    assert_eq!(next(&two).await, Notice::ListChanged);
    host.rest().await;
    assert_eq!(waits(&one), None);
}

#[tokio::test(start_paused = true)]
async fn all_views_share_what_subscriptions_may_take() {
    let (host, _) = world().await;
    let mut sights = Sights::new(host.catalog.clone());
    let uris: Vec<Arc<str>> = (0..SUBSCRIPTIONS_PER_LISTENER / 2).map(|n| format!("x://{n}/{}", "a".repeat(8_000)).into()).collect();
    let views = [sights.join(&View::Everything), sights.join(of(&["p1"]).view())];
    let mut subscribe = |listener: usize| {
        let subscribe = |reducer: &mut Reducer| {
            reducer.join(listener as u64);
            reducer.subscribe(listener as u64, &uris)
        };
        let entered = sights.with_budget(views[listener], subscribe).unwrap();
        sights.with(views[1 - listener], |reducer| reducer.leave(1 - listener as u64));
        entered
    };
    assert_eq!(subscribe(0), Ok(()));
    assert_eq!(subscribe(1), Err(LimitError { cap: SUBSCRIPTION_BYTES, of: "bytes of subscriptions in the whole host" }));
    assert_eq!(subscribe(1), Ok(()), "the other has left");
}

#[tokio::test(start_paused = true)]
async fn a_subscribe_waits_for_no_provider_that_its_caller_does_not_see() {
    let host = Host::new();
    let provider = Memory::new(2, &host.queue, live());
    provider.put(A, "");
    let position = |slot: u32| Position { slot, name: format!("p{slot}").into(), rules: Rules::default() };
    host.catalog.arrange(false, vec![position(1), position(2)]);
    host.load(&provider).await;
    let start = Instant::now();
    let _listener = subscribed(&host, of(&["p2"])).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    subscribed(&host, of(&["p1", "p2"])).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3), "the first may list it as well");
}
