//! What a running host says of itself: to `wharf status`, to what probes and scrapes it, and to the page.
//!
//! Without an address of its own (`[server] admin`) all of this but the page is on the main address, and for programs of this machine alone;
//! on its own address it is for browsers too, with Host and Origin checked there as at the endpoint.
//!
//! Where clients have to prove who they are (`[server] auth`), all of it but `/healthz` and `/readyz` is for those whose token sees all
//! providers: at the main address, since what a proxy on this machine passes on comes from this machine; and at an address of its own that
//! is not of this machine. An own address of this machine asks for nothing, so that a browser gets there: there is no way to log in here, nor
//! HTTP's Basic authentication.
//!
//! Every moment is RFC 3339 in UTC with milliseconds; what is absent is `null`; keys may be added, none goes.
//!
//! # `GET /status`
//! ```json
//! { "version": "0.1.0", "started": "2026-01-02T03:04:05.678Z", "uptimeSeconds": 12,
//!   "ready": false, "notReady": ["ci"],
//!   "providers": [
//!     { "name": "git", "direct": false, "required": true,
//!       "state": "serving", "reason": null, "since": "2026-01-02T03:04:05.678Z",
//!       "file": "plugins/git.wasm", "hash": "0123456789ab", "generation": 3, "reloads": 2, "restarts": 0,
//!       "resources": 10, "templates": 1, "subscriptions": 2,
//!       "calls": { "ok": 7, "not-modified": 0, "not-found": 0, "invalid": 0, "denied": 0, "unavailable": 0,
//!                  "failed": 1, "trap": 0, "deadline": 0, "memory": 0, "queue-full": 0 },
//!       "errors": 1, "lastError": { "kind": "failed", "call": "read", "message": "no such commit", "at": "2026-01-02T03:04:06.000Z" },
//!       "memoryBytes": 1179648, "memoryLimitBytes": 268435456,
//!       "queue": { "reads": 0, "controls": 0, "webhooks": 0 },
//!       "denied": [ { "line": "hosts = [\"api.example.com\"]", "times": 2 } ], "deniedOthers": 0 } ],
//!   "sessions": 1, "listeners": 2,
//!   "subscriptions": [ { "uri": "git:///status", "listeners": 2, "provider": "git" } ] }
//! ```
//! Providers stand in the order of precedence. `state` is one of
//!
//! | state | what it is |
//! |---|---|
//! | `loading` | it is loaded for the first time, and requests wait for it |
//! | `serving` | it serves; with a `reason`, its file's newest version was refused, and the last good one goes on |
//! | `restarting` | its instance died, and a fresh one is being made |
//! | `parked` | it keeps dying, and pauses before the next try |
//! | `refused` | it does not load; `reason` says why |
//! | `gone` | its file is not there |
//!
//! `errors` counts what ended `failed`, `trap`, `deadline`, `memory`; what a caller did wrong is none. `hash` is the beginning of the blake3
//! of what the file held. Of direct registrations (`direct`) only the name, the state, the numbers of resources and templates and the
//! subscriptions are known; the rest is 0 or `null`.
//!
//! # `GET /`, `GET /page/…`
//! The page, at an address of its own only; see `page`.
//!
//! # `GET /healthz`, `GET /readyz`
//! Text. `/healthz` is 200 as soon as the host serves. `/readyz` is 200 when every provider that wharf.toml marks `required = true` serves, and
//! the host has looked once which there are; else 503, with the names. One whose newest version was refused serves, as long as the last good
//! one does.
//!
//! # `GET /grants`
//! What `wharf grants` asks for: `{ "providers": [ { "name": "git", "denied": [ { "line": "…", "times": 2 } ], "others": 0 } ] }`. It stays at
//! the main address too.
//!
//! # `GET /metrics`
//! Prometheus text 0.0.4; see [`metrics`].
//!
//! # `GET /resources`
//! ```json
//! { "catalog": 17,
//!   "resources": [ { "uri": "git:///status", "name": "status", "title": null, "description": null, "mimeType": "text/plain", "size": null,
//!                    "provider": "git", "shadowed": ["other"] } ],
//!   "templates": [ { "uriTemplate": "git:///blob/{+path}", "name": "blob", "title": null, "description": null, "mimeType": null,
//!                    "provider": "git", "shadowed": [] } ] }
//! ```
//! All of them at once, in the order of the merged list. `shadowed` names who lists the same and stands after the one that owns it. `catalog`
//! grows with each change of any list.
//!
//! # `GET /read?uri=…`
//! The URI percent-encoded. It is read as any client would read it.
//! ```json
//! { "uri": "git:///status", "ttlMs": 0,
//!   "contents": [ { "uri": "git:///status", "mimeType": "text/plain", "text": "clean" },
//!                 { "uri": "git:///logo", "mimeType": "image/png", "blob": "iVBORw0KGgo=" } ] }
//! ```
//! Else `{ "error": { "kind": "not-found", "message": "…", "provider": null, "retryAfterMs": null } }`, with 404 where nobody has it
//! (`not-found`), 400 for what is no URI (`invalid-uri`), 503 for `unavailable`, and 502 for the other kinds of `calls` above.
//!
//! # `GET /events`
//! Server-sent events (HTML Living Standard, "Server-sent events"); `event:` is the kind, `data:` one line of JSON, each with `at`:
//!
//! | kind | data besides `at` |
//! |---|---|
//! | `hello` | `version`, `started`: the first, and another `started` after a restart |
//! | `call` | `provider`, `call` (`read`, `resources.list`, `subscribe`, …), `uri` or null, `tookUs`, `outcome` (a key of `calls`) |
//! | `updated` | `provider`, `uri`: announced by the provider, whoever listens; null for all of its resources |
//! | `list-changed` | `provider`: it says that its lists changed; `/resources` may differ |
//! | `loaded` | `provider`, `generation`, `replaced`, `resources`, `templates`, `tookMs`: `/status` and `/resources` differ |
//! | `refused` | `provider`, `reason`, `serving`: whether the last good version goes on |
//! | `restored`, `gone` | `provider` |
//! | `down`, `up` | `provider`: its instance died; there is a fresh one |
//! | `denied` | `provider`, `line` (of `[provider.grants]`), `times` |
//! | `notice` | `warning`, `message`: of wharf.toml and the plugins folder |
//! | `opened`, `closed` | `connection`, `listen`: a stream of events (`listen`: its request's id as JSON text, or null for a session's) |
//! | `began`, `ended` | `connection`: a session or a pipe |
//! | `lost` | `count`: this reader was too slow for so many events |
//!
//! A `connection` is `{ "kind": "session", "id": "…" }` (the first 8 characters), `{ "kind": "pipe", "number": 1 }` or
//! `{ "kind": "client", "name": "…", "version": "…", "peer": "127.0.0.1" }`. Every 15 s without an event there is a comment. `?watch=URI`
//! (percent-encoded) subscribes to a resource for as long as the stream is open, so that its provider watches it: what a page shows is told
//! by `updated`.

