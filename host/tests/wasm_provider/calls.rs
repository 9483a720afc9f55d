//! Calls and those who wait for them.

use tokio::task::yield_now;
use wharf::provider::{Error, Provider, wasm::Limits};

use super::support::{SHORT, basic, hostile, is_pending, live, request, run, text};

#[tokio::test]
async fn a_guest_that_computes_delays_no_other_on_the_same_thread() {
    let hostile = run("hostile", &[], Limits::default()).await;
    let mut looping = hostile.provider.read(request("hostile://loop"));
    yield_now().await;
    let basic = basic().await;
    for _ in 0..100 {
        assert_eq!(basic.text("basic://text").await, "text");
    }
    assert!(is_pending(looping.as_mut()).await, "it still runs");
}

#[tokio::test]
async fn giving_up_on_a_call_does_not_interrupt_it() {
    let live = live(&[("timers", "false")]).await;
    let slow = live.provider.read(request("live://slow/50"));
    yield_now().await;
    drop(slow);
    assert_eq!(live.text("live://log").await, "slow 50");
    assert!(live.events.try_recv().is_none());
}

#[tokio::test]
async fn a_read_that_nobody_waits_for_any_more_is_not_begun() {
    let live = live(&[("timers", "false")]).await;
    let slow = live.provider.read(request("live://slow/50"));
    yield_now().await;
    drop(live.provider.read(request("live://slow/60")));
    slow.await.unwrap();
    assert_eq!(live.text("live://log").await, "slow 50");
}

#[tokio::test]
async fn closing_answers_those_who_wait_and_lets_the_running_call_end() {
    let live = live(&[("timers", "false")]).await;
    let running = live.provider.read(request("live://slow/500"));
    yield_now().await;
    let waiting = live.provider.read(request("live://ticks"));
    let mut closed = live.provider.close();
    assert!(matches!(waiting.await, Err(Error::Unavailable { .. })));
    assert!(is_pending(closed.as_mut()).await);
    closed.await;
    assert_eq!(text(&running.await.unwrap().unwrap()), "500");
    assert!(matches!(live.read("live://ticks").await, Err(Error::Unavailable { .. })));
}

#[tokio::test]
async fn closing_waits_for_a_stuck_call_no_longer_than_its_deadline() {
    let hostile = hostile().await;
    let running = hostile.provider.read(request("hostile://sleep"));
    yield_now().await;
    hostile.provider.close().await;
    assert_eq!(running.await, Err(Error::DeadlineExceeded(SHORT)));
}

#[tokio::test]
async fn one_read_more_than_may_wait_is_refused_at_once_and_control_calls_pass_the_reads() {
    let live = live(&[("timers", "false")]).await;
    let slow = live.provider.read(request("live://slow/100"));
    yield_now().await;
    let mut reads: Vec<_> = (0..257).map(|_| live.provider.read(request("live://log"))).collect();
    let subscribed = live.provider.subscribe("live://a".into(), None);
    assert!(matches!(reads.pop().unwrap().await, Err(Error::Unavailable { retry_after: None, .. })));
    slow.await.unwrap();
    subscribed.await.unwrap();
    let mut seen = Vec::new();
    for read in reads {
        seen.push(text(&read.await.unwrap().unwrap()).contains("subscribe live://a"));
    }
    let before = seen.iter().position(|subscribed| *subscribed).unwrap();
    assert!(before <= 1, "{before} reads came before it");
}
