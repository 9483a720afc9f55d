use proptest::prelude::*;

use super::*;
use crate::provider::{EventQueue, ProviderEvent, Source, Updated};

struct World {
    shared: SharedState,
    queue: Arc<EventQueue>,
}

fn world(expose: Expose) -> World {
    let queue = Arc::<EventQueue>::default();
    let announcer = Announcer::new(Source { slot: 1, generation: 1 }, queue.clone());
    let shared = SharedState::new("ci", expose, announcer);
    shared.begin();
    World { shared, queue }
}

fn text(text: &str) -> SharedValue {
    let body = Body::Text(text.into());
    SharedValue { title: None, description: None, mime_type: "text/plain".into(), annotations: None, body }
}

impl World {
    fn set(&self, key: &str, value: &str) {
        self.shared.set(key, text(value)).unwrap();
    }

    fn read(&self, uri: &str) -> Option<String> {
        match self.shared.read(uri) {
            Ok(reading) => match &reading.contents[0].body {
                Body::Text(text) => Some(text.clone()),
                Body::Blob(_) => panic!("a blob"),
            },
            Err(error) => {
                assert_eq!(error, Error::NotFound);
                None
            }
        }
    }

    fn listed(&self) -> Vec<String> {
        self.shared.entries().iter().map(|entry| entry.uri.to_string()).collect()
    }

