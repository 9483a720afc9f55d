//! Law 5 as far as it is the catalog's: generations are published whole, reads are answered by who serves, new owners are compared.

use super::*;
use crate::provider::Source;

const URI: &str = "x://a";

impl World {
    fn generation(&self, slot: u32, generation: u64, text: &str) -> Arc<Memory> {
        let provider = Memory::generation(Source { slot, generation }, &self.queue, live());
        provider.put(URI, text);
        provider
    }

    /// Whether the provider that is published now answers as this one did last.
    async fn answers_as(&self, before: &Memory) -> bool {
        let candidate = self.catalog.snapshot().candidates(URI).remove(0);
        self.catalog.answers_as_before(before.announcer.source(), &candidate, &URI.into()).await
    }
}

/// A provider whose URI is watched, and was read.
async fn watched(world: &mut World, text: &str) -> Arc<Memory> {
    let provider = world.provider(1, &[(URI, text)]).await;
    provider.announcer.ledger().watch(URI.into(), 0);
    world.read(URI).await.unwrap();
    provider
}

#[tokio::test(start_paused = true)]
async fn law_5_a_generation_is_seen_once_it_is_published_and_not_before() {
    let mut world = World::new();
    world.provider(1, &[(URI, "one")]).await;
    let new = world.generation(1, 2, "two");
    new.put("x://b", "");
    let prepared = world.catalog.prepare(new.clone(), &new.announcer).await.unwrap();
    assert_eq!((world.read(URI).await.unwrap().as_str(), world.uris().await.len()), ("one", 1));
    let change = world.catalog.publish_generation(prepared).unwrap();
    assert_eq!(change, Change { added: vec!["x://b".into()], ..Change::default() });
    assert_eq!((world.read(URI).await.unwrap().as_str(), world.uris().await.len()), ("two", 2));
}

