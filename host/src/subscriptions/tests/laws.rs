//! One test and more per law that the reducer keeps: 1 to 5 and 10, and its caps. The others are in `laws_driven`; 7 is the catalog's.

use std::{sync::Arc, time::Duration};

use super::{
    super::{LimitError, SUBSCRIPTION_BYTES, SUBSCRIPTIONS_PER_LISTENER, reducer::Reducer},
    world::{Verdict, World},
};
use crate::provider::Source;

/// One provider that lists `x://a` and takes everything.
fn one() -> World {
    let mut world = World::new(1, &[]);
    world.players[0].lists.insert("x://a".into());
    world.publish();
    world.seen();
    world
}

#[test]
fn law_1_subscriptions_are_a_set() {
    let mut world = one();
    world.subscribe(7, "x://a");
    world.complete("x://a");
    world.subscribe(7, "x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "answer 2"]);
    world.change(0, "x://a");
    assert_eq!(world.seen(), ["tell 7 x://a"]);
    world.unsubscribe(7, "x://a");
    assert_eq!(world.seen(), ["unsubscribe 0.1 x://a"]);
    world.unsubscribe(7, "x://a");
    world.unsubscribe(7, "x://never");
    assert_eq!(world.seen(), [""; 0]);
}

#[test]
fn law_2_a_provider_hears_of_the_first_listener_and_of_the_last() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.subscribe(2, "x://a");
    world.unsubscribe(1, "x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "answer 2"]);
    world.leave(2);
    assert_eq!(world.seen(), ["unsubscribe 0.1 x://a"]);
}

#[test]
fn law_2_calls_for_one_uri_go_one_after_the_other_in_order() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.unsubscribe(1, "x://a");
    world.subscribe(1, "x://a");
    world.unsubscribe(1, "x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "answer 2"], "it is under way; who has left is not kept waiting");
    world.complete("x://a");
    world.subscribe(2, "x://a");
    assert_eq!(world.seen(), ["unsubscribe 0.1 x://a"]);
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a"]);
}

#[test]
fn law_2_a_subscribe_that_failed_is_no_subscription() {
    let mut world = one();
    world.players[0].verdicts.insert("x://a".into(), Verdict::Denies);
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.leave(1);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1"], "so there is nothing to unsubscribe");
}

#[test]
fn law_2_what_is_unavailable_is_tried_again_with_growing_pauses() {
    let mut world = one();
    world.subscribe(1, "x://a");
    let mut pauses = Vec::new();
    for _ in 0..12 {
        world.players[0].fails = true;
        world.complete("x://a");
        pauses.push(world.last_pause);
        world.fire(0);
    }
    assert_eq!(pauses[..3], [100, 200, 400].map(Duration::from_millis));
    assert_eq!(pauses[11], Duration::from_secs(30));
    assert_eq!(world.seen().len(), 13, "a subscribe each time, and no answer yet");
    world.complete("x://a");
    assert_eq!(world.seen(), ["answer 1"]);
}

#[test]
fn law_2_a_dead_instance_is_subscribed_again_and_told_once() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.fall(0);
    world.hear(0);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1"]);
    world.rise(0);
    world.hear(0);
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "tell 1 x://a"]);
}

#[test]
fn law_3_a_uri_without_an_owner_is_pending_and_bound_with_one_updated() {
    let mut world = one();
    world.subscribe(1, "x://b");
    world.complete("x://b");
    assert_eq!(world.seen(), ["subscribe 0.1 x://b", "answer 1"], "its template matches, and it says not-found");
    world.players[0].lists.insert("x://b".into());
    world.publish();
    world.complete("x://b");
    assert_eq!(world.seen(), ["subscribe 0.1 x://b", "tell 1 x://b"]);
}

#[test]
fn law_3_a_uri_no_template_matches_is_accepted_too() {
    let mut world = World::new(0, &[]);
    world.subscribe(1, "y://b");
    assert_eq!(world.seen(), ["answer 1"]);
    assert_eq!(world.reducer.counts().count(), 1);
}

#[test]
fn law_3_a_resource_that_goes_away_is_unsubscribed_told_and_pending_again() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.players[0].present = false;
    world.publish();
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "answer 1", "tell 1 x://a", "unsubscribe 0.1 x://a"]);
    world.complete("x://a");
    world.players[0].present = true;
    world.publish();
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "tell 1 x://a"]);
}

