//! The search for the owner, step by step: when it begins, whom it asks, and what it makes of answers that come late.

use std::{sync::Arc, time::Duration};

use super::world::{Verdict, World};

const URI: &str = "x://a";

/// Providers that match everything by a template and say `not-found`, but for one that takes it.
fn world(count: u32, owner: usize) -> World {
    let mut world = World::new(count, &[]);
    world.players[owner].verdicts.insert(URI.into(), Verdict::Accepts);
    world
}

fn bound(world: &mut World) {
    world.subscribe(1, URI);
    while world.complete(URI) {}
    world.seen();
}

#[test]
fn law_4_what_an_unpublished_generation_announced_is_judged_once_it_is_published() {
    let mut world = world(2, 0);
    bound(&mut world);
    for _ in 0..2 {
        world.reload(1);
        let source = world.players[1].source;
        world.announce(source, URI);
        world.announce(source, URI);
    }
    world.announce(world.players[1].source, "x://b");
    assert_eq!((world.seen(), world.reducer.dropped), (vec![], 0));
    world.subscribe(2, "x://b");
    while world.complete("x://b") {}
    world.publish();
    assert_eq!(world.reducer.dropped, 1, "one of the newest generation, which comes after the owner");
    assert!(world.seen().contains(&"tell 2 x://b".to_owned()), "and one for a URI that is pending");
}

#[test]
fn law_7_a_watch_holds_from_the_subscribe_to_the_unsubscribe() {
    let mut world = world(1, 0);
    let watch = |world: &World| world.players[0].announcer.ledger().now(URI).watch;
    world.subscribe(1, URI);
    assert_eq!(watch(&world), None);
    world.complete(URI);
    assert!(watch(&world).is_some());
    world.leave(1);
    assert_eq!(watch(&world), None, "it ends before the provider is told");
}

#[test]
fn a_uri_that_is_named_twice_in_one_subscribe_is_answered_once_and_waits_once() {
    let mut world = world(1, 0);
    world.reducer.join(1);
    let uris: Vec<Arc<str>> = vec![URI.into(), URI.into()];
    world.reducer.subscribe(1, &uris).unwrap();
    world.subscribed.entry(1).or_default().insert(URI.into());
    world.open.insert(7, (1, vec![URI.into()]));
    world.reducer.proceed(1, &uris, 7);
    world.publish();
    while world.complete(URI) {}
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 7"]);
}

#[test]
fn nothing_is_asked_for_a_subscription_that_is_entered_and_not_looked_up_yet() {
    let mut world = world(1, 0);
    world.reducer.join(1);
    world.reducer.subscribe(1, &[URI.into()]).unwrap();
    world.publish();
    assert_eq!(world.seen(), [""; 0]);
}

#[test]
fn a_catalog_that_changes_elsewhere_asks_nobody_again() {
    let mut world = World::new(3, &[1]);
    world.players[0].verdicts.insert("x://a".into(), Verdict::Denies);
    world.players[1].verdicts.insert("x://b".into(), Verdict::Accepts);
    for uri in ["x://a", "x://b"] {
        world.subscribe(1, uri);
        while world.complete(uri) {}
    }
    world.seen();
    world.players[2].lists.insert("x://elsewhere".into());
    world.reload(2);
    world.publish();
    assert_eq!(world.seen(), [""; 0], "neither the one that cannot be watched nor the one that has no subscriptions");
}

#[test]
fn a_provider_without_subscriptions_is_taken_at_its_word_for_what_it_lists() {
    let mut world = World::new(1, &[0]);
    world.players[0].lists.insert(URI.into());
    world.publish();
    world.subscribe(1, URI);
    assert_eq!(world.seen(), ["answer 1"], "nobody need be asked");
}

#[test]
fn a_provider_without_subscriptions_that_cannot_be_read_now_is_asked_again_before_it_owns_anything_for_good() {
    let mut world = World::new(2, &[0]);
    world.players[1].verdicts.insert(URI.into(), Verdict::Accepts);
    world.players[0].fails_to_read = true;
    let ticket = world.subscribe(1, URI);
    world.complete(URI);
    assert_eq!((world.seen(), world.timers.len()), (vec!["probe 0.1 x://a".to_owned()], 1));
    world.expire(ticket);
    world.fire(0);
    while world.complete(URI) {}
    let seen = world.seen();
    assert!(seen.contains(&"subscribe 1.1 x://a".into()), "it has none, so the next one owns it: {seen:?}");
    assert_eq!(seen.last().map(String::as_str), Some("tell 1 x://a"));
}

