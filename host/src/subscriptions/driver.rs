//! The task around the reducers, of which each view has one: it takes commands one after the other, hands them in, and carries out what
//! comes out: calls to providers, timers, notices into outboxes.
//!
//! Invariants: before each command the reducers see the newest catalog; nothing here is awaited while a command is handled, so a slow
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
    reducer::{Effect, ListenerId, Ticket, Timer},
    sharing::{Sharing, Step, ViewId, Wanted},
    sights::Sights,
};
use crate::{
    catalog::{Candidate, Catalog, View},
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
    Join { id: ListenerId, view: View, outbox: Arc<Outbox>, list_changed: bool },
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
    Retry(ViewId, Arc<str>, Timer),
}

struct Listening {
    view: ViewId,
    outbox: Arc<Outbox>,
    list_changed: bool,
}

/// How a call went, and whether a new owner answers as the one before did.
type Called = (Result<(), Error>, bool);

/// What a call in flight is about.
enum About {
    /// A `subscribe`, which other views may wait for.
    Subscribe(Arc<str>, Source),
    /// What concerns one view: whether a candidate owns the URI, or answers as the owner before it did; and the instance that was asked.
    Look(ViewId, Arc<str>, u64),
    /// An `unsubscribe`.
    Unsubscribe(Arc<str>, Source),
}

