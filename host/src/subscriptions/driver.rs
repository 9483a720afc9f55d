//! The task around the reducer: it takes commands one after the other, hands them in, and carries out what comes out: calls to providers,
//! timers, notices into outboxes.
//!
//! Invariants: before each command the reducer sees the newest catalog; nothing here is awaited while a command is handled, so a slow
//! provider or listener holds up nobody.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{Id, JoinSet},
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    LimitError, Subscribed, Traffic,
    outbox::Outbox,
    reducer::{Effect, ListenerId, Reducer, Ticket, Timer},
};
use crate::{
    catalog::{Candidate, Catalog},
    provider::{Error, ProviderEvent, ReadRequest, Source},
};

/// How long the answer to a subscribe waits for the provider (law 11).
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// How long teardown waits for the providers (law 9).
pub(super) const TEARDOWN_WAIT: Duration = Duration::from_secs(2);
/// Changes of the list are announced after so much quiet, and at the latest [`LIST_WAIT`] after the first (law 8).
pub(super) const LIST_QUIET: Duration = Duration::from_millis(100);
pub(super) const LIST_WAIT: Duration = Duration::from_secs(1);

/// What the driver is asked to do.
pub(super) enum Command {
    Join { id: ListenerId, outbox: Arc<Outbox>, list_changed: bool },
    Subscribe { id: ListenerId, uris: Arc<[Arc<str>]>, reply: oneshot::Sender<Result<(), LimitError>> },
    Proceed { id: ListenerId, uris: Arc<[Arc<str>]>, reply: oneshot::Sender<()> },
    Unsubscribe { id: ListenerId, uri: Arc<str> },
    Leave { id: ListenerId },
    Event(ProviderEvent, oneshot::Sender<()>),
    Counts(oneshot::Sender<Vec<(Arc<str>, usize)>>),
    Table(oneshot::Sender<Vec<Subscribed>>),
    Close(oneshot::Sender<()>),
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Expire(Ticket),
    Retry(Arc<str>, Timer),
}

struct Listening {
    outbox: Arc<Outbox>,
    list_changed: bool,
}

/// How a call went, and whether a new owner answers as the one before did.
type Called = (Result<(), Error>, bool);

struct Driver {
    catalog: Arc<Catalog>,
    reducer: Reducer,
    listeners: HashMap<ListenerId, Listening>,
    /// What a call in flight is about, and whether it is an `unsubscribe`.
    about: HashMap<Id, (Arc<str>, bool)>,
    calls: JoinSet<Called>,
    alarms: BinaryHeap<Reverse<(Instant, Alarm)>>,
    waiting: HashMap<Ticket, oneshot::Sender<()>>,
    tickets: Ticket,
    /// When a change of the list is to be announced, and when the first of those that wait happened.
    list_due: Option<(Instant, Instant)>,
    traffic: Arc<Traffic>,
}

/// Runs until it is told to close, or every handle is gone.
pub(super) fn run(
    catalog: Arc<Catalog>,
    inbox: mpsc::UnboundedReceiver<Command>,
    traffic: Arc<Traffic>,
) -> impl Future<Output = ()> + Send {
    // From here on no change is missed, however late the task gets to run.
    let changes = catalog.changes();
    let driver = Driver {
        reducer: Reducer::new(catalog.snapshot()),
        catalog,
        listeners: HashMap::new(),
        about: HashMap::new(),
        calls: JoinSet::new(),
        alarms: BinaryHeap::new(),
        waiting: HashMap::new(),
        tickets: 0,
        list_due: None,
        traffic,
    };
    drive(driver, inbox, changes)
}

async fn drive(mut driver: Driver, mut inbox: mpsc::UnboundedReceiver<Command>, mut changes: watch::Receiver<u64>) {
    let closing = loop {
        let alarm = driver.alarms.peek().map(|Reverse((at, _))| *at);
        let list_due = driver.list_due.map(|(at, _)| at);
        tokio::select! {
            command = inbox.recv() => match command {
                Some(Command::Close(reply)) => break Some(reply),
                Some(command) => driver.command(command),
                None => break None,
            },
            Some(call) = driver.calls.join_next_with_id() => driver.called(call),
            Ok(()) = changes.changed() => driver.list_may_have_changed(),
            () = sleep_until(alarm.unwrap_or_else(Instant::now)), if alarm.is_some() => driver.alarm(),
            () = sleep_until(list_due.unwrap_or_else(Instant::now)), if list_due.is_some() => driver.announce_lists(),
        }
    };
    driver.close().await;
    if let Some(reply) = closing {
        let _ = reply.send(());
    }
}

impl Driver {
    fn command(&mut self, command: Command) {
        self.see_catalog();
        match command {
            Command::Join { id, outbox, list_changed } => {
                self.reducer.join(id);
                self.listeners.insert(id, Listening { outbox, list_changed });
                self.traffic.listening(self.listeners.len());
            }
            Command::Subscribe { id, uris, reply } => {
                let _ = reply.send(self.reducer.subscribe(id, &uris));
            }
            Command::Proceed { id, uris, reply } => {
                self.tickets += 1;
                self.waiting.insert(self.tickets, reply);
                self.alarms.push(Reverse((Instant::now() + ANSWER_WAIT, Alarm::Expire(self.tickets))));
                self.reducer.proceed(id, &uris, self.tickets);
            }
            Command::Unsubscribe { id, uri } => {
                self.reducer.unsubscribe(id, &uri);
                if let Some(listening) = self.listeners.get(&id) {
                    listening.outbox.forget(&uri);
                }
            }
            Command::Leave { id } => {
                self.listeners.remove(&id);
                self.traffic.listening(self.listeners.len());
                self.reducer.leave(id);
            }
            Command::Event(event, reply) => {
                if event.down || event.up {
                    self.reducer.instance(event.source, event.up);
                }
                if !event.updated.is_empty() {
                    self.reducer.announce(event.source, event.updated);
                }
                let _ = reply.send(());
            }
            Command::Counts(reply) => {
                let mut counts: Vec<_> = self.reducer.counts().map(|(uri, count)| (uri.clone(), count)).collect();
                counts.sort_unstable();
                let _ = reply.send(counts);
            }
            Command::Table(reply) => {
                let mut table: Vec<_> = self.reducer.table().collect();
                table.sort_unstable();
                let _ = reply.send(table);
            }
            Command::Close(_) => {}
        }
        self.carry_out();
    }

