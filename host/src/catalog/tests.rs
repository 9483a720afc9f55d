//! The laws of design §2; law 7, and law 8 as far as it is the catalog's, are in `freshness`.

mod forms;
mod freshness;
mod generations;
mod races;
mod views;

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};
use tokio::time::advance;

use super::{upkeep, *};
use crate::provider::{
    Body, Error, EventQueue, Occurrence, Offers, Provider, ResourceInfo, Reuse, Source, TemplateInfo,
    memory::{Memory, live, reading},
};

mod asked_again;

const LOADING: Duration = Duration::from_secs(3);

struct World {
    catalog: Arc<Catalog>,
    queue: Arc<EventQueue>,
    order: Vec<(u32, bool)>,
    rules: HashMap<u32, Rules>,
}

impl World {
    fn new() -> Self {
        Self { catalog: Catalog::new(LOADING, [0; 8]), queue: Arc::default(), order: Vec::new(), rules: HashMap::new() }
    }

    /// A provider that is about to be loaded, last in order.
    fn announce(&mut self, slot: u32, direct: bool) -> Arc<Memory> {
        self.order.push((slot, direct));
        self.arrange();
        Memory::new(slot, &self.queue, live())
    }

    /// Whether those who see everything are to be told of the lists.
    fn tells(&self) -> bool {
        self.catalog.announce().contains(&View::Everything)
    }

    fn arrange(&self) {
        for direct in [true, false] {
            let slots = self.order.iter().filter(|(_, is)| *is == direct).map(|(slot, _)| *slot);
            let position =
                |slot| Position { slot, name: format!("p{slot}").into(), rules: self.rules.get(&slot).cloned().unwrap_or_default() };
            self.catalog.arrange(direct, slots.map(position).collect());
        }
    }

    async fn load(&self, provider: &Arc<Memory>) {
        let _ = self.catalog.load(provider.clone(), &provider.announcer).await;
    }

    async fn provider(&mut self, slot: u32, resources: &[(&str, &str)]) -> Arc<Memory> {
        let provider = self.announce(slot, false);
        for (uri, text) in resources {
            provider.put(uri, text);
        }
        self.load(&provider).await;
        provider
    }

    async fn read(&self, uri: &str) -> Result<String, ReadError> {
        self.catalog.read(&Caller::anyone(), uri).await.map(|answered| match &answered.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("only texts here"),
        })
    }

    async fn uris(&self) -> Vec<String> {
        let page = self.catalog.resources(&Caller::anyone(), None).await.unwrap();
        page.list.resources.iter().map(|resource| resource.uri.to_string()).collect()
    }
}

fn reads(provider: &Memory) -> usize {
    provider.calls().iter().filter(|call| call.starts_with("read")).count()
}

