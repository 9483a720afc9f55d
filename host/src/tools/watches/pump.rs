//! The task that fills the history of one caller.

use std::sync::Arc;

use futures_util::FutureExt;

use super::{SWEPT_EVERY, Shared, WATCHED};
use crate::subscriptions::Notice;

/// Changes taken in one turn.
const BATCH: usize = WATCHED;

/// Takes what the listener is told into the history, and lets go of what was held long enough.
pub(super) async fn pump(shared: Arc<Shared>) {
    let mut tick = tokio::time::interval(SWEPT_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            (_, notice) = shared.listener.next() => {
                // What has come together is told together.
                let mut next = Some(notice);
                let mut batch = Vec::new();
                while let Some(notice) = next {
                    if let Notice::Updated(uri) = notice {
                        batch.push(uri);
                    }
                    next = (batch.len() < BATCH).then(|| shared.listener.next().now_or_never()).flatten().map(|(_, notice)| notice);
                }
                shared.change(&batch);
            }
            _ = tick.tick() => shared.sweep(),
        }
    }
}
