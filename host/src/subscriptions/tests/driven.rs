//! The driver: that it acts on the newest catalog, hears of instances, and ends what is under way.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, advance};

use super::laws_driven::{Host, next, updated, waits};
use crate::{
    catalog::{Caller, LIST_REUSE},
    provider::{
        Occurrence,
        memory::{Memory, live},
    },
    subscriptions::Notice,
};

async fn loaded(host: &Host) -> Arc<Memory> {
    let provider = Memory::new(1, &host.queue, live());
    provider.put("x://a", "");
    host.load(&provider).await;
    provider
}

#[tokio::test(start_paused = true)]
async fn a_subscribe_is_decided_on_the_newest_catalog() {
    // Which of two things that are ready the driver takes first is random.
    for _ in 0..20 {
        let host = Host::new();
        let listener = host.subscriptions.listen(Caller::anyone(), false);
        loaded(&host).await;
        listener.subscribe(vec!["x://a".into()]).await.unwrap();
        host.rest().await;
        assert_eq!(waits(&listener), None, "it was bound at once");
    }
}

#[tokio::test(start_paused = true)]
async fn law_3_a_pending_uri_is_bound_when_the_catalog_changes_and_nothing_else_happens() {
    let host = Host::new();
    let listener = host.subscriptions.listen(Caller::anyone(), false);
    listener.subscribe(vec!["x://a".into()]).await.unwrap();
    let start = Instant::now();
    loaded(&host).await;
    assert_eq!(next(&listener).await, updated("x://a"));
    assert_eq!(start.elapsed(), Duration::ZERO, "not only when something else wakes the driver");
}

#[tokio::test(start_paused = true)]
async fn a_subscribe_to_what_nobody_lists_asks_for_lists_that_are_old() {
    let host = Host::new();
    let provider = loaded(&host).await;
    provider.put("x://new", "");
    advance(LIST_REUSE).await;
    let listener = host.subscriptions.listen(Caller::anyone(), false);
    listener.subscribe(vec!["x://new".into()]).await.unwrap();
    assert!(provider.shelf.lock().watched.contains("x://new"));
}

#[tokio::test(start_paused = true)]
async fn law_2_an_instance_that_came_back_is_subscribed_again_and_told() {
    let host = Host::new();
    let provider = loaded(&host).await;
    let listener = host.subscriptions.listen(Caller::anyone(), false);
    listener.subscribe(vec!["x://a".into()]).await.unwrap();
    provider.announcer.announce(Occurrence::Down);
    provider.shelf.lock().watched.clear();
    host.pump();
    host.rest().await;
    assert_eq!(waits(&listener), None);
    provider.announcer.announce(Occurrence::Up);
    host.pump();
    assert_eq!(next(&listener).await, updated("x://a"));
    assert!(provider.shelf.lock().watched.contains("x://a"));
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_not_told_once_it_is_unsubscribed() {
    let host = Host::new();
    let provider = loaded(&host).await;
    let listener = host.subscriptions.listen(Caller::anyone(), false);
    listener.subscribe(vec!["x://a".into()]).await.unwrap();
    provider.announcer.updated("x://a");
    host.pump();
    host.rest().await;
    listener.unsubscribe("x://a");
    host.rest().await;
    assert_eq!(waits(&listener), None);
}

#[tokio::test(start_paused = true)]
async fn who_did_not_ask_for_the_lists_is_not_told_of_them() {
    let host = Host::new();
    let (asked, other) = (host.subscriptions.listen(Caller::anyone(), true), host.subscriptions.listen(Caller::anyone(), false));
    loaded(&host).await;
    assert_eq!(next(&asked).await, Notice::ListChanged);
    assert_eq!(waits(&other), None);
}

#[tokio::test(start_paused = true)]
async fn law_9_what_is_just_being_subscribed_is_unsubscribed_too() {
    let host = Host::new();
    let provider = loaded(&host).await;
    let listener = host.subscriptions.listen(Caller::anyone(), false);
    provider.shut();
    let start = Instant::now();
    listener.subscribe(vec!["x://a".into()]).await.unwrap();
    let closing = tokio::spawn({
        let subscriptions = host.subscriptions.clone();
        async move { subscriptions.close().await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    provider.open();
    closing.await.unwrap();
    assert_eq!(provider.calls()[1..], ["subscribe x://a", "unsubscribe x://a"]);
    assert!(start.elapsed() < Duration::from_secs(2), "and waits no longer than it must");
}
