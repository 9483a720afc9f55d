//! Live providers: timers, announcements, subscriptions.

use wharf::provider::{Error, Provider, Updated};

use super::support::{basic, live};

#[tokio::test]
async fn a_timer_fires_and_what_the_guest_announces_arrives() {
    let live = live(&[]).await;
    live.provider.subscribe("live://a".into(), None).await.unwrap();
    for _ in 0..2 {
        let event = live.event(|event| !event.updated.is_empty()).await;
        assert_eq!(event.updated, Updated::These(["live://a".into()].into()));
    }
    assert!(live.text("live://ticks").await.parse::<u64>().unwrap() >= 2);
}

#[tokio::test]
async fn after_unsubscribe_the_timer_is_silent() {
    let live = live(&[]).await;
    live.provider.subscribe("live://a".into(), None).await.unwrap();
    live.event(|event| !event.updated.is_empty()).await;
    live.provider.unsubscribe("live://a".into()).await.unwrap();
    while live.events.try_recv().is_some() {}
    // Three periods of another timer: the first one, were it still there, would have fired in between.
    live.provider.subscribe("live://b".into(), None).await.unwrap();
    for _ in 0..3 {
        let event = live.event(|event| !event.updated.is_empty()).await;
        assert_eq!(event.updated, Updated::These(["live://b".into()].into()));
    }
}

#[tokio::test]
async fn timers_that_are_due_together_come_together_in_their_order() {
    let live = live(&[]).await;
    live.text("live://together/x:a,x:b,x:c").await;
    live.text("live://start/x:d/3600000/0").await;
    live.text("live://cancel/x:d").await;
    assert_eq!(live.text("live://log").await, "fired x:c x:b x:a");
}

#[tokio::test]
async fn a_subscribe_is_answered_as_the_guest_says() {
    let live = live(&[]).await;
    let refused = |case: &str| live.provider.subscribe(format!("live://refuse/{case}").into(), None);
    assert_eq!(refused("not-found").await, Err(Error::NotFound));
    assert_eq!(refused("invalid").await, Err(Error::Invalid("refused".into())));
    assert_eq!(refused("denied").await, Err(Error::Denied("refused".into())));
    assert_eq!(refused("unavailable").await, Err(Error::unavailable("refused")));
    assert_eq!(refused("failed").await, Err(Error::Failed("refused".into())));
    assert!(matches!(basic().await.provider.subscribe("x://a".into(), None).await, Err(Error::Failed(_))));
}

#[tokio::test]
async fn an_announcement_counts_before_the_call_that_makes_it_has_ended() {
    let live = live(&[]).await;
    let then = live.announcer.ledger().now("live://other");
    live.text("live://touch/other").await;
    assert!(!live.announcer.ledger().still("live://other", &then));
    assert_eq!(live.events.try_recv().unwrap().updated, Updated::These(["live://other".into()].into()));
    live.text("live://touch-list").await;
    assert!(live.events.try_recv().unwrap().list_changed);
    assert_eq!(live.provider.list(None).await.unwrap().resources.len(), 3);
}

#[tokio::test]
async fn calls_reach_the_guest_in_the_order_in_which_they_were_made() {
    let live = live(&[("timers", "false")]).await;
    // None of these is polled before all are made.
    let calls = [
        live.provider.subscribe("live://a".into(), None),
        live.provider.unsubscribe("live://a".into()),
        live.provider.subscribe("live://b".into(), None),
        live.provider.unsubscribe("live://b".into()),
    ];
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(live.text("live://log").await, "subscribe live://a\nunsubscribe live://a\nsubscribe live://b\nunsubscribe live://b");
}
