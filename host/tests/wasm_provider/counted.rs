//! What is counted of a provider.

use std::sync::Arc;

use wharf::provider::{
    Announcer, Error, EventQueue, Provider,
    tally::{Life, Outcome, Tally},
    wasm::{Limits, Spec},
};

use super::support::{LONG, Running, SHORT, SOURCE, compiled, runtime};

/// A provider of a name of its own, and what is counted of it.
async fn start(guest: &'static str, name: &str, limits: Limits) -> (Running, Arc<Tally>) {
    let events = Arc::new(EventQueue::default());
    let announcer = Announcer::new(SOURCE, events.clone());
    let provider = compiled(guest).await.start(Spec { limits, ..Spec::new(name) }, announcer.clone()).await.unwrap();
    (Running { provider, events, announcer }, runtime().tally(&name.into()))
}

#[tokio::test]
async fn each_call_is_counted_by_how_it_ended() {
    let (running, tally) = start("basic", "counted-basic", LONG).await;
    assert!((1..=LONG.memory).contains(&tally.memory()), "{}", tally.memory());
    running.provider.list(None).await.unwrap();
    running.provider.templates().await.unwrap();
    for uri in ["basic://text", "basic://blob", "basic://nowhere"] {
        let answered = running.read(uri).await;
        assert_eq!(matches!(answered, Err(Error::NotFound)), uri == "basic://nowhere", "{answered:?}");
    }
    let counted = |outcome| tally.calls(outcome);
    assert_eq!((counted(Outcome::Ok), counted(Outcome::NotFound), tally.errors()), (4, 1, 0));
    assert_eq!((tally.durations().count, tally.restarts(), tally.last_error()), (5, 0, None));
    running.provider.close().await;
    assert_eq!(tally.memory(), 0, "what has ended has none");
    let error = running.read("basic://text").await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }));
    assert_eq!((counted(Outcome::Unavailable), tally.durations().count), (1, 5), "what is answered in its place takes no time");
}

#[tokio::test]
async fn what_costs_the_instance_is_counted_each_for_itself() {
    let limits = Limits { deadline: SHORT * 10, memory: 32 << 20, ..LONG };
    let (running, tally) = start("hostile", "counted-hostile", limits).await;
    for (restarts, (uri, outcome)) in
        (1..).zip([("hostile://trap", Outcome::Trap), ("hostile://allocate", Outcome::Memory), ("hostile://loop", Outcome::Deadline)])
    {
        assert!(running.read(uri).await.is_err(), "{uri}");
        assert_eq!(tally.calls(outcome), 1, "{uri}");
        assert_eq!(tally.last_error().map(|error| (error.outcome, error.call)), Some((outcome, "read")));
        assert_eq!(running.back("hostile://ok").await, "ok");
        assert_eq!((tally.restarts(), tally.life().0), (restarts, Life::Alive), "{uri}");
    }
    assert_eq!(tally.errors(), 3);
    assert!((1..=limits.memory).contains(&tally.memory()), "the dead have none");
}