mod answer;
mod denials;
mod feed;
pub mod metrics;
mod page;
mod resources;
mod service;
mod status;

use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::SystemTime,
};

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

pub(crate) use feed::Feed;
pub use feed::READERS;
pub use service::AdminService;
pub use status::{DeniedStatus, LastErrorStatus, ProviderStatus, QueueStatus, State, Status, SubscriptionStatus};

use crate::{
    catalog::{Caller, Catalog},
    mcp::Server,
    plugins::Loader,
    provider::{EventQueue, wasm::Runtime},
    subscriptions::Subscriptions,
    trace::Export,
    transport::http::{Pages, Requests},
};

/// The path of what `wharf status` shows.
pub const STATUS_PATH: &str = "/status";
/// The path that is 200 as soon as the host serves.
pub const HEALTH_PATH: &str = "/healthz";
/// The path that is 200 when every required provider serves.
pub const READY_PATH: &str = "/readyz";
/// The path of the metrics.
pub const METRICS_PATH: &str = "/metrics";
/// The path of the merged list.
pub const RESOURCES_PATH: &str = "/resources";
/// The path at which a resource is read.
pub const READ_PATH: &str = "/read";
/// The path of the stream of what happens.
pub const EVENTS_PATH: &str = "/events";
/// The path of what `wharf grants` shows.
pub const GRANTS_PATH: &str = "/grants";

/// Says all of this of one host. It keeps nothing of the host from ending.
pub struct Admin {
    started: SystemTime,
    began: Instant,
    catalog: Arc<Catalog>,
    subscriptions: Subscriptions,
    queue: Arc<EventQueue>,
    server: Weak<Server>,
    loader: Weak<Loader>,
    runtime: Weak<Runtime>,
    requests: Arc<Requests>,
    /// Whether most of this is served at an address of its own.
    apart: AtomicBool,
    kept: metrics::Kept,
    feed: Arc<Feed>,
    spans: OnceLock<Arc<dyn Export>>,
}

