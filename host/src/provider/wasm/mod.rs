//! Providers that are WebAssembly components.
//!
//! [`Runtime`] holds what all of them share: the engine, its clock, and the threads that run guests which do not answer at once.
//! [`Runtime::load`] makes a [`Compiled`] of a file or says what is wrong with it (how: [`Compilation`]); [`Compiled::start`] makes a
//! [`WasmProvider`] of it, which is a [`Provider`](super::Provider) like any other.
//!
//! Invariants kept here:
//! - A guest has no rights but clocks, random numbers, its settings, timers, a voice in the log, and what wharf.toml grants it.
//! - Each call has a deadline, each instance a cap on its memory, each answer a cap on its size. A call that traps or overruns costs the
//!   instance and nothing else: a fresh one follows, with growing pauses if it keeps dying.
//! - A guest that computes delays no task but its own for longer than one tick ([`engine::TICK`]).
//! - What a provider publishes is listed, read and watched without it, whatever it is doing.
//! - What leaves this module is checked: URIs, numbers, text and sizes are as `provider/types.rs` promises.

mod actor;
#[allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::expect_used)]
mod bindings;
#[cfg(unix)]
mod cache;
pub mod compile;
mod component;
mod convert;
mod drive;
pub mod engine;
mod handle;
mod health;
mod imports;
mod inbox;
mod instance;
pub mod limits;
mod log;
mod perform;
mod pool;
#[cfg(unix)]
mod precompiled;
mod queue;
mod state;
mod timers;
mod wants;
mod wasi;
mod wasi_http;

use std::{collections::BTreeMap, sync::Arc};

use super::grants::files::Guarded;
use crate::config::{Expose, Grants};

pub use compile::{CacheFolder, Compilation, Compiler, Fingerprint, Strategy};
pub use component::{Compiled, LoadError, MAX_FILE_BYTES};
pub use engine::{Runtime, RuntimeError};
pub use handle::WasmProvider;
pub use limits::Limits;
pub use perform::CALLS;

/// What the user decided about one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its name, in the log and in messages.
    pub name: Arc<str>,
    /// What its `settings` import answers: names (dotted for a setting in a table) and values.
    pub settings: BTreeMap<String, String>,
    /// What it may use.
    pub limits: Limits,
    /// What it may do besides answering.
    pub grants: Arc<Grants>,
    /// Which keys of its shared state clients see.
    pub expose: Expose,
    /// What it may not change, whatever folders it may write.
    pub guarded: Arc<Guarded>,
}

impl Spec {
    /// A provider of this name, without settings and grants, and with the default limits.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            settings: BTreeMap::new(),
            limits: Limits::default(),
            grants: Arc::default(),
            expose: Expose::default(),
            guarded: Arc::default(),
        }
    }
}
