//! Reads that wait for a busy provider, and law 7 for those that are answered together.

use std::{cell::Cell, convert::Infallible, sync::atomic::Ordering::SeqCst};

use bytes::Bytes;

use super::*;

/// A provider at work: reads wait until they are let go.
async fn busy(world: &mut World) -> Arc<Memory> {
    let provider = world.provider(1, &[("x://a", "one"), ("x://b", "b")]).await;
    provider.busy.store(true, SeqCst);
    provider.hold(true);
    provider
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_the_same_are_answered_by_one_call() {
    let mut world = World::new();
    let provider = busy(&mut world).await;
    let waiting = join_all((0..100).map(|_| world.read("x://a")));
    let other = world.read("x://b");
    tokio::pin!(waiting, other);
    assert!((&mut waiting).now_or_never().is_none() && (&mut other).now_or_never().is_none());
    assert_eq!(world.catalog.flights(), 2);
    provider.hold(false);
    assert!(waiting.await.into_iter().all(|answer| answer.unwrap() == "one"));
    assert_eq!((other.await.unwrap().as_str(), reads(&provider), world.catalog.flights()), ("b", 2, 0));
}

#[tokio::test(start_paused = true)]
async fn law_7_nobody_joins_a_call_that_has_begun() {
    let mut world = World::new();
    let provider = busy(&mut world).await;
    // It has its turn, and does not end.
    provider.hold(false);
    provider.shut();
    let early = world.read("x://a");
    tokio::pin!(early);
    assert!((&mut early).now_or_never().is_none());
    provider.update("x://a", "two");
    let late = world.read("x://a");
    tokio::pin!(late);
    assert!((&mut late).now_or_never().is_none());
    provider.open();
    early.await.unwrap();
    assert_eq!((late.await.unwrap().as_str(), reads(&provider), world.catalog.flights()), ("two", 2, 0));
}

#[tokio::test(start_paused = true)]
async fn an_error_is_everyone_s_and_the_next_read_asks_again() {
    let mut world = World::new();
    let provider = busy(&mut world).await;
    provider.shelf.lock().readings.insert("x://a".into(), Err(Error::Failed("as this test wants".into())));
    let waiting = join_all((0..3).map(|_| world.read("x://a")));
    tokio::pin!(waiting);
    assert!((&mut waiting).now_or_never().is_none());
    provider.hold(false);
    assert!(waiting.await.iter().all(|answer| matches!(answer, Err(ReadError::Provider { .. }))));
    provider.shelf.lock().readings.insert("x://a".into(), Ok(reading("well")));
    assert_eq!((world.read("x://a").await.unwrap().as_str(), reads(&provider)), ("well", 2));
}

#[tokio::test(start_paused = true)]
async fn who_was_first_may_go_and_where_all_have_gone_the_next_begins_anew() {
    let mut world = World::new();
    let provider = busy(&mut world).await;
    let mut first = Box::pin(world.read("x://a"));
    let mut second = Box::pin(world.read("x://a"));
    assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
    drop(first);
    provider.hold(false);
    assert_eq!((second.await.unwrap().as_str(), reads(&provider)), ("one", 1));
    provider.hold(true);
    let mut gone = Box::pin(world.read("x://a"));
    assert!((&mut gone).now_or_never().is_none());
    drop(gone);
    assert_eq!(world.catalog.flights(), 0);
    provider.hold(false);
    assert_eq!(world.read("x://a").await.unwrap(), "one");
}

#[tokio::test(start_paused = true)]
async fn the_form_of_an_answer_to_many_is_made_once() {
    let mut world = World::new();
    let provider = busy(&mut world).await;
    let anyone = Caller::anyone();
    let waiting = join_all((0..10).map(|_| world.catalog.read(&anyone, "x://a")));
    tokio::pin!(waiting);
    assert!((&mut waiting).now_or_never().is_none());
    provider.hold(false);
    let made = Cell::new(0);
    for answered in waiting.await {
        let encode = |_: &[_]| {
            made.set(made.get() + 1);
            Ok::<_, Infallible>(Bytes::from_static(b"form"))
        };
        assert_eq!(world.catalog.encoded(&answered.unwrap(), encode).unwrap(), "form");
    }
    assert_eq!((made.get(), world.catalog.readings.counted()), (1, (0, 0)));
}
