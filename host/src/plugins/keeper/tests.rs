//! Generations, with a paused clock.

mod world;

use tokio::sync::Semaphore;

use self::world::{LOADING, Shop, URI, Workshop, World, planned};
use super::{super::Loader, *};
use crate::{
    catalog::{Caller, ReadError},
    provider::{Body, Occurrence, wasm::Limits},
};

#[tokio::test(start_paused = true)]
async fn law_5_a_new_version_serves_once_it_is_whole_and_the_one_before_till_then() {
    let mut world = World::new(&[("p", "one")]).await;
    let gate = Arc::new(Semaphore::new(0));
    *world.shop.gate.lock() = Some(gate.clone());
    world.write("p", "two");
    world.rest().await;
    assert_eq!(world.read().await.unwrap(), "one", "it is still being loaded");
    gate.add_permits(1);
    world.rest().await;
    assert_eq!(world.read().await.unwrap(), "two");
    assert_eq!(world.fates(), ["loaded p", "replaced p"]);
    assert_eq!(world.calls("one").last().map(String::as_str), Some("retire"), "no timer and no event reaches it any more");
}

#[tokio::test(start_paused = true)]
async fn the_same_content_and_the_same_settings_load_nothing() {
    let mut world = World::new(&[("p", "one")]).await;
    world.write("p", "one");
    world.rest().await;
    assert_eq!(world.made(), ["one"]);
    assert_eq!(world.fates(), ["loaded p"]);
}

