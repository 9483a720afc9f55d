//! More instances of one component.

use std::sync::Arc;

use tokio::{task::yield_now, time::timeout};
use wharf::provider::{
    Announcer, Begun, Error, EventQueue, Provider,
    tally::Tally,
    wasm::{Limits, Spec},
};

use super::support::{LONG, Running, SOURCE, compiled, is_pending, live, request, runtime, text};

/// What runs as long as any test here.
const ENDLESS: &str = "texts://work/60000000/0";

async fn texts(name: &str, instances: usize) -> (Running, Arc<Tally>) {
    let events = Arc::new(EventQueue::default());
    let announcer = Announcer::new(SOURCE, events.clone());
    let spec = Spec { limits: Limits { instances, ..LONG }, ..Spec::new(name) };
    let provider = compiled("texts").await.start(spec, announcer.clone()).await.unwrap();
    (Running { provider, events, announcer }, runtime().tally(&name.into()))
}

#[tokio::test]
async fn a_read_is_answered_while_another_computes_and_the_instance_made_for_it_ends_when_idle() {
    let (running, tally) = texts("pool-two", 2).await;
    // A call may take some more than there was at first.
    let one_and_a_half = tally.memory() * 3 / 2;
    let mut endless = running.provider.read(request(ENDLESS));
    assert!(is_pending(endless.as_mut()).await);
    assert_eq!(running.text("texts://new/256").await.len(), 256);
    assert!(tally.memory() > one_and_a_half, "there are two");
    for _ in 0..100 {
        running.text("texts://new/256").await;
    }
    assert!(is_pending(endless.as_mut()).await, "it still runs");
    let back = async {
        while tally.memory() > one_and_a_half {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    timeout(LONG.deadline, back).await.expect("the second one stays");
}

#[tokio::test]
async fn there_are_no_more_than_are_allowed_and_of_what_is_live_there_is_one() {
    let (running, tally) = texts("pool-one", 1).await;
    let one_and_a_half = tally.memory() * 3 / 2;
    let (first, second) = tokio::join!(running.read("texts://work/20000/0"), running.read("texts://work/20000/1"));
    assert_eq!((text(&first.unwrap()), text(&second.unwrap())), ("20000".into(), "20000".into()));
    assert!(tally.memory() < one_and_a_half, "there is one");
    let live = live(&[("timers", "false")]).await;
    let (slow, log) = tokio::join!(live.read("live://slow/20"), live.text("live://log"));
    slow.unwrap();
    assert_eq!(log, "slow 20", "it was asked after the other");
}

#[tokio::test]
async fn one_that_dies_costs_its_own_call_alone_and_the_provider_is_up() {
    let (running, _) = texts("pool-dies", 2).await;
    let mut endless = running.provider.read(request(ENDLESS));
    assert!(is_pending(endless.as_mut()).await);
    assert!(matches!(running.read("texts://work/trap/0").await, Err(Error::Trapped(_))));
    let down = running.event(|event| event.down).await;
    if !down.up {
        running.event(|event| event.up).await;
    }
    assert!(is_pending(endless.as_mut()).await, "the first one goes on");
}

#[tokio::test]
async fn while_the_first_pauses_the_others_answer() {
    let (running, _) = texts("pool-pauses", 2).await;
    // The first one computes; the second is made for what comes besides, and then computes itself while the first dies.
    let first = running.provider.read(request("texts://work/300000/0"));
    yield_now().await;
    running.text("texts://new/256").await;
    let second = running.provider.read(request("texts://work/3000000/1"));
    first.await.unwrap();
    for number in 0..4 {
        let died = running.read(&format!("texts://work/trap/{number}")).await;
        assert!(matches!(died, Err(Error::Trapped(_))), "{died:?}");
    }
    second.await.unwrap();
    for _ in 0..30 {
        assert_eq!(running.text("texts://new/256").await.len(), 256);
    }
}

#[tokio::test]
async fn closing_ends_all_of_them() {
    let (running, tally) = texts("pool-closed", 2).await;
    let slow = running.provider.read(request("texts://work/100000/0"));
    yield_now().await;
    running.text("texts://new/256").await;
    running.provider.close().await;
    slow.await.unwrap();
    assert_eq!(tally.memory(), 0);
}

#[tokio::test]
async fn a_read_that_waits_for_its_turn_says_when_it_has_begun() {
    let live = live(&[("timers", "false")]).await;
    let slow = live.provider.read(request("live://slow/50"));
    yield_now().await;
    assert!(live.provider.is_busy());
    let begun = Begun::default();
    let mut waiting = live.provider.read_in_turn(request("live://log"), begun.clone());
    assert!(is_pending(waiting.as_mut()).await && !begun.has());
    slow.await.unwrap();
    waiting.await.unwrap();
    assert!(begun.has());
    let idle = async {
        while live.provider.is_busy() {
            yield_now().await;
        }
    };
    timeout(LONG.deadline, idle).await.expect("nothing waits, and it is busy");
}
