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
mod tests;