struct Driver {
    catalog: Arc<Catalog>,
    sights: Sights,
    sharing: Sharing,
    listeners: HashMap<ListenerId, Listening>,
    about: HashMap<Id, About>,
    calls: JoinSet<Called>,
    alarms: BinaryHeap<Reverse<(Instant, Alarm)>>,
    waiting: HashMap<Ticket, (ViewId, oneshot::Sender<()>)>,
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
        sights: Sights::new(catalog.clone()),
        sharing: Sharing::default(),
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
        self.sights.see_catalog();
        match command {
            Command::Join { id, view, outbox, list_changed } => {
                let view = self.sights.join(&view);
                self.sights.with(view, |reducer| reducer.join(id));
                self.listeners.insert(id, Listening { view, outbox, list_changed });
                self.traffic.listening(self.listeners.len());
            }
            Command::Subscribe { id, uris, reply } => {
                let view = self.view_of(id);
                let entered = view.and_then(|view| self.sights.with_budget(view, |reducer| reducer.subscribe(id, &uris)));
                let _ = reply.send(entered.unwrap_or(Ok(())));
            }
            Command::Proceed { id, uris, reply } => {
                // Dropping the reply answers one who has left.
                if let Some(view) = self.view_of(id) {
                    self.tickets += 1;
                    self.waiting.insert(self.tickets, (view, reply));
                    self.alarms.push(Reverse((Instant::now() + ANSWER_WAIT, Alarm::Expire(self.tickets))));
                    let ticket = self.tickets;
                    self.sights.with(view, |reducer| reducer.proceed(id, &uris, ticket));
                }
            }
            Command::Unsubscribe { id, uri } => {
                if let Some(listening) = self.listeners.get(&id) {
                    self.sights.with(listening.view, |reducer| reducer.unsubscribe(id, &uri));
                    listening.outbox.forget(&uri);
                }
            }
            Command::Leave { id } => {
                self.leave(id);
                self.traffic.listening(self.listeners.len());
            }
            Command::Event(event, reply) => {
                let died = event.down || event.up;
                self.sights.event(event);
                if died {
                    self.sharing.sweep();
                }
                let _ = reply.send(());
            }
            Command::Counts(reply) => {
                let _ = reply.send(self.sights.counts());
            }
            Command::Table(reply) => {
                let _ = reply.send(self.sights.table());
            }
            Command::Close(_) => {}
        }
        self.carry_out();
    }

    fn view_of(&self, id: ListenerId) -> Option<ViewId> {
        self.listeners.get(&id).map(|listening| listening.view)
    }

    fn leave(&mut self, id: ListenerId) {
        let Some(Listening { view, .. }) = self.listeners.remove(&id) else { return };
        self.sights.leave(view);
        self.sights.with(view, |reducer| reducer.leave(id));
    }

    fn alarm(&mut self) {
        self.sights.see_catalog();
        while self.alarms.peek().is_some_and(|Reverse((at, _))| *at <= Instant::now()) {
            match self.alarms.pop() {
                Some(Reverse((_, Alarm::Expire(ticket)))) => {
                    if let Some((view, _)) = self.waiting.get(&ticket) {
                        self.sights.with(*view, |reducer| reducer.expire(ticket));
                    }
                }
                Some(Reverse((_, Alarm::Retry(view, uri, timer)))) => {
                    self.sights.with(view, |reducer| reducer.retry(&uri, timer));
                }
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
        self.sights.see_catalog();
        match self.about.remove(&id) {
            Some(About::Subscribe(uri, source)) => {
                let (asked, steps) = self.sharing.subscribed(&uri, source, &result);
                if let Some((view, instance)) = asked {
                    self.answer(view, &uri, (result, same), instance);
                }
                steps.into_iter().for_each(|step| self.step(step));
            }
            Some(About::Look(view, uri, instance)) => self.answer(view, &uri, (result, same), instance),
            Some(About::Unsubscribe(uri, source)) => {
                let (view, step) = self.sharing.unsubscribed(&uri, source);
                if let Some(view) = view {
                    self.sights.with(view, |reducer| reducer.unsubscribed(&uri));
                }
                step.into_iter().for_each(|step| self.step(step));
            }
            None => {}
        }
        self.carry_out();
    }

    /// Tells a view what became of its `subscribe` or its probe, and which instance was asked.
    fn answer(&mut self, view: ViewId, uri: &Arc<str>, (result, same): Called, instance: u64) {
        self.sights.with(view, |reducer| reducer.subscribed(uri, result, same, instance));
    }

    fn carry_out(&mut self) {
        // What is answered at once has effects of its own.
        loop {
            let effects = self.sights.effects();
            if effects.is_empty() {
                break;
            }
            effects.into_iter().for_each(|(view, effect)| self.carry(view, effect));
        }
        self.traffic.dropped_so_far(self.sights.dropped());
        self.sights.retire();
    }

    fn carry(&mut self, view: ViewId, effect: Effect) {
        match effect {
            Effect::Subscribe(uri, candidate, before) => {
                let step = self.sharing.want(Wanted { view, uri, candidate, before });
                step.into_iter().for_each(|step| self.step(step));
            }
            Effect::Probe(uri, candidate) => {
                self.call(About::Look(view, uri.clone(), candidate.ledger.instance()), probe(candidate, uri));
            }
            Effect::Unsubscribe(uri, candidate) => {
                if self.sharing.release(view, &uri, candidate.source) {
                    self.call(About::Unsubscribe(uri.clone(), candidate.source), unsubscribe(candidate, uri));
                } else {
                    self.sights.with(view, |reducer| reducer.unsubscribed(&uri));
                }
            }
            Effect::Retry(uri, timer, pause) => self.alarms.push(Reverse((Instant::now() + pause, Alarm::Retry(view, uri, timer)))),
            Effect::Tell(listener, uri) => {
                if let Some(listening) = self.listeners.get(&listener)
                    && !listening.outbox.push(&uri)
                {
                    self.traffic.coalesced();
                }
            }
            Effect::Answer(ticket) => {
                if let Some((_, reply)) = self.waiting.remove(&ticket) {
                    let _ = reply.send(());
                }
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Subscribe(Wanted { uri, candidate, before, .. }) => {
                let about = About::Subscribe(uri.clone(), candidate.source);
                self.call(about, subscribe(self.catalog.clone(), candidate, uri, before));
            }
            Step::Answer(Wanted { view, uri, candidate, before: Some(before) }, Ok(()), instance) => {
                let catalog = self.catalog.clone();
                let compared = uri.clone();
                let compare = async move { (Ok(()), catalog.answers_as_before(before, &candidate, &compared).await) };
                self.call(About::Look(view, uri, instance), compare);
            }
            Step::Answer(Wanted { view, uri, .. }, result, instance) => self.answer(view, &uri, (result, false), instance),
        }
    }

    fn call(&mut self, about: About, call: impl Future<Output = Called> + Send + 'static) {
        let id = self.calls.spawn(call).id();
        self.about.insert(id, about);
    }

    fn list_may_have_changed(&mut self) {
        self.sights.see_catalog();
        self.sharing.sweep();
        self.carry_out();
        let now = Instant::now();
        let first = self.list_due.map_or(now, |(_, first)| first);
        self.list_due = Some(((now + LIST_QUIET).min(first + LIST_WAIT), first));
    }

    fn announce_lists(&mut self) {
        self.list_due = None;
        let due = self.catalog.announce();
        if due.is_empty() {
            return;
        }
        for listening in self.listeners.values().filter(|listening| listening.list_changed) {
            if self.sights.view(listening.view).is_some_and(|view| due.contains(view)) {
                listening.outbox.push_list_changed();
            }
        }
    }

    /// Law 9: each provider is told, and one that fails or hangs does not keep the others from it.
    async fn close(&mut self) {
        for id in self.listeners.keys().copied().collect::<Vec<_>>() {
            self.leave(id);
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