#[tokio::test(start_paused = true)]
async fn a_bad_version_changes_nothing_and_is_tried_again_only_once_its_content_changes() {
    let mut world = World::new(&[("p", "one")]).await;
    world.write("p", "bad");
    world.rest().await;
    world.write("p", "bad");
    world.rest().await;
    assert_eq!(world.read().await.unwrap(), "one");
    let refused = "refused p (true): it is not a valid component, or still being written: bad";
    assert_eq!(world.fates(), ["loaded p", refused], "said once");
    world.write("p", "one");
    world.rest().await;
    assert_eq!(world.fates(), ["restored p"]);
    assert_eq!(world.made(), ["one"], "what serves need not be loaded again");
    world.write("p", "bad");
    world.rest().await;
    world.write("p", "two");
    world.rest().await;
    assert_eq!(world.fates(), [refused, "replaced p"]);
    assert_eq!(world.read().await.unwrap(), "two");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_cannot_list_for_now_is_tried_again_with_growing_pauses() {
    let mut world = World::new(&[("p", "one")]).await;
    world.write("p", "unlisted");
    world.rest().await;
    assert_eq!(world.read().await.unwrap(), "one");
    assert_eq!(world.fates(), ["loaded p", "refused p (true): it did not list: unlisted"]);
    let began = Instant::now();
    for (tries, pause) in [(3, 1), (4, 2), (5, 4)] {
        tokio::time::sleep(Duration::from_secs(pause)).await;
        world.rest().await;
        assert_eq!(world.made().len(), tries, "after {:?}", began.elapsed());
    }
    assert_eq!(world.fates(), [""; 0], "the same reason is said once");
    world.write("p", "two");
    world.rest().await;
    assert_eq!(world.read().await.unwrap(), "two", "a new file is not kept waiting");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_changed_while_it_was_loaded_is_looked_at_again() {
    let mut world = World::new(&[("p", "one")]).await;
    let shop = world.shop.clone();
    // Two becomes three unseen, after it was read and before it was loaded; and then two again.
    *world.shop.meanwhile.lock() = Some(Box::new(move || *shop.touched.lock() += 1));
    world.write("p", "two");
    world.rest().await;
    world.write("p", "two");
    world.rest().await;
    assert_eq!(world.made(), ["one", "two", "two"], "what was loaded the first time is not known for sure");
}

#[tokio::test(start_paused = true)]
async fn at_the_start_too_a_file_that_changed_while_it_was_loaded_is_loaded_again() {
    let shop = Arc::<Shop>::default();
    shop.files.lock().insert("p", "one".into());
    let catalog = Catalog::new(LOADING, [0; 8]);
    let loader = Loader::with(Workshop(shop.clone()), catalog.clone(), shop.queue.clone(), |_| ());
    *shop.meanwhile.lock() = Some(Box::new({
        let shop = shop.clone();
        move || {
            shop.files.lock().insert("p", "two".into());
            *shop.touched.lock() += 1;
        }
    }));
    loader.follow(&[planned("p")], |_| Resting { there: true, revision: 0 });
    loader.tried().await;
    loader.follow(&[planned("p")], |_| Resting { there: true, revision: 1 });
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(shop.made.lock().iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn however_often_a_file_changes_one_version_is_loaded_at_a_time_and_the_last_is_not_missed() {
    let mut world = World::new(&[("p", "0")]).await;
    let gate = Arc::new(Semaphore::new(0));
    *world.shop.gate.lock() = Some(gate.clone());
    for n in 1..=1000 {
        world.write("p", &n.to_string());
        if n == 1 {
            world.rest().await;
        }
    }
    gate.add_permits(1000);
    world.rest().await;
    assert_eq!(world.made(), ["0", "1", "1000"]);
    assert_eq!(world.read().await.unwrap(), "1000");
}

#[tokio::test(start_paused = true)]
async fn another_place_or_claim_loads_nothing_and_other_settings_or_limits_do() {
    let mut world = World::new(&[("p", "one"), ("q", "two")]).await;
    assert_eq!(world.read().await.unwrap(), "one");
    world.plan.reverse();
    world.plan[0].rules.public = true;
    world.followed();
    world.rest().await;
    assert_eq!((world.read().await.unwrap().as_str(), world.made().len()), ("two", 2), "the first in order has it now");
    world.fates();
    world.plan[0].spec.settings.insert("a".into(), "b".into());
    world.followed();
    world.rest().await;
    world.plan[0].spec.limits = Limits { memory: 1 << 20, ..Limits::default() };
    world.followed();
    world.rest().await;
    assert_eq!(world.fates(), ["replaced q", "replaced q"]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_taken_away_owns_nothing_and_ends() {
    let mut world = World::new(&[("p", "one"), ("q", "two")]).await;
    world.plan.remove(0);
    world.followed();
    assert_eq!(world.read().await.unwrap(), "two");
    world.rest().await;
    assert!(world.calls("one").contains(&"retire".to_owned()));
    // One that the configuration names keeps its place.
    world.remove("q");
    world.rest().await;
    assert!(matches!(world.read().await, Err(ReadError::NotFound)));
    world.write("q", "two");
    world.rest().await;
    assert_eq!(world.read().await.unwrap(), "two");
    assert_eq!(world.fates()[2..], ["removed p", "removed q", "loaded q"]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_named_before_its_file_is_there_serves_once_it_is() {
    let mut world = World::new(&[("q", "two")]).await;
    world.fates();
    world.plan.insert(0, planned("p"));
    world.rests.insert("p".into(), Resting { there: false, revision: 0 });
    world.follow().await;
    assert_eq!(world.fates(), ["refused p (false): no such file"]);
    world.write("p", "one");
    world.rest().await;
    assert_eq!((world.read().await.unwrap().as_str(), world.fates()), ("one", vec!["loaded p".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_provider_that_is_loaded_while_the_host_serves() {
    let mut world = World::new(&[("p", "one")]).await;
    *world.shop.gate.lock() = Some(Arc::new(Semaphore::new(0)));
    world.shop.files.lock().insert("a", "first".into());
    world.plan.insert(0, planned("a"));
    world.followed();
    let began = Instant::now();
    assert_eq!(world.read().await.unwrap(), "one");
    assert!(world.catalog.read(&Caller::anyone(), "x://none").await.is_err());
    assert_eq!(world.catalog.resources(&Caller::anyone(), None).await.unwrap().list.resources.len(), 1);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_read_at_the_version_before_is_answered_by_the_new_one_and_the_old_one_then_ends() {
    let mut world = World::new(&[("p", "one")]).await;
    let old = world.shop.made.lock().remove(0).1;
    old.hold(true);
    let reading = tokio::spawn({
        let catalog = world.catalog.clone();
        async move { catalog.read(&Caller::anyone(), URI).await }
    });
    old.reads_under_way(1).await;
    world.write("p", "two");
    world.rest().await;
    let left = Arc::downgrade(&old);
    old.hold(false);
    drop(old);
    let answered = reading.await.unwrap().unwrap();
    assert_eq!(answered.contents[0].body, Body::Text("two".into()));
    world.rest().await;
    assert!(left.upgrade().is_none(), "nobody has it any more");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_does_not_end_by_itself_is_ended_when_its_time_is_up() {
    let mut world = World::new(&[("p", "one")]).await;
    world.write("p", "two");
    world.rest().await;
    let limit = 2 * Limits::default().deadline + DRAIN_SLACK;
    tokio::time::sleep(limit - Duration::from_millis(1)).await;
    // The shop has it still.
    assert!(!world.calls("one").contains(&"close".to_owned()));
    tokio::time::sleep(Duration::from_millis(2)).await;
    world.rest().await;
    assert!(world.calls("one").contains(&"close".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_changes_in_the_lists_is_told_once() {
    let mut world = World::new(&[("p", "one")]).await;
    world.reports.lock().clear();
    world.write("p", "two");
    world.rest().await;
    let report = world.reports.lock().remove(0);
    let Fate::Loaded(loaded) = report.fate else { panic!("{report:?}") };
    assert!(loaded.change.is_empty() && loaded.replaced);
    assert_eq!((loaded.generation, loaded.resources), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn an_announcement_of_a_version_that_is_not_published_is_no_lost_list() {
    let mut world = World::new(&[("p", "one")]).await;
    world.write("p", "two");
    world.rest().await;
    let new = world.shop.made.lock().pop().unwrap().1;
    new.put("x://more", "");
    new.announcer.announce(Occurrence::ListChanged);
    world.catalog.list_changed(new.announcer.source());
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.rest().await;
    assert_eq!(world.catalog.snapshot().candidates("x://more").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_provider() {
    let world = World::new(&[("p", "one"), ("q", "two")]).await;
    world.loader.close().await;
    assert!(["one", "two"].iter().all(|text| world.calls(text).contains(&"close".to_owned())));
    world.followed();
    world.rest().await;
    assert_eq!(world.made().len(), 2, "nothing is loaded any more");
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_provider_by_name_waits_for_its_first_version_and_for_no_longer_than_it_may() {
    let shop = Arc::<Shop>::default();
    shop.files.lock().extend([("p", "one".into()), ("q", "bad".into())]);
    let gate = Arc::new(Semaphore::new(0));
    *shop.gate.lock() = Some(gate.clone());
    let loader = Loader::with(Workshop(shop.clone()), Catalog::new(LOADING, [0; 8]), shop.queue.clone(), |_| ());
    loader.follow(&[planned("p"), planned("q")], |_| Resting { there: true, revision: 0 });
    let began = Instant::now();
    assert!(loader.serving_within("p", LOADING).await.is_err(), "it is not loaded yet");
    assert_eq!(began.elapsed(), LOADING);
    let (found, refused, ()) = tokio::join!(loader.serving_within("p", LOADING), loader.serving_within("q", LOADING), async {
        gate.add_permits(2);
    });
    assert!(found.unwrap().is_some() && refused.unwrap().is_none());
    assert!(loader.serving_within("nobody", LOADING).await.unwrap().is_none());
    assert_eq!(began.elapsed(), LOADING, "nobody waited for what is known");
}
