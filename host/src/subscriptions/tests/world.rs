//! The reducer with everything around it played by the test: providers that answer when told to, clients that read when they are told.
//!
//! It checks on the way what must hold at every moment: one call per URI in flight, no `subscribe` of what is watched, no `unsubscribe` of
//! what is not, a listener told only of what it subscribed to.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

pub use super::player::Verdict;
use super::{
    super::reducer::{Effect, ListenerId, Reducer, Ticket, Timer},
    player::{Player, verdict},
};
use crate::{
    catalog::{Candidate, Lists, Merged, Place, Rules, Serving, Snapshot, State},
    provider::{Error, EventQueue, Provider, ResourceInfo, Source, TemplateInfo, Updated, memory::Memory},
};

struct InFlight {
    candidate: Candidate,
    instance: u64,
    kind: Kind,
    /// The owner it is compared with.
    before: Option<Source>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Subscribe,
    Probe,
    Unsubscribe,
}

/// What a client knows of a URI: who served it, and which version. Where providers are alike, whoever serves the same version serves the same.
type View = Option<(Option<Source>, u64)>;

pub struct World {
    pub reducer: Reducer,
    pub players: Vec<Player>,
    queue: Arc<EventQueue>,
    number: u64,
    merged: Arc<Merged>,
    snapshot: Arc<Snapshot>,
    in_flight: BTreeMap<Arc<str>, InFlight>,
    /// Who watches what, by which instance.
    pub watching: BTreeSet<(Source, u64, Arc<str>)>,
    pub subscribed: BTreeMap<ListenerId, BTreeSet<String>>,
    views: HashMap<(ListenerId, String), View>,
    /// What the listeners of each generation know, if all know the same; and whether that was announced to be old.
    served: HashMap<(Source, String), (Option<View>, bool)>,
    /// Whether the content is the version alone, so that a new owner may answer as the one before did.
    pub alike: bool,
    /// The slots in order.
    pub order: Vec<usize>,
    pub timers: Vec<(Arc<str>, Timer)>,
    pub last_pause: Duration,
    pub open: BTreeMap<Ticket, (ListenerId, Vec<String>)>,
    tickets: Ticket,
    /// What happened, for tests that look at it.
    pub log: Vec<String>,
}

impl World {
    /// Providers of one template `x://{name}` each; those in `without` have no subscriptions.
    pub fn new(count: u32, without: &[u32]) -> Self {
        let queue = Arc::<EventQueue>::default();
        let players = (0..count).map(|slot| Player::new(slot, !without.contains(&slot), &queue));
        let players = players.collect();
        let mut world = Self {
            reducer: Reducer::new(Arc::default()),
            players,
            queue,
            number: 0,
            merged: Arc::default(),
            snapshot: Arc::default(),
            in_flight: BTreeMap::new(),
            watching: BTreeSet::new(),
            subscribed: BTreeMap::new(),
            views: HashMap::new(),
            served: HashMap::new(),
            alike: false,
            order: (0..count as usize).collect(),
            timers: Vec::new(),
            last_pause: Duration::ZERO,
            open: BTreeMap::new(),
            tickets: 0,
            log: Vec::new(),
        };
        world.publish();
        world
    }