#[test]
fn law_10_a_fresh_instance_is_told_of_where_it_cannot_be_watched_and_is_live() {
    let mut world = World::new(2, &[1]);
    world.players[0].verdicts.insert("x://a".into(), Verdict::Denies);
    world.players[1].verdicts.insert("x://b".into(), Verdict::Accepts);
    for uri in ["x://a", "x://b"] {
        world.subscribe(1, uri);
        while world.complete(uri) {}
    }
    world.seen();
    for player in [0, 1] {
        world.fall(player);
        world.hear(player);
    }
    assert_eq!(world.seen(), [""; 0], "there is nothing to be read yet");
    for player in [0, 1] {
        world.rise(player);
        world.hear(player);
    }
    assert_eq!(world.seen(), ["tell 1 x://a"], "the other one remembers nothing that could have been lost");
}

#[test]
fn law_2_only_the_last_pause_ends_in_another_try() {
    let mut world = world(1, 0);
    world.players[0].fails = true;
    world.subscribe(1, URI);
    world.complete(URI);
    // A search that begins while it waits asks at once, and fails again.
    world.players[0].lists.insert(URI.into());
    world.players[0].fails = true;
    world.publish();
    world.complete(URI);
    world.seen();
    assert_eq!(world.timers.len(), 2);
    world.fire(0);
    assert_eq!(world.seen(), [""; 0], "that pause is void");
    world.fire(0);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a"]);
}

#[test]
fn an_owner_that_says_not_found_after_a_pause_gives_way_to_the_next() {
    let mut world = world(2, 1);
    world.players[0].verdicts.insert(URI.into(), Verdict::Accepts);
    world.players[0].fails = true;
    world.subscribe(1, URI);
    world.complete(URI);
    world.players[0].verdicts.remove(URI);
    world.fire(0);
    while world.complete(URI) {}
    let seen = world.seen();
    assert_eq!(seen.last().map(String::as_str), Some("answer 1"), "{seen:?}");
    assert!(seen.contains(&"subscribe 1.1 x://a".into()), "{seen:?}");
}

#[test]
fn an_answer_of_an_instance_that_died_meanwhile_is_no_watch() {
    let mut world = world(1, 0);
    world.subscribe(1, URI);
    // The answer was on its way when the instance died.
    world.players[0].announcer.ledger().next_instance();
    world.reducer.subscribed(&URI.into(), Ok(()), false, 0);
    world.publish();
    assert_eq!(world.seen(), ["subscribe 0.1 x://a"], "so nobody is answered yet");
    assert_eq!(world.last_pause, Duration::from_millis(100));
}

#[test]
fn a_search_that_announcements_ask_for_in_vain_waits_a_second_at_most_and_then_takes_place() {
    let mut world = World::new(1, &[]);
    bound(&mut world);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        world.announce(world.players[0].source, URI);
        if !world.timers.is_empty() {
            pauses.push(world.last_pause);
            world.fire(0);
        }
        assert!(world.complete(URI), "it is asked");
    }
    assert_eq!((pauses[0], pauses[1]), (Duration::from_millis(100), Duration::from_millis(200)));
    assert_eq!(pauses.last(), Some(&Duration::from_secs(1)));

    world.players[0].verdicts.insert(URI.into(), Verdict::Accepts);
    world.announce(world.players[0].source, URI);
    world.fire(0);
    world.complete(URI);
    world.players[0].present = false;
    world.publish();
    while world.complete(URI) {}
    world.players[0].verdicts.remove(URI);
    world.players[0].present = true;
    world.publish();
    while world.complete(URI) {}
    world.seen();
    world.announce(world.players[0].source, URI);
    assert!(world.timers.is_empty(), "what was found since counts anew");
}

#[test]
fn an_answer_to_a_search_that_a_newer_catalog_overtook_settles_nothing() {
    let mut world = world(2, 1);
    world.subscribe(1, URI);
    world.complete(URI);
    world.players[0].lists.insert(URI.into());
    world.publish();
    world.complete(URI);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "subscribe 1.1 x://a", "subscribe 0.1 x://a"], "nobody is answered yet");
    world.complete(URI);
    assert_eq!(world.seen(), ["answer 1", "unsubscribe 1.1 x://a"]);
}

#[test]
fn law_11_who_was_answered_before_anybody_watched_is_told_once_and_not_before() {
    let mut world = world(1, 0);
    world.players[0].fails = true;
    let ticket = world.subscribe(1, URI);
    world.expire(ticket);
    world.complete(URI);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1"], "an owner was found, but it does not watch");
    world.fire(0);
    world.complete(URI);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "tell 1 x://a"]);
}

#[test]
fn law_5_who_subscribes_while_the_owner_changes_is_answered_and_not_told() {
    let mut world = world(1, 0);
    bound(&mut world);
    world.reload(0);
    world.publish();
    world.seen();
    world.players[0].fails = true;
    while world.complete(URI) {}
    world.seen();
    world.subscribe(2, URI);
    assert!(world.seen().iter().all(|line| !line.starts_with("subscribe") && !line.contains(" 2 ")), "it does not cut the pause short");
    world.fire(0);
    while world.complete(URI) {}
    let seen = world.seen();
    assert!(seen.contains(&"answer 2".into()) && !seen.contains(&"tell 2 x://a".into()), "{seen:?}");
}
