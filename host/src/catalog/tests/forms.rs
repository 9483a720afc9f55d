//! The forms in which kept answers go out: law 7 holds for them as for the contents, and they count.

use std::{cell::Cell, convert::Infallible};

use bytes::Bytes;

use super::*;
use crate::provider::Contents;

const HOUR: Option<Reuse> = Some(Reuse::For(Duration::from_secs(3600)));

/// Reads, and gives the form: the text and `!`. `made` counts how often it was made.
async fn form(world: &World, uri: &str, made: &Cell<usize>) -> Bytes {
    let answered = world.catalog.read(&Caller::anyone(), uri).await.unwrap();
    let encode = |contents: &[Contents]| {
        made.set(made.get() + 1);
        let Body::Text(text) = &contents[0].body else { unreachable!("only texts here") };
        Ok::<_, Infallible>(Bytes::from(format!("{text}!")))
    };
    world.catalog.encoded(&answered, encode).unwrap()
}

#[tokio::test(start_paused = true)]
async fn law_7_a_form_is_made_once_and_goes_with_its_contents() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let made = Cell::new(0);
    provider.shelf.lock().readings.insert("x://a".into(), kept("one", None, HOUR));
    let first = form(&world, "x://a", &made).await;
    assert_eq!((&first[..], form(&world, "x://a", &made).await.as_ptr()), (&b"one!"[..], first.as_ptr()));
    assert_eq!(made.get(), 1);
    provider.shelf.lock().readings.insert("x://a".into(), kept("two", None, HOUR));
    provider.announcer.updated("x://a");
    assert_eq!(form(&world, "x://a", &made).await, "two!");
    provider.announcer.announce(Occurrence::Down);
    provider.shelf.lock().readings.insert("x://a".into(), kept("three", None, HOUR));
    assert_eq!((form(&world, "x://a", &made).await, made.get()), ("three!".into(), 3));
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_calls_unchanged_keeps_its_form_and_another_version_does_not() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let made = Cell::new(0);
    provider.shelf.lock().readings.insert("x://a".into(), kept("one", Some("1"), None));
    for _ in 0..3 {
        assert_eq!(form(&world, "x://a", &made).await, "one!");
    }
    assert_eq!((reads(&provider), made.get()), (3, 1));
    provider.shelf.lock().readings.insert("x://a".into(), kept("two", Some("2"), None));
    assert_eq!((form(&world, "x://a", &made).await, made.get()), ("two!".into(), 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_given_again_has_no_form_to_keep() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "text")]).await;
    // Watched, so that the answer itself is kept: it is what its listeners know.
    provider.announcer.ledger().watch("x://a".into(), 0);
    let made = Cell::new(0);
    for _ in 0..2 {
        assert!(!world.catalog.read(&Caller::anyone(), "x://a").await.unwrap().may_come_again());
        form(&world, "x://a", &made).await;
    }
    assert_eq!(made.get(), 2);
    let (counted, there) = world.catalog.readings.counted();
    assert!(counted == there && counted < 1_000, "{counted}");
}

#[tokio::test(start_paused = true)]
async fn forms_count_towards_what_is_kept() {
    let mut world = World::new();
    let count = KEPT_BYTES / KEPT_ANSWER_BYTES;
    let uris: Vec<_> = (0..=count).map(|n| format!("x://{n}")).collect();
    // With its form each takes all that one may take.
    let text = "a".repeat(KEPT_ANSWER_BYTES / 2 - 1_000);
    let provider = world.provider(1, &uris.iter().map(|uri| (uri.as_str(), "")).collect::<Vec<_>>()).await;
    for uri in &uris {
        provider.shelf.lock().readings.insert(uri.clone(), kept(&text, None, HOUR));
    }
    let made = Cell::new(0);
    for (n, uri) in uris.iter().enumerate() {
        form(&world, uri, &made).await;
        let (counted, there) = world.catalog.readings.counted();
        assert!(counted == there && counted <= KEPT_BYTES && counted > (n + 1).min(count) * text.len() * 2 - 1_000, "{n}: {counted}");
    }
    form(&world, &uris[count], &made).await;
    assert_eq!((reads(&provider), made.get()), (count + 1, count + 1), "the last one is kept");
    form(&world, &uris[0], &made).await;
    assert_eq!((reads(&provider), made.get()), (count + 2, count + 2), "the first one went for it");
}

#[tokio::test(start_paused = true)]
async fn a_form_that_takes_an_answer_past_what_one_may_take_is_not_kept() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    let text = "a".repeat(KEPT_ANSWER_BYTES / 2);
    provider.shelf.lock().readings.insert("x://a".into(), kept(&text, None, HOUR));
    let made = Cell::new(0);
    for _ in 0..2 {
        assert_eq!(form(&world, "x://a", &made).await.len(), text.len() + 1);
    }
    assert_eq!((reads(&provider), made.get()), (1, 2), "the answer itself is kept");
    let (counted, there) = world.catalog.readings.counted();
    assert!(counted == there && counted < KEPT_ANSWER_BYTES);
}

#[tokio::test(start_paused = true)]
async fn a_form_that_comes_after_its_answer_went_counts_nowhere() {
    let mut world = World::new();
    let provider = world.provider(1, &[("x://a", "")]).await;
    provider.shelf.lock().readings.insert("x://a".into(), kept("one", None, HOUR));
    let old = world.catalog.read(&Caller::anyone(), "x://a").await.unwrap();
    provider.shelf.lock().readings.insert("x://a".into(), kept("two", None, HOUR));
    provider.announcer.updated("x://a");
    let made = Cell::new(0);
    let encode = |_: &[Contents]| Ok::<_, Infallible>(Bytes::from_static(b"of the old one"));
    world.read("x://a").await.unwrap();
    assert_eq!(world.catalog.encoded(&old, encode).unwrap(), "of the old one");
    assert_eq!(form(&world, "x://a", &made).await, "two!");
    let (counted, there) = world.catalog.readings.counted();
    assert_eq!(counted, there);
}