#[test]
fn law_4_only_the_owner_or_who_goes_before_it_is_heard() {
    let mut world = World::new(3, &[]);
    let uri = "x://a";
    world.players[1].verdicts.insert(uri.into(), Verdict::Accepts);
    world.subscribe(1, uri);
    world.complete(uri);
    world.complete(uri);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "subscribe 1.1 x://a", "answer 1"]);

    world.announce(world.players[2].source, uri);
    world.announce(Source { slot: 9, generation: 1 }, "y://foreign");
    assert_eq!((world.seen(), world.reducer.dropped), (vec![], 1), "who comes after the owner is dropped and counted");

    world.announce(world.players[1].source, uri);
    assert_eq!(world.seen(), ["tell 1 x://a"]);

    world.players[0].verdicts.insert(uri.into(), Verdict::Accepts);
    world.announce(world.players[0].source, uri);
    world.complete(uri);
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "tell 1 x://a", "unsubscribe 1.1 x://a"], "who comes before it takes it");
}

#[test]
fn law_4_a_pending_uri_hears_any_candidate() {
    let mut world = World::new(2, &[]);
    let uri = "x://a";
    world.subscribe(1, uri);
    while world.complete(uri) {}
    world.seen();
    world.players[1].verdicts.insert(uri.into(), Verdict::Accepts);
    world.announce(world.players[1].source, uri);
    while world.complete(uri) {}
    assert_eq!(world.seen(), ["tell 1 x://a", "subscribe 0.1 x://a", "subscribe 1.1 x://a", "tell 1 x://a"]);
}

#[test]
fn law_4_an_earlier_generation_is_not_heard() {
    let mut world = one();
    let old = world.players[0].source;
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.reload(0);
    world.publish();
    while world.complete("x://a") {}
    world.seen();
    world.announce(old, "x://a");
    assert_eq!((world.seen(), world.reducer.dropped), (vec![], 1));
}

#[test]
fn law_4_a_candidate_that_announces_what_it_does_not_take_does_not_keep_the_host_asking() {
    let mut world = World::new(1, &[]);
    let uri = "x://a";
    world.subscribe(1, uri);
    world.complete(uri);
    for _ in 0..100 {
        world.announce(world.players[0].source, uri);
        world.complete(uri);
    }
    let asked = world.seen().iter().filter(|line| line.starts_with("subscribe")).count();
    assert_eq!((asked, world.timers.len()), (2, 1), "the rest waits for a pause");
}

#[test]
fn law_5_the_new_owner_watches_before_the_old_one_is_let_go() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.seen();
    world.reload(0);
    world.publish();
    assert_eq!(world.seen(), ["subscribe 0.2 x://a"]);
    world.complete("x://a");
    assert_eq!(world.seen(), ["tell 1 x://a", "unsubscribe 0.1 x://a"]);
}

/// One provider, watched and read, whose next generation is published.
fn reloaded(prepare: impl FnOnce(&mut World)) -> World {
    let mut world = one();
    world.alike = true;
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.seen();
    world.reload(0);
    prepare(&mut world);
    world.publish();
    world
}

#[test]
fn law_5_listeners_are_not_told_if_the_new_owner_answers_as_the_one_before_did() {
    let mut world = reloaded(|_| ());
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.2 x://a", "unsubscribe 0.1 x://a"]);
    world.complete("x://a");
    world.change(0, "x://a");
    assert_eq!(world.seen(), ["tell 1 x://a"], "what changes later is told");
}

#[test]
fn law_5_they_are_told_if_it_answers_something_else_or_announced_it_meanwhile() {
    let mut world = reloaded(|world| world.change_unheard(0, "x://a"));
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.2 x://a", "tell 1 x://a", "unsubscribe 0.1 x://a"]);

    let mut world = reloaded(|_| ());
    world.announce(world.players[0].source, "x://a");
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.2 x://a", "tell 1 x://a", "unsubscribe 0.1 x://a"]);
}

#[test]
fn law_5_they_are_told_if_there_may_have_been_another_owner_in_between() {
    let mut world = reloaded(|_| ());
    world.reload(0);
    world.publish();
    world.complete("x://a");
    world.complete("x://a");
    let seen = world.seen();
    assert!(seen.contains(&"tell 1 x://a".to_owned()), "{seen:?}");
}

#[test]
fn law_5_what_is_owed_is_told_also_if_nothing_changed() {
    let mut world = one();
    world.alike = true;
    world.players[0].fails = true;
    let ticket = world.subscribe(1, "x://a");
    world.expire(ticket);
    world.complete("x://a");
    world.reload(0);
    world.publish();
    world.seen();
    world.complete("x://a");
    assert_eq!(world.seen(), ["tell 1 x://a"], "nobody watched since it was answered");
}

