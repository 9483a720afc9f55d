//! What a caller may not see does not exist for it: random histories in a host of several views, and the same histories in hosts that have
//! the providers of one view only. Lists, reads, suggestions and notices have to be the same.
//!
//! Each host has providers of its own, of which none may be asked to watch what it watches, nor to let go of what it does not (law 2).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt;
use proptest::prelude::*;
use tokio::{task::JoinHandle, time::sleep};

use crate::{
    catalog::{Caller, Catalog, Position, Rules, View},
    host::pump,
    provider::{
        Body, Completion, Error, EventQueue, Occurrence, Offers, ResourceInfo, Source, TemplateInfo,
        memory::{Memory, live, reading},
    },
    subscriptions::{Listener, Notice, Subscriptions},
};

const URIS: [&str; 4] = ["x://a", "x://b", "x://c", "x://d"];
const PROVIDERS: u32 = 3;
const TEMPLATE: &str = "x://{name}";
/// Listeners in each view.
const LISTENERS: usize = 2;
/// Longer than all pauses that anything makes.
const REST: Duration = Duration::from_secs(61);

/// The views, by the slots of their providers; the first is everything.
const VIEWS: [&[u32]; 5] = [&[0, 1, 2], &[0], &[1], &[0, 2], &[1, 2]];

#[derive(Debug, Clone)]
enum Step {
    Update(u32, usize),
    AnnounceAnything(u32, usize),
    List(u32, usize),
    Unlist(u32, usize),
    Reload(u32, Vec<(usize, Refusal)>),
    Recover(u32),
    Die(u32),
    Unload(u32),
    Subscribe(usize, usize, usize),
    Unsubscribe(usize, usize, usize),
    Leave(usize, usize),
}

/// How a generation answers `subscribe`, where it does not accept.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    NotFound,
    Denied,
    /// Until it recovers.
    Unavailable,
}

fn step() -> impl Strategy<Value = Step> {
    let (p, u, v, l) = (0..PROVIDERS, 0..URIS.len(), 0..VIEWS.len(), 0..LISTENERS);
    let refusal = prop_oneof![Just(Refusal::NotFound), Just(Refusal::Denied), Just(Refusal::Unavailable)];
    let refusals = prop::collection::vec((u.clone(), refusal), 0..3);
    prop_oneof![
        3 => (p.clone(), u.clone()).prop_map(|(p, u)| Step::Update(p, u)),
        2 => (p.clone(), u.clone()).prop_map(|(p, u)| Step::AnnounceAnything(p, u)),
        3 => (p.clone(), u.clone()).prop_map(|(p, u)| Step::List(p, u)),
        2 => (p.clone(), u.clone()).prop_map(|(p, u)| Step::Unlist(p, u)),
        3 => (p.clone(), refusals).prop_map(|(p, refusals)| Step::Reload(p, refusals)),
        1 => p.clone().prop_map(Step::Recover),
        1 => p.clone().prop_map(Step::Die),
        1 => p.prop_map(Step::Unload),
        9 => (v.clone(), l.clone(), u.clone()).prop_map(|(v, l, u)| Step::Subscribe(v, l, u)),
        3 => (v.clone(), l.clone(), u).prop_map(|(v, l, u)| Step::Unsubscribe(v, l, u)),
        1 => (v, l).prop_map(|(v, l)| Step::Leave(v, l)),
    ]
}

fn name(slot: u32) -> Arc<str> {
    format!("p{slot}").into()
}

/// How the callers of one view are served: their lists, what each URI reads as, suggestions, and what each listener was told since.
#[derive(Debug, PartialEq, Eq)]
struct Service {
    resources: Vec<String>,
    templates: Vec<String>,
    reads: Vec<Result<String, String>>,
    completion: Result<Vec<String>, String>,
    told: Vec<BTreeSet<String>>,
}

