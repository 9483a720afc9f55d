//! Values that a provider publishes (`shared-state` in the WIT): the host keeps them, lists them, and answers reads of them by itself.
//!
//! Invariants:
//! - One generation has one of these. What one life (instance) of it has set stays until the next one has had its time to set it anew
//!   ([`SharedState::expire`]), and likewise over a reload, where the next generation inherits it.
//! - A value is in place before it is announced (law 7), and announced only if clients see a difference.
//! - A key that wharf.toml hides is as one that is not there, to clients; to the provider it is as any other.
//! - A provider has at most [`MAX_KEYS`] keys and [`MAX_BYTES`], what it inherited included.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::{Annotations, Announcer, Body, Contents, Error, Occurrence, Reading, ResourceInfo, Reuse};
use crate::{config::Expose, uri};

/// Keys of one provider. A build status for each branch of a large project.
pub const MAX_KEYS: usize = 1024;
/// Bytes of a key.
pub const MAX_KEY_BYTES: usize = 1024;
/// Bytes of all keys and values of one provider, with titles and descriptions: what one reading may have.
pub const MAX_BYTES: usize = 16 << 20;

/// What the URIs of all of them begin with; then come the provider's name and the key, each percent-encoded.
pub const PREFIX: &str = "wharf://state/";

/// What is published under one key.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedValue {
    /// Name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Media type.
    pub mime_type: String,
    /// Hints for the client.
    pub annotations: Option<Annotations>,
    /// The content.
    pub body: Body,
}

/// Why a value is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The key is empty or too long.
    #[error("a key has 1 to {MAX_KEY_BYTES} bytes")]
    Key,
    /// There are as many as there may be.
    #[error("at most {MAX_KEYS} keys: remove some first")]
    Keys,
    /// They take as much as they may.
    #[error("at most {} MiB of keys and values: remove some first", MAX_BYTES >> 20)]
    Bytes,
}

struct Kept {
    value: SharedValue,
    /// Who set it last; 0 is the generation before.
    life: u64,
}

impl Kept {
    fn weight(&self, key: &str) -> usize {
        weight(key, &self.value)
    }
}

fn weight(key: &str, value: &SharedValue) -> usize {
    let body = match &value.body {
        Body::Text(text) => text.len(),
        Body::Blob(bytes) => bytes.len(),
    };
    key.len() + body + value.mime_type.len() + [&value.title, &value.description].into_iter().flatten().map(String::len).sum::<usize>()
}

#[derive(Default)]
struct State {
    values: BTreeMap<String, Kept>,
    bytes: usize,
    /// Counts instances.
    life: u64,
    /// Counts what was inherited.
    inherited: u64,
}

/// See the module's page.
pub struct SharedState {
    /// With the provider's name, and a slash at the end.
    prefix: String,
    expose: Expose,
    announcer: Announcer,
    state: Mutex<State>,
}

impl SharedState {
    /// With nothing in it.
    pub fn new(provider: &str, expose: Expose, announcer: Announcer) -> Self {
        Self { prefix: format!("{PREFIX}{}/", uri::encode(provider)), expose, announcer, state: Mutex::default() }
    }

    /// Whether this is the URI of something that is, or could be, published here.
    pub fn owns(&self, uri: &str) -> bool {
        uri.starts_with(&self.prefix)
    }

    /// A fresh instance begins: what is set from now on is its own. Returns its number.
    pub fn begin(&self) -> u64 {
        let mut state = self.state.lock();
        state.life += 1;
        state.life
    }

