//! The page's invariants, with a provider in memory and a paused clock; then random histories against a model.

use std::time::Duration;

use futures_util::FutureExt;
use proptest::prelude::*;
use tokio::time::sleep;

use super::*;
use crate::{
    provider::Error,
    tools::tests::{World, soon},
};

const A: &str = "x://a";
const B: &str = "x://b";
/// What a change needs to get here, however often the URI was told before.
const ARRIVAL: Duration = Duration::from_millis(100);

async fn world() -> World {
    World::new(|memory| [A, B].into_iter().for_each(|uri| memory.put(uri, "0"))).await
}

fn names(uris: &[Arc<str>]) -> Vec<&str> {
    uris.iter().map(|uri| &**uri).collect()
}

/// A call that waits no longer than it takes to begin.
async fn glance(watches: &Watches, uris: &[&str], token: Option<&str>) -> (Seen, String) {
    let point = token.map_or(Point::Now, |token| watches.point(token));
    let wait = soon(watches.wait(uris, point)).await.unwrap();
    let seen = wait.look();
    let token = wait.token(seen.number);
    (seen, token)
}

#[tokio::test(start_paused = true)]
async fn a_change_between_two_calls_is_told_at_once_and_once() {
    let world = world().await;
    let (_, token) = glance(&world.watches, &[A, B], None).await;
    world.memory.update(A, "1");
    sleep(ARRIVAL).await;
    let (seen, newer) = glance(&world.watches, &[B, A], Some(&token)).await;
    assert_eq!((names(&seen.changed), names(&seen.unsure)), (vec![A], vec![]));
    let (seen, _) = glance(&world.watches, &[A, B], Some(&newer)).await;
    assert_eq!((names(&seen.changed), names(&seen.unsure)), (vec![], vec![]), "it was told");
    let (seen, _) = glance(&world.watches, &[A, B], Some(&token)).await;
    assert_eq!(names(&seen.changed), [A], "and is told again to whoever asks from before");
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_call_ends_it_and_without_a_token_one_before_it_does_not() {
    let world = world().await;
    drop(glance(&world.watches, &[A], None).await);
    world.memory.update(A, "1");
    sleep(ARRIVAL).await;
    let wait = soon(world.watches.wait(&[A], Point::Now)).await.unwrap();
    let mut changed = Box::pin(wait.changed());
    assert!((&mut changed).now_or_never().is_none());
    world.memory.update(A, "2");
    assert_eq!(names(&soon(changed).await.changed), [A]);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_another_host_or_one_that_is_still_to_come_knows_nothing() {
    let (world, other) = (world().await, World::with_mark(2, |memory| memory.put(A, "0")).await);
    let (_, foreign) = glance(&other.watches, &[A], None).await;
    let (_, ours) = glance(&world.watches, &[A], None).await;
    let mut later = ours.clone();
    later = later.replacen("-1-", "-5-", 1);
    assert_ne!(later, ours);
    for token in [&*foreign, &later, "none", ""] {
        let (seen, newer) = glance(&world.watches, &[A], Some(token)).await;
        assert_eq!((names(&seen.changed), names(&seen.unsure)), (vec![], vec![A]), "{token}");
        let (seen, _) = glance(&world.watches, &[A], Some(&newer)).await;
        assert_eq!(names(&seen.unsure), Vec::<&str>::new(), "the next token is good");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_says_nothing_of_a_resource_it_was_not_given_for() {
    let world = world().await;
    let (_, of_b) = glance(&world.watches, &[B], None).await;
    let (_, of_a) = glance(&world.watches, &[A], None).await;
    world.memory.update(B, "1");
    sleep(ARRIVAL).await;
    let (_, of_a) = glance(&world.watches, &[A], Some(&of_a)).await;
    let (seen, _) = glance(&world.watches, &[B], Some(&of_a)).await;
    assert_eq!(names(&seen.unsure), [B], "its change is no news of the host's, and yet is to the caller");
    let (seen, _) = glance(&world.watches, &[A, B], Some(&of_a)).await;
    assert_eq!((names(&seen.changed), names(&seen.unsure)), (vec![], vec![B]), "of the one it was given for it does");
    let (seen, _) = glance(&world.watches, &[B], Some(&of_b)).await;
    assert_eq!(names(&seen.changed), [B]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_stays_watched_for_a_while_and_then_is_let_go() {
    let world = world().await;
    let (_, token) = glance(&world.watches, &[A, B], None).await;
    let wait = soon(world.watches.wait(&[B], Point::Now)).await.unwrap();
    sleep(HELD - SWEPT_EVERY).await;
    soon(world.memory.subscribed(&[A, B])).await;
    sleep(2 * SWEPT_EVERY).await;
    soon(world.memory.subscribed(&[B])).await;
    assert_eq!(world.watches.count(), 1, "nothing is kept of it");
    world.memory.update(A, "1");
    sleep(ARRIVAL).await;
    let (seen, _) = glance(&world.watches, &[A, B], Some(&token)).await;
    assert_eq!((names(&seen.changed), names(&seen.unsure)), (vec![], vec![A]), "there was a gap");
    drop(wait);
    sleep(HELD + SWEPT_EVERY).await;
    soon(world.memory.subscribed(&[])).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_while_it_begins_leaves_nothing() {
    let world = world().await;
    world.memory.shut();
    let mut beginning = Box::pin(world.watches.wait(&[A], Point::Now));
    assert!((&mut beginning).now_or_never().is_none());
    assert_eq!(world.watches.count(), 1);
    drop(beginning);
    assert_eq!(world.watches.count(), 0);
    world.memory.open();
    sleep(ARRIVAL).await;
    soon(world.memory.subscribed(&[])).await;
    assert_eq!(world.subscriptions.counts().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_cannot_watch_yet_owes_an_update_which_is_told() {
    let world = world().await;
    world.memory.shelf.lock().refusals.insert(A.into(), Error::unavailable("not yet"));
    let (_, token) = glance(&world.watches, &[A], None).await;
    world.memory.put(A, "changed while nobody watched");
    world.memory.shelf.lock().refusals.clear();
    soon(world.memory.subscribed(&[A])).await;
    sleep(ARRIVAL).await;
    let (seen, _) = glance(&world.watches, &[A], Some(&token)).await;
    assert_eq!(names(&seen.changed), [A]);
}

#[tokio::test(start_paused = true)]
async fn an_uri_that_is_none_is_named_and_nothing_is_watched() {
    let world = world().await;
    let error = world.watches.wait(&[A, "no uri"], Point::Now).await.err();
    assert!(matches!(error, Some(WaitError::InvalidUri(uri, _)) if uri == "no uri"));
    assert_eq!(world.watches.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn those_that_nobody_waits_for_make_room_and_no_others() {
    let world = world().await;
    let uris: Vec<String> = (0..WATCHED).map(|n| format!("x://many/{n}")).collect();
    let uris: Vec<&str> = uris.iter().map(|uri| &**uri).collect();
    let (half, other) = uris.split_at(WATCHED / 2);
    let busy = soon(world.watches.wait(half, Point::Now)).await.unwrap();
    drop(soon(world.watches.wait(other, Point::Now)).await.unwrap());
    assert_eq!(world.watches.count(), WATCHED);
    let one_more = soon(world.watches.wait(&[A, other[0]], Point::Now)).await.unwrap();
    assert_eq!(world.watches.count(), WATCHED, "one went, and not the one that is wanted");
    assert!(one_more.look().unsure.is_empty());
    let others = soon(world.watches.wait(&other[2..], Point::Now)).await.unwrap();
    let refused = soon(world.watches.wait(&["x://b/1", "x://b/2"], Point::Now)).await.err();
    assert!(matches!(refused, Some(WaitError::Limit(text)) if text.contains("10000 different resources")));
    assert_eq!(world.watches.count(), WATCHED, "nobody lost anything for it");
    drop((busy, others, one_more));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_may_wait_for_the_same_thousand_and_all_hear_of_it() {
    let uris: Vec<String> = (0..1_000).map(|n| format!("x://many/{n}")).collect();
    let uris: Vec<&str> = uris.iter().map(|uri| &**uri).collect();
    let world = World::new(|memory| uris.iter().for_each(|uri| memory.put(uri, "0"))).await;
    let first = soon(world.watches.wait(&uris, Point::Now)).await.unwrap();
    let mut waits = vec![first];
    while waits.len() < 1_000 {
        // All is watched already, so nothing has to be waited for.
        waits.push(world.watches.wait(&uris, Point::Now).now_or_never().unwrap().unwrap());
    }
    assert!(waits.iter().skip(1).all(|wait| Arc::ptr_eq(&wait.uris[7], &waits[0].uris[7])), "one copy of each URI");
    world.memory.announcer.updated(uris[7]);
    for wait in &waits {
        assert_eq!(names(&soon(wait.changed()).await.changed), [uris[7]]);
    }
    // With a few more it ends.
    while waits.len() < WAITED / uris.len() {
        waits.push(world.watches.wait(&uris, Point::Now).now_or_never().unwrap().unwrap());
    }
    let refused = world.watches.wait(&uris, Point::Now).now_or_never().unwrap().err();
    assert!(matches!(refused, Some(WaitError::Limit(text)) if text.contains("1048576 resources")));
    waits.truncate(1);
    assert!(world.watches.wait(&uris, Point::Now).now_or_never().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_have_a_cap() {
    let world = world().await;
    let mut waits = vec![soon(world.watches.wait(&[A], Point::Now)).await.unwrap()];
    while waits.len() < WAITS {
        waits.push(world.watches.wait(&[A], Point::Now).now_or_never().unwrap().unwrap());
    }
    let refused = world.watches.wait(&[A], Point::Now).now_or_never().unwrap().err();
    assert!(matches!(refused, Some(WaitError::Limit(text)) if text.contains("16384 calls")));
    waits.pop();
    assert!(world.watches.wait(&[A], Point::Now).now_or_never().unwrap().is_ok());
}

// Random histories. Each caller remembers of each resource the version it read last; whatever happens, in the end it has the newest.

const CALLERS: usize = 3;
const URIS: [&str; 3] = ["x://0", "x://1", "x://2"];

#[derive(Debug, Clone)]
enum Step {
    /// This resource changes.
    Change(usize),
    /// This caller waits for these, for so many seconds, with the token it has; or with none that this host knows.
    Wait { caller: usize, uris: u8, seconds: u64, forget: bool },
    /// The instance dies, and there is a fresh one.
    Restart,
    /// Time passes, in milliseconds.
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..URIS.len()).prop_map(Step::Change),
        4 => (0..CALLERS, 1u8..8, 0u64..90, prop::bool::weighted(0.1))
            .prop_map(|(caller, uris, seconds, forget)| Step::Wait { caller, uris, seconds, forget }),
        1 => Just(Step::Restart),
        4 => prop_oneof![0u64..60, 0u64..5_000, 50_000u64..80_000].prop_map(Step::Pass),
    ]
}

#[derive(Clone, Default)]
struct Knows {
    token: Option<String>,
    /// What it read of each resource; none before it cares.
    read: [Option<String>; URIS.len()],
}

async fn read(world: &World, uri: &str) -> String {
    let read = world.catalog.read(&Caller::anyone(), uri).await.unwrap();
    match &read.contents[0].body {
        crate::provider::Body::Text(text) => text.clone(),
        crate::provider::Body::Blob(_) => panic!("no text"),
    }
}

/// One call, and the reads that follow from it. Returns whether it was told of anything.
async fn call(world: &World, knows: &mut Knows, uris: &[usize], seconds: u64) -> bool {
    let point = knows.token.as_ref().map_or(Point::Now, |token| world.watches.point(token));
    let wanted: Vec<_> = uris.iter().map(|at| URIS[*at]).collect();
    let wait = soon(world.watches.wait(&wanted, point)).await.unwrap();
    let seen = tokio::time::timeout(Duration::from_secs(seconds), wait.changed()).await.unwrap_or_else(|_| wait.look());
    knows.token = Some(wait.token(seen.number));
    for at in uris {
        let told = seen.changed.iter().chain(&seen.unsure).any(|uri| **uri == *URIS[*at]);
        // What it has never read it reads once it has a token that counts from before.
        if told || knows.read[*at].is_none() {
            knows.read[*at] = Some(read(world, URIS[*at]).await);
        }
    }
    !seen.changed.is_empty() || !seen.unsure.is_empty()
}

async fn play(steps: Vec<Step>) {
    let world = Arc::new(World::new(|memory| URIS.into_iter().for_each(|uri| memory.put(uri, "0"))).await);
    let mut versions = [0; URIS.len()];
    let mut callers: Vec<Knows> = vec![Knows::default(); CALLERS];
    let mut busy: Vec<Option<tokio::task::JoinHandle<Knows>>> = (0..CALLERS).map(|_| None).collect();
    for step in steps {
        match step {
            Step::Change(at) => {
                versions[at] += 1;
                world.memory.update(URIS[at], &versions[at].to_string());
            }
            Step::Wait { caller, uris, seconds, forget } => {
                if let Some(running) = busy[caller].take() {
                    if !running.is_finished() {
                        busy[caller] = Some(running);
                        continue;
                    }
                    callers[caller] = running.await.unwrap();
                }
                let (world, mut knows) = (world.clone(), callers[caller].clone());
                if forget {
                    knows.token = Some("00000000-1-00000000".into());
                }
                let uris: Vec<_> = (0..URIS.len()).filter(|at| uris & 1 << at != 0).collect();
                busy[caller] = Some(tokio::spawn(async move {
                    call(&world, &mut knows, &uris, seconds).await;
                    knows
                }));
            }
            Step::Restart => {
                world.memory.shelf.lock().watched.clear();
                world.memory.announcer.announce(crate::provider::Occurrence::Down);
                world.memory.announcer.announce(crate::provider::Occurrence::Up);
            }
            Step::Pass(milliseconds) => sleep(Duration::from_millis(milliseconds)).await,
        }
    }
    for (knows, running) in callers.iter_mut().zip(busy) {
        if let Some(running) = running {
            *knows = tokio::time::timeout(Duration::from_secs(200), running).await.expect("it outlives its time").unwrap();
        }
    }
    sleep(ARRIVAL).await;
    for knows in &mut callers {
        let cares: Vec<_> = (0..URIS.len()).filter(|at| knows.read[*at].is_some()).collect();
        if cares.is_empty() {
            continue;
        }
        let mut told = true;
        for _ in 0..3 {
            told = call(&world, knows, &cares, 1).await;
            sleep(ARRIVAL).await;
        }
        assert!(!told, "it is told of changes that are none");
        for at in cares {
            assert_eq!(knows.read[at], Some(versions[at].to_string()), "a change of {} was lost", URIS[at]);
        }
    }
    sleep(HELD + SWEPT_EVERY).await;
    soon(world.memory.subscribed(&[])).await;
    assert_eq!(world.watches.count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_no_change_is_lost_and_none_is_invented(steps in prop::collection::vec(step(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(play(steps));
    }
}
