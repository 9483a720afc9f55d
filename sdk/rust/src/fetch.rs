//! HTTP by way of the host, to the hosts that wharf.toml grants. Needs `fetch` in [`export!`](crate::export).

pub use crate::bindings::{
    fetch::exports::wharf::provider::fetch_handler::{FetchError, FetchResponse},
    imports::wharf::provider::fetch::FetchRequest,
};
use crate::{
    bindings::fetch::exports::wharf::provider::fetch_handler::FetchOutcome,
    callbacks::{self, Table},
    error::Result,
    host,
};

/// What became of a request: an answer of whatever status, or why there is none.
pub type Answer = std::result::Result<FetchResponse, FetchError>;

thread_local! {
    static FETCHES: Table = const { callbacks::table() };
}

impl FetchRequest {
    /// Of an `https:` or `http:` URL, without a fragment.
    pub fn get(url: impl Into<String>) -> Self {
        Self { method: None, url: url.into(), headers: None, body: None, timeout_ms: None }
    }

    /// With a body.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { method: Some("POST".into()), body: Some(body.into()), ..Self::get(url) }
    }

    /// One header more; a name may come more than once.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.get_or_insert_default().push((name.into(), value.into()));
        self
    }

    /// For the whole exchange, in milliseconds; at most the host's own limit.
    pub fn timeout_ms(mut self, ms: u32) -> Self {
        self.timeout_ms = Some(ms);
        self
    }
}

impl FetchResponse {
    /// The first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Sends it once, and calls the function with what became of it. `denied`: wharf.toml does not grant the host.
pub fn start<S: 'static>(name: &str, request: &FetchRequest, fetched: impl Fn(&mut S, Answer) + 'static) -> Result<()> {
    callbacks::put(&FETCHES, name, true, || host::fetch(name, request), fetched)
}

/// Sends it now, and again `every_ms` milliseconds after each answer, as politely as HTTP allows. The function is called with the first
/// answer, and then with those that are another than the one before.
pub fn poll<S: 'static>(name: &str, request: &FetchRequest, every_ms: u32, fetched: impl Fn(&mut S, Answer) + 'static) -> Result<()> {
    callbacks::put(&FETCHES, name, false, || host::poll(name, request, every_ms), fetched)
}

/// Ends a fetch or a poll: its answer will not come any more. Fine if there is none.
pub fn cancel(name: &str) {
    host::cancel_fetch(name);
    callbacks::remove(&FETCHES, name);
}

pub(crate) fn fetched<S: 'static>(state: &mut S, outcomes: Vec<FetchOutcome>) {
    for FetchOutcome { name, answer } in outcomes {
        if let Some(fetched) = callbacks::get::<S, Answer>(&FETCHES, &name) {
            fetched(state, answer);
        }
    }
}
