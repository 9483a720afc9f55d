//! Random histories against the world's simple model of what clients must know in the end.

use std::sync::Arc;

use proptest::prelude::*;

use super::world::{Verdict, World};

const URIS: [&str; 4] = ["x://a", "x://b", "x://c", "x://d"];
const PROVIDERS: usize = 3;
const LISTENERS: u64 = 3;

#[derive(Debug, Clone)]
enum Step {
    Subscribe(u64, usize),
    Unsubscribe(u64, usize),
    Leave(u64),
    Change(usize, usize),
    AnnounceAnything(usize, usize),
    Complete(usize),
    FailNext(usize),
    Fire(prop::sample::Index),
    Expire(prop::sample::Index),
    Fall(usize),
    Rise(usize),
    Hear(usize),
    Prepare(usize),
    Publish,
    Reload(usize, Option<usize>),
    Reorder(usize),
    Remove(usize),
    Return(usize),
    List(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (l, u, p) = (0..LISTENERS, 0..URIS.len(), 0..PROVIDERS);
    prop_oneof![
        4 => (l.clone(), u.clone()).prop_map(|(l, u)| Step::Subscribe(l, u)),
        2 => (l.clone(), u.clone()).prop_map(|(l, u)| Step::Unsubscribe(l, u)),
        1 => l.prop_map(Step::Leave),
        4 => (p.clone(), u.clone()).prop_map(|(p, u)| Step::Change(p, u)),
        1 => (p.clone(), u.clone()).prop_map(|(p, u)| Step::AnnounceAnything(p, u)),
        8 => u.clone().prop_map(Step::Complete),
        1 => p.clone().prop_map(Step::FailNext),
        2 => any::<prop::sample::Index>().prop_map(Step::Fire),
        1 => any::<prop::sample::Index>().prop_map(Step::Expire),
        1 => p.clone().prop_map(Step::Fall),
        2 => p.clone().prop_map(Step::Rise),
        2 => p.clone().prop_map(Step::Hear),
        1 => p.clone().prop_map(Step::Prepare),
        1 => Just(Step::Publish),
        3 => (p.clone(), prop::option::of(u.clone())).prop_map(|(p, u)| Step::Reload(p, u)),
        1 => p.clone().prop_map(Step::Reorder),
        1 => p.clone().prop_map(Step::Remove),
        1 => p.clone().prop_map(Step::Return),
        1 => (p, u).prop_map(|(p, u)| Step::List(p, u)),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![4 => Just(Verdict::Accepts), 3 => Just(Verdict::NotFound), 1 => Just(Verdict::Denies)]
}

fn take(world: &mut World, step: &Step) {
    match step {
        Step::Subscribe(listener, uri) => drop(world.subscribe(*listener, URIS[*uri])),
        Step::Unsubscribe(listener, uri) => world.unsubscribe(*listener, URIS[*uri]),
        Step::Leave(listener) => world.leave(*listener),
        Step::Change(player, uri) => world.change(*player, URIS[*uri]),
        Step::AnnounceAnything(player, uri) => world.announce(world.players[*player].source, URIS[*uri]),
        Step::Complete(uri) => drop(world.complete(URIS[*uri])),
        Step::FailNext(player) => world.players[*player].fails = true,
        Step::Fire(index) if !world.timers.is_empty() => world.fire(index.index(world.timers.len())),
        Step::Expire(index) if !world.open.is_empty() => {
            let ticket = *index.get(&world.open.keys().copied().collect::<Vec<_>>());
            world.expire(ticket);
        }
        Step::Fire(_) | Step::Expire(_) => {}
        Step::Fall(player) => world.fall(*player),
        Step::Rise(player) => world.rise(*player),
        Step::Hear(player) => world.hear(*player),
        // It is there, and announces, but nobody sees it before the next catalog.
        Step::Prepare(player) => world.reload(*player),
        Step::Publish => world.publish(),
        Step::Reload(player, changed) => {
            world.reload(*player);
            if let Some(uri) = changed {
                world.change_unheard(*player, URIS[*uri]);
            }
            world.publish();
        }
        Step::Reorder(player) => {
            let at = world.order.iter().position(|of| of == player).expect("each has a place");
            let last = world.order.remove(at);
            world.order.push(last);
            world.publish();
        }
        Step::Remove(player) | Step::Return(player) => {
            world.players[*player].present = matches!(step, Step::Return(_));
            world.publish();
        }
        Step::List(player, uri) => {
            let lists = &mut world.players[*player].lists;
            if !lists.remove(URIS[*uri]) {
                lists.insert(URIS[*uri].to_owned());
            }
            world.publish();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_client_ends_up_knowing_the_truth(
        verdicts in prop::collection::vec(verdict(), PROVIDERS * URIS.len()),
        without in prop::option::of(0..PROVIDERS as u32),
        alike in any::<bool>(),
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let mut world = World::new(PROVIDERS as u32, &without.into_iter().collect::<Vec<_>>());
        world.alike = alike;
        for (at, verdict) in verdicts.into_iter().enumerate() {
            world.players[at / URIS.len()].verdicts.insert(URIS[at % URIS.len()].to_owned(), verdict);
        }
        for step in &steps {
            take(&mut world, step);
        }
        world.publish();
        world.settle();

        // Law 11 and 3: nothing that changed after an answer was missed.
        let subscribed: Vec<_> = world.subscribed.iter().flat_map(|(l, set)| set.iter().map(|uri| (*l, uri.clone()))).collect();
        for (listener, uri) in subscribed {
            if world.is_watchable(&uri) {
                prop_assert_eq!(world.view(listener, &uri), world.truth(&uri), "listener {} of {}", listener, uri);
            }
        }
        // Every subscribe was answered.
        prop_assert!(world.open.is_empty(), "not answered: {:?}", world.open);
        // Law 2: the owner watches while somebody listens, and nobody else does.
        let wanted: std::collections::BTreeSet<Arc<str>> =
            world.subscribed.values().flatten().filter(|uri| world.is_watchable(uri)).map(|uri| Arc::from(uri.as_str())).collect();
        for uri in URIS {
            let watchers: Vec<_> = world.watching.iter().filter(|(_, _, watched)| &**watched == uri).map(|(source, ..)| *source).collect();
            let owner: Vec<_> = wanted.contains(uri).then(|| world.owner(uri)).flatten().into_iter().collect();
            prop_assert_eq!(watchers, owner, "{}", uri);
        }
        // And nothing stays behind.
        for listener in 0..LISTENERS {
            world.leave(listener);
        }
        world.settle();
        prop_assert!(world.watching.is_empty());
        prop_assert_eq!(world.reducer.counts().count(), 0);
    }
}