    /// Publishes or replaces a value.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn set(&self, key: &str, value: SharedValue) -> Result<(), Refused> {
        if !(1..=MAX_KEY_BYTES).contains(&key.len()) {
            return Err(Refused::Key);
        }
        let mut state = self.state.lock();
        let State { values, bytes, life, .. } = &mut *state;
        let room = values.len() < MAX_KEYS;
        let before = values.get_mut(key);
        let without = *bytes - before.as_ref().map_or(0, |before| before.weight(key));
        let after = without + weight(key, &value);
        if after > MAX_BYTES {
            return Err(Refused::Bytes);
        }
        let news = match before {
            Some(before) => {
                let news = News::between(&before.value, &value);
                *before = Kept { value, life: *life };
                news
            }
            None if !room => return Err(Refused::Keys),
            None => {
                values.insert(key.to_owned(), Kept { value, life: *life });
                News { content: true, list: true }
            }
        };
        *bytes = after;
        drop(state);
        if self.expose.shows(key) {
            self.tell(if news.content { vec![self.uri(key)] } else { Vec::new() }, news.list);
        }
        Ok(())
    }

    /// Takes a value away, if there is one.
    pub fn remove(&self, key: &str) {
        let mut state = self.state.lock();
        let Some(gone) = state.values.remove(key) else { return };
        state.bytes -= gone.weight(key);
        drop(state);
        if self.expose.shows(key) {
            self.tell(vec![self.uri(key)], true);
        }
    }

    /// Lets go of all that was last set before this life.
    pub fn expire(&self, life: u64) {
        self.let_go(|kept| kept.life < life);
    }

    /// Takes over what another generation has published, but for what was set here already, in place of what was taken over before. Returns a
    /// number for [`SharedState::expire_inherited`], if there is anything. Announces nothing: to clients it is as it was.
    pub fn inherit(&self, before: &Self) -> Option<u64> {
        // One lock after the other: two generations could wait for each other.
        let values: Vec<(String, SharedValue)> =
            before.state.lock().values.iter().map(|(key, kept)| (key.clone(), kept.value.clone())).collect();
        let mut state = self.state.lock();
        let old: Vec<String> = state.values.iter().filter(|(_, kept)| kept.life == 0).map(|(key, _)| key.clone()).collect();
        for key in old {
            if let Some(gone) = state.values.remove(&key) {
                state.bytes -= gone.weight(&key);
            }
        }
        for (key, value) in values {
            let after = state.bytes + weight(&key, &value);
            // What the new one has set itself goes first.
            if state.values.len() < MAX_KEYS && after <= MAX_BYTES && !state.values.contains_key(&key) {
                state.values.insert(key, Kept { value, life: 0 });
                state.bytes = after;
            }
        }
        state.inherited += 1;
        state.values.values().any(|kept| kept.life == 0).then_some(state.inherited)
    }

    /// Lets go of what was inherited then and not set anew.
    pub fn expire_inherited(&self, inherited: u64) {
        if self.state.lock().inherited == inherited {
            self.let_go(|kept| kept.life == 0);
        }
    }

    /// Whether there is something that was last set before this life.
    pub fn has_before(&self, life: u64) -> bool {
        self.state.lock().values.values().any(|kept| kept.life < life)
    }

    fn let_go(&self, goes: impl Fn(&Kept) -> bool) {
        let mut state = self.state.lock();
        let gone: Vec<String> = state.values.iter().filter(|(_, kept)| goes(kept)).map(|(key, _)| key.clone()).collect();
        for key in &gone {
            if let Some(gone) = state.values.remove(key) {
                state.bytes -= gone.weight(key);
            }
        }
        drop(state);
        let seen: Vec<Arc<str>> = gone.iter().filter(|key| self.expose.shows(key)).map(|key| self.uri(key)).collect();
        let list = !seen.is_empty();
        self.tell(seen, list);
    }

    /// Without the lock: what is announced is in place.
    fn tell(&self, uris: Vec<Arc<str>>, list: bool) {
        if !uris.is_empty() {
            self.announcer.announce(Occurrence::Updated(uris));
        }
        if list {
            self.announcer.announce(Occurrence::ListChanged);
        }
    }

    fn uri(&self, key: &str) -> Arc<str> {
        format!("{}{}", self.prefix, uri::encode(key)).into()
    }

    /// The list's entries for what clients see, in the order of their keys.
    pub fn entries(&self) -> Vec<ResourceInfo> {
        let state = self.state.lock();
        let seen = state.values.iter().filter(|(key, _)| self.expose.shows(key));
        seen.map(|(key, Kept { value, .. })| ResourceInfo {
            title: value.title.clone(),
            description: value.description.clone(),
            mime_type: Some(value.mime_type.clone()),
            annotations: value.annotations.clone(),
            ..ResourceInfo::new(self.uri(key), key.as_str())
        })
        .collect()
    }

    /// What clients see at this URI.
    ///
    /// # Errors
    /// [`Error::NotFound`], if there is nothing, or nothing that they see.
    pub fn read(&self, uri: &str) -> Result<Reading, Error> {
        let key = uri.strip_prefix(&self.prefix).and_then(decode).filter(|key| self.expose.shows(key)).ok_or(Error::NotFound)?;
        let state = self.state.lock();
        let value = &state.values.get(&key).ok_or(Error::NotFound)?.value;
        // Another spelling of the same key is another URI.
        if *self.uri(&key) != *uri {
            return Err(Error::NotFound);
        }
        let contents = Contents { uri: None, mime_type: Some(value.mime_type.clone()), body: value.body.clone(), meta: None };
        Ok(Reading { contents: vec![contents], version: None, reuse: Some(Reuse::UntilAnnounced) })
    }
}

/// What of a value clients see as another.
struct News {
    content: bool,
    list: bool,
}

impl News {
    fn between(before: &SharedValue, after: &SharedValue) -> Self {
        let list =
            |value: &SharedValue| (value.title.clone(), value.description.clone(), value.mime_type.clone(), value.annotations.clone());
        let list = list(before) != list(after);
        Self { content: list || before.body != after.body, list }
    }
}

/// The inverse of [`uri::encode`].
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || u8::try_from(char::from(rest.next()?).to_digit(16)?).ok();
            let (high, low) = (digit()?, digit()?);
            bytes.push(high << 4 | low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
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
}