/// What it speaks of.
pub(crate) struct Parts<'a> {
    pub catalog: &'a Arc<Catalog>,
    pub subscriptions: &'a Subscriptions,
    pub queue: &'a Arc<EventQueue>,
    pub server: &'a Arc<Server>,
    pub loader: &'a Arc<Loader>,
    pub runtime: &'a Arc<Runtime>,
    pub feed: &'a Arc<Feed>,
}

impl Admin {
    pub(crate) fn new(parts: &Parts<'_>) -> Arc<Self> {
        Arc::new(Self {
            started: SystemTime::now(),
            began: Instant::now(),
            catalog: parts.catalog.clone(),
            subscriptions: parts.subscriptions.clone(),
            queue: parts.queue.clone(),
            server: Arc::downgrade(parts.server),
            loader: Arc::downgrade(parts.loader),
            runtime: Arc::downgrade(parts.runtime),
            requests: Arc::default(),
            apart: AtomicBool::new(false),
            kept: metrics::Kept::default(),
            feed: parts.feed.clone(),
            spans: OnceLock::new(),
        })
    }

    /// The metrics tell of the spans that this brings out, too.
    pub(crate) fn tells_of(&self, spans: Arc<dyn Export>) {
        let _ = self.spans.set(spans);
    }

    /// Where answers at the main address are counted.
    pub fn requests(&self) -> &Arc<Requests> {
        &self.requests
    }

    /// What is at this path.
    async fn answer(self: Arc<Self>, path: &str, query: Option<&str>) -> Response<Body> {
        match path {
            STATUS_PATH => answer::json(StatusCode::OK, &self.status().await),
            METRICS_PATH => answer::typed(StatusCode::OK, metrics::MEDIA_TYPE, self.metrics().await),
            HEALTH_PATH => answer::text(StatusCode::OK, "ok\n".into()),
            READY_PATH => self.ready(),
            RESOURCES_PATH => self.resources().await,
            READ_PATH => self.read(values(query, "uri").next().as_deref()).await,
            EVENTS_PATH => self.events(values(query, "watch").map(Into::into).collect()).await,
            GRANTS_PATH => answer::json(StatusCode::OK, &self.grants()),
            _ => page::answer(path).unwrap_or_else(|| answer::text(StatusCode::NOT_FOUND, "there is nothing at this path\n".into())),
        }
    }

    fn ready(&self) -> Response<Body> {
        match self.not_ready() {
            Some(lacking) if lacking.is_empty() => answer::text(StatusCode::OK, "ready\n".into()),
            Some(lacking) => {
                let text = format!("not ready: {} {} not serve; `wharf status` says why\n", lacking.join(", "), do_or_does(lacking.len()));
                answer::text(StatusCode::SERVICE_UNAVAILABLE, text)
            }
            None => answer::text(StatusCode::SERVICE_UNAVAILABLE, "not ready: it has not looked yet which providers there are\n".into()),
        }
    }
}

/// Whoever runs the host sees all of it.
fn caller() -> Caller {
    Caller::anyone()
}

/// What a query gives this name.
fn values<'a>(query: Option<&'a str>, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.filter(move |(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn do_or_does(number: usize) -> &'static str {
    if number == 1 { "does" } else { "do" }
}

/// All paths but [`GRANTS_PATH`].
const PATHS: [&str; 7] = [STATUS_PATH, HEALTH_PATH, READY_PATH, METRICS_PATH, RESOURCES_PATH, READ_PATH, EVENTS_PATH];

/// What of it is at the main address.
pub(crate) struct AtMain(pub Arc<Admin>);

impl Pages for AtMain {
    fn has(&self, path: &str) -> bool {
        path == GRANTS_PATH || (!self.0.apart.load(Relaxed) && PATHS.contains(&path))
    }

    fn is_open(&self, path: &str) -> bool {
        is_open(path)
    }

    fn page(&self, path: &str, query: Option<&str>) -> BoxFuture<'static, Response<Body>> {
        answer_of(&self.0, path, query)
    }
}

/// Whether whoever gets to this path may have it: probes have no tokens.
fn is_open(path: &str) -> bool {
    matches!(path, HEALTH_PATH | READY_PATH)
}

fn answer_of(admin: &Arc<Admin>, path: &str, query: Option<&str>) -> BoxFuture<'static, Response<Body>> {
    let (admin, path, query) = (admin.clone(), path.to_owned(), query.map(str::to_owned));
    async move { admin.answer(&path, query.as_deref()).await }.boxed()
}
