//! How providers stand: what became of their files so far, for whoever asks.

use std::{sync::Arc, time::SystemTime};

use super::{Fate, Planned};
use crate::provider::Provider;

/// What became of one provider's file so far.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Since when it is so.
    pub since: SystemTime,
    /// The content that serves, if that is known for sure.
    pub content: Option<blake3::Hash>,
    /// Tries to load it.
    pub generation: u64,
    /// How often one took the place of another.
    pub reloads: u64,
    /// What is wrong with it, if something is.
    pub reason: Option<String>,
    /// Whether its file is gone.
    pub gone: bool,
}

impl Default for Progress {
    /// Of one that was not tried yet.
    fn default() -> Self {
        Self { since: SystemTime::now(), content: None, generation: 0, reloads: 0, reason: None, gone: false }
    }
}

impl Progress {
    /// This became of it. `content` is what serves from now on.
    pub(super) fn went(&mut self, fate: &Fate, content: Option<blake3::Hash>) {
        self.content = content;
        match fate {
            Fate::Loaded(loaded) => {
                (self.since, self.generation, self.gone) = (SystemTime::now(), loaded.generation, false);
                self.reloads += u64::from(loaded.replaced);
                self.reason = loaded.lists.as_ref().err().map(|error| format!("it did not list: {error}"));
            }
            Fate::Refused { reason, serving } => {
                if !serving {
                    self.since = SystemTime::now();
                }
                self.reason = Some(reason.clone());
            }
            Fate::Restored => self.reason = None,
            Fate::Removed => (self.since, self.reason, self.gone) = (SystemTime::now(), None, true),
        }
    }
}

/// How one provider stands.
#[derive(Clone)]
pub struct Standing {
    /// Its place in the catalog.
    pub slot: u32,
    /// How it is wanted.
    pub planned: Planned,
    /// Whether it was tried once.
    pub tried: bool,
    /// What became of it.
    pub progress: Progress,
    /// The generation that serves, if one does.
    pub serving: Option<Arc<dyn Provider>>,
}
