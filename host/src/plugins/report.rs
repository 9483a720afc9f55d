//! What becomes of providers, as it is told to whoever shows it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{catalog::Change, provider::Error};

/// What became of one provider, when it was loaded first or at a reload.
#[derive(Debug, Clone)]
pub struct Report {
    /// Its name.
    pub name: Arc<str>,
    /// Its file.
    pub path: PathBuf,
    /// How it went.
    pub fate: Fate,
}

/// How it went.
#[derive(Debug, Clone)]
pub enum Fate {
    /// It serves.
    Loaded(Box<Loaded>),
    /// It does not load.
    Refused {
        /// Why, and what to do.
        reason: String,
        /// The last good version goes on serving.
        serving: bool,
    },
    /// After one that did not load, the file is again what is served all the time: nothing was loaded.
    Restored,
    /// Its file is gone, or the configuration names it no more: nothing of it is served.
    Removed,
}

/// A generation that serves.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Counts the tries to load it, from 1.
    pub generation: u64,
    /// Whether it took the place of another that served till then.
    pub replaced: bool,
    /// How many resources it lists.
    pub resources: usize,
    /// How many templates it has.
    pub templates: usize,
    /// Whether it can be told who is wanted.
    pub subscriptions: bool,
    /// Why its lists did not come, if they did not; it is asked again. Only for one that replaced nothing.
    pub lists: Result<(), Error>,
    /// What is listed now that was not before, and so on; for one that replaced nothing, all that it lists.
    pub change: Change,
    /// What took how long.
    pub timings: Timings,
}

/// How long each phase took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Reading the file to see whether it is another one.
    pub read: Duration,
    /// From the file to a component that fits: reading, the compile cache, the compiler.
    pub load: Duration,
    /// The compiler alone; none if the machine code was kept.
    pub compile: Option<Duration>,
    /// The first instance.
    pub start: Duration,
    /// Its lists and templates.
    pub lists: Duration,
    /// Everything together, until it serves.
    pub total: Duration,
}
