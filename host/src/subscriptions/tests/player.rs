//! A provider as the tests of the reducer play it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::provider::{
    Announcer, EventQueue, Offers, Provider, Source,
    memory::{Memory, live},
};

/// What a provider says to subscribing and reading one URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Accepts,
    NotFound,
    /// Reads, but cannot be watched.
    Denies,
}

/// A provider as the test sees it.
pub struct Player {
    pub source: Source,
    pub announcer: Announcer,
    pub memory: Arc<Memory>,
    pub present: bool,
    pub alive: bool,
    /// What the reducer has not been told yet of its instance.
    pub fell: bool,
    pub rose: bool,
    pub lists: BTreeSet<String>,
    pub verdicts: BTreeMap<String, Verdict>,
    /// Its next `subscribe` fails for now.
    pub fails: bool,
    /// And so does the next read that looks whether it is the owner, which then counts as one (design §2).
    pub fails_to_read: bool,
    /// Raised at each change of a content.
    pub versions: BTreeMap<String, u64>,
}

impl Player {
    pub fn new(slot: u32, subscriptions: bool, queue: &Arc<EventQueue>) -> Self {
        let memory = Memory::new(slot, queue, if subscriptions { live() } else { Offers::default() });
        Self {
            source: memory.announcer.source(),
            announcer: memory.announcer.clone(),
            memory,
            present: true,
            alive: true,
            fell: false,
            rose: false,
            lists: BTreeSet::new(),
            verdicts: BTreeMap::new(),
            fails: false,
            fails_to_read: false,
            versions: BTreeMap::new(),
        }
    }
}

pub fn verdict(player: &Player, uri: &str) -> Verdict {
    let lists = player.lists.contains(uri);
    match player.verdicts.get(uri) {
        None if lists => Verdict::Accepts,
        None => Verdict::NotFound,
        // One without subscriptions is taken at its word (design §2): what it lists, it has.
        Some(Verdict::NotFound) if lists && !Provider::offers(&*player.memory).subscriptions => Verdict::Accepts,
        Some(verdict) => *verdict,
    }
}
