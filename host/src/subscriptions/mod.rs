//! Who listens to what.

use std::sync::Arc;

use crate::catalog::Caller;

/// What a listener is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// This resource has changed, or may have.
    Updated(Arc<str>),
    /// The merged lists have changed.
    ListChanged,
}

/// A cap was hit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("too many subscriptions: at most {cap} {of}")]
pub struct LimitError {
    /// The number.
    pub cap: usize,
    /// Of what, for people: `for one listener`, `bytes in the whole host`.
    pub of: &'static str,
}

/// Why a subscribe was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// A cap was hit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// It is no absolute URI of at most 8 KiB; says why.
    #[error("not a valid resource URI: {0}")]
    InvalidUri(&'static str),
}

/// The handle to the serial reducer. Cheap to clone.
#[derive(Clone)]
pub struct Subscriptions {}

impl Subscriptions {
    /// A new listener, with no subscriptions yet. Dropping it ends them all.
    pub fn listen(&self, _caller: Caller, _list_changed: bool) -> Listener {
        todo!()
    }
}

/// One listener: a legacy session, or one `subscriptions/listen` request.
pub struct Listener {}

impl Listener {
    /// Adds to what it is told of. Returns when the providers watch, or have said why not, or after one second (law 11). All or nothing:
    /// an error adds none.
    pub async fn subscribe(&self, _uris: Vec<Arc<str>>) -> Result<(), SubscribeError> {
        todo!()
    }

    /// Takes one away. Fine if there is none (law 1).
    pub fn unsubscribe(&self, _uri: &str) {
        todo!()
    }

    /// The next notice to be sent, with its number: 1 for the first that this listener was ever given, then one more each. What waits is
    /// a set (law 6). To be called by one at a time. Cancel safe: a notice is taken only when this returns.
    pub async fn next(&self) -> (u64, Notice) {
        todo!()
    }

    /// Puts back what was given by [`Listener::next`] after this number, each once, if it is still subscribed: a client says that this is
    /// the last it has seen.
    pub fn resume_after(&self, _number: u64) {
        todo!()
    }
}