#[tokio::test(start_paused = true)]
async fn a_uri_is_compared_as_it_is() {
    let mut world = World::new();
    let uris = ["x://A", "x://a", "x://a/", "x://a/../a", "x://a/%7Bb%7D", "X://a"];
    world.provider(1, &uris.map(|uri| (uri, uri))).await;
    assert_eq!(world.uris().await, uris);
    for uri in uris {
        assert_eq!(world.read(uri).await.unwrap(), uri);
    }
    assert!(matches!(world.read("x://a/%7bb%7d").await, Err(ReadError::NotFound)));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_absolute_uri_is_refused() {
    let world = World::new();
    for uri in ["", "a", "/a", "1x://a", "x://a b", &format!("x://{}", "a".repeat(8 << 10))] {
        assert!(matches!(world.read(uri).await, Err(ReadError::InvalidUri(_))), "{uri:.20}");
    }
}

#[tokio::test(start_paused = true)]
async fn exact_before_templates_direct_before_providers_earlier_before_later() {
    let mut world = World::new();
    let mut providers = Vec::new();
    for (slot, direct) in [(1, false), (2, false), (3, true), (4, true)] {
        let provider = world.announce(slot, direct);
        provider.shelf.lock().templates.push(TemplateInfo::new("x://{name}", "t"));
        provider.put("x://a", "");
        world.load(&provider).await;
        providers.push(provider);
    }
    let snapshot = world.catalog.snapshot();
    let candidates = snapshot.candidates("x://a");
    let order: Vec<_> = candidates.iter().map(|candidate| (candidate.source.slot, candidate.matched.is_none())).collect();
    assert_eq!(order, [(3, true), (4, true), (1, true), (2, true), (3, false), (4, false), (1, false), (2, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_read_goes_down_the_candidates_while_they_answer_not_found() {
    let mut world = World::new();
    let first = world.provider(1, &[("x://a", "")]).await;
    first.shelf.lock().readings.clear();
    world.provider(2, &[("x://a", "second")]).await;
    assert_eq!(world.read("x://a").await.unwrap(), "second");
}

#[tokio::test(start_paused = true)]
async fn an_error_never_falls_through() {
    let mut world = World::new();
    let first = world.provider(1, &[("x://a", "")]).await;
    let second = world.provider(2, &[("x://a", "second")]).await;
    for error in [Error::Denied("no".into()), Error::unavailable("later"), Error::Failed("broken".into()), Error::Trapped("oh".into())] {
        first.shelf.lock().readings.insert("x://a".into(), Err(error.clone()));
        match world.read("x://a").await {
            Err(ReadError::Provider { provider, error: said }) => assert_eq!((&*provider, said), ("p1", error)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reads(&second), 0);
}

#[tokio::test(start_paused = true)]
async fn a_uri_or_template_listed_twice_appears_once_and_the_first_wins() {
    let mut world = World::new();
    for (slot, text) in [(1, "first"), (2, "second")] {
        let provider = world.announce(slot, false);
        provider.put("x://a", text);
        provider.put(&format!("x://{slot}"), "");
        let mut template = TemplateInfo::new("x://t/{name}", "t");
        template.title = Some(text.into());
        provider.shelf.lock().templates.push(template);
        world.load(&provider).await;
    }
    assert_eq!(world.uris().await, ["x://a", "x://1", "x://2"]);
    assert_eq!(world.read("x://a").await.unwrap(), "first");
    let templates = world.catalog.templates(&Caller::anyone(), None).await.unwrap().list.templates.clone();
    assert_eq!(templates.iter().map(|template| template.title.as_deref()).collect::<Vec<_>>(), [Some("first")]);
    let shadowed: Vec<_> = world.catalog.snapshot().shadowed().map(|(uri, by, who)| format!("{uri} {by} {who}")).collect();
    assert_eq!(shadowed, ["x://a p1 p2"]);
}

#[tokio::test(start_paused = true)]
async fn the_hosts_own_scheme_is_refused_to_providers() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.put("wharf://a", "");
    provider.put("WHARF:b", "");
    provider.put("x://a", "");
    provider.shelf.lock().templates.push(TemplateInfo::new("wharf://{name}", "t"));
    world.load(&provider).await;
    assert_eq!(world.uris().await, ["x://a"]);
    assert!(world.catalog.snapshot().merged.templates.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_direct_registration_may_use_the_hosts_own_scheme_and_is_asked_at_once() {
    let mut world = World::new();
    let provider = world.announce(1, true);
    provider.put("wharf://a", "a");
    world.load(&provider).await;
    provider.shelf.lock().reuse = Some(Reuse::UntilAnnounced);
    world.catalog.list_changed(provider.announcer.source());
    for uri in ["x://b", "x://c"] {
        provider.put(uri, "");
        world.catalog.list_changed(provider.announcer.source());
        assert!(world.uris().await.contains(&uri.to_owned()), "whoever lists after a registration sees it");
    }
    assert_eq!(world.read("wharf://a").await.unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_claim_keeps_all_other_providers_out_but_not_direct_registrations() {
    let mut world = World::new();
    world.rules.insert(3, Rules { claims: vec!["x://mine/".into()], public: false });
    for (slot, direct) in [(1, true), (2, false), (3, false)] {
        let provider = world.announce(slot, direct);
        provider.shelf.lock().templates.extend(["x://mine/{name}", "x://{a}/{b}"].map(|template| TemplateInfo::new(template, "t")));
        for uri in ["x://mine/a", "x://other/a"] {
            provider.put(uri, "");
        }
        world.load(&provider).await;
    }
    let snapshot = world.catalog.snapshot();
    let slots = |uri: &str| snapshot.candidates(uri).iter().map(|candidate| candidate.source.slot).collect::<Vec<_>>();
    assert_eq!(slots("x://mine/a"), [1, 3, 1, 1, 3, 3]);
    assert_eq!(slots("x://mine/unlisted"), [1, 1, 3, 3]);
    assert_eq!(slots("x://other/a"), [1, 2, 3, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_template_that_cannot_be_matched_is_left_out_and_the_others_stay() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().templates.extend(["x://{a}{b}", "x://ok/{name}"].map(|template| TemplateInfo::new(template, "t")));
    provider.shelf.lock().readings.insert("x://ok/1".into(), Ok(reading("matched")));
    world.load(&provider).await;
    assert_eq!(world.catalog.snapshot().merged.templates.len(), 1);
    assert_eq!(world.read("x://ok/1").await.unwrap(), "matched");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_to_list_keeps_its_last_good_list_and_fails_nobody() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "a")]).await;
    world.provider(2, &[("x://b", "b")]).await;
    provider.shelf.lock().list_error = Some(Error::Failed("broken".into()));
    advance(LIST_REUSE).await;
    assert_eq!(world.uris().await, ["x://a", "x://b"]);
    assert_eq!(world.read("x://a").await.unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn one_whose_first_list_fails_serves_and_is_asked_again() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.put("x://a", "a");
    provider.shelf.lock().list_error = Some(Error::unavailable("not yet"));
    assert!(world.catalog.load(provider.clone(), &provider.announcer).await.is_err());
    assert!(world.uris().await.is_empty());
    provider.shelf.lock().list_error = None;
    advance(upkeep::PAUSE).await;
    assert_eq!(world.uris().await, ["x://a"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_asked_for_again_when_its_time_has_run_out_and_someone_wants_it() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let lists = |provider: &Memory| provider.calls().iter().filter(|call| *call == "list").count();
    provider.put("x://b", "b");
    advance(LIST_REUSE - Duration::from_millis(1)).await;
    assert_eq!((world.uris().await.len(), lists(&provider)), (1, 1));
    advance(Duration::from_millis(1)).await;
    assert_eq!((world.uris().await.len(), lists(&provider)), (2, 2));

    provider.put("x://c", "c");
    advance(LIST_REUSE).await;
    assert_eq!(world.read("x://c").await.unwrap(), "c", "a lookup that finds nobody asks again too");
    assert!(world.read("x://nobody").await.is_err());
    assert_eq!(lists(&provider), 3, "and not more often than the time says");
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_asked_for_its_list_by_one_at_a_time_and_once_a_second() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().reuse = Some(Reuse::For(Duration::ZERO));
    provider.put("x://a", "");
    world.load(&provider).await;
    let lists = |provider: &Memory| provider.calls().iter().filter(|call| *call == "list").count();
    for _ in 0..10 {
        world.uris().await;
    }
    assert_eq!(lists(&provider), 1);
    advance(upkeep::PAUSE).await;
    join_all((0..10).map(|_| world.uris())).await;
    assert_eq!(lists(&provider), 2);
}

#[tokio::test(start_paused = true)]
async fn an_announced_list_is_asked_for_by_itself_and_the_last_announcement_counts() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().reuse = Some(Reuse::UntilAnnounced);
    provider.put("x://a", "");
    world.load(&provider).await;
    let mut changes = world.catalog.changes();
    for n in 0..5 {
        provider.put(&format!("x://{n}"), "");
        world.catalog.list_changed(provider.announcer.source());
    }
    changes.changed().await.unwrap();
    assert_eq!(world.catalog.snapshot().merged.resources.len(), 6);
    let lists = provider.calls().iter().filter(|call| *call == "list").count();
    assert_eq!(lists, 2, "five announcements within a second are one asking");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_takes_its_time_delays_nobody_beyond_the_loading_time() {
    let mut world = World::new();
    let slow = world.provider(1, &[("x://a", "")]).await;
    world.provider(2, &[("x://b", "")]).await;
    slow.shut();
    advance(LIST_REUSE).await;
    let start = Instant::now();
    assert_eq!(world.uris().await, ["x://a", "x://b"]);
    assert_eq!(start.elapsed(), LOADING);
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_for_all_that_load_and_a_read_for_those_that_may_go_before() {
    let mut world = World::new();
    let late = world.announce(1, false);
    late.put("x://a", "late");
    world.provider(2, &[("x://a", "early"), ("x://b", "b")]).await;
    let after = world.announce(3, false);
    after.put("x://b", "");

    let reading = world.read("x://a");
    tokio::pin!(reading);
    assert!((&mut reading).now_or_never().is_none(), "the one before it still loads");
    world.load(&late).await;
    assert_eq!(reading.await.unwrap(), "late");
    assert_eq!(world.read("x://b").now_or_never().unwrap().unwrap(), "b", "who comes after does not matter to a listed URI");

    let start = Instant::now();
    assert_eq!(world.uris().await, ["x://a", "x://b"]);
    assert_eq!(start.elapsed(), LOADING, "a list waits for all, and then goes on without");
    world.catalog.refuse(3);
    world.catalog.refuse(2);
    assert_eq!(world.read("x://b").await.unwrap(), "b", "one that serves goes on");
    assert!(world.catalog.resources(&Caller::anyone(), None).now_or_never().is_some(), "for one that was refused nobody waits");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_has_while_a_provider_loads_is_unavailable_and_not_missing() {
    let mut world = World::new();
    let late = world.announce(1, false);
    world.provider(2, &[("x://a", "a")]).await;
    let Err(ReadError::Provider { provider, error }) = world.read("x://late").await else { panic!("it may be there soon") };
    assert_eq!((&*provider, error.kind()), ("p1", "unavailable"));
    world.load(&late).await;
    assert!(matches!(world.read("x://late").await, Err(ReadError::NotFound)));
    world.announce(3, false);
    world.catalog.refuse(3);
    assert!(matches!(world.read("x://late").await, Err(ReadError::NotFound)), "one that was refused has nothing");
}

#[tokio::test(start_paused = true)]
async fn what_loads_for_long_delays_the_first_requests_and_not_each() {
    let mut world = World::new();
    world.announce(1, false);
    world.provider(2, &[("x://a", "a")]).await;
    let start = Instant::now();
    for _ in 0..3 {
        assert_eq!(world.read("x://a").await.unwrap(), "a");
        assert_eq!(world.uris().await, ["x://a"]);
    }
    assert_eq!(start.elapsed(), LOADING);
}

#[tokio::test(start_paused = true)]
async fn a_rust_provider_that_panics_has_failed_that_call_and_is_asked_again() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "a")]).await;
    for _ in 0..2 {
        provider.shelf.lock().panics = true;
        assert!(matches!(world.read("x://a").await, Err(ReadError::Provider { error: Error::Failed(_), .. })));
        advance(LIST_REUSE).await;
        assert_eq!(world.uris().await, ["x://a"]);
    }
    provider.shelf.lock().panics = false;
    provider.put("x://b", "b");
    advance(LIST_REUSE).await;
    assert_eq!(world.uris().await, ["x://a", "x://b"]);
}

#[tokio::test(start_paused = true)]
async fn too_many_templates_and_an_entry_that_is_too_big_are_refused() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.put("x://a", "");
    provider.put("x://big", "");
    provider.shelf.lock().pages[0][1].description = Some("a".repeat(ENTRY_BYTES));
    let template = |n| TemplateInfo::new(format!("x://{n}/{{name}}"), "t");
    provider.shelf.lock().templates = (0..LIST_TEMPLATES).map(template).collect();
    world.load(&provider).await;
    assert_eq!(world.uris().await, ["x://a"], "the one that is too big is left out");
    assert_eq!(world.catalog.snapshot().merged.templates.len(), LIST_TEMPLATES);
    provider.shelf.lock().templates.push(template(LIST_TEMPLATES));
    assert!(matches!(world.catalog.load(provider.clone(), &provider.announcer).await, Err(Error::Failed(_))));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_keeps_dying_keeps_what_it_owns() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    world.provider(2, &[("x://a", "second")]).await;
    provider.shelf.lock().readings.insert("x://a".into(), Err(Error::unavailable("no instance")));
    provider.announcer.announce(Occurrence::Down);
    assert!(matches!(world.read("x://a").await, Err(ReadError::Provider { .. })));
    assert_eq!(world.uris().await, ["x://a"]);
}

#[tokio::test(start_paused = true)]
async fn pages_without_end_too_many_entries_and_cursors_in_a_circle_are_refused() {
    let mut world = World::new();
    let many = |pages: usize, entries: usize| {
        (0..pages).map(|p| (0..entries).map(|e| ResourceInfo::new(format!("x://{p}/{e}"), "r")).collect()).collect::<Vec<Vec<_>>>()
    };
    for (slot, pages) in [(1, many(LIST_PAGES + 1, 1)), (2, many(11, LIST_ENTRIES / 10)), (3, heavy())] {
        let provider = world.announce(slot, false);
        provider.shelf.lock().pages = pages;
        assert!(matches!(world.catalog.load(provider.clone(), &provider.announcer).await, Err(Error::Failed(_))), "{slot}");
    }
    let provider = world.announce(4, false);
    provider.shelf.lock().pages = many(LIST_PAGES, 1);
    assert_eq!(world.catalog.load(provider.clone(), &provider.announcer).await, Ok(()));
    assert_eq!(world.catalog.snapshot().merged.resources.len(), LIST_PAGES);
}

/// Few entries, and more bytes than a list may take.
fn heavy() -> Vec<Vec<ResourceInfo>> {
    let mut resource = ResourceInfo::new("x://a", "a");
    resource.description = Some("a".repeat(1 << 20));
    vec![vec![resource; LIST_BYTES >> 20]]
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_ends_is_given_up() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shut();
    let start = Instant::now();
    assert!(matches!(world.catalog.load(provider.clone(), &provider.announcer).await, Err(Error::Failed(_))));
    assert_eq!(start.elapsed(), LIST_TIME);
}

#[tokio::test(start_paused = true)]
async fn contents_get_the_uri_that_was_asked_for_and_the_media_type_of_the_list() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.put("x://a", "a");
    provider.shelf.lock().pages[0][0].mime_type = Some("text/markdown".into());
    world.load(&provider).await;
    let answered = world.catalog.read(&Caller::anyone(), "x://a").await.unwrap();
    assert_eq!(answered.contents[0].uri.as_deref(), Some("x://a"));
    assert_eq!(answered.contents[0].mime_type.as_deref(), Some("text/markdown"));
}

fn kept(text: &str, version: Option<&str>, reuse: Option<Reuse>) -> Result<crate::provider::Reading, Error> {
    Ok(crate::provider::Reading { version: version.map(Into::into), reuse, ..reading(text) })
}