#[test]
fn law_5_what_a_generation_announces_before_it_is_published_is_held_until_then() {
    let mut world = one();
    world.subscribe(1, "x://a");
    world.complete("x://a");
    world.reload(0);
    world.seen();
    world.announce(world.players[0].source, "x://a");
    assert_eq!(world.seen(), [""; 0]);
    world.publish();
    world.complete("x://a");
    assert_eq!(world.seen(), ["subscribe 0.2 x://a", "tell 1 x://a", "unsubscribe 0.1 x://a"]);
    world.reload(0);
    world.announce(world.players[0].source, "x://b");
    world.complete("x://a");
    world.subscribe(2, "x://b");
    world.complete("x://b");
    world.seen();
    world.players[0].lists.insert("x://b".into());
    world.publish();
    world.complete("x://b");
    assert!(world.seen().contains(&"tell 2 x://b".to_owned()), "held for a URI that is pending");
}

#[test]
fn law_10_what_cannot_be_watched_is_subscribed_all_the_same() {
    let mut world = World::new(2, &[1]);
    world.players[0].verdicts.insert("x://a".into(), Verdict::Denies);
    world.players[1].verdicts.insert("x://b".into(), Verdict::Accepts);
    world.subscribe(1, "x://a");
    world.subscribe(1, "x://b");
    for uri in ["x://a", "x://b", "x://b"] {
        world.complete(uri);
    }
    assert_eq!(world.seen(), ["subscribe 0.1 x://a", "subscribe 0.1 x://b", "answer 1", "probe 1.1 x://b", "answer 2"]);
    world.announce(world.players[0].source, "x://a");
    world.announce(world.players[1].source, "x://b");
    assert_eq!(world.seen(), ["tell 1 x://a", "tell 1 x://b"], "what they announce by themselves is heard");
    world.reload(0);
    world.publish();
    while world.complete("x://a") | world.complete("x://b") {}
    assert!(world.seen().contains(&"tell 1 x://a".to_owned()), "and so is a reload");
}

#[test]
fn a_listener_has_at_most_ten_thousand_subscriptions() {
    let mut reducer = Reducer::new(Arc::default());
    reducer.join(1);
    let uris: Vec<Arc<str>> = (0..=SUBSCRIPTIONS_PER_LISTENER).map(|n| format!("x://{n}").into()).collect();
    assert!(matches!(reducer.subscribe(1, &uris), Err(LimitError { cap: SUBSCRIPTIONS_PER_LISTENER, .. })));
    assert_eq!(reducer.counts().count(), 0, "all or nothing");
    assert!(reducer.subscribe(1, &uris[1..]).is_ok());
    assert!(reducer.subscribe(1, &uris[1..]).is_ok(), "these it has already");
    assert!(reducer.subscribe(1, &uris[..1]).is_err());
    reducer.unsubscribe(1, "x://5");
    assert!(reducer.subscribe(1, &uris[..1]).is_ok());
}

#[test]
fn all_subscriptions_of_a_host_are_bounded_in_bytes() {
    let mut reducer = Reducer::new(Arc::default());
    let uri = |listener: u64, n: usize| -> Arc<str> { format!("x://{listener}/{n}/{}", "a".repeat(8_000)).into() };
    let mut refused = None;
    for listener in 0..3 {
        reducer.join(listener);
        let uris: Vec<_> = (0..4_000).map(|n| uri(listener, n)).collect();
        refused = refused.or(reducer.subscribe(listener, &uris).err());
    }
    assert!(matches!(refused, Some(LimitError { cap: SUBSCRIPTION_BYTES, .. })));
    reducer.leave(0);
    reducer.leave(1);
    let uris: Vec<_> = (0..4_000).map(|n| uri(2, n)).collect();
    assert!(reducer.subscribe(2, &uris).is_ok(), "who leaves makes room");
    reducer.join(0);
    assert!(reducer.subscribe(0, &uris).is_ok());
    assert!(reducer.subscribe(0, &[uri(0, 0)]).is_ok());
    assert!(reducer.subscribe(0, &(1..4_000).map(|n| uri(0, n)).collect::<Vec<_>>()).is_err());
    uris.iter().for_each(|uri| reducer.unsubscribe(0, uri));
    assert!(reducer.subscribe(0, &(1..4_000).map(|n| uri(0, n)).collect::<Vec<_>>()).is_ok(), "and so does who unsubscribes");
}