    /// Everything is decided on the newest catalog.
    fn see_catalog(&mut self) {
        let snapshot = self.catalog.snapshot();
        if snapshot.number != self.reducer.catalog_number() {
            self.reducer.catalog(snapshot);
        }
    }

    fn alarm(&mut self) {
        self.see_catalog();
        while self.alarms.peek().is_some_and(|Reverse((at, _))| *at <= Instant::now()) {
            match self.alarms.pop() {
                Some(Reverse((_, Alarm::Expire(ticket)))) => self.reducer.expire(ticket),
                Some(Reverse((_, Alarm::Retry(uri, timer)))) => self.reducer.retry(&uri, timer),
                None => {}
            }
        }
        self.carry_out();
    }

    fn called(&mut self, call: Result<(Id, Called), tokio::task::JoinError>) {
        let (id, (result, same)) = match call {
            Ok((id, called)) => (id, called),
            Err(error) => (error.id(), (Err(Error::Failed("the provider panicked".into())), false)),
        };
        self.see_catalog();
        match self.about.remove(&id) {
            Some((uri, true)) => self.reducer.unsubscribed(&uri),
            Some((uri, false)) => self.reducer.subscribed(&uri, result, same),
            None => {}
        }
        self.carry_out();
    }

    fn carry_out(&mut self) {
        self.traffic.dropped_so_far(self.reducer.dropped);
        for effect in self.reducer.effects() {
            match effect {
                Effect::Subscribe(uri, candidate, before) => {
                    let catalog = self.catalog.clone();
                    self.call(uri, false, |uri| subscribe(catalog, candidate, uri, before));
                }
                Effect::Probe(uri, candidate) => self.call(uri, false, |uri| probe(candidate, uri)),
                Effect::Unsubscribe(uri, candidate) => self.call(uri, true, |uri| unsubscribe(candidate, uri)),
                Effect::Retry(uri, timer, pause) => self.alarms.push(Reverse((Instant::now() + pause, Alarm::Retry(uri, timer)))),
                Effect::Tell(listener, uri) => {
                    if let Some(listening) = self.listeners.get(&listener)
                        && !listening.outbox.push(&uri)
                    {
                        self.traffic.coalesced();
                    }
                }
                Effect::Answer(ticket) => {
                    if let Some(reply) = self.waiting.remove(&ticket) {
                        let _ = reply.send(());
                    }
                }
            }
        }
    }

    fn call<F: Future<Output = Called> + Send + 'static>(&mut self, uri: Arc<str>, unsubscribes: bool, call: impl FnOnce(Arc<str>) -> F) {
        let id = self.calls.spawn(call(uri.clone())).id();
        self.about.insert(id, (uri, unsubscribes));
    }

    fn list_may_have_changed(&mut self) {
        self.see_catalog();
        self.carry_out();
        let now = Instant::now();
        let first = self.list_due.map_or(now, |(_, first)| first);
        self.list_due = Some(((now + LIST_QUIET).min(first + LIST_WAIT), first));
    }

    fn announce_lists(&mut self) {
        self.list_due = None;
        if self.catalog.announce() {
            for listening in self.listeners.values().filter(|listening| listening.list_changed) {
                listening.outbox.push_list_changed();
            }
        }
    }

    /// Law 9: each provider is told, and one that fails or hangs does not keep the others from it.
    async fn close(&mut self) {
        for id in std::mem::take(&mut self.listeners).into_keys() {
            self.reducer.leave(id);
        }
        self.carry_out();
        let deadline = Instant::now() + TEARDOWN_WAIT;
        while let Ok(Some(call)) = timeout_at(deadline, self.calls.join_next_with_id()).await {
            self.called(call);
        }
    }
}

async fn subscribe(catalog: Arc<Catalog>, candidate: Candidate, uri: Arc<str>, before: Option<Source>) -> Called {
    let result = candidate.provider.subscribe(uri.clone(), candidate.matched.clone()).await;
    let same = match (&result, before) {
        (Ok(()), Some(before)) => catalog.answers_as_before(before, &candidate, &uri).await,
        _ => false,
    };
    if let Err(error) = &result
        && *error != Error::NotFound
    {
        tracing::debug!(provider = %candidate.name, %uri, kind = error.kind(), "subscribe failed: {error}");
    }
    (result, same)
}

async fn probe(candidate: Candidate, uri: Arc<str>) -> Called {
    (candidate.provider.read(ReadRequest { uri, matched: candidate.matched, if_none_match: None }).await.map(drop), false)
}

async fn unsubscribe(candidate: Candidate, uri: Arc<str>) -> Called {
    let result = candidate.provider.unsubscribe(uri.clone()).await;
    if let Err(error) = &result {
        tracing::debug!(provider = %candidate.name, %uri, kind = error.kind(), "unsubscribe failed: {error}");
    }
    (result, false)
}
