//! What may wait, for how long, and what is refused.

use super::*;

type Waiter = oneshot::Receiver<Result<Option<Reading>, Error>>;

fn read(queue: &Queue) -> Waiter {
    let (reply, answer) = oneshot::channel();
    let request = ReadRequest { uri: "x://a".into(), matched: None, if_none_match: None };
    queue.push(Call::Read(request, Begun::default(), reply.into()));
    answer
}

fn unsubscribe(queue: &Queue) -> oneshot::Receiver<Result<(), Error>> {
    let (reply, answer) = oneshot::channel();
    queue.push(Call::Unsubscribe("x://a".into(), reply.into()));
    answer
}

fn is_refused(waiter: &mut Waiter) -> bool {
    matches!(waiter.try_recv(), Ok(Err(Error::Unavailable { .. })))
}

#[tokio::test]
async fn one_read_more_than_fits_is_refused_at_once_and_control_calls_still_enter() {
    let queue = Queue::default();
    let mut waiters: Vec<_> = (0..MAX_READS).map(|_| read(&queue)).collect();
    assert!(is_refused(&mut read(&queue)));
    assert!(waiters.iter_mut().all(|waiter| !is_refused(waiter)));
    let _waiter = unsubscribe(&queue);
    assert!(queue.take_control().is_some());
}

#[tokio::test]
async fn reads_that_nobody_waits_for_give_their_place_away_and_are_skipped() {
    let queue = Queue::default();
    for _ in 0..MAX_READS {
        drop(read(&queue));
    }
    let mut waiter = read(&queue);
    assert!(!is_refused(&mut waiter));
    assert!(queue.take_read().is_some());
    assert!(queue.take_read().is_none());
}

#[tokio::test]
async fn an_unsubscribe_is_made_though_nobody_waits_for_it() {
    let queue = Queue::default();
    drop(unsubscribe(&queue));
    assert!(matches!(queue.take_control(), Some(Call::Unsubscribe(..))));
}

#[tokio::test(start_paused = true)]
async fn a_read_that_waited_too_long_is_refused_and_a_younger_one_waits_on() {
    let queue = Queue::default();
    let mut old = read(&queue);
    tokio::time::advance(MAX_WAIT / 2).await;
    let mut young = read(&queue);
    let end = Instant::now() + MAX_WAIT / 2;
    assert_eq!(queue.expire(Instant::now()), Some(end));
    assert_eq!(queue.expire(end), Some(end + MAX_WAIT / 2));
    assert!(is_refused(&mut old));
    assert!(!is_refused(&mut young));
}

#[tokio::test]
async fn closing_refuses_what_waits_and_what_comes() {
    let queue = Queue::default();
    let mut waiter = read(&queue);
    queue.close();
    assert!(is_refused(&mut waiter));
    assert!(is_refused(&mut read(&queue)));
    assert!(queue.take_read().is_none());
}
