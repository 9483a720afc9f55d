//! What a provider is to the rest of the host: the [`Provider`] trait, its value types, and the one channel in which
//! what providers announce comes up.
//!
//! Nothing here knows of MCP, and but for [`wasm`] nothing knows of WebAssembly: a provider may as well be a Rust value.
//! The value types are those of the WIT package `wharf:provider`, already checked: every URI is absolute and short
//! enough, every number is whole and in range.

mod error;
mod events;
pub mod fixed;
pub mod grants;
mod ledger;
// Some of it is for the tests over a socket only.
#[cfg(test)]
#[allow(dead_code)]
pub(crate) mod memory;
pub mod shared_state;
pub mod tally;
mod types;
pub mod wasm;

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use futures_util::{FutureExt, future::BoxFuture};

pub use error::Error;
pub use events::{Announcer, EventQueue, Occurrence, ProviderEvent, Updated};
use grants::webhooks::Gate;
pub use ledger::{Ledger, Moment};
use shared_state::SharedState;
pub use types::{
    Annotations, Body, Completion, CompletionRequest, Contents, Icon, IconTheme, ReadRequest, Reading, ResourceInfo, ResourcePage, Reuse,
    Role, TemplateInfo, TemplateMatch, WebhookRequest, WebhookResponse,
};

/// One generation of one provider. A reload makes a new generation in the same slot; a restart after a crash does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source {
    /// Which provider: never used again for another one while the host runs.
    pub slot: u32,
    /// Counts the loads of that provider, from 1.
    pub generation: u64,
}

/// What a provider has besides resources, as its type shows when it is loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offers {
    /// It can be told who is wanted: [`Provider::subscribe`] reaches it.
    pub subscriptions: bool,
    /// It can suggest values: [`Provider::complete`] reaches it.
    pub completions: bool,
    /// It takes what is sent to webhooks: [`Provider::receive`] reaches it.
    pub webhooks: bool,
    /// Exactly one instance of it lives at a time, so what it remembers counts, and a `version` is good within that instance only.
    pub live: bool,
}

/// Whether a call has begun: from then on its answer may be older than what is asked now.
#[derive(Debug, Clone, Default)]
pub struct Begun(Arc<AtomicBool>);

impl Begun {
    /// It has.
    pub fn set(&self) {
        self.0.store(true, SeqCst);
    }

    /// Whether it has.
    pub fn has(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Whether both are of one call.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// How many calls wait for a provider's instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depths {
    /// Reads and completions.
    pub reads: usize,
    /// Lists, templates, subscribes and unsubscribes.
    pub controls: usize,
    /// Webhooks.
    pub webhooks: usize,
}

/// The answer of a provider that may take a while.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// A provider that is a Rust value may panic in a call: that call has failed, and nothing else.
pub(crate) async fn guarded<T, F: Future<Output = Result<T, Error>>>(call: impl FnOnce() -> F) -> Result<T, Error> {
    // A provider may panic before it has a future to give.
    AssertUnwindSafe(async { call().await }).catch_unwind().await.unwrap_or_else(|_| Err(Error::Failed("the provider panicked".into())))
}

/// A source of resources. The contract of each call is that of the WIT function of the same name.
///
/// Dropping a returned future gives up waiting; it never interrupts a call that has begun.
pub trait Provider: Send + Sync + 'static {
    /// What it has besides resources. Never changes.
    fn offers(&self) -> Offers;

    /// One page of what can be enumerated; `cursor` is the previous page's `next_cursor`.
    fn list(&self, cursor: Option<String>) -> Answer<'_, ResourcePage>;

    /// All templates, in the order in which they are to be tried.
    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>>;

    /// Reads one resource. `None` only if the content still is the version that `if_none_match` names.
    fn read(&self, request: ReadRequest) -> Answer<'_, Option<Reading>>;

    /// Whether a read would wait for its turn now. Never by default.
    fn is_busy(&self) -> bool {
        false
    }

    /// [`Provider::read`], for a provider that is busy: it says when the call has begun, so that others may wait for the same one until then.
    fn read_in_turn(&self, request: ReadRequest, begun: Begun) -> Answer<'_, Option<Reading>> {
        begun.set();
        self.read(request)
    }

    /// Asks it to watch a URI. Called only if [`Offers::subscriptions`] is set.
    fn subscribe(&self, uri: Arc<str>, matched: Option<Arc<TemplateMatch>>) -> Answer<'_, ()>;

    /// Asks it to stop watching a URI whose `subscribe` succeeded.
    fn unsubscribe(&self, uri: Arc<str>) -> Answer<'_, ()>;

    /// Suggests values for a template's variable. Called only if [`Offers::completions`] is set.
    fn complete(&self, request: CompletionRequest) -> Answer<'_, Completion>;

    /// Hands it what someone sent to one of its webhooks. Called only if [`Offers::webhooks`] is set. With `queued` nobody waits for the
    /// answer, and it may take its turn whenever that comes.
    fn receive(&self, request: WebhookRequest, queued: bool) -> Answer<'_, WebhookResponse> {
        let _ = (request, queued);
        Box::pin(std::future::ready(Err(Error::NotFound)))
    }

    /// What stands before its webhook of this name, if there is one that it is granted. None by default.
    fn gate(&self, name: &str) -> Option<Gate> {
        let _ = name;
        None
    }

    /// Webhooks that nobody waits for and that had no turn yet: taken away, for its successor. None by default.
    fn take_queued(&self) -> Vec<WebhookRequest> {
        Vec::new()
    }

    /// What waits for it. Nothing by default.
    fn depths(&self) -> Depths {
        Depths::default()
    }

    /// What it publishes, if it may publish: the host lists and reads that by itself, under [`shared_state::PREFIX`]. None by default.
    fn shared_state(&self) -> Option<&SharedState> {
        None
    }

    /// It is about to take the place of this one, or was made to: what that one published is its own until it had the time to publish it anew.
    fn inherit(&self, before: &dyn Provider) {
        let _ = before;
    }

    /// It is replaced, or taken away: no timer and no event reaches it any more; calls do, until it is closed. Resolves when nothing of it
    /// runs any more, which comes by itself once nobody has it.
    fn retire(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Ends it: calls that wait are answered [`Error::Unavailable`], the one that runs may finish. Resolves when nothing of it runs any more.
    fn close(&self) -> BoxFuture<'_, ()>;
}