#[tokio::test(start_paused = true)]
async fn a_generation_that_was_overtaken_or_whose_place_is_gone_is_not_published() {
    let mut world = World::new();
    world.provider(1, &[(URI, "one")]).await;
    let (second, third) = (world.generation(1, 2, "two"), world.generation(1, 3, "three"));
    let late = world.catalog.prepare(second.clone(), &second.announcer).await.unwrap();
    world.load(&third).await;
    assert_eq!(world.catalog.publish_generation(late), None);
    assert_eq!(world.read(URI).await.unwrap(), "three");
    let fourth = world.generation(1, 4, "four");
    let prepared = world.catalog.prepare(fourth.clone(), &fourth.announcer).await.unwrap();
    world.order.clear();
    world.arrange();
    assert_eq!(world.catalog.publish_generation(prepared), None);
    assert!(world.read(URI).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_changes_between_the_asking_and_the_publishing_is_asked_for_again() {
    let mut world = World::new();
    world.provider(1, &[(URI, "one")]).await;
    let new = world.generation(1, 2, "two");
    let prepared = world.catalog.prepare(new.clone(), &new.announcer).await.unwrap();
    new.put("x://b", "");
    world.catalog.list_changed(new.announcer.source());
    world.catalog.publish_generation(prepared);
    tokio::time::sleep(upkeep::PAUSE + Duration::from_millis(1)).await;
    assert_eq!(world.uris().await, [URI, "x://b"]);
}

#[tokio::test(start_paused = true)]
async fn a_read_under_way_at_a_generation_that_is_replaced_is_answered_by_the_new_one() {
    for fails in [false, true] {
        let mut world = World::new();
        let old = world.provider(1, &[(URI, "one")]).await;
        if fails {
            old.shelf.lock().readings.insert(URI.into(), Err(Error::unavailable("it ends")));
        }
        old.hold(true);
        let new = world.generation(1, 2, "two");
        let catalog = world.catalog.clone();
        let reading = tokio::spawn(async move { catalog.read(&Caller::anyone(), URI).await });
        old.reads_under_way(1).await;
        world.load(&new).await;
        old.hold(false);
        assert_eq!(reading.await.unwrap().unwrap().contents[0].body, Body::Text("two".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_at_a_provider_that_is_taken_away_is_not_its_error_but_not_found() {
    let mut world = World::new();
    let old = world.provider(1, &[(URI, "one")]).await;
    old.hold(true);
    old.shelf.lock().readings.insert(URI.into(), Err(Error::unavailable("it ends")));
    let catalog = world.catalog.clone();
    let reading = tokio::spawn(async move { catalog.read(&Caller::anyone(), URI).await });
    old.reads_under_way(1).await;
    world.catalog.unload(1);
    old.hold(false);
    assert!(matches!(reading.await.unwrap(), Err(ReadError::NotFound)));
}

#[tokio::test(start_paused = true)]
async fn law_5_a_new_owner_is_compared_with_the_last_answer_that_was_served() {
    let mut world = World::new();
    let old = watched(&mut world, "one").await;
    let same = world.generation(1, 2, "one");
    world.load(&same).await;
    assert!(world.answers_as(&old).await);
    let other = world.generation(1, 3, "two");
    world.load(&other).await;
    assert!(!world.answers_as(&same).await, "the second is compared with what it stood for, though nobody read there");
    let again = world.generation(1, 4, "one");
    world.load(&again).await;
    assert!(!world.answers_as(&other).await, "nobody was served by that one, so nobody knows what listeners know");
}

#[tokio::test(start_paused = true)]
async fn law_5_where_nothing_or_an_error_was_served_last_nothing_is_the_same() {
    let mut world = World::new();
    let old = world.provider(1, &[(URI, "one")]).await;
    world.read(URI).await.unwrap();
    world.load(&world.generation(1, 2, "one")).await;
    assert!(!world.answers_as(&old).await, "it was not watched, so others may have been served something else");

    let mut world = World::new();
    let old = watched(&mut world, "one").await;
    old.shelf.lock().readings.insert(URI.into(), Err(Error::unavailable("not now")));
    world.read(URI).await.unwrap_err();
    world.load(&world.generation(1, 2, "one")).await;
    assert!(!world.answers_as(&old).await);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_too_long_to_compare_counts_as_another() {
    let mut world = World::new();
    let old = watched(&mut world, "one").await;
    let new = world.generation(1, 2, "one");
    world.load(&new).await;
    new.hold(true);
    let began = Instant::now();
    assert!(!world.answers_as(&old).await);
    assert!(began.elapsed() < Duration::from_secs(1));
    new.shelf.lock().panics = true;
    new.hold(false);
    assert!(!world.answers_as(&old).await, "and one that fails, too");
}

#[tokio::test(start_paused = true)]
async fn an_answer_from_before_a_change_does_not_take_the_place_of_a_later_one() {
    let mut world = World::new();
    let old = watched(&mut world, "one").await;
    old.hold(true);
    let catalog = world.catalog.clone();
    let late = tokio::spawn(async move { catalog.read(&Caller::anyone(), URI).await });
    old.reads_under_way(1).await;
    let started_before = old.announcer.ledger().now(URI);
    old.announcer.updated(URI);
    assert!(started_before.is_before(&old.announcer.ledger().now(URI)));
    old.put(URI, "two");
    old.hold(false);
    world.read(URI).await.unwrap();
    late.await.unwrap().unwrap();
    world.load(&world.generation(1, 2, "two")).await;
    assert!(world.answers_as(&old).await);
}

#[tokio::test(start_paused = true)]
async fn law_5_what_changed_without_a_word_is_not_what_all_listeners_know() {
    for (announced, fails, same) in [(false, false, false), (true, false, true), (false, true, false)] {
        let mut world = World::new();
        let old = watched(&mut world, "one").await;
        if fails {
            // Somebody is told that it cannot be had, and the next one has it again.
            old.shelf.lock().readings.insert(URI.into(), Err(Error::unavailable("not now")));
            world.read(URI).await.unwrap_err();
        }
        old.put(URI, "two");
        if announced {
            old.announcer.updated(URI);
        }
        // Another one than those who read it before.
        assert_eq!(world.read(URI).await.unwrap(), "two");
        let new = world.generation(1, 2, "two");
        world.load(&new).await;
        assert_eq!(world.answers_as(&old).await, same, "announced: {announced}, fails: {fails}");
    }
}

#[tokio::test(start_paused = true)]
async fn law_5_where_an_answer_was_let_go_it_is_not_known_what_listeners_know() {
    let mut world = World::new();
    let old = watched(&mut world, "one").await;
    old.put(URI, &"1".repeat(readings::KEPT_ANSWER_BYTES));
    world.read(URI).await.unwrap();
    old.put(URI, "two");
    world.read(URI).await.unwrap();
    let new = world.generation(1, 2, "two");
    world.load(&new).await;
    assert!(!world.answers_as(&old).await);
}
