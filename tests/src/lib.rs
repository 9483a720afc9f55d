//! What the end-to-end tests are made of: the real host as a process of its own, and a plain MCP client that hides nothing.
//!
//! The tests need what `cargo xtask guests`, `cargo xtask clients` and the build of the binary leave behind; what is missing is named.
//! Everything stays on the loopback interface and in temporary folders.

mod agents;
mod client;
mod collector;
mod command;
mod dialogue;
mod hook;
mod host;
mod http;
mod lab;
pub mod matrix;
mod pattern;
mod pipe;
mod running;
mod versions;

use std::{future::Future, path::PathBuf, time::Duration};

pub use agents::{ARGUMENTS, Agent, PLUGINS, URL, agents, plain_json, read_configuration};
pub use client::{Listener, Session, call, call_at, listen, refused, stall};
pub use collector::{Collector, Spans, attribute};
pub use command::{Output, wharf};
pub use dialogue::{Dialogue, Transport, dialogues};
pub use hook::{Answer, Hooks, hook, mac};
pub use host::{Dead, Host, Setup};
pub use http::{Events, Stalled};
pub use lab::{LAB_DELAY, Played, full_round, lab, play_under_lab};
pub use pattern::matches;
pub use pipe::Pipe;
pub use running::Running;
pub use versions::{version, with_section};

use anyhow::{Context, Result};

/// After so long a test fails instead of waiting on: far more than anything here takes on a slow machine.
pub const LIMIT: Duration = Duration::from_secs(90);

/// The repository's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The binary under test.
///
/// # Errors
/// It is not built; says how to.
pub fn binary() -> Result<PathBuf> {
    host::binary()
}

/// Waits for something, at most for [`LIMIT`].
///
/// # Errors
/// What the future gives, or that it took too long, with the name of what was awaited.
pub async fn within<T>(what: &str, future: impl Future<Output = Result<T>>) -> Result<T> {
    within_limit(what, LIMIT, future).await
}

/// As [`within`], with a limit of its own.
pub(crate) async fn within_limit<T>(what: &str, limit: Duration, future: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(limit, future)
        .await
        .with_context(|| format!("{what}: nothing within {} s", limit.as_secs()))?
        .context(what.to_owned())
}
