use futures_util::{FutureExt, StreamExt};
use tokio::sync::watch;

use super::*;
use crate::{
    catalog::{Caller, Catalog, Position, Rules},
    host::pump,
    provider::{
        EventQueue,
        memory::{Memory, live},
    },
    subscriptions::Subscriptions,
};

const A: &str = "x://a";
const B: &str = "x://b";

/// A table for so many, whose streams end when the sender says so.
struct Table {
    memory: Arc<Memory>,
    subscriptions: Subscriptions,
    sessions: Sessions,
    stop: watch::Sender<bool>,
}

impl Table {
    async fn new(cap: usize) -> Self {
        let queue = Arc::<EventQueue>::default();
        let memory = Memory::new(1, &queue, live());
        memory.put(A, "a");
        memory.put(B, "b");
        let catalog = Catalog::new(Duration::from_secs(3), [0; 8]);
        catalog.arrange(false, vec![Position { slot: 1, name: "memory".into(), rules: Rules::default() }]);
        catalog.load(memory.clone(), &memory.announcer).await.unwrap();
        let subscriptions = Subscriptions::new(catalog.clone());
        tokio::spawn(pump(queue, catalog, subscriptions.clone()));
        Self { memory, subscriptions, sessions: Sessions::new(cap), stop: watch::Sender::new(false) }
    }

    fn open(&self) -> Result<Arc<Session>, OpenError> {
        self.sessions.open("2025-11-25", self.subscriptions.listen(Caller::anyone(), false))
    }

    async fn subscribed(&self, uris: &[&str]) -> Arc<Session> {
        let session = self.open().unwrap();
        let uris = uris.iter().map(|&uri| uri.into()).collect();
        session.listener().unwrap().subscribe(uris).await.unwrap();
        session
    }

    fn stream(&self, session: &Arc<Session>, last_event_id: Option<&str>) -> Option<SessionStream> {
        session.stream(last_event_id, Stopping::new(self.stop.subscribe()))
    }
}

