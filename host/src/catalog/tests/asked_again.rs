//! When lists and answers are asked for again, and who waits for that.

use super::*;
use crate::catalog::upkeep::PAUSE;

fn lists(provider: &Memory) -> usize {
    provider.calls().iter().filter(|call| *call == "list").count()
}

/// A provider with more than one page, as clients see it.
async fn long(world: &mut World, slot: u32) -> Arc<Memory> {
    let provider = world.announce(slot, false);
    provider.shelf.lock().pages = vec![(0..=PAGE_ENTRIES).map(|n| ResourceInfo::new(format!("x://{slot}/{n}"), "r")).collect()];
    world.load(&provider).await;
    provider
}

#[tokio::test(start_paused = true)]
async fn who_pages_on_waits_for_nobody() {
    let mut world = World::new();
    long(&mut world, 1).await;
    let cursor = world.catalog.resources(&Caller::anyone(), None).await.unwrap().next.unwrap();
    world.announce(2, false);
    let page = world.catalog.resources(&Caller::anyone(), Some(&cursor)).now_or_never();
    assert_eq!(page.expect("it waits for who loads").unwrap().range, PAGE_ENTRIES..PAGE_ENTRIES + 1);
}

#[tokio::test(start_paused = true)]
async fn law_8_a_list_that_was_taken_back_already_and_is_served_once_more_is_taken_back_again() {
    let mut world = World::new();
    long(&mut world, 1).await;
    let cursor = world.catalog.resources(&Caller::anyone(), None).await.unwrap().next.unwrap();
    world.provider(2, &[("x://b", "")]).await;
    assert!(world.tells());
    let mut changes = world.catalog.changes();
    changes.mark_unchanged();
    world.catalog.resources(&Caller::anyone(), Some(&cursor)).await.unwrap();
    assert!(changes.has_changed().unwrap(), "whoever announces has to be woken: nothing else will change");
    assert!(world.tells());
}

