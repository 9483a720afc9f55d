//! What happens in between: while a provider is being loaded, and while a read waits. And what a hostile provider may make the host hold.

use serde_json::{Map, Value};

use super::{super::readings::Found, *};
use crate::provider::{Answer, Completion, CompletionRequest, ReadRequest, Reading};

#[tokio::test(start_paused = true)]
async fn a_list_that_changes_while_the_provider_is_being_loaded_is_asked_for_again() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().reuse = Some(Reuse::UntilAnnounced);
    provider.put("x://a", "");
    provider.shut();
    let loading = world.load(&provider);
    tokio::pin!(loading);
    assert!((&mut loading).now_or_never().is_none());
    world.catalog.list_changed(provider.announcer.source());
    provider.open();
    loading.await;
    assert_eq!(world.uris().await, ["x://a"]);
    let mut changes = world.catalog.changes();
    provider.put("x://b", "");
    tokio::time::timeout(LOADING, changes.changed()).await.expect("it is asked again").unwrap();
    assert_eq!(world.uris().await, ["x://a", "x://b"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_announced_by_the_next_generation_before_it_is_published_is_not_missed() {
    let mut world = World::new();
    let before = world.provider(1, &[("x://a", "")]).await;
    let next = Memory::generation(Source { slot: 1, generation: 2 }, &world.queue, live());
    next.shelf.lock().reuse = Some(Reuse::UntilAnnounced);
    next.put("x://b", "");
    next.shut();
    let loading = world.load(&next);
    tokio::pin!(loading);
    assert!((&mut loading).now_or_never().is_none());
    // Both may announce while the one still serves and the other is loaded.
    world.catalog.list_changed(before.announcer.source());
    world.catalog.list_changed(next.announcer.source());
    next.open();
    loading.await;
    let lists = || next.calls().iter().filter(|call| *call == "list").count();
    assert_eq!(lists(), 1);
    advance(upkeep::PAUSE * 2).await;
    tokio::task::yield_now().await;
    assert_eq!(lists(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_generation_that_was_overtaken_while_it_was_loaded_is_not_published() {
    let mut world = World::new();
    let slow = world.announce(1, false);
    slow.put("x://old", "");
    slow.shut();
    let loading = world.load(&slow);
    tokio::pin!(loading);
    assert!((&mut loading).now_or_never().is_none());
    let newer = Memory::generation(Source { slot: 1, generation: 2 }, &world.queue, live());
    newer.put("x://new", "");
    world.load(&newer).await;
    slow.open();
    loading.await;
    assert_eq!(world.uris().await, ["x://new"]);
}

#[tokio::test(start_paused = true)]
async fn law_7_a_version_of_an_instance_that_dies_while_the_read_waits_is_not_taken_from_the_next_one() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    provider.shelf.lock().readings.insert("x://a".into(), kept("of the first", Some("1"), None));
    assert_eq!(world.read("x://a").await.unwrap(), "of the first");
    provider.shut();
    let reading = world.read("x://a");
    tokio::pin!(reading);
    assert!((&mut reading).now_or_never().is_none());
    // The next instance counts its versions from the beginning again.
    provider.announcer.announce(Occurrence::Down);
    provider.shelf.lock().readings.insert("x://a".into(), kept("of the second", Some("1"), None));
    provider.open();
    assert_eq!(reading.await.unwrap(), "of the second");
    assert_eq!(world.read("x://a").await.unwrap(), "of the second");
}

#[tokio::test(start_paused = true)]
async fn law_7_a_version_of_an_instance_that_dies_before_the_read_begins_is_not_named_to_the_next_one() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    provider.shelf.lock().readings.insert("x://a".into(), kept("of the first", Some("1"), None));
    assert_eq!(world.read("x://a").await.unwrap(), "of the first");
    let candidate = world.catalog.snapshot().candidates("x://a").pop().unwrap();
    let uri = Arc::<str>::from("x://a");
    let Found::Stale(of_the_first) = world.catalog.readings.find(candidate.source, &uri, &candidate.ledger, true) else {
        panic!("it is kept")
    };
    provider.announcer.announce(Occurrence::Down);
    provider.shelf.lock().readings.insert("x://a".into(), kept("of the second", Some("1"), None));
    let answered = world.catalog.read_anew(&candidate, &uri, Some(of_the_first), None).await.unwrap();
    assert_eq!(answered.contents[0].body, Body::Text("of the second".into()));
    assert_eq!(provider.calls().last().unwrap(), "read x://a");
    assert_eq!(world.read("x://a").await.unwrap(), "of the second", "nor is anything else kept");
}

#[tokio::test(start_paused = true)]
async fn everything_of_an_answer_counts_towards_what_is_kept() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", ""), ("x://b", "")]).await;
    let time = Some(Reuse::For(Duration::from_secs(60)));
    let mut with_meta = kept("", None, time).unwrap();
    let meta: Map<_, _> = [("a".to_owned(), Value::from("a".repeat(KEPT_ANSWER_BYTES)))].into_iter().collect();
    with_meta.contents[0].meta = Some(meta);
    let mut with_type = kept("", None, time).unwrap();
    with_type.contents[0].mime_type = Some("a".repeat(KEPT_ANSWER_BYTES));
    for (uri, large) in [("x://a", with_meta), ("x://b", with_type)] {
        provider.shelf.lock().readings.insert(uri.into(), Ok(large));
        let before = reads(&provider);
        for _ in 0..2 {
            world.read(uri).await.unwrap();
        }
        assert_eq!(reads(&provider) - before, 2, "{uri} is too large to be kept");
    }
}

/// Lists nothing, on pages whose cursors are long.
struct LongCursors;

impl Provider for LongCursors {
    fn offers(&self) -> Offers {
        Offers::default()
    }

    fn list(&self, cursor: Option<String>) -> Answer<'_, crate::provider::ResourcePage> {
        let number = cursor.map_or(0, |cursor| cursor.trim_start().parse::<u32>().unwrap() + 1);
        let next_cursor = Some(format!("{}{number}", " ".repeat(1 << 20)));
        async { Ok(crate::provider::ResourcePage { resources: Vec::new(), next_cursor, reuse: None }) }.boxed()
    }

    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn read(&self, _request: ReadRequest) -> Answer<'_, Option<Reading>> {
        async { Err(Error::NotFound) }.boxed()
    }

    fn subscribe(&self, _uri: Arc<str>, _matched: Option<Arc<crate::provider::TemplateMatch>>) -> Answer<'_, ()> {
        async { Err(Error::NotFound) }.boxed()
    }

    fn unsubscribe(&self, _uri: Arc<str>) -> Answer<'_, ()> {
        async { Ok(()) }.boxed()
    }

    fn complete(&self, _request: CompletionRequest) -> Answer<'_, Completion> {
        async { Ok(Completion::default()) }.boxed()
    }

    fn close(&self) -> futures_util::future::BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn cursors_templates_and_every_field_count_towards_the_bytes_of_a_list() {
    let mut world = World::new();
    let announcer = world.announce(1, false).announcer.clone();
    let too_long = |result| matches!(result, Err(Error::Failed(reason)) if reason.contains("bytes"));
    assert!(too_long(world.catalog.load(Arc::new(LongCursors), &announcer).await));

    let provider = world.announce(2, false);
    let mut template = TemplateInfo::new("x://{a}", "a");
    template.description = Some("a".repeat(LIST_BYTES / 2));
    provider.shelf.lock().templates = vec![template; 2];
    assert!(too_long(world.catalog.load(provider.clone(), &provider.announcer).await));

    let provider = world.announce(3, false);
    let mut resource = ResourceInfo::new("x://a", "a");
    let sizes = vec!["48x48".to_owned(); LIST_BYTES / 32];
    resource.icons = Some(vec![crate::provider::Icon { src: "https://a".into(), mime_type: None, sizes: Some(sizes), theme: None }]);
    let mut audience = ResourceInfo::new("x://b", "b");
    audience.annotations =
        Some(crate::provider::Annotations { audience: Some(vec![crate::provider::Role::User; LIST_BYTES / 4]), ..Default::default() });
    provider.shelf.lock().pages = vec![vec![resource, audience]];
    assert!(too_long(world.catalog.load(provider.clone(), &provider.announcer).await));
}
