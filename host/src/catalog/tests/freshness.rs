//! Law 7: what may be answered without asking again; and law 8, as far as it is the catalog's.

use super::*;

#[tokio::test(start_paused = true)]
async fn law_7_an_answer_is_used_again_for_its_time_and_not_once_its_uri_is_announced() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let time = Duration::from_secs(10);
    provider.shelf.lock().readings.insert("x://a".into(), kept("one", None, Some(Reuse::For(time))));
    assert_eq!(world.catalog.read(&Caller::anyone(), "x://a").await.unwrap().reuse, time);
    provider.shelf.lock().readings.insert("x://a".into(), kept("two", None, Some(Reuse::For(time))));
    advance(Duration::from_secs(4)).await;
    assert_eq!(world.catalog.read(&Caller::anyone(), "x://a").await.unwrap().reuse, Duration::from_secs(6));
    assert_eq!((world.read("x://a").await.unwrap().as_str(), reads(&provider)), ("one", 1));
    provider.announcer.updated("x://a");
    assert_eq!(world.read("x://a").await.unwrap(), "two", "though nobody has taken the announcement yet");
    advance(time).await;
    provider.shelf.lock().readings.insert("x://a".into(), kept("three", None, None));
    assert_eq!(world.read("x://a").await.unwrap(), "three");
}

#[tokio::test(start_paused = true)]
async fn law_7_an_answer_whose_call_began_before_the_announcement_is_not_used_again() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    provider.shelf.lock().readings.insert("x://a".into(), kept("old", None, Some(Reuse::For(Duration::from_secs(10)))));
    provider.shut();
    let reading = world.read("x://a");
    tokio::pin!(reading);
    assert!((&mut reading).now_or_never().is_none());
    provider.announcer.updated("x://a");
    provider.open();
    assert_eq!(reading.await.unwrap(), "old", "it was asked before");
    provider.shelf.lock().readings.insert("x://a".into(), kept("new", None, None));
    assert_eq!(world.read("x://a").await.unwrap(), "new");
}

#[tokio::test(start_paused = true)]
async fn law_7_until_announced_holds_only_while_the_provider_watches() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    provider.shelf.lock().readings.insert("x://a".into(), kept("a", None, Some(Reuse::UntilAnnounced)));
    let ledger = provider.announcer.ledger().clone();
    let expect = async |calls: usize, why: &str| {
        world.read("x://a").await.unwrap();
        assert_eq!(reads(&provider), calls, "{why}");
    };
    expect(1, "").await;
    expect(2, "nobody watches").await;
    ledger.watch("x://a".into(), ledger.instance());
    expect(3, "it was read before the watch began").await;
    expect(3, "it is watched").await;
    ledger.unwatch("x://a");
    expect(4, "the watch has ended").await;
    ledger.watch("x://a".into(), ledger.instance());
    expect(5, "this is another watch").await;
    expect(5, "and it holds").await;
    provider.announcer.announce(Occurrence::Down);
    expect(6, "the instance has died").await;
}

#[tokio::test(start_paused = true)]
async fn law_7_a_version_is_handed_back_while_its_content_is_held_and_means_nothing_to_another_instance() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    provider.shelf.lock().readings.insert("x://a".into(), kept("a", Some("v1"), None));
    for _ in 0..2 {
        assert_eq!(world.read("x://a").await.unwrap(), "a");
    }
    provider.announcer.updated("x://a");
    assert_eq!(world.read("x://a").await.unwrap(), "a", "an announcement may be wrong; the provider says so");
    provider.announcer.announce(Occurrence::Down);
    world.read("x://a").await.unwrap();
    let reloaded = Memory::generation(Source { slot: 1, generation: 2 }, &world.queue, live());
    reloaded.put("x://a", "");
    reloaded.shelf.lock().readings.insert("x://a".into(), kept("b", Some("v1"), None));
    world.load(&reloaded).await;
    assert_eq!(world.read("x://a").await.unwrap(), "b");
    let asked: Vec<_> = provider.calls().into_iter().chain(reloaded.calls()).filter(|call| call.starts_with("read")).collect();
    assert_eq!(asked, ["read x://a", "read x://a unless v1", "read x://a unless v1", "read x://a", "read x://a"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_of_a_provider_that_only_answers_is_good_for_every_instance() {
    let mut world = World::new();
    world.announce(1, false);
    let provider = Memory::new(1, &world.queue, Offers::default());
    provider.put("x://a", "");
    provider.shelf.lock().readings.insert("x://a".into(), kept("a", Some("v1"), None));
    world.load(&provider).await;
    world.read("x://a").await.unwrap();
    provider.announcer.announce(Occurrence::Down);
    world.read("x://a").await.unwrap();
    assert!(provider.calls().contains(&"read x://a unless v1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn kept_answers_are_bounded_in_bytes() {
    let mut world = World::new();
    let provider = world.provider(1, &[]).await;
    let count = KEPT_BYTES / KEPT_ANSWER_BYTES + 1;
    let time = Some(Reuse::For(Duration::from_secs(60)));
    for n in 0..count {
        provider.put(&format!("x://{n}"), "");
        provider.shelf.lock().readings.insert(format!("x://{n}"), kept(&"a".repeat(KEPT_ANSWER_BYTES - 1_000), None, time));
    }
    provider.put("x://big", "");
    provider.shelf.lock().readings.insert("x://big".into(), kept(&"a".repeat(KEPT_ANSWER_BYTES + 1), None, time));
    world.load(&provider).await;
    let uris: Vec<_> = (0..count).map(|n| format!("x://{n}")).collect();
    for uri in &uris {
        world.read(uri).await.unwrap();
    }
    assert_eq!(reads(&provider), count);
    world.read(&uris[count - 1]).await.unwrap();
    assert_eq!(reads(&provider), count, "the last one is kept");
    world.read(&uris[0]).await.unwrap();
    assert_eq!(reads(&provider), count + 1, "the first one went for it");
    for _ in 0..2 {
        world.read("x://big").await.unwrap();
    }
    assert_eq!(reads(&provider), count + 3, "one that is too big is not kept");
}

#[tokio::test(start_paused = true)]
async fn law_8_a_list_is_announced_if_it_differs_or_another_was_served() {
    let mut world = World::new();
    world.provider(1, &[("x://a", "")]).await;
    assert!(world.tells());
    assert!(!world.tells());
    world.provider(2, &[("x://b", "")]).await;
    world.order.pop();
    world.arrange();
    assert!(!world.tells(), "it came and went unseen");
    world.provider(2, &[("x://b", "")]).await;
    world.uris().await;
    world.order.pop();
    world.arrange();
    assert!(world.tells(), "someone has seen it");
    assert!(!world.tells());
}