#[tokio::test(start_paused = true)]
async fn a_read_that_all_candidates_pass_on_asks_for_old_lists_and_goes_once_more() {
    let mut world = World::new();
    let matching = world.announce(1, false);
    matching.shelf.lock().templates.push(TemplateInfo::new("x://{name}", "t"));
    world.load(&matching).await;
    let late = world.provider(2, &[]).await;
    late.put("x://new", "new");
    advance(LIST_REUSE).await;
    assert_eq!(world.read("x://new").await.unwrap(), "new");
    assert_eq!((reads(&matching), reads(&late)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_read_of_what_matches_a_template_waits_for_whoever_may_list_it() {
    let mut world = World::new();
    let matching = world.announce(1, false);
    matching.template(TemplateInfo::new("x://{name}", "t"));
    world.load(&matching).await;
    let listing = world.announce(2, false);
    listing.put("x://a", "listed");
    let reading = world.read("x://a");
    tokio::pin!(reading);
    assert!((&mut reading).now_or_never().is_none());
    world.load(&listing).await;
    assert_eq!(reading.await.unwrap(), "listed");
}

#[tokio::test(start_paused = true)]
async fn a_kept_answer_that_still_holds_is_good_for_its_time_once_more() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let time = Duration::from_secs(10);
    provider.shelf.lock().readings.insert("x://a".into(), kept("a", Some("v1"), Some(Reuse::For(time))));
    for calls in [1, 2, 3] {
        for _ in 0..2 {
            world.read("x://a").await.unwrap();
            assert_eq!(reads(&provider), calls);
        }
        advance(time).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_says_the_same_changes_nothing() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let before = world.catalog.snapshot();
    advance(LIST_REUSE).await;
    world.uris().await;
    assert_eq!((lists(&provider), world.catalog.snapshot().number), (2, before.number));
    world.arrange();
    assert_eq!(world.catalog.snapshot().merged.number, before.merged.number, "what was written of it is still good");
}

#[tokio::test(start_paused = true)]
async fn an_announced_change_is_asked_for_after_the_pause_and_one_that_comes_meanwhile_once_more() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().reuse = Some(Reuse::UntilAnnounced);
    provider.put("x://a", "");
    let start = Instant::now();
    world.load(&provider).await;
    provider.shut();
    world.catalog.list_changed(provider.announcer.source());
    while lists(&provider) < 2 {
        tokio::task::yield_now().await;
        advance(Duration::from_millis(1)).await;
    }
    assert!(start.elapsed() >= PAUSE, "{:?}", start.elapsed());
    world.catalog.list_changed(provider.announcer.source());
    let mut changes = world.catalog.changes();
    provider.open();
    provider.put("x://b", "");
    changes.changed().await.unwrap();
    tokio::time::sleep(10 * PAUSE).await;
    assert_eq!(lists(&provider), 3, "for the second one, and then no more");
}

#[tokio::test(start_paused = true)]
async fn one_that_failed_to_list_is_asked_again_by_the_next_who_wants_the_list() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    provider.shelf.lock().list_error = Some(Error::Failed("broken".into()));
    advance(LIST_REUSE).await;
    world.uris().await;
    provider.shelf.lock().list_error = None;
    provider.put("x://b", "");
    advance(PAUSE).await;
    assert_eq!(world.uris().await, ["x://a", "x://b"]);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_comes_twice_is_refused() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().next_cursor = Some("0".into());
    provider.put("x://a", "");
    let loaded = world.catalog.load(provider.clone(), &provider.announcer).await;
    assert_eq!(loaded, Err(Error::Failed("its list comes back to a cursor it gave before".into())));
    assert_eq!(lists(&provider), 2);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_cursor_is_refused_on_the_way_is_begun_anew_twice_at_most() {
    for (refusals, good) in [(2, true), (3, false)] {
        let mut world = World::new();
        let provider = world.announce(1, false);
        provider.shelf.lock().pages = ["x://a", "x://b"].map(|uri| vec![ResourceInfo::new(uri, "r")]).into();
        provider.shelf.lock().refused_cursors = refusals;
        assert_eq!(world.catalog.load(provider.clone(), &provider.announcer).await.is_ok(), good);
        assert_eq!(lists(&provider), 6, "three times two pages");
        assert_eq!(world.catalog.snapshot().merged.resources.len(), if good { 2 } else { 0 });
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_pages_reuse_is_that_of_the_whole_list() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().pages = ["x://a", "x://b"].map(|uri| vec![ResourceInfo::new(uri, "r")]).into();
    provider.shelf.lock().reuse = Some(Reuse::For(LIST_REUSE * 2));
    world.load(&provider).await;
    advance(LIST_REUSE * 2 - Duration::from_millis(1)).await;
    world.uris().await;
    assert_eq!(lists(&provider), 2);
    advance(Duration::from_millis(1)).await;
    world.uris().await;
    assert_eq!(lists(&provider), 4);
}

#[tokio::test(start_paused = true)]
async fn what_one_provider_lists_twice_is_there_once_and_too_many_templates_are_refused() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().pages = vec![vec![ResourceInfo::new("x://a", "first"), ResourceInfo::new("x://a", "second")]];
    provider.shelf.lock().templates = ["first", "second"].map(|name| TemplateInfo::new("x://{a}", name)).into();
    world.load(&provider).await;
    let snapshot = world.catalog.snapshot();
    let candidates = snapshot.candidates("x://a").len();
    assert_eq!((snapshot.merged.resources.len(), &*snapshot.merged.resources[0].name, candidates), (1, "first", 2));
    assert_eq!((snapshot.merged.templates.len(), &*snapshot.merged.templates[0].name), (1, "first"));

    let provider = world.announce(2, false);
    provider.shelf.lock().templates = vec![TemplateInfo::new("x://{a}", "t"); LIST_ENTRIES + 1];
    assert!(matches!(world.catalog.load(provider.clone(), &provider.announcer).await, Err(Error::Failed(_))));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_leads_into_its_own_list_only_and_its_last_page_counts_as_use() {
    let mut world = World::new();
    let provider = world.announce(1, false);
    provider.shelf.lock().pages = vec![(0..=PAGE_ENTRIES).map(|n| ResourceInfo::new(format!("x://{n}"), "r")).collect()];
    world.load(&provider).await;
    for slot in [2, 3] {
        let provider = world.announce(slot, false);
        let template = |n| TemplateInfo::new(format!("x://{slot}/{n}/{{a}}"), "t");
        provider.shelf.lock().templates = (0..LIST_TEMPLATES).map(template).collect();
        world.load(&provider).await;
    }
    let resources = world.catalog.resources(&Caller::anyone(), None).await.unwrap().next.unwrap();
    let templates = world.catalog.templates(&Caller::anyone(), None).await.unwrap().next.unwrap();
    assert_eq!(world.catalog.templates(&Caller::anyone(), Some(&resources)).await.err(), Some(CursorError));
    assert_eq!(world.catalog.resources(&Caller::anyone(), Some(&templates)).await.err(), Some(CursorError));
    for _ in 0..3 {
        advance(CURSOR_LIFE).await;
        assert!(world.catalog.resources(&Caller::anyone(), Some(&resources)).await.is_ok());
    }
}