    /// What happened since the last look.
    pub fn seen(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    pub fn publish(&mut self) {
        self.number += 1;
        let places = self.order.iter().map(|at| &self.players[*at]).filter(|player| player.present).map(|player| {
            let resources = player.lists.iter().map(|uri| ResourceInfo::new(uri.as_str(), "r")).collect();
            let templates = vec![TemplateInfo::new("x://{name}", "t")];
            let serving = Serving {
                source: player.source,
                provider: player.memory.clone(),
                ledger: player.announcer.ledger().clone(),
                lists: Arc::new(Lists::check(resources, templates, false)),
            };
            Place {
                slot: player.source.slot,
                name: format!("p{}", player.source.slot).into(),
                direct: false,
                rules: Rules::default(),
                state: State::Serving(serving),
            }
        });
        self.snapshot = Arc::new(Snapshot::new(self.number, places.collect(), &self.merged));
        self.merged = self.snapshot.merged.clone();
        self.reducer.catalog(self.snapshot.clone());
        self.carry_out();
    }

    /// A new generation, as a reload makes it; published by [`World::publish`].
    pub fn reload(&mut self, player: usize) {
        let Player { source, memory, .. } = &self.players[player];
        let source = Source { generation: source.generation + 1, ..*source };
        let offers = Provider::offers(&**memory);
        let player = &mut self.players[player];
        player.memory = Memory::generation(source, &self.queue, offers);
        player.announcer = player.memory.announcer.clone();
        (player.source, player.alive, player.fell, player.rose) = (source, true, false, false);
    }

    /// What the provider holds changes, and nobody hears of it: as between two generations.
    pub fn change_unheard(&mut self, player: usize, uri: &str) {
        *self.players[player].versions.entry(uri.to_owned()).or_default() += 1;
    }

    pub fn subscribe(&mut self, listener: ListenerId, uri: &str) -> Ticket {
        let uris: Vec<Arc<str>> = vec![uri.into()];
        self.reducer.join(listener);
        self.reducer.subscribe(listener, &uris).expect("under the caps");
        self.subscribed.entry(listener).or_default().insert(uri.to_owned());
        self.tickets += 1;
        self.open.insert(self.tickets, (listener, vec![uri.to_owned()]));
        self.reducer.proceed(listener, &uris, self.tickets);
        self.carry_out();
        self.tickets
    }

    pub fn unsubscribe(&mut self, listener: ListenerId, uri: &str) {
        self.forget(listener, uri);
        self.reducer.unsubscribe(listener, uri);
        self.carry_out();
    }

    pub fn leave(&mut self, listener: ListenerId) {
        for uri in self.subscribed.remove(&listener).unwrap_or_default() {
            self.forget(listener, &uri);
        }
        self.reducer.leave(listener);
        self.carry_out();
    }

    fn forget(&mut self, listener: ListenerId, uri: &str) {
        if let Some(set) = self.subscribed.get_mut(&listener) {
            set.remove(uri);
        }
        self.views.remove(&(listener, uri.to_owned()));
    }

    /// The content changes; whoever watches it says so.
    pub fn change(&mut self, player: usize, uri: &str) {
        let player = &mut self.players[player];
        *player.versions.entry(uri.to_owned()).or_default() += 1;
        let watch = (player.source, player.announcer.ledger().instance(), Arc::from(uri));
        if self.watching.contains(&watch) && player.alive {
            let source = player.source;
            self.announce(source, uri);
        }
    }

    pub fn announce(&mut self, source: Source, uri: &str) {
        if let Some((_, old)) = self.served.get_mut(&(source, uri.to_owned())) {
            *old = true;
        }
        self.reducer.announce(source, Updated::These([Arc::from(uri)].into()));
        self.carry_out();
    }

    /// The instance dies; the reducer hears of it later.
    pub fn fall(&mut self, player: usize) {
        let player = &mut self.players[player];
        player.announcer.ledger().next_instance();
        (player.alive, player.fell, player.rose) = (false, true, false);
        for uri in player.verdicts.keys().chain(&player.lists) {
            *player.versions.entry(uri.clone()).or_default() += 1;
        }
        let source = player.source;
        self.watching.retain(|(watcher, ..)| *watcher != source);
    }

    pub fn rise(&mut self, player: usize) {
        let player = &mut self.players[player];
        if !player.alive {
            (player.alive, player.rose) = (true, true);
        }
    }

    /// The reducer hears what became of the instance.
    pub fn hear(&mut self, player: usize) {
        let player = &mut self.players[player];
        if std::mem::take(&mut player.fell) | player.rose {
            let up = std::mem::take(&mut player.rose);
            self.reducer.instance(player.source, up);
            self.carry_out();
        }
    }

    /// The call in flight for this URI is answered.
    pub fn complete(&mut self, uri: &str) -> bool {
        let Some(call) = self.in_flight.remove(uri) else { return false };
        let uri: Arc<str> = uri.into();
        let Candidate { source, ledger, .. } = &call.candidate;
        let now = self.content(*source, &uri);
        let player = &mut self.players[source.slot as usize];
        let current = player.source == *source;
        let dead = ledger.instance() != call.instance || (current && !player.alive);
        match call.kind {
            Kind::Unsubscribe => {
                self.watching.remove(&(*source, call.instance, uri.clone()));
                self.reducer.unsubscribed(&uri);
            }
            Kind::Probe => {
                let result = match verdict(player, &uri) {
                    _ if std::mem::take(&mut player.fails_to_read) => Err(Error::unavailable("not now")),
                    Verdict::NotFound => Err(Error::NotFound),
                    Verdict::Accepts | Verdict::Denies => Ok(()),
                };
                self.reducer.subscribed(&uri, result, false, call.instance);
            }
            Kind::Subscribe => {
                let result = match verdict(player, &uri) {
                    _ if dead => Err(Error::unavailable("dead")),
                    _ if std::mem::take(&mut player.fails) => Err(Error::unavailable("not now")),
                    Verdict::Accepts => {
                        assert!(self.watching.insert((*source, call.instance, uri.clone())), "law 2: subscribed twice in a row");
                        Ok(())
                    }
                    Verdict::NotFound => Err(Error::NotFound),
                    Verdict::Denies => Err(Error::Denied("no".into())),
                };
                let known = call.before.and_then(|before| self.served.get(&(before, uri.to_string())));
                let same = result.is_ok() && known.is_some_and(|(known, _)| *known == Some(now));
                if same {
                    // It stands for what was served.
                    self.served.insert((*source, uri.to_string()), (Some(now), false));
                }
                self.reducer.subscribed(&uri, result, same, call.instance);
            }
        }
        self.carry_out();
        true
    }

    pub fn fire(&mut self, at: usize) {
        let (uri, timer) = self.timers.remove(at);
        self.reducer.retry(&uri, timer);
        self.carry_out();
    }

    pub fn expire(&mut self, ticket: Ticket) {
        self.reducer.expire(ticket);
        self.carry_out();
    }

    /// Lets everything come to rest: instances rise, calls are answered, timers fire.
    pub fn settle(&mut self) {
        for player in 0..self.players.len() {
            self.players[player].fails = false;
            self.rise(player);
            self.hear(player);
        }
        for _ in 0..10_000 {
            let calls: Vec<_> = self.in_flight.keys().cloned().collect();
            if calls.is_empty() && self.timers.is_empty() {
                return;
            }
            for uri in calls {
                self.complete(&uri);
            }
            if !self.timers.is_empty() {
                self.fire(0);
            }
        }
        panic!("it never comes to rest");
    }

    fn carry_out(&mut self) {
        for effect in self.reducer.effects() {
            match effect {
                Effect::Subscribe(uri, candidate, before) => self.start(uri, candidate, Kind::Subscribe, before),
                Effect::Probe(uri, candidate) => self.start(uri, candidate, Kind::Probe, None),
                Effect::Unsubscribe(uri, candidate) => self.start(uri, candidate, Kind::Unsubscribe, None),
                Effect::Retry(uri, timer, pause) => {
                    self.last_pause = pause;
                    self.timers.push((uri, timer));
                }
                Effect::Tell(listener, uri) => {
                    assert!(self.subscribed.get(&listener).is_some_and(|set| set.contains(&*uri)), "told of what it did not subscribe to");
                    self.log.push(format!("tell {listener} {uri}"));
                    let answered = !self.open.values().any(|(of, uris)| *of == listener && uris.iter().any(|open| **open == *uri));
                    if answered || self.views.contains_key(&(listener, uri.to_string())) {
                        self.read(listener, &uri);
                    }
                }
                Effect::Answer(ticket) => {
                    self.log.push(format!("answer {ticket}"));
                    let (listener, uris) = self.open.remove(&ticket).expect("answered once");
                    for uri in uris {
                        if self.subscribed.get(&listener).is_some_and(|set| set.contains(&uri)) {
                            self.read(listener, &uri);
                        }
                    }
                }
            }
        }
    }

    fn start(&mut self, uri: Arc<str>, candidate: Candidate, kind: Kind, before: Option<Source>) {
        let instance = candidate.ledger.instance();
        let what = match kind {
            Kind::Subscribe => "subscribe",
            Kind::Probe => "probe",
            Kind::Unsubscribe => "unsubscribe",
        };
        self.log.push(format!("{what} {}.{} {uri}", candidate.source.slot, candidate.source.generation));
        let watches = self.watching.contains(&(candidate.source, instance, uri.clone()));
        match kind {
            Kind::Subscribe => assert!(!watches, "law 2: subscribe of what is watched"),
            Kind::Unsubscribe => {
                assert!(watches || !self.players[candidate.source.slot as usize].alive, "law 2: unsubscribe of what is not watched")
            }
            Kind::Probe => {}
        }
        let other = self.in_flight.insert(uri, InFlight { candidate, instance, kind, before });
        assert!(other.is_none(), "law 2: two calls for one URI in flight");
    }

    fn read(&mut self, listener: ListenerId, uri: &str) {
        // Whoever is asked on the way and has nothing has served nothing last.
        for candidate in self.snapshot.candidates(uri) {
            let key = (candidate.source, uri.to_owned());
            if verdict(&self.players[candidate.source.slot as usize], uri) != Verdict::NotFound {
                let content = self.content(candidate.source, uri);
                let (known, old) = self.served.entry(key).or_insert((Some(content), false));
                if !std::mem::take(old) && *known != Some(content) {
                    *known = None;
                } else {
                    *known = Some(content);
                }
                break;
            }
            self.served.remove(&key);
        }
        let view = self.truth(uri);
        self.views.insert((listener, uri.to_owned()), view);
    }

    fn content(&self, source: Source, uri: &str) -> View {
        let version = self.players[source.slot as usize].versions.get(uri).copied().unwrap_or_default();
        Some(((!self.alike).then_some(source), version))
    }

    /// Who answers a read now.
    pub fn owner(&self, uri: &str) -> Option<Source> {
        let mut candidates = self.snapshot.candidates(uri).into_iter().map(|candidate| candidate.source);
        candidates.find(|source| verdict(&self.players[source.slot as usize], uri) != Verdict::NotFound)
    }

    /// What a read answers now.
    pub fn truth(&self, uri: &str) -> View {
        self.owner(uri).and_then(|source| self.content(source, uri))
    }

    /// What the listener saw last.
    pub fn view(&self, listener: ListenerId, uri: &str) -> View {
        self.views.get(&(listener, uri.to_owned())).copied().flatten()
    }

    /// Whether changes of the URI can be heard of at all.
    pub fn is_watchable(&self, uri: &str) -> bool {
        let Some(source) = self.owner(uri) else { return true };
        let player = &self.players[source.slot as usize];
        Provider::offers(&*player.memory).subscriptions && verdict(player, uri) == Verdict::Accepts
    }
}