/// A host.
struct Side {
    catalog: Arc<Catalog>,
    subscriptions: Subscriptions,
    queue: Arc<EventQueue>,
    pump: JoinHandle<()>,
    providers: BTreeMap<u32, Arc<Memory>>,
    /// By view and number.
    listeners: BTreeMap<(usize, usize), Listener>,
    /// What the generations of now refuse, or have refused.
    refused: BTreeSet<(u32, usize)>,
    /// Whether the callers prove who they are.
    by_caller: bool,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl Side {
    /// One with these providers, for callers of these views.
    async fn new(slots: &[u32], views: &[usize], by_caller: bool, claimer: Option<u32>, never_loaded: Option<u32>) -> Self {
        let (catalog, queue) = (Catalog::new(Duration::from_secs(3), [0; 8]), Arc::<EventQueue>::default());
        let subscriptions = Subscriptions::new(catalog.clone());
        let pump = tokio::spawn(pump(queue.clone(), catalog.clone(), subscriptions.clone()));
        let claims = |slot| if claimer == Some(slot) { vec!["x://c".to_owned()] } else { Vec::new() };
        let position = |slot| Position { slot, name: name(slot), rules: Rules { claims: claims(slot), public: false } };
        catalog.arrange(false, slots.iter().map(|slot| position(*slot)).collect());
        let mut side = Self {
            catalog,
            subscriptions,
            queue,
            pump,
            providers: BTreeMap::new(),
            listeners: BTreeMap::new(),
            refused: BTreeSet::new(),
            by_caller,
        };
        for slot in slots.iter().filter(|slot| Some(**slot) != never_loaded) {
            let offers = if *slot == 2 { Offers { subscriptions: false, ..live() } } else { live() };
            let provider = Memory::new(*slot, &side.queue, offers);
            if *slot != 0 {
                provider.shelf.lock().templates.push(TemplateInfo::new(TEMPLATE, format!("t{slot}")));
            }
            provider.suggest(Ok(Completion { values: vec![format!("of {slot}")], ..Completion::default() }));
            side.catalog.load(provider.clone(), &provider.announcer).await.unwrap();
            side.providers.insert(*slot, provider);
        }
        for view in views {
            for number in 0..LISTENERS {
                side.listen(*view, number);
            }
        }
        side.serves(views).await;
        side
    }

    fn caller(&self, view: usize) -> Caller {
        match view {
            0 => Caller::anyone(),
            _ if !self.by_caller => Caller::anyone(),
            _ => Caller::named(format!("caller of {view}"), View::Only(Arc::new(VIEWS[view].iter().map(|slot| name(*slot)).collect()))),
        }
    }

    fn listen(&mut self, view: usize, number: usize) {
        let listener = self.subscriptions.listen(self.caller(view), true);
        self.listeners.insert((view, number), listener);
    }

    async fn take(&mut self, step: &Step, at: usize) {
        match step {
            Step::Subscribe(view, number, uri) => {
                if let Some(listener) = self.listeners.get(&(*view, *number)) {
                    listener.subscribe(vec![URIS[*uri].into()]).await.unwrap();
                }
            }
            Step::Unsubscribe(view, number, uri) => {
                if let Some(listener) = self.listeners.get(&(*view, *number)) {
                    listener.unsubscribe(URIS[*uri]);
                }
            }
            Step::Leave(view, number) => {
                if self.listeners.remove(&(*view, *number)).is_some() {
                    self.listen(*view, *number);
                }
            }
            Step::Update(slot, uri) => self.with(*slot, |provider| {
                let known = provider.shelf.lock().readings.contains_key(URIS[*uri]);
                if known {
                    provider.shelf.lock().readings.insert(URIS[*uri].into(), Ok(reading(&format!("{slot} {at}"))));
                }
                provider.announcer.updated(URIS[*uri]);
            }),
            Step::AnnounceAnything(slot, uri) => self.with(*slot, |provider| provider.announcer.updated(URIS[*uri])),
            Step::List(slot, uri) => self.with(*slot, |provider| {
                provider.put(URIS[*uri], &format!("{slot} {at}"));
                provider.announce_list();
            }),
            Step::Unlist(slot, uri) => self.with(*slot, |provider| {
                let mut shelf = provider.shelf.lock();
                shelf.readings.remove(URIS[*uri]);
                shelf.pages.iter_mut().for_each(|page| page.retain(|info: &ResourceInfo| *info.uri != *URIS[*uri]));
                drop(shelf);
                provider.announce_list();
            }),
            Step::Reload(slot, refusals) => self.reload(*slot, refusals).await,
            Step::Recover(slot) => {
                self.with(*slot, |provider| provider.shelf.lock().refusals.retain(|_, error| !matches!(error, Error::Unavailable { .. })));
            }
            Step::Die(slot) => {
                self.with(*slot, |provider| {
                    let mut shelf = provider.shelf.lock();
                    (shelf.watched, shelf.calls) = Default::default();
                    drop(shelf);
                    provider.announcer.announce(Occurrence::Down);
                });
                sleep(Duration::from_millis(1)).await;
                self.with(*slot, |provider| provider.announcer.announce(Occurrence::Up));
            }
            Step::Unload(slot) => {
                if self.providers.contains_key(slot) {
                    self.catalog.unload(*slot);
                }
            }
        }
    }

    fn with(&self, slot: u32, then: impl FnOnce(&Memory)) {
        if let Some(provider) = self.providers.get(&slot) {
            then(provider);
        }
    }

    /// The same contents, in another generation.
    async fn reload(&mut self, slot: u32, refusals: &[(usize, Refusal)]) {
        let Some(before) = self.providers.get(&slot) else { return };
        let Source { generation, .. } = before.announcer.source();
        let next =
            Memory::generation(Source { slot, generation: generation + 1 }, &self.queue, crate::provider::Provider::offers(&**before));
        {
            let (mut shelf, before) = (next.shelf.lock(), before.shelf.lock());
            (shelf.pages, shelf.templates, shelf.readings) = (before.pages.clone(), before.templates.clone(), before.readings.clone());
            shelf.completion = before.completion.clone();
            for (uri, refusal) in refusals {
                let error = match refusal {
                    Refusal::NotFound => Error::NotFound,
                    Refusal::Denied => Error::Denied("no".into()),
                    Refusal::Unavailable => Error::unavailable("not now"),
                };
                shelf.refusals.insert(URIS[*uri].into(), error);
            }
        }
        self.refused.retain(|(of, _)| *of != slot);
        self.refused.extend(refusals.iter().map(|(uri, _)| (slot, *uri)));
        self.catalog.load(next.clone(), &next.announcer).await.unwrap();
        self.providers.insert(slot, next);
    }

    /// How the callers of these views are served once everything has come to rest. All of them read everything, so that whether a new owner
    /// answers as the one before did is known alike everywhere.
    async fn serves(&self, views: &[usize]) -> Vec<Service> {
        sleep(REST).await;
        let mut services = Vec::new();
        for view in views {
            let caller = self.caller(*view);
            let told = (0..LISTENERS).map(|number| self.told(*view, number)).collect();
            let list = self.catalog.resources(&caller, None).await.unwrap().list;
            let mut reads = Vec::new();
            for uri in URIS {
                let read = self.catalog.read(&caller, uri).await;
                reads.push(read.map_err(|error| error.to_string()).map(|answered| match &answered.contents[0].body {
                    Body::Text(text) => text.clone(),
                    Body::Blob(_) => unreachable!("only texts here"),
                }));
            }
            let completion = self.catalog.complete(&caller, TEMPLATE, "name", "", &[]).await;
            services.push(Service {
                resources: list.resources.iter().map(|info| info.uri.to_string()).collect(),
                templates: list.templates.iter().map(|info| info.name.clone()).collect(),
                reads,
                completion: completion.map(|completion| completion.values).map_err(|error| error.to_string()),
                told,
            });
        }
        services
    }

    /// Whether all calls about a URI that was never refused take turns, of what each provider was asked since its instance came (law 2).
    fn asks_in_turn(&self) -> bool {
        let in_turn = |provider: &Memory, uri: &str| {
            let calls = provider.calls();
            let verbs = calls.iter().filter_map(|call| call.split_once(' ')).filter(|(_, of)| *of == uri).map(|(verb, _)| verb);
            let turns = verbs.filter(|verb| verb.ends_with("subscribe"));
            turns.zip(["subscribe", "unsubscribe"].into_iter().cycle()).all(|(turn, due)| turn == due)
        };
        self.providers.iter().all(|(slot, provider)| {
            let accepted = (0..URIS.len()).filter(|uri| !self.refused.contains(&(*slot, *uri)));
            accepted.into_iter().all(|uri| in_turn(provider, URIS[uri]))
        })
    }

    /// What this listener was told since the last time.
    fn told(&self, view: usize, number: usize) -> BTreeSet<String> {
        let listener = &self.listeners[&(view, number)];
        let next = || listener.next().now_or_never().map(|(_, notice)| notice);
        std::iter::from_fn(next)
            .map(|notice| match notice {
                Notice::Updated(uri) => uri.to_string(),
                Notice::ListChanged => "the lists".into(),
            })
            .collect()
    }
}

async fn play(steps: Vec<Step>, claimer: Option<u32>, never_loaded: Option<u32>) {
    let all: Vec<usize> = (0..VIEWS.len()).collect();
    let mut together = Side::new(VIEWS[0], &all, true, claimer, never_loaded).await;
    let mut alone = Vec::new();
    for (view, slots) in VIEWS.iter().enumerate() {
        alone.push(Side::new(slots, &[view], false, claimer, never_loaded).await);
    }
    for (at, step) in steps.iter().enumerate() {
        together.take(step, at).await;
        let services = together.serves(&all).await;
        assert!(together.asks_in_turn(), "after {:?}", &steps[..=at]);
        for (view, (service, side)) in services.into_iter().zip(&mut alone).enumerate() {
            side.take(step, at).await;
            let expected = side.serves(&[view]).await.pop();
            assert_eq!(Some(service), expected, "view {view} after {:?}", &steps[..=at]);
        }
    }
    // Whoever owned something for nobody but a view was told its end, and nothing else is watched.
    together.listeners.clear();
    sleep(REST).await;
    for provider in together.providers.values() {
        assert!(provider.shelf.lock().watched.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_caller_is_served_as_by_a_host_that_has_only_its_providers(
        steps in prop::collection::vec(step(), 1..24),
        claimer in prop::option::of(0..PROVIDERS),
        never_loaded in prop_oneof![4 => Just(None), 1 => (0..PROVIDERS).prop_map(Some)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(steps, claimer, never_loaded));
    }
}
