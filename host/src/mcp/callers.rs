//! The callers that have a stream open, so that it ends when the caller is no longer one.
//!
//! Invariant: what is opened by a caller that is not valid any more ends at once, however late it is opened after the caller was told off:
//! whoever opens something is entered first and looked at then.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::catalog::Caller;

/// Whether a caller may still be one.
type Valid = Arc<dyn Fn(&Caller) -> bool + Send + Sync>;

#[derive(Default)]
struct State {
    /// None: all are.
    valid: Option<Valid>,
    /// Dropping the sender ends what is open.
    open: HashMap<Caller, watch::Sender<bool>>,
}

/// See the module's page.
#[derive(Default)]
pub(super) struct Callers {
    state: Mutex<State>,
}

impl Callers {
    /// Turns true, or loses its sender, when what this caller opens now is to end.
    pub fn over(&self, caller: &Caller) -> watch::Receiver<bool> {
        let mut state = self.state.lock();
        let over = match state.open.get(caller) {
            Some(open) => open.subscribe(),
            None => {
                state.open.retain(|_, open| open.receiver_count() > 0);
                let (open, over) = watch::channel(false);
                state.open.insert(caller.clone(), open);
                over
            }
        };
        let valid = state.valid.clone();
        drop(state);
        if valid.is_none_or(|valid| valid(caller)) { over } else { watch::channel(true).1 }
    }

    /// Whether this caller is still valid.
    pub fn is_valid(&self, caller: &Caller) -> bool {
        let valid = self.state.lock().valid.clone();
        valid.is_none_or(|valid| valid(caller))
    }

    /// From now on these are valid, and no others: ends what the others have open.
    pub fn end(&self, valid: &Valid) {
        let mut state = self.state.lock();
        state.valid = Some(valid.clone());
        let all: Vec<_> = state.open.keys().cloned().collect();
        drop(state);
        // What it asks is not ours, so it is not asked under the lock.
        for caller in all.into_iter().filter(|caller| !valid(caller)) {
            self.state.lock().open.remove(&caller);
        }
    }
}

#[cfg(test)]
mod tests;