fn uri(event: &Event) -> String {
    let message: serde_json::Value = serde_json::from_slice(&event.message).unwrap();
    message["params"]["uri"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn at_the_cap_the_session_without_a_stream_that_idled_longest_makes_room() {
    let table = Table::new(3).await;
    let streaming = table.open().unwrap();
    let _stream = table.stream(&streaming, None).unwrap();
    let mut others = Vec::new();
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(1)).await;
        others.push(table.open().unwrap());
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(table.sessions.find(&others[0].id(), &Caller::anyone()).is_some(), "used later than the other now");
    table.open().unwrap();
    assert_eq!(table.sessions.count(), 3);
    assert!(
        table.sessions.find(&streaming.id(), &Caller::anyone()).is_some()
            && table.sessions.find(&others[0].id(), &Caller::anyone()).is_some()
    );
    assert!(table.sessions.find(&others[1].id(), &Caller::anyone()).is_none() && others[1].listener().is_none());
}

#[tokio::test]
async fn at_the_cap_with_all_streaming_there_is_no_new_session() {
    let table = Table::new(2).await;
    let sessions = [table.open().unwrap(), table.open().unwrap()];
    let streams = sessions.each_ref().map(|session| table.stream(session, None).unwrap());
    assert!(matches!(table.open(), Err(OpenError::Full(2))));
    drop(streams);
    assert!(table.open().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_when_it_idles_and_never_while_it_has_a_stream() {
    let table = Table::new(9).await;
    let (idle, used, streaming) = (table.open().unwrap(), table.open().unwrap(), table.open().unwrap());
    let stream = table.stream(&streaming, None).unwrap();
    tokio::time::advance(IDLE - Duration::from_millis(1)).await;
    table.sessions.reap();
    assert_eq!(table.sessions.count(), 3);
    assert!(table.sessions.find(&used.id(), &Caller::anyone()).is_some());
    tokio::time::advance(Duration::from_millis(1)).await;
    table.sessions.reap();
    assert!(table.sessions.find(&idle.id(), &Caller::anyone()).is_none() && idle.listener().is_none());
    assert_eq!(table.sessions.count(), 2);
    tokio::time::advance(IDLE * 3).await;
    table.sessions.reap();
    assert!(table.sessions.find(&used.id(), &Caller::anyone()).is_none() && table.sessions.count() == 1);
    drop(stream);
    tokio::time::advance(IDLE - Duration::from_millis(1)).await;
    table.sessions.reap();
    assert_eq!(table.sessions.count(), 1, "its idle time began when the stream ended");
    tokio::time::advance(Duration::from_millis(1)).await;
    table.sessions.reap();
    assert_eq!(table.sessions.count(), 0);
}

#[tokio::test]
async fn a_newer_stream_takes_over_from_one_that_is_stalled() {
    let table = Table::new(9).await;
    let session = table.subscribed(&[A]).await;
    let mut stalled = table.stream(&session, None).unwrap();
    assert!(stalled.next().now_or_never().is_none(), "it waits for a notice, and is not asked again");
    let mut newer = table.stream(&session, None).unwrap();
    assert!(newer.next().now_or_never().is_none());
    table.memory.update(A, "new");
    assert_eq!(uri(&newer.next().await.unwrap()), A);
    assert!(stalled.next().await.is_none());
    drop(stalled);
    tokio::time::pause();
    tokio::time::advance(IDLE * 2).await;
    table.sessions.reap();
    assert_eq!(table.sessions.count(), 1, "the end of the older one is not the end of the newer");
}

#[tokio::test]
async fn a_stream_that_is_replaced_is_told_so_at_once() {
    let table = Table::new(9).await;
    let session = table.open().unwrap();
    let mut older = table.stream(&session, None).unwrap();
    let waiting = tokio::spawn(async move { older.next().await.is_none() });
    tokio::task::yield_now().await;
    let _newer = table.stream(&session, None).unwrap();
    assert!(waiting.await.unwrap());
}

#[tokio::test]
async fn a_session_that_ends_leaves_though_a_stalled_stream_still_holds_it() {
    let table = Table::new(9).await;
    let session = table.subscribed(&[A]).await;
    let mut stalled = table.stream(&session, None).unwrap();
    assert!(stalled.next().now_or_never().is_none());
    table.memory.subscribed(&[A]).await;
    assert!(table.sessions.close(&session.id()));
    table.memory.subscribed(&[]).await;
    assert!(stalled.next().await.is_none());
    assert!(table.stream(&session, None).is_none());
    assert!(!table.sessions.close(&session.id()));
}

#[tokio::test]
async fn what_was_told_after_the_last_event_id_is_told_again_once() {
    let table = Table::new(9).await;
    let session = table.subscribed(&[A, B]).await;
    let mut first = table.stream(&session, None).unwrap();
    table.memory.update(A, "1");
    let seen = first.next().await.unwrap();
    table.memory.update(B, "1");
    assert_eq!(uri(&first.next().await.unwrap()), B);
    drop(first);
    let mut second = table.stream(&session, Some(&seen.id.unwrap().to_string())).unwrap();
    let again = second.next().await.unwrap();
    assert_eq!(uri(&again), B);
    assert!(second.next().now_or_never().is_none());
    assert!(again.id.unwrap().to_string().starts_with(&format!("{:08x}.2-", session.tag)));
}

#[tokio::test]
async fn an_event_id_of_another_session_or_of_nobody_says_nothing() {
    let table = Table::new(9).await;
    let (session, other) = (table.subscribed(&[A]).await, table.subscribed(&[A]).await);
    let mut streams = [table.stream(&session, None).unwrap(), table.stream(&other, None).unwrap()];
    table.memory.update(A, "1");
    let [own, foreign] = streams.each_mut().map(|stream| stream.next());
    let (own, foreign) = (own.await.unwrap().id.unwrap(), foreign.await.unwrap().id.unwrap().to_string());
    assert_eq!(session.parse_event_id(&own.to_string(), 1), Some(own.number));
    tokio::time::pause();
    let tag = session.tag;
    for id in
        ["", "-", "1", "0-0", "a.1-0", ".1-0", &foreign, &format!("{tag:08x}.99-0"), &format!("{tag:08x}.1-x"), &format!("{tag:08x}.1-")]
    {
        assert_eq!(session.parse_event_id(id, 1), None, "{id}");
        let mut stream = table.stream(&session, Some(id)).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(stream.next().now_or_never().is_none(), "{id}");
    }
}

#[tokio::test]
async fn streams_end_when_the_host_stops_also_those_that_come_later() {
    let table = Table::new(9).await;
    let session = table.open().unwrap();
    let mut stream = table.stream(&session, None).unwrap();
    let ended = tokio::spawn(async move { stream.next().await.is_none() });
    table.stop.send_replace(true);
    assert!(ended.await.unwrap());
    assert!(table.stream(&session, None).unwrap().next().await.is_none());
}

#[tokio::test]
async fn only_the_very_id_finds_a_session() {
    let table = Table::new(9).await;
    let session = table.open().unwrap();
    let id = session.id();
    assert!(id.len() == ID_DIGITS && table.sessions.find(&id, &Caller::anyone()).is_some());
    for other in [id.to_uppercase(), format!("{id}0"), format!("0{id}"), format!("+{}", &id[1..]), id[1..].to_owned(), String::new()] {
        assert!(other == id || table.sessions.find(&other, &Caller::anyone()).is_none(), "{other}");
    }
}
