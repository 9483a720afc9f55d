//! What a caller may not see does not exist for it.

use super::*;
use crate::provider::Completion;

fn of(names: &[&str]) -> Caller {
    Caller::named("c", View::Only(Arc::new(names.iter().map(|name| Arc::from(*name)).collect())))
}

impl World {
    async fn uris_for(&self, caller: &Caller) -> Vec<String> {
        let list = self.catalog.resources(caller, None).await.unwrap().list;
        list.resources.iter().map(|info| info.uri.to_string()).collect()
    }

    async fn read_for(&self, caller: &Caller, uri: &str) -> Result<String, ReadError> {
        self.catalog.read(caller, uri).await.map(|answered| match &answered.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("only texts here"),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_an_unseen_provider_shadows_or_claims_is_there() {
    let mut world = World::new();
    world.rules.insert(1, Rules { claims: vec!["x://claimed".into()], public: false });
    world.provider(1, &[("x://a", "first"), ("x://claimed", "first")]).await;
    world.provider(2, &[("x://a", "second"), ("x://claimed", "second"), ("x://b", "second")]).await;
    let (first, second, nobody) = (of(&["p1"]), of(&["p2"]), of(&["p3"]));
    assert_eq!(world.uris_for(&first).await, ["x://a", "x://claimed"]);
    assert_eq!(world.uris_for(&second).await, ["x://a", "x://claimed", "x://b"]);
    assert!(world.uris_for(&nobody).await.is_empty());
    for uri in ["x://a", "x://claimed"] {
        assert_eq!(world.read(uri).await.unwrap(), "first");
        assert_eq!(world.read_for(&second, uri).await.unwrap(), "second");
        assert!(matches!(world.read_for(&nobody, uri).await, Err(ReadError::NotFound)));
    }
    assert!(matches!(world.read_for(&first, "x://b").await, Err(ReadError::NotFound)));
    let snapshot = world.catalog.seen_in(second.view());
    assert_eq!(snapshot.listers("x://a").map(|name| &**name).collect::<Vec<_>>(), ["p2"], "nor is it said who else has it");
}

#[tokio::test(start_paused = true)]
async fn a_template_is_completed_by_the_first_in_the_view_that_has_it() {
    let mut world = World::new();
    for slot in [1, 2] {
        let provider = world.announce(slot, false);
        provider.template(TemplateInfo::new("x://{a}", "t"));
        provider.suggest(Ok(Completion { values: vec![slot.to_string()], ..Completion::default() }));
        world.load(&provider).await;
    }
    let suggested = async |caller: &Caller| world.catalog.complete(caller, "x://{a}", "a", "", &[]).await.map(|found| found.values);
    assert_eq!(suggested(&Caller::anyone()).await.unwrap(), ["1"]);
    assert_eq!(suggested(&of(&["p2"])).await.unwrap(), ["2"]);
    assert!(matches!(suggested(&of(&["p3"])).await, Err(CompleteError::UnknownTemplate)));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_of_another_view_is_refused_and_one_of_an_equal_view_is_not() {
    let mut world = World::new();
    for slot in [1, 2] {
        let provider = world.announce(slot, false);
        (0..=PAGE_ENTRIES).for_each(|n| provider.put(&format!("x://{slot}/{n}"), ""));
        world.load(&provider).await;
    }
    let callers = [Caller::anyone(), of(&["p1"]), of(&["p2"]), of(&["p1", "p2"])];
    for own in &callers {
        let cursor = world.catalog.resources(own, None).await.unwrap().next.unwrap();
        for other in &callers {
            let page = world.catalog.resources(other, Some(&cursor)).await.map(drop);
            assert_eq!(page, if other == own { Ok(()) } else { Err(CursorError) }, "{own:?} {other:?}");
        }
        let alike = Caller::named("another", own.view().clone());
        assert!(world.catalog.resources(&alike, Some(&cursor)).await.is_ok());
        let (list, _) = world.catalog.all_resources(own, None).await.unwrap();
        let step = world.catalog.resources_cursor(&list, 1);
        assert!(world.catalog.all_resources(own, Some(&step)).await.is_ok());
        assert_eq!(world.catalog.all_resources(&of(&[]), Some(&step)).await.err(), Some(CursorError));
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_provider_that_it_does_not_see_nor_hears_its_name() {
    let mut world = World::new();
    world.announce(1, false);
    world.provider(2, &[("x://a", "second")]).await;
    let (caller, both) = (of(&["p2"]), of(&["p1", "p2"]));
    assert_eq!(world.read_for(&caller, "x://a").now_or_never().expect("it waits").unwrap(), "second");
    assert_eq!(world.uris_for(&caller).now_or_never().expect("it waits"), ["x://a"]);
    world.catalog.loaded_for(caller.view(), &["x://a".into()]).now_or_never().expect("it waits");
    assert!(matches!(world.read_for(&caller, "x://none").await, Err(ReadError::NotFound)));
    let error = world.read_for(&both, "x://none").await.unwrap_err().to_string();
    assert_eq!(error, "p1: it is still being loaded, and may have this");
}

#[tokio::test(start_paused = true)]
async fn a_caller_has_only_those_asked_again_whom_it_sees() {
    let mut world = World::new();
    let (first, second) = (world.provider(1, &[]).await, world.provider(2, &[]).await);
    let lists = |provider: &Memory| provider.calls().iter().filter(|call| *call == "list").count();
    advance(LIST_REUSE).await;
    first.shut();
    world.uris_for(&of(&["p2"])).await;
    assert_eq!((lists(&first), lists(&second)), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn law_8_a_view_is_told_only_of_its_own_list() {
    let mut world = World::new();
    let (caller, other) = (of(&["p1"]), of(&["p2"]));
    let _listening = [world.catalog.listen(caller.view()), world.catalog.listen(other.view())];
    world.catalog.announce();
    world.provider(1, &[("x://a", "")]).await;
    assert_eq!(world.catalog.announce(), [caller.view().clone(), View::Everything]);
    assert_eq!(world.catalog.announce(), []);
    let (list, _) = world.catalog.all_resources(&caller, None).await.unwrap();
    world.provider(2, &[("x://a", ""), ("x://b", "")]).await;
    assert_eq!(world.catalog.announce(), [other.view().clone(), View::Everything]);
    let (again, _) = world.catalog.all_resources(&caller, None).await.unwrap();
    assert!(Arc::ptr_eq(&list, &again), "so what is kept of it is good");
    // One that came and went is taken back from those who saw it, and from no others.
    world.provider(1, &[("x://c", "")]).await;
    let provider = Memory::generation(Source { slot: 1, generation: 2 }, &world.queue, live());
    world.load(&provider).await;
    world.uris_for(&caller).await;
    provider.put("x://a", "");
    let provider = Memory::generation(Source { slot: 1, generation: 3 }, &world.queue, live());
    provider.put("x://a", "");
    world.load(&provider).await;
    assert!(world.catalog.announce().contains(caller.view()));
    assert_eq!(world.catalog.announce(), []);
}

#[tokio::test(start_paused = true)]
async fn callers_of_equal_views_share_what_is_made_of_it_and_no_two_lists_have_one_number() {
    let mut world = World::new();
    world.provider(1, &[("x://a", "")]).await;
    world.provider(2, &[("x://b", "")]).await;
    let one = world.catalog.seen_in(of(&["p1"]).view());
    assert!(Arc::ptr_eq(&one, &world.catalog.seen_in(of(&["p1"]).view())));
    assert!(Arc::ptr_eq(&world.catalog.seen_in(&View::Everything), &world.catalog.snapshot()));
    let mut numbers: Vec<_> = [of(&["p1"]), of(&["p2"]), of(&["p1", "p2"]), Caller::anyone()]
        .iter()
        .map(|caller| world.catalog.seen_in(caller.view()).merged.number)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn views_that_nobody_listens_in_are_forgotten_past_a_number_and_keep_nothing_alive() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let kept = of(&["p1", "kept"]);
    let listening = world.catalog.listen(kept.view());
    for n in 0..2 * KEPT_VIEWS {
        world.uris_for(&of(&["p1", &n.to_string()])).await;
    }
    assert_eq!(world.catalog.views.count(), KEPT_VIEWS);
    let list = world.catalog.seen_in(kept.view()).merged.number;
    drop(listening);
    let next = Memory::generation(Source { slot: 1, generation: 2 }, &world.queue, live());
    next.put("x://a", "");
    world.load(&next).await;
    assert_eq!(Arc::strong_count(&provider), 1, "no view holds the generation before");
    assert_eq!(world.catalog.seen_in(kept.view()).merged.number, list, "and the list is known to be the same");
}

#[tokio::test(start_paused = true)]
async fn views_that_were_all_listened_in_at_once_are_forgotten_past_the_number_too() {
    let world = World::new();
    let listening: Vec<_> = (0..100).map(|n| world.catalog.listen(of(&[&n.to_string()]).view())).collect();
    assert_eq!(world.catalog.views.count(), 100);
    drop(listening);
    world.uris_for(&of(&["new"])).await;
    assert_eq!(world.catalog.views.count(), KEPT_VIEWS);
}