    /// What was announced since the last time.
    fn told(&self) -> (Vec<String>, bool) {
        match self.queue.try_recv() {
            None => (Vec::new(), false),
            Some(ProviderEvent { updated: Updated::These(uris), list_changed, .. }) => {
                (uris.iter().map(ToString::to_string).collect(), list_changed)
            }
            Some(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_value_is_listed_read_and_announced_when_it_really_changed() {
    let world = world(Expose::All);
    let uri = "wharf://state/ci/a%2Fb%20%C3%A9";
    world.set("a/b é", "1");
    assert_eq!(world.told(), (vec![uri.into()], true));
    assert_eq!((world.listed(), world.read(uri)), (vec![uri.to_owned()], Some("1".into())));
    world.set("a/b é", "1");
    assert_eq!(world.told(), (vec![], false), "the same again");
    world.set("a/b é", "2");
    assert_eq!(world.told(), (vec![uri.into()], false));
    world.shared.set("a/b é", SharedValue { title: Some("Title".into()), ..text("2") }).unwrap();
    assert_eq!(world.told(), (vec![uri.into()], true), "what the list says has changed");
    world.shared.remove("a/b é");
    world.shared.remove("a/b é");
    assert_eq!((world.told(), world.read(uri)), ((vec![uri.into()], true), None));
}

#[test]
fn another_spelling_of_a_key_is_another_uri() {
    let world = world(Expose::All);
    world.set("a b", "1");
    for other in ["a%20b%20", "a%2", "%61%20b", "a%20%62", "a+b", "a%20b/", "", "%FF", "a%20b?x"] {
        assert_eq!(world.read(&format!("wharf://state/ci/{other}")), None, "{other}");
    }
    assert!(!world.shared.owns("wharf://state/ci2/a") && !world.shared.owns("wharf://state/ci"));
    assert_eq!(world.read("wharf://state/ci/a%20b"), Some("1".into()));
}

#[test]
fn a_key_that_is_not_exposed_is_as_one_that_is_not_there() {
    let world = world(Expose::Matching(vec!["build/*".into()]));
    world.set("token", "1");
    world.shared.remove("token");
    world.set("token", "2");
    assert_eq!((world.told(), world.listed(), world.read("wharf://state/ci/token")), ((vec![], false), vec![], None));
    world.set("build/main", "1");
    assert_eq!(world.listed(), ["wharf://state/ci/build%2Fmain"]);
    let hidden = self::world(Expose::None);
    hidden.set("a", "1");
    assert_eq!((hidden.told(), hidden.listed()), ((vec![], false), vec![]));
}

#[test]
fn keys_and_bytes_are_capped() {
    let world = world(Expose::All);
    for n in 0..MAX_KEYS {
        world.set(&n.to_string(), "");
    }
    assert_eq!(world.shared.set("one more", text("")), Err(Refused::Keys));
    world.set("0", "another value of one that is there");
    world.shared.remove("1");
    world.set("one more", "");
    assert_eq!(world.shared.set("", text("")), Err(Refused::Key));
    assert_eq!(world.shared.set(&"a".repeat(MAX_KEY_BYTES + 1), text("")), Err(Refused::Key));

    let world = self::world(Expose::All);
    let fits = MAX_BYTES - "a".len() - "text/plain".len();
    world.set(&"a".repeat(MAX_KEY_BYTES), "");
    world.shared.remove(&"a".repeat(MAX_KEY_BYTES));
    world.set("a", &"x".repeat(fits));
    assert_eq!(world.shared.set("b", text("")), Err(Refused::Bytes));
    assert_eq!(world.shared.set("a", text(&"x".repeat(fits + 1))), Err(Refused::Bytes));
    world.set("a", "");
    world.set("b", "");
}

#[test]
fn values_of_an_instance_that_ended_stay_until_the_next_had_its_time() {
    let world = world(Expose::All);
    for key in ["same", "other", "gone"] {
        world.set(key, "1");
    }
    world.told();
    let life = world.shared.begin();
    assert!(world.shared.has_before(life));
    assert_eq!(world.read("wharf://state/ci/gone"), Some("1".into()));
    world.set("same", "1");
    world.set("other", "2");
    assert_eq!(world.told(), (vec!["wharf://state/ci/other".into()], false));
    world.shared.expire(life);
    assert_eq!(world.told(), (vec!["wharf://state/ci/gone".into()], true));
    assert_eq!(world.listed(), ["wharf://state/ci/other", "wharf://state/ci/same"]);
    assert!(!world.shared.has_before(life));
    world.shared.expire(life);
    assert_eq!(world.told(), (vec![], false));
}

#[test]
fn a_generation_inherits_what_it_does_not_set_itself_and_keeps_it_for_its_time() {
    let (before, after) = (world(Expose::All), world(Expose::All));
    before.set("a", "1");
    before.set("b", "1");
    after.set("b", "2");
    after.told();
    let early = after.shared.inherit(&before.shared).unwrap();
    assert_eq!((after.listed().len(), after.read("wharf://state/ci/b")), (2, Some("2".into())));
    before.shared.remove("a");
    before.set("c", "1");
    let late = after.shared.inherit(&before.shared).unwrap();
    assert_eq!((after.read("wharf://state/ci/a"), after.read("wharf://state/ci/c")), (None, Some("1".into())));
    assert_eq!(after.told(), (vec![], false));
    after.shared.expire_inherited(early);
    assert_eq!(after.listed().len(), 2, "that was taken over anew");
    after.shared.expire_inherited(late);
    assert_eq!(after.told(), (vec!["wharf://state/ci/c".into()], true));
    assert_eq!(after.listed(), ["wharf://state/ci/b"]);
    assert_eq!(after.shared.inherit(&world(Expose::All).shared), None);
}

#[test]
fn what_is_inherited_goes_within_the_caps() {
    let (before, after) = (world(Expose::All), world(Expose::All));
    for n in 0..MAX_KEYS {
        before.set(&format!("before-{n}"), "");
        after.set(&format!("after-{n}"), "");
    }
    assert_eq!(after.shared.inherit(&before.shared), None);
    assert_eq!(after.listed().len(), MAX_KEYS);
}

proptest! {
    #[test]
    fn every_key_is_found_under_its_uri(key in "\\PC{1,20}|[a-z/%?#]{1,20}") {
        let world = world(Expose::All);
        world.set(&key, "1");
        let uri = world.listed().remove(0);
        prop_assert!(uri::check(&uri).is_ok());
        prop_assert_eq!(decode(uri.strip_prefix("wharf://state/ci/").unwrap()), Some(key));
        prop_assert_eq!(world.read(&uri), Some("1".into()));
    }
}
