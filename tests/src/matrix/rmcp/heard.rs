//! What a client was told without asking: counted, and awaited.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, Result};
use tokio::{sync::watch, time::timeout};

#[derive(Debug, Default)]
pub(super) struct Counts {
    updates: HashMap<String, u64>,
    /// How often the list was said to have changed.
    pub lists: u64,
    /// What may mean that the server is gone: the connection or a stream ended.
    pub interruptions: u64,
}

impl Counts {
    pub fn updates(&self, uri: &str) -> u64 {
        self.updates.get(uri).copied().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub(super) struct Heard(watch::Sender<Counts>);

impl Heard {
    pub fn updated(&self, uri: String) {
        self.0.send_modify(|counts| *counts.updates.entry(uri).or_default() += 1);
    }

    pub fn list_changed(&self) {
        self.0.send_modify(|counts| counts.lists += 1);
    }

    pub fn interrupted(&self) {
        self.0.send_modify(|counts| counts.interruptions += 1);
    }

    pub fn now<T>(&self, look: impl FnOnce(&Counts) -> T) -> T {
        look(&self.0.borrow())
    }

    /// Waits until this holds.
    pub async fn until(&self, what: &str, limit: Duration, holds: impl FnMut(&Counts) -> bool) -> Result<()> {
        let mut changes = self.0.subscribe();
        let waiting = changes.wait_for(holds);
        timeout(limit, waiting).await.with_context(|| format!("{what} did not arrive within {} s", limit.as_secs()))??;
        Ok(())
    }
}
