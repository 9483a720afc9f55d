//! Who listens to what.
//!
//! A *listener* is a legacy session or one `subscriptions/listen` request; this module does not care which. One serial task, the driver,
//! owns the `reducer` with the table of listeners and bindings, feeds it and carries out its effects; each listener has an `outbox`
//! that the driver fills and the listener's stream empties.
//!
//! What a listener's caller may not see does not exist for it. So each view that somebody listens in has a reducer of its own (`sights`), over the
//! catalog of that view; below them, `sharing` sees to it that a provider is asked once to watch what several views want. The other shape, one
//! table of bindings for all views, would have had to prove every law anew.
//!
//! The laws are written down where they are kept: 1 to 5, 10 and 11 in `reducer`, 2 in `sharing` too, 6 in `outbox`, 7 in [`crate::provider::Ledger`] and [`crate::catalog`], 8 in `driver` and [`crate::catalog`], 9 in `driver`.

mod binding;
mod driver;
mod outbox;
mod reducer;
mod sharing;
mod sights;
#[cfg(test)]
mod tests;
mod traffic;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use tokio::sync::{mpsc, oneshot};

pub use reducer::{SUBSCRIPTION_BYTES, SUBSCRIPTIONS_PER_LISTENER};
pub use traffic::{Subscribed, Traffic};

use self::{driver::Command, outbox::Outbox, reducer::ListenerId};
use crate::{
    catalog::{Caller, Catalog},
    provider::ProviderEvent,
    uri,
};

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
    /// Of what, for people: `for one listener`.
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

/// The handle to the driver. Cheap to clone.
#[derive(Clone)]
pub struct Subscriptions {
    commands: mpsc::UnboundedSender<Command>,
    catalog: Arc<Catalog>,
    ids: Arc<AtomicU64>,
    traffic: Arc<Traffic>,
}

impl Subscriptions {
    /// Starts the driver, which runs until [`Subscriptions::close`]. Needs a tokio runtime.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let traffic = Arc::<Traffic>::default();
        tokio::spawn(driver::run(catalog.clone(), inbox, traffic.clone()));
        Self { commands, catalog, ids: Arc::default(), traffic }
    }

    /// A new listener, with no subscriptions yet, that is told of what its caller may see; `list_changed` says whether it is told of the lists too. Dropping it ends them all.
    pub fn listen(&self, caller: Caller, list_changed: bool) -> Listener {
        let id = self.ids.fetch_add(1, Relaxed);
        let outbox = Arc::new(Outbox::default());
        self.send(Command::Join { id, view: caller.view().clone(), outbox: outbox.clone(), list_changed });
        Listener { id, caller, outbox, subscriptions: self.clone() }
    }

    /// What a provider announced, or what became of its instance. Sent at once; resolves when it has been dealt with. Whoever passes events
    /// on waits for that before the next: till then they are joined in the queue they come from, which is bounded, as this way is not.
    pub fn event(&self, event: ProviderEvent) -> impl Future<Output = ()> + Send + use<> {
        let (reply, done) = oneshot::channel();
        self.send(Command::Event(event, reply));
        async { drop(done.await) }
    }

    /// How many listeners each URI has, sorted by URI, whatever their views.
    pub async fn counts(&self) -> Vec<(Arc<str>, usize)> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Counts(reply));
        answer.await.unwrap_or_default()
    }

    /// Each subscribed URI, sorted, with who owns it: once for each owner that it has in some view.
    pub async fn table(&self) -> Vec<Subscribed> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Table(reply));
        answer.await.unwrap_or_default()
    }

    /// How much there was to tell so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Ends all subscriptions and tells the providers; returns when they have been told, or after 2 s (law 9). No listener works any more.
    pub async fn close(&self) {
        let (reply, done) = oneshot::channel();
        self.send(Command::Close(reply));
        let _ = done.await;
    }

    /// Nobody hears it once the driver has ended, and then there is nobody left to be served.
    fn send(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

/// One listener: a legacy session, or one `subscriptions/listen` request.
pub struct Listener {
    id: ListenerId,
    caller: Caller,
    outbox: Arc<Outbox>,
    subscriptions: Subscriptions,
}

impl Listener {
    /// Whose it is.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Adds to what it is told of. Returns when the providers watch, or have said why not, or after one second (law 11); before that it
    /// waits for providers that still load and may own one of the URIs, at most the catalog's loading time. All or nothing: an error
    /// adds none. Once it has been called, dropping the future does not take the subscriptions back.
    ///
    /// # Errors
    /// [`SubscribeError::InvalidUri`] for the first URI that is none; [`SubscribeError::Limit`] past [`SUBSCRIPTIONS_PER_LISTENER`] or
    /// [`SUBSCRIPTION_BYTES`].
    pub async fn subscribe(&self, uris: Vec<Arc<str>>) -> Result<(), SubscribeError> {
        for uri in &uris {
            uri::check(uri).map_err(SubscribeError::InvalidUri)?;
        }
        let uris: Arc<[Arc<str>]> = uris.into();
        let (reply, entered) = oneshot::channel();
        self.subscriptions.send(Command::Subscribe { id: self.id, uris: uris.clone(), reply });
        entered.await.unwrap_or(Ok(()))?;
        self.subscriptions.catalog.loaded_for(self.caller.view(), &uris).await;
        let (reply, settled) = oneshot::channel();
        self.subscriptions.send(Command::Proceed { id: self.id, uris, reply });
        let _ = settled.await;
        Ok(())
    }

    /// Takes one away. Fine if there is none (law 1).
    pub fn unsubscribe(&self, uri: &str) {
        self.subscriptions.send(Command::Unsubscribe { id: self.id, uri: uri.into() });
    }

    /// The next notice to be sent, with its number: 1 for the first that this listener was ever given, then one more each. What waits is
    /// a set (law 6). To be called by one at a time. Cancel safe: a notice is taken only when this returns.
    pub async fn next(&self) -> (u64, Notice) {
        let (number, notice) = self.outbox.next().await;
        if matches!(notice, Notice::Updated(_)) {
            self.subscriptions.traffic.delivered();
        }
        (number, notice)
    }

    /// Puts back what was given by [`Listener::next`] after this number, each once, if it is still subscribed: a client says that this is
    /// the last it has seen.
    pub fn resume_after(&self, number: u64) {
        self.outbox.resume_after(number);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.subscriptions.send(Command::Leave { id: self.id });
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("id", &self.id).finish_non_exhaustive()
    }
}
